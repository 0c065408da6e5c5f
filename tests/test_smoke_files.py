"""T0 on small made-up roots: what must pass, what must fail and with which name, and what only looks like a fault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpuimage.arch import ArchList
from gpuimage.engine import ImageInfo, LayerInfo
from gpuimage.inspect import inspect_directory
from gpuimage.smoke import Expectation, Verdict
from gpuimage.smoke.static import static_verdicts
from tests.elves import elf
from tests.fatbins import container, entry, library

LIB = "usr/lib/x86_64-linux-gnu"
SITE = "usr/local/lib/python3.13/site-packages/nvidia"
CUDNN = [
    f"libcudnn{part}.so.9"
    for part in ("", "_adv", "_cnn", "_engines_precompiled", "_engines_runtime_compiled", "_graph", "_heuristic", "_ops")
]  # fmt: skip
RUNTIME = Expectation(flavor="runtime", jit="none")


def judge(
    root: Path,
    files: Mapping[str, bytes | str],
    expectation: Expectation = RUNTIME,
    *,
    env: tuple[str, ...] = (),
    size: int = 0,
    layers: tuple[LayerInfo, ...] = (),
) -> dict[str, Verdict]:
    """Write a root (bytes: a file, a str: a link to it), judge it, and give the verdicts by name."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            path.chmod(0o755)
    image = ImageInfo("sha256:0", size, layers, env)
    return {
        verdict.probe: verdict for verdict in static_verdicts(inspect_directory(root), image, expectation)
    }


def test_a_library_that_nothing_brings_fails_by_name(tmp_path: Path) -> None:
    found = judge(tmp_path, {"usr/bin/tool": elf(needed=["libgone.so.1"])})["elf-closure"]
    assert found.status == "failed"
    assert "/usr/bin/tool needs libgone.so.1" in found.reason


def test_what_the_driver_brings_is_not_missing(tmp_path: Path) -> None:
    found = judge(tmp_path, {"usr/bin/tool": elf(needed=["libcuda.so.1", "libnvidia-ml.so.1"])})[
        "elf-closure"
    ]
    assert found.status == "passed"
    assert "2 of the driver's come from the host" in found.reason


@pytest.mark.parametrize("lost", CUDNN[1:])
def test_each_part_of_cudnn_is_missed_by_name(tmp_path: Path, lost: str) -> None:
    files = {f"{SITE}/cudnn/lib/{name}": elf(soname=name) for name in CUDNN if name != lost}
    found = judge(tmp_path, files)["dlopen-families"]
    assert found.status == "failed"
    assert lost in found.reason


def test_a_whole_cudnn_passes_and_an_image_without_families_is_skipped(tmp_path: Path) -> None:
    whole = {f"{SITE}/cudnn/lib/{name}": elf(soname=name) for name in CUDNN}
    assert judge(tmp_path / "a", whole)["dlopen-families"].status == "passed"
    assert judge(tmp_path / "b", {"usr/bin/x": b"#!/bin/sh\n"})["dlopen-families"].status == "skipped"


@pytest.mark.parametrize(
    ("path", "content", "env", "status"),
    [
        (f"{LIB}/libcuda.so.1", elf(soname="libcuda.so.1"), (), "failed"),
        (f"{LIB}/libcuda.so.550.54.14", elf(soname="libcuda.so.1"), (), "failed"),
        (f"{LIB}/libnvidia-ml.so.1", elf(), (), "failed"),
        (f"{LIB}/libcuda.so.1", b"", (), "passed"),  # what a container toolkit's mount leaves behind
        (f"{LIB}/libcudart.so.12", elf(), (), "passed"),
        ("usr/local/cuda-12.8/compat/libcuda.so.1", elf(), (), "passed"),
        ("usr/local/cuda-12.8/compat/libcuda.so.1", elf(), ("LD_LIBRARY_PATH=/usr/local/cuda-12.8/compat",), "failed"),
    ],
)  # fmt: skip
def test_a_driver_in_the_image_fails_where_it_would_be_loaded(
    tmp_path: Path, path: str, content: bytes, env: tuple[str, ...], status: str
) -> None:
    found = judge(tmp_path, {path: content}, env=env)["driver-not-baked"]
    assert found.status == status
    assert status == "passed" or f"/{path}" in found.reason


STUB = "usr/local/cuda/lib64/stubs/libcuda.so"


@pytest.mark.parametrize(
    ("more", "env", "status"),
    [
        ({}, (), "passed"),  # as every devel image has it
        ({}, ("LIBRARY_PATH=/usr/local/cuda/lib64/stubs",), "passed"),  # for the linker, not for the loader
        ({}, ("LD_LIBRARY_PATH=/opt/x:/usr/local/cuda/lib64/stubs",), "failed"),
        ({f"{LIB}/libcuda.so.1": f"/{STUB}"}, (), "failed"),
        ({"etc/ld.so.conf.d/s.conf": b"/usr/local/cuda/lib64/stubs\n", "etc/ld.so.conf": b"include ld.so.conf.d/*\n"}, (), "failed"),
    ],
    ids=["off the path", "for the linker", "LD_LIBRARY_PATH", "a link", "ld.so.conf"],
)  # fmt: skip
def test_a_stub_fails_where_the_loader_would_find_it(
    tmp_path: Path, more: dict[str, bytes | str], env: tuple[str, ...], status: str
) -> None:
    found = judge(tmp_path, {STUB: elf(soname="libcuda.so.1"), **more}, env=env)
    assert found["stubs-off-the-library-path"].status == status
    assert found["driver-not-baked"].status == "passed"


NVCC: dict[str, bytes | str] = {
    "usr/local/cuda-13.0/bin/nvcc": elf(size=2_000_000),
    "usr/local/cuda": "cuda-13.0",
}


@pytest.mark.parametrize(
    ("expectation", "present", "status", "says"),
    [
        (Expectation(flavor="devel", jit="none"), True, "passed", "flavor: devel promises nvcc"),
        (Expectation(flavor="devel", jit="none"), False, "failed", "there is none"),
        (Expectation(flavor="runtime", jit="nvcc"), True, "passed", "jit: nvcc promises nvcc"),
        (Expectation(flavor="runtime", jit="nvcc"), False, "failed", "there is none"),
        (RUNTIME, True, "failed", "nvcc is at /usr/local/cuda-13.0/bin/nvcc (2 MB"),
        (RUNTIME, False, "passed", "there is none"),
        (Expectation(), True, "skipped", "nvcc is at"),
        (Expectation(), False, "skipped", "there is no nvcc"),
    ],
)
def test_nvcc_is_where_it_was_promised_and_nowhere_else(
    tmp_path: Path, expectation: Expectation, *, present: bool, status: str, says: str
) -> None:
    found = judge(tmp_path, NVCC if present else {"x": b""}, expectation)["nvcc-as-promised"]
    assert (found.status, says in found.reason) == (status, True)


def test_an_nvcc_that_may_not_be_run_is_none(tmp_path: Path) -> None:
    path = tmp_path / "usr/local/cuda/bin/nvcc"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"text")
    found = judge(tmp_path, {}, Expectation(flavor="devel", jit="none"))["nvcc-as-promised"]
    assert found.status == "failed"


TWICE: dict[str, bytes | str] = {
    "usr/local/cuda/lib64/libcudart.so.12": elf(soname="libcudart.so.12", size=700_000),
    f"{SITE}/cuda_runtime/lib/libcudart.so.12": elf(soname="libcudart.so.12", size=700_000),
}


@pytest.mark.parametrize(
    ("files", "expectation", "status"),
    [
        (TWICE, RUNTIME, "failed"),
        (TWICE, Expectation(flavor="devel", jit="none"), "passed"),
        (TWICE, Expectation(flavor="runtime", jit="nvcc"), "passed"),
        (TWICE, Expectation(), "failed"),
        ({**TWICE, **NVCC}, Expectation(), "passed"),
        ({f"{LIB}/libcudart.so.12": elf(), f"{SITE}/cu13/lib/libcudart.so.13": elf()}, RUNTIME, "failed"),
        ({f"{LIB}/libcudart.so.12.8.90": elf(), f"{LIB}/libcudart.so.12": "libcudart.so.12.8.90"}, RUNTIME, "passed"),
        ({"usr/bin/x": b""}, RUNTIME, "passed"),
    ],
    ids=["twice", "devel", "nvcc by packages", "no spec", "no spec, with nvcc", "two majors", "a link", "none"],
)  # fmt: skip
def test_cuda_is_there_once(
    tmp_path: Path, files: dict[str, bytes | str], expectation: Expectation, status: str
) -> None:
    files = {name: content for name, content in files.items() if name != "usr/local/cuda"}
    found = judge(tmp_path, files, expectation)["one-cuda-only"]
    assert found.status == status
    if status == "failed":
        assert "libcudart.so.12" in found.reason or "12 and 13" in found.reason


def test_budgets_are_held_with_their_numbers(tmp_path: Path) -> None:
    layers = (LayerInfo("RUN small", 10), LayerInfo("RUN pip install torch", 3_000_000_000))
    budget = Expectation(image_budget=4_000_000_000, layer_budget=2_000_000_000)
    found = judge(tmp_path, {"x": b""}, budget, size=3_500_000_000, layers=layers)["size-budget"]
    assert found.status == "failed"
    assert found.reason == "layer budget 2.00 GB: RUN pip install torch has 3.00 GB"
    passed = judge(tmp_path, {}, Expectation(image_budget=4_000_000_000), size=3_500_000_000)["size-budget"]
    assert (passed.status, passed.reason) == ("passed", "image: 3.50 GB of 4.00 GB")
    assert judge(tmp_path, {})["size-budget"].status == "skipped"


@pytest.mark.parametrize(
    ("budget", "status"),
    [
        ({"image_budget": 6_000}, "passed"), ({"image_budget": 5_999}, "failed"),
        ({"layer_budget": 5_000}, "passed"), ({"layer_budget": 4_999}, "failed"),
        ({"wheel_budget": 3_000}, "passed"), ({"wheel_budget": 2_999}, "failed"),
    ],
)  # fmt: skip
def test_each_budget_is_held_to_the_byte(tmp_path: Path, budget: dict[str, int], status: str) -> None:
    info = "usr/lib/python3/dist-packages/fat-1.0.dist-info"
    files: dict[str, bytes | str] = {
        "usr/lib/python3/dist-packages/fat.bin": b"x" * 3_000,
        f"{info}/METADATA": b"Name: fat\nVersion: 1.0\n",
        f"{info}/RECORD": b"fat.bin,,\n",
    }
    layers = (LayerInfo("RUN base", 1_000), LayerInfo("RUN pip install fat", 5_000))
    found = judge(tmp_path, files, Expectation(**budget), size=6_000, layers=layers)["size-budget"]  # type: ignore[arg-type]
    assert found.status == status
    if status == "failed":
        assert found.evidence
        assert ("fat" in found.reason) == ("image_budget" not in budget)


@pytest.mark.parametrize(
    ("archs", "expectation", "status", "reason"),
    [
        (
            "8.0 9.0",
            Expectation(arch=ArchList.parse("8.6;9.0")),
            "passed",
            "1 file with GPU code serves 8.6;9.0",
        ),
        (
            "8.0",
            Expectation(arch=ArchList.parse("8.6;9.0")),
            "failed",
            "no code for 9.0: it has machine code for 8.0",
        ),
        (
            "8.0",
            Expectation(),
            "skipped",
            "no architecture was promised; 1 file with GPU code is made for 8.0",
        ),
        (
            "8.0",
            Expectation(cpu_only=True),
            "failed",
            "no GPU was promised, and there is 1 file with GPU code",
        ),
        ("", Expectation(arch=ArchList.parse("8.6")), "skipped", "no file has GPU code of its own"),
        ("", Expectation(cpu_only=True), "passed", "no file has GPU code"),
        ("", Expectation(), "passed", "no file has GPU code"),
    ],
)
def test_gpu_code_covers_what_was_promised(
    tmp_path: Path, archs: str, expectation: Expectation, status: str, reason: str
) -> None:
    files = (
        {"usr/lib/k.so": library(container(*(entry("cubin", arch) for arch in archs.split())))}
        if archs
        else {"x": b""}
    )
    found = judge(tmp_path, files, expectation)["gpu-code"]
    assert found.status == status
    assert reason in found.reason


def test_code_that_the_driver_must_compile_passes_and_is_told(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"usr/lib/k.so": library(container(entry("ptx", "8.0", isa="8.4")))}
    found = judge(tmp_path, files, Expectation(arch=ArchList.parse("9.0")))["gpu-code"]
    assert found.status == "passed"
    assert "compiled at first use, by driver 550.54.14 or newer" in found.reason


def test_code_that_the_promised_driver_cannot_compile_fails(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"usr/lib/k.so": library(container(entry("ptx", "8.0", isa="8.4")))}
    wanted = Expectation(arch=ArchList.parse("9.0"), driver="535")
    found = judge(tmp_path, files, wanted)["gpu-code"]
    assert found.status == "failed"
    assert "needs driver 550.54.14 or newer" in found.reason


def test_symbol_versions_are_judged_by_what_the_loader_would_find(tmp_path: Path) -> None:
    assert judge(tmp_path, {"x": b""})["symbol-versions"].status == "skipped"
    assert judge(tmp_path, {"usr/bin/a": elf(needed=[])})["symbol-versions"].status == "passed"
