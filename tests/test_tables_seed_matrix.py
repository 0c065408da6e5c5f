"""The seed article's compatibility matrix, corrected: every line of both tables, and each rule behind them.

The expected figures are written here by hand from the corrected matrix; the tables must give them.
"""

from __future__ import annotations

import pytest

from gpuimage import tables
from gpuimage.tables import Gpu, Unknown


def card(name: str) -> Gpu:
    found = tables.gpu(name)
    assert not isinstance(found, Unknown)
    return found


# Table 1: claimed minimum drivers.


@pytest.mark.parametrize(
    ("cuda", "claimed", "full", "floor"),
    [
        ("12.4.0", "535.86.05", "550.54.14", "525.60.13"),
        ("12.4.1", "535.86.05", "550.54.15", "525.60.13"),
        ("12.1.0", "530.30.02", "530.30.02", "525.60.13"),
        ("12.1.1", "530.30.02", "530.30.02", "525.60.13"),
        ("11.8.0", "450.80.02", "520.61.05", "450.80.02"),
    ],
)
def test_full_driver_and_floor_are_two_columns(cuda: str, claimed: str, full: str, floor: str) -> None:
    need = tables.driver_need(cuda)
    assert need
    assert (need.full, need.floor, need.verified) == (full, floor, True)
    if claimed not in {full, floor}:
        assert tables.driver_verdict(cuda, claimed).outcome == "minor-version"


def test_no_release_names_the_driver_that_the_article_gives_for_12_4() -> None:
    full = {need.full for minor in tables.cuda_minors() for need in [tables.driver_need(minor)] if need}
    assert "535.86.05" not in full
    second_update = tables.driver_need("12.2.1")
    assert second_update
    assert second_update.full == "535.86.09"


# Table 2: claimed results.


def test_535_86_05_runs_12_4_in_minor_version_compatibility() -> None:
    verdict = tables.driver_verdict("12.4", "535.86.05", ptx=True)
    assert (verdict.outcome, verdict.package, verdict.verified) == ("minor-version", "cuda-compat-12-4", True)
    assert "error 222" in verdict.because
    assert "525.60.13" in verdict.because
    assert "550.54.15" in verdict.because


@pytest.mark.parametrize(("name", "outcome"), [("L4", "accepted"), ("RTX 4090", "accepted")])
def test_the_12_4_1_image_starts_on_branch_535_geforce_included(name: str, outcome: str) -> None:
    assert tables.start_verdict("12.4.1", "535.86.05", card(name)).outcome == outcome


def test_525_85_12_runs_12_1_in_minor_version_compatibility() -> None:
    verdict = tables.driver_verdict("12.1", "525.85.12")
    assert (verdict.outcome, verdict.verified) == ("minor-version", True)
    own = tables.driver_need("12.0.1")
    assert own
    assert own.full == "525.85.12"


def test_470_199_02_runs_11_8_in_minor_version_compatibility() -> None:
    verdict = tables.driver_verdict("11.8", "470.199.02", ptx=True)
    assert (verdict.outcome, verdict.verified) == ("minor-version", True)
    assert "error 222" in verdict.because


@pytest.mark.parametrize("minor", [m for m in tables.cuda_minors() if m.startswith("12.")])
@pytest.mark.parametrize("name", ["H100", "T4", None])
def test_450_80_02_is_refused_by_every_12_x(minor: str, name: str | None) -> None:
    verdict = tables.driver_verdict(minor, "450.80.02", card(name) if name else None)
    assert (verdict.outcome, verdict.package) == ("refused", None)
    assert "error 35" in verdict.because


# The rules.


def test_rule_1_at_the_full_driver_everything_runs() -> None:
    assert tables.driver_verdict("12.4.1", "550.54.15").outcome == "full"
    assert tables.driver_verdict("12.4.1", "550.54.14").outcome == "minor-version"
    assert tables.driver_verdict("12.4.0", "550.54.14").outcome == "full"


def test_rule_2_between_floor_and_full_machine_code_runs_but_no_ptx() -> None:
    verdict = tables.driver_verdict("12.4", "525.60.13")
    assert verdict.outcome == "minor-version"
    assert "PTX" in verdict.because
    assert "222" not in verdict.because
    assert "222" in tables.driver_verdict("12.4", "525.60.13", ptx=True).because


def test_rule_3_below_the_floor_only_a_data_centre_card_with_cuda_compat_runs() -> None:
    served = tables.driver_verdict("13.0", "535.183.01", card("A100"))
    assert (served.outcome, served.package) == ("forward", "cuda-compat-13-0")
    geforce = tables.driver_verdict("13.0", "535.183.01", card("RTX 4090"))
    assert (geforce.outcome, geforce.package) == ("refused", None)
    assert "data-centre" in geforce.because
    unknown_card = tables.driver_verdict("13.0", "535.183.01")
    assert (unknown_card.outcome, unknown_card.package) == ("refused", "cuda-compat-13-0")


def test_rule_3_a_jetson_board_is_not_taken_for_a_data_centre_card() -> None:
    assert tables.driver_verdict("13.0", "535.183.01", card("Jetson AGX Orin")).outcome == "refused"


@pytest.mark.parametrize("branch", ["470", "525", "550", "560"])
def test_rule_3_branches_that_the_guide_does_not_list_are_refused(branch: str) -> None:
    verdict = tables.driver_verdict("13.0", branch, card("H100"))
    assert (verdict.outcome, verdict.package) == ("refused", None)
    assert f"branch {branch}" in verdict.because


def test_rule_4_cuda_compat_stays_off_the_path_under_a_newer_driver() -> None:
    verdict = tables.driver_verdict("12.4", "570.124.06", card("H100"))
    assert (verdict.outcome, verdict.package) == ("full", None)
    assert "cuda-compat-12-4" in verdict.because
    assert "must stay off" in verdict.because
    assert "stay off" not in tables.driver_verdict("12.4", "550.90.07", card("H100")).because


@pytest.mark.parametrize(("cuda", "driver"), [("12.4", "580.65.06"), ("11.8", "550.54.14"), ("10.2", "610")])
def test_rule_5_a_driver_of_a_later_major_runs_the_older_one(cuda: str, driver: str) -> None:
    assert tables.driver_verdict(cuda, driver).outcome == "full"
    assert tables.driver_verdict(cuda, driver).verified


def test_rule_5_says_that_it_is_backward_compatibility() -> None:
    assert "backward compatibility" in tables.driver_verdict("12.4", "580.65.06").because
    assert "backward compatibility" not in tables.driver_verdict("12.4", "575.57.08").because


@pytest.mark.parametrize("branch", ["530", "545"])
def test_rule_6_the_toolkit_refuses_branches_that_the_image_does_not_list(branch: str) -> None:
    start = tables.start_verdict("12.4.1", branch)
    assert start.outcome == "refused"
    assert "NVIDIA_DISABLE_REQUIRE" in start.because
    runs = tables.driver_verdict("12.4.1", branch)
    assert runs.outcome == "minor-version"
    assert "would not start" in runs.because


def test_rule_6_geforce_lost_its_exception_with_12_5() -> None:
    assert tables.start_verdict("12.4.1", "535.86.05", card("RTX 3090")).outcome == "accepted"
    assert tables.start_verdict("12.8.1", "550.54.14", card("RTX 3090")).outcome == "refused"
    assert tables.start_verdict("12.8.1", "550.54.14", card("L4")).outcome == "accepted"
    assert tables.start_verdict("12.8.1", "570.124.06", card("RTX 3090")).outcome == "accepted"
    assert tables.start_verdict("12.8.1", "550.54.14").outcome == "some-brands"
