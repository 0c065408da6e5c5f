"""Drivers against toolkits: order, bare branches, and what nobody knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage import tables
from gpuimage.tables import Gpu, Unknown

DATA = Path(tables.__file__).parent.parent / "data"
RAW = json.loads((DATA / "cuda_releases.json").read_text())
FORWARD = json.loads((DATA / "forward_compat.json").read_text())

RELEASES = [row["cuda"] for row in RAW["releases"]]
CUDA = st.sampled_from([*RELEASES, *tables.cuda_minors()])
NAMED_DRIVERS = sorted({row["linux_x86_64_driver_min"] for row in RAW["releases"]} - {None})
DRIVER = st.one_of(
    st.sampled_from([driver for driver in NAMED_DRIVERS if "." in driver]),
    st.builds("{}.{:02d}.{:02d}".format, st.integers(390, 640), st.integers(0, 200), st.integers(0, 20)),
)
BRANCH = st.integers(390, 640).map(str)
GPU = st.sampled_from([None, *tables.gpus()])
RANK = {"refused": 0, "minor-version": 1, "full": 2}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


@settings(deadline=None)  # the first example reads the data
@given(CUDA, DRIVER, DRIVER, st.booleans())
def test_a_newer_driver_runs_all_that_an_older_one_does(cuda: str, one: str, two: str, ptx: bool) -> None:
    old, new = sorted((one, two), key=numbers)
    before, after = (tables.driver_verdict(cuda, driver, ptx=ptx).outcome for driver in (old, new))
    assert RANK[after] >= RANK[before]


@settings(deadline=None)  # the first example reads the data
@given(CUDA, BRANCH, BRANCH)
def test_a_newer_branch_runs_all_that_an_older_one_does(cuda: str, one: str, two: str) -> None:
    old, new = sorted((one, two), key=int)
    assert RANK[tables.driver_verdict(cuda, new).outcome] >= RANK[tables.driver_verdict(cuda, old).outcome]


@settings(deadline=None)  # the first example reads the data
@given(DRIVER, st.data())
def test_a_driver_runs_an_older_release_at_least_as_well(driver: str, data: st.DataObject) -> None:
    sure = [row["cuda"] for row in RAW["releases"] if row["verified"]]
    first, second = sorted(data.draw(st.tuples(st.sampled_from(sure), st.sampled_from(sure))), key=numbers)
    older, newer = (tables.driver_verdict(cuda, driver).outcome for cuda in (first, second))
    assert RANK[older] >= RANK[newer]


@settings(deadline=None)  # the first example reads the data
@given(CUDA, DRIVER, GPU)
def test_the_card_only_matters_below_the_floor(cuda: str, driver: str, gpu: Gpu | None) -> None:
    plain, with_card = tables.driver_verdict(cuda, driver), tables.driver_verdict(cuda, driver, gpu)
    if plain.outcome in {"full", "minor-version"}:
        assert with_card.outcome == plain.outcome
    else:
        assert with_card.outcome in {"refused", "forward"}
    if with_card.outcome == "forward":
        assert gpu is not None
        assert gpu.data_center
        assert with_card.package
    if gpu is not None and gpu.data_center is False:
        assert with_card.package is None


@settings(deadline=None)  # the first example reads the data
@given(CUDA, BRANCH, st.integers(0, 300), st.integers(0, 30))
def test_a_bare_branch_is_the_best_of_its_drivers(cuda: str, branch: str, minor: int, patch: int) -> None:
    bare = tables.driver_verdict(cuda, branch)
    exact = tables.driver_verdict(cuda, f"{branch}.{minor:02d}.{patch:02d}")
    assert RANK[bare.outcome] >= RANK[exact.outcome]
    if RANK[bare.outcome] != RANK[exact.outcome]:
        assert "the branch alone does not say" in bare.because
        assert not bare.verified


@pytest.mark.parametrize(("cuda", "branch"), [("12.4", "550"), ("12.8", "570"), ("13.0", "580")])
def test_the_branch_of_the_release_is_full_but_says_what_it_cannot_decide(cuda: str, branch: str) -> None:
    verdict, need = tables.driver_verdict(cuda, branch), tables.driver_need(cuda)
    assert need
    assert verdict.outcome == "full"
    assert not verdict.verified
    assert str(need.full) in verdict.because


def test_the_branch_of_the_floor_passes_it_but_says_what_it_cannot_decide() -> None:
    verdict = tables.driver_verdict("12.8", "525")
    assert (verdict.outcome, verdict.verified) == ("minor-version", False)
    assert "525.60.13" in verdict.because


@pytest.mark.parametrize(
    "row",
    [row for row in RAW["releases"] if row["linux_x86_64_driver_min"]],
    ids=lambda row: str(row["cuda"]),
)
def test_every_release_is_full_on_its_own_driver(row: dict[str, str]) -> None:
    verdict = tables.driver_verdict(row["cuda"], row["linux_x86_64_driver_min"])
    assert verdict.outcome == "full"
    assert verdict.source == row["source"]


@pytest.mark.parametrize("row", FORWARD["branches"], ids=lambda row: str(row["branch"]))
def test_a_branch_speaks_the_cuda_that_the_forward_guide_says(row: dict[str, str]) -> None:
    assert tables.driver_cuda(row["branch"]) == row["native_cuda"]


@pytest.mark.parametrize(("package", "branch"), [
    (row, branch) for row in FORWARD["matrix"] for branch in row["status"]
], ids=str)  # fmt: skip
def test_forward_compatibility_follows_the_matrix(package: dict[str, str], branch: str) -> None:
    h100 = tables.gpu("H100")
    assert not isinstance(h100, Unknown)
    verdict = tables.driver_verdict(package["cuda"], branch, h100)
    status = package["status"][branch]  # type: ignore[index]
    if verdict.outcome == "forward":
        assert status == "compatible"
    if verdict.outcome == "refused":
        assert status != "compatible"
    if status == "compatible":
        assert verdict.package == package["package"]
    else:
        assert verdict.package is None


@settings(deadline=None)  # the first example reads the data
@given(CUDA)
def test_the_floor_never_lies_above_the_full_driver(cuda: str) -> None:
    need = tables.driver_need(cuda)
    if need and need.full:
        assert numbers(need.floor) <= numbers(need.full)


def test_cuda_11_0_was_released_below_the_floor_of_its_major() -> None:
    need = tables.driver_need("11.0.2")
    assert need
    assert need.full == need.floor == "450.51.05"
    assert tables.driver_verdict("11.0.2", "450.51.05").outcome == "full"
    assert tables.driver_verdict("11.8", "450.51.05").outcome == "refused"


def test_cuda_10_has_no_minor_version_compatibility() -> None:
    assert tables.driver_verdict("10.2", "440.33").outcome == "full"
    assert tables.driver_verdict("10.2", "418.39").outcome == "refused"


def test_a_release_without_a_known_driver_is_full_only_where_a_later_one_is() -> None:
    need = tables.driver_need("12.9.2")
    assert need
    assert (need.full, need.verified) == (None, False)
    between = tables.driver_verdict("12.9.2", "575.60.01")
    assert (between.outcome, between.verified) == ("minor-version", False)
    assert "no source names" in between.because
    assert tables.driver_verdict("12.9.2", "580.65.06").outcome == "full"


def test_a_minor_falls_back_to_its_newest_release_with_a_known_driver() -> None:
    need = tables.driver_need("12.9")
    assert need
    assert (need.cuda, need.full) == ("12.9.1", "575.57.08")


def test_a_driver_known_only_by_its_branch_is_not_verified() -> None:
    verdict = tables.driver_verdict("13.4.1", "615.10")
    assert (verdict.outcome, verdict.verified) == ("full", False)


@pytest.mark.parametrize(
    "driver", ["", "55", "5500", "550.54.14.1", "550.x", "latest", "-550", " 550", "٥٥٠"]
)
def test_what_is_no_driver_version_is_unknown(driver: str) -> None:
    verdict = tables.driver_verdict("12.4", driver)
    assert verdict.outcome == "unknown"
    assert "550.54.14" in verdict.because
    assert isinstance(tables.driver_cuda(driver), Unknown)
    assert tables.start_verdict("12.4", driver).outcome == "unknown"


@pytest.mark.parametrize("cuda", ["12.7", "12.7.1", "9.2", "14.0", "12", "cu128", "", "12.8.1.0", "12.4.9"])
def test_an_unknown_cuda_is_unknown_to_every_question(cuda: str) -> None:
    for answer in (
        tables.cuda_release(cuda),
        tables.driver_need(cuda),
        tables.require_cuda(cuda),
        tables.cuda_tag(cuda, "runtime"),
    ):
        assert isinstance(answer, Unknown)
        assert len(answer.reason) > 20
    assert tables.driver_verdict(cuda, "550.54.14").outcome == "unknown"


def test_12_7_is_said_to_never_have_existed() -> None:
    answer = tables.cuda_release("12.7")
    assert isinstance(answer, Unknown)
    assert "never released" in answer.reason
    assert "12.7" not in tables.cuda_minors()
