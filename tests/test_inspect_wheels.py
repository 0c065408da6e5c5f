"""The GPU code of real libraries, held against NVIDIA's cuobjdump; `make test ARGS="-m wheels"` reads all of them."""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuimage.arch import ComputeCapability
from gpuimage.inspect import Coverage, GpuFile, Inspection, coverage, inspect_path, read_gpu_code
from gpuimage.inspect.types import GPU_SECTIONS
from tests.lab import LabError
from tests.lab.cuobjdump import CuobjdumpError, listed
from tests.lab.home import Home
from tests.lab.wheels import download, taken_out

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the wheels and cuobjdump are for x86_64"
)

# Wheel to how many of its libraries have GPU code.
DEFAULT = {
    "bitsandbytes==0.48.2": 11,
    "ctranslate2==4.6.1": 1,
    "cupy-cuda12x==13.6.0": 3,
    "nvidia-cufile-cu12==1.13.1.3": 1,
    "nvidia-curand-cu12==10.3.9.90": 1,
    "torchaudio==2.9.1": 2,
    "torchvision==0.24.1": 2,
}
ALL = {
    "nvidia-cublas-cu12==12.8.4.1": 2,
    "nvidia-cudnn-cu12==9.10.2.21": 5,
    "nvidia-cufft-cu12==11.3.3.83": 2,
    "nvidia-cusolver-cu12==11.7.3.90": 2,
    "nvidia-cusparse-cu12==12.5.8.93": 1,
    "nvidia-cusparselt-cu12==0.7.1": 1,
    "nvidia-nccl-cu12==2.27.5": 1,
    "nvidia-nvshmem-cu12==3.3.20": 2,
    "onnxruntime-gpu==1.23.2": 1,
    "torch==2.9.1": 3,
    "xformers==0.0.33.post2": 2,
    "cupy-cuda13x==13.6.0": 3,
    "nvidia-cublas==13.1.0.3": 2,
}
# cuobjdump 13.5 stops at a cubin that it takes for no ELF file; the one of CUDA 12.8 reads the same files.
CUOBJDUMP_FAILS = {
    "libbitsandbytes_cuda120.so",
    "libbitsandbytes_cuda121.so",
    "libbitsandbytes_cuda122.so",
    "libonnxruntime_providers_cuda.so",
}

Read = Callable[[str], tuple[Path, Inspection]]


@pytest.fixture(scope="module")
def read() -> Read:
    """Inspect a wheel from PyPI, each once."""
    home = Home.find()
    known: dict[str, tuple[Path, Inspection]] = {}

    def look(requirement: str) -> tuple[Path, Inspection]:
        if requirement not in known:
            try:
                path = download(home, requirement)
            except LabError as error:
                if os.environ.get("CI") == "true":
                    raise
                pytest.skip(f"no {requirement}: {error}")
            known[requirement] = path, inspect_path(path)[1]
        return known[requirement]

    return look


def counts(file: GpuFile) -> Counter[tuple[str, str]]:
    """What cuobjdump sees too: the two sections of containers."""
    return Counter(
        (code.kind, str(code.capability))
        for container in file.containers
        if container.section in GPU_SECTIONS
        for code in container.code
    )


def every(wheels: dict[str, int], mark: tuple[pytest.MarkDecorator, ...]) -> list[object]:
    return [pytest.param(name, number, marks=mark) for name, number in wheels.items()]


@pytest.mark.parametrize(("requirement", "number"), [*every(DEFAULT, ()), *every(ALL, (pytest.mark.wheels,))])
def test_counts_are_those_of_cuobjdump(requirement: str, number: int, read: Read, tmp_path: Path) -> None:
    wheel, found = read(requirement)
    assert found.problems == ()
    assert len(found.gpu) == number
    for file in found.gpu:
        with taken_out(wheel, file.path[1:], tmp_path) as path:
            mapped = read_gpu_code(path)
            assert mapped is not None
            if file.name not in CUOBJDUMP_FAILS:
                assert counts(file) == listed(path)
            else:
                with pytest.raises(CuobjdumpError, match="Invalid ELF"):
                    listed(path)
        # The same from the stream of the zip file and from the file on disk, where the tables name no more sections.
        assert counts(mapped) == counts(file)


def answers(found: Inspection, targets: str) -> dict[tuple[str, str], Coverage]:
    wanted = tuple(map(ComputeCapability.parse, targets.split()))
    return {(one.path.rpartition("/")[2], str(one.target)): one for one in coverage(found.gpu, wanted)}


def test_torch_2_9_1_has_nothing_for_pascal_and_thor_and_no_ptx(read: Read) -> None:
    _, found = read("torch==2.9.1")
    told = answers(found, "6.1 7.0 8.6 9.0 10.3 11.0 12.1")
    for target in ("6.1", "11.0"):
        lost = told["libtorch_cuda.so", target]
        assert (lost.state, lost.native, lost.jit, lost.nothing, lost.severity) == (
            "none",
            0,
            0,
            397,
            "error",
        )
        assert lost.because.endswith("and no PTX")
    assert told["libtorch_cuda_linalg.so", "6.1"].state == "native"  # it has 6.0
    assert {told["libtorch_cuda.so", target].native for target in ("7.0", "8.6", "9.0", "10.3", "12.1")} == {
        397
    }


def test_ctranslate2_4_6_1_is_compiled_by_the_driver_from_hopper_on(read: Read) -> None:
    _, found = read("ctranslate2==4.6.1")
    told = answers(found, "7.5 8.9 9.0 12.0")
    assert [(one.state, one.severity) for one in told.values()] == [
        ("native", None),
        ("native", None),
        ("jit", "warning"),
        ("jit", "warning"),
    ]


@pytest.mark.wheels
def test_cufft_keeps_its_code_where_cuobjdump_does_not_look(read: Read) -> None:
    _, found = read("nvidia-cufft-cu12==11.3.3.83")
    [cufft] = [file for file in found.gpu if file.name == "libcufft.so.11"]
    assert Counter(container.section for container in cufft.containers) == {".ldata": 23531, ".nv_fatbin": 1}
    assert answers(found, "8.6")["libcufft.so.11", "8.6"].severity is None
