"""What goes together: the corrected matrix and each of its rules, torch builds, GPUs, arch lists, images; the command.

Expected figures are written by hand from the corrected matrix and from NVIDIA's and PyTorch's own lists.
"""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from gpuimage.arch import ArchList
from gpuimage.compat import Check, Compatibility, Question, compat, compat_matrix
from gpuimage.errors import SpecError
from gpuimage.tables import Gpu, driver_verdict, gpu
from tests.conftest import Command
from tests.readme import compare, shown


def ask(
    cuda: str | None = None,
    driver: str | None = None,
    card: str | None = None,
    torch: str | None = None,
    arch: str | None = None,
    image: str | None = None,
) -> Compatibility:
    found = gpu(card) if card else None
    assert found is None or isinstance(found, Gpu)
    return compat(
        Question(
            cuda=cuda, driver=driver, gpus=(found,) if found else (), torch=torch,
            archs=ArchList.parse(arch) if arch else None, image=image,
        )
    )  # fmt: skip


def only(found: Compatibility) -> Check:
    [check] = found.checks
    return check


# --- the corrected matrix ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cuda", "driver", "outcome", "figures"),
    [
        ("12.4", "535.86.05", "minor-version", ("525.60.13", "550.54.15")),
        ("12.1", "525.85.12", "minor-version", ("525.60.13", "530.30.02")),
        ("11.8", "470.199.02", "minor-version", ("450.80.02", "520.61.05")),
        ("12.1", "450.80.02", "refused", ("525.60.13",)),
        ("12.4", "450.80.02", "refused", ("525.60.13",)),
        ("12.1", "530.30.02", "runs", ("530.30.02",)),
        ("11.8", "450.80.02", "minor-version", ("520.61.05",)),
    ],
)
def test_the_lines_of_the_matrix(cuda: str, driver: str, outcome: str, figures: tuple[str, ...]) -> None:
    check = only(ask(cuda, driver))
    assert (check.outcome, check.verified) == (outcome, True)
    assert all(figure in check.because for figure in figures)


# --- its rules --------------------------------------------------------------------------------------------------


def test_at_or_above_the_full_driver_everything_runs() -> None:
    assert ask("12.4.0", "550.54.14").outcome == "runs"
    assert ask("12.4.0", "550.54.13").outcome == "minor-version"


def test_between_floor_and_full_machine_code_runs_and_ptx_does_not() -> None:
    assert ask("12.4", "535.86.05", arch="8.6", card="A10G").outcome == "minor-version"
    found = ask("12.4", "535.86.05", arch="8.0+PTX", card="H100")
    last = found.checks[-1]
    assert (last.about, last.outcome) == ("PTX of CUDA 12.4 on driver 535.86.05", "refused")
    assert "error 222" in last.because
    assert last.change == "driver 550.54.15 or newer, or machine code for the GPU"
    assert ask("12.4", "550.54.15", arch="8.0+PTX", card="H100").outcome == "jit"


def test_below_the_floor_only_forward_compatibility_helps_and_only_data_centre_cards() -> None:
    server = only_driver(ask("13.0", "570.86.10", card="A100"))
    assert (server.outcome, server.change) == ("forward", "put cuda-compat-13-0 into the image")
    desktop = only_driver(ask("13.0", "570.86.10", card="RTX 4090"))
    assert (desktop.outcome, desktop.change) == ("refused", "driver 580.65.06 or newer, or CUDA 12.9")


def only_driver(found: Compatibility) -> Check:
    [check] = [check for check in found.checks if " on driver " in check.about]
    return check


def test_a_driver_newer_than_cuda_compat_must_not_find_it() -> None:
    check = only(ask("12.4", "580.65.06"))
    assert check.outcome == "runs"
    assert "must stay off the library path" in check.because


def test_a_driver_of_a_later_major_runs_older_cuda() -> None:
    assert "backward compatibility" in only(ask("12.4", "580.65.06")).because
    assert ask("11.8", "610.43").outcome == "runs"


def test_an_image_may_refuse_to_start_where_its_cuda_would_run() -> None:
    image = "nvidia/cuda:12.4.1-base-ubuntu22.04"
    start, driver = ask(driver="545.23.06", card="L4", image=image).checks[:2]
    assert (start.outcome, driver.outcome) == ("refused", "minor-version")
    assert "NVIDIA_DISABLE_REQUIRE=1" in start.change
    assert ask(driver="535.86.05", card="RTX 4090", image=image).checks[0].outcome == "runs"


# --- GPUs, torch, arch lists ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "cuda", "outcome", "change"),
    [
        ("V100", "12.9", "runs", ""),
        ("V100", "13.0", "refused", "CUDA 12.9 or older"),
        ("RTX 5090", "12.8", "runs", ""),
        ("RTX 5090", "12.4", "jit", "CUDA 12.8 or newer"),
        ("H100", "11.8", "runs", ""),
    ],
)
def test_a_cuda_has_machine_code_for_a_gpu_or_says_which_has(
    card: str, cuda: str, outcome: str, change: str
) -> None:
    check = only(ask(cuda, card=card))
    assert (check.outcome, check.change) == (outcome, change)


@pytest.mark.parametrize(
    ("torch", "card", "outcome", "change"),
    [
        ("2.9.1", "L4", "runs", ""),
        ("2.9.1", "GTX 1080", "refused", "torch 2.9.1+cu126"),
        ("2.9.1+cu126", "GTX 1080", "runs", ""),
        ("2.6.0", "RTX 5090", "refused", "torch 2.7.0+cu128"),
    ],
)
def test_a_build_of_torch_has_code_for_a_gpu_or_another_one_has(
    torch: str, card: str, outcome: str, change: str
) -> None:
    [check] = [check for check in ask(torch=torch, card=card).checks if "torch" in check.about]
    assert (check.outcome, check.change) == (outcome, change)


def test_a_build_that_does_not_exist_names_those_that_do() -> None:
    check = ask("12.4", torch="2.9.1", card="L4").checks[0]
    assert (check.outcome, check.change) == ("refused", "take --cuda 12.8")
    assert "12.6, 12.8" in check.because


def test_the_cuda_that_a_torch_brings_is_held_against_the_driver() -> None:
    found = ask(driver="525.60.13", torch="2.9.1")
    assert (found.cuda, found.outcome) == ("12.8", "minor-version")


@pytest.mark.parametrize(
    ("arch", "card", "outcome"),
    [("8.6", "L4", "runs"), ("8.0+PTX", "H100", "jit"), ("8.9", "A10G", "refused")],
)
def test_a_list_serves_a_gpu(arch: str, card: str, outcome: str) -> None:
    assert only(ask(arch=arch, card=card)).outcome == outcome


def test_a_compiler_that_does_not_know_an_architecture_names_one_that_does() -> None:
    check = only(ask("12.4", arch="8.6;12.0"))
    assert (check.outcome, check.change) == ("refused", "12.0 needs CUDA 12.8 or newer")


# --- what cannot be asked ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"cuda": "12.4"}, "nothing to hold against each other"),
        ({"cuda": "12.7", "driver": "550"}, "never released"),
        ({"torch": "9.9", "driver": "550"}, "not in the tables"),
        ({"cuda": "12.6", "image": "nvidia/cuda:12.4.1-base-ubuntu22.04"}, "contradict"),
        ({"image": "python:3.12", "driver": "550"}, "only images of nvidia/cuda"),
        ({"image": "nvidia/cuda:latest", "driver": "550"}, "cannot be read"),
    ],
)
def test_a_question_that_cannot_be_asked_says_why(question: dict[str, str], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        ask(**question)


def test_a_row_that_nobody_verified_is_told_and_never_enough_to_refuse() -> None:
    rows = (Check("a", "refused", "b", "c", verified=False), Check("a", "runs", "b", "c", verified=True))
    found = Compatibility("12.4", rows)
    assert (found.outcome, found.refused) == ("refused", False)


# --- the command ------------------------------------------------------------------------------------------------


@pytest.fixture
def run(command: Command) -> Command:
    return partial(command, "compat")


def test_the_command_answers_in_text_and_json_with_an_exit_code(run: Command) -> None:
    code, out, _ = run("--cuda", "12.4", "--driver", "450.80.02")
    assert (code, out.splitlines()[-1]) == (1, "together: refused")
    code, out, _ = run("--cuda", "12.4", "--driver", "535.86.05", "--format", "json")
    document = json.loads(out)
    assert (code, document["outcome"], document["checks"][0]["outcome"]) == (
        0,
        "minor-version",
        "minor-version",
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cuda", "12.4"], "nothing to hold"),
        (["--cuda", "12.4", "--driver", "new"], "is no driver version"),
        (["--cuda", "12.4", "--gpu", "A1OG"], "no GPU named"),
        (["--cuda", "12.4", "--arch", "sm_80"], "write"),
    ],
)
def test_bad_options_are_one_clear_error(run: Command, arguments: list[str], said: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_the_matrix_says_in_each_cell_what_the_tables_say(run: Command) -> None:
    made = compat_matrix()
    assert {made[cuda][branch].outcome for cuda in made for branch in made[cuda]} >= {
        "full",
        "minor-version",
        "refused",
    }
    code, out, _ = run("--matrix")
    assert code == 0
    header, _, *rows = [line for line in out.splitlines() if line.startswith("|")]
    branches = re.findall(r"R(\d+)", header)
    words = {"full": "full", "minor-version": "minor", "refused": "–", "unknown": "?", "forward": "forward"}
    for line in rows:
        cuda, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        told = [words[driver_verdict(cuda, branch).outcome] for branch in branches]
        assert [cell.removesuffix("+compat") for cell in cells] == told


def test_the_readme_shows_what_compat_says(run: Command) -> None:
    (example,) = shown("### compat")
    compare(example, run(*example.arguments[1:])[1])
