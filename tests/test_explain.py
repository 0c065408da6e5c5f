"""Known errors in messages and logs: the right one, the first one first, with what the message itself tells; the command."""

from __future__ import annotations

from functools import partial

import pytest

from gpuimage.explain import explain
from gpuimage.tables import known_errors
from tests.conftest import Command
from tests.readme import compare, shown

# Own wording around what the programs themselves print.
MESSAGES = {
    "RuntimeError: CUDA error: no kernel image is available for execution on the device": "no-kernel-image",
    "cudaGetDeviceCount: CUDA driver version is insufficient for CUDA runtime version": "insufficient-driver",
    "RuntimeError: No CUDA GPUs are available, or no CUDA-capable device is detected": "no-device",
    "AssertionError: Torch not compiled with CUDA enabled": "torch-cpu-build",
    "#9 3.1 nvcc fatal   : Unsupported gpu architecture 'compute_120'": "nvcc-unsupported-arch",
    "ImportError: libGL.so.1: cannot open shared object file: No such file or directory": "libgl-missing",
    "Failed to initialize NVML: Driver/library version mismatch": "nvml-mismatch",
    "W: GPG error: https://example.org/cuda InRelease: NO_PUBKEY A4B469963BF863CC": "apt-no-pubkey",
    "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by x.so)": "glibc-too-old",
    "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].": "docker-no-gpu-driver",
    "docker: Error response from daemon: unknown or invalid runtime name: nvidia": "docker-unknown-runtime",
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4": "ctk-requirement",
}  # fmt: skip
UNRELATED = (
    "hello world",
    "ModuleNotFoundError: No module named 'fastapi'",
    "npm ERR! code ELIFECYCLE",
    "Traceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'model'",
    "make: *** [Makefile:3: all] Error 2",
    "connection refused",
    "",
)


@pytest.mark.parametrize(("message", "name"), MESSAGES.items(), ids=MESSAGES.values())
def test_a_message_is_recognised_alone_and_in_the_noise_of_a_log(message: str, name: str) -> None:
    [alone] = explain(message)
    assert (alone.error.id, alone.line) == (name, 1)
    log = "\n".join(
        ["loading weights 12%"] * 40 + [f"[rank0] {message}"] + ["retrying in 5 s", f"[rank0] {message}"]
    )
    [found] = explain(log)
    assert (found.error.id, found.line, found.count) == (name, 41, 2)


@pytest.mark.parametrize("text", UNRELATED)
def test_what_nobody_knows_is_not_guessed(text: str) -> None:
    assert explain(text) == ()


def test_the_first_error_comes_first_whatever_the_tables_order() -> None:
    late, early = next(iter(MESSAGES)), list(MESSAGES)[4]
    assert [one.error.id for one in explain(f"{early}\n\n{late}")] == [
        "nvcc-unsupported-arch",
        "no-kernel-image",
    ]


def test_what_the_message_names_is_worked_out() -> None:
    [found] = explain("nvcc fatal   : Unsupported gpu architecture 'compute_120'")
    assert found.facts == ("compute_120 needs the compiler of CUDA 12.8 or newer",)
    [old] = explain("nvcc fatal   : Unsupported gpu architecture 'compute_70'")
    assert old.facts[0].endswith("to 12.9")
    [driver] = explain(
        "The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver"
    )
    assert "speaks CUDA 12.4 (branch 550)" in driver.facts[0]


def test_a_line_of_megabytes_and_a_log_of_many_lines_are_no_trouble() -> None:
    assert explain("x" * 3_000_000 + "\n" + next(iter(MESSAGES)))[0].line == 2
    assert explain("step 1 loss 0.5\n" * 5_000) == ()


def test_every_known_error_says_cause_check_and_cure() -> None:
    assert len(known_errors()) > 70
    assert all(one.cause and one.check and one.fix and one.source for one in known_errors())


@pytest.fixture
def run(command: Command) -> Command:
    return partial(command, "explain")


def test_the_command_explains_a_message_a_log_and_a_rule(run: Command) -> None:
    code, out, _ = run(next(iter(MESSAGES)))
    assert code == 0
    assert "try: Rebuild with the GPU in TORCH_CUDA_ARCH_LIST" in out
    code, out, _ = run("-", stdin=b"\xff noise \x1b[31m\n" + "\n".join(MESSAGES).encode())
    assert (code, "\x1b" in out) == (0, False)
    assert "The first one is the likeliest cause" in out
    assert run("GI301")[1].startswith("## GI301")
    assert run("no-kernel-image-anywhere at all")[0] == 1


def test_nothing_known_is_said_with_exit_code_1(run: Command) -> None:
    code, out, err = run("hello world")
    assert (code, out) == (1, "")
    assert err.startswith("not known")


def test_the_readme_shows_what_explain_says(run: Command) -> None:
    for example in shown("### explain"):
        compare(example, run(*example.arguments[1:])[1])
