"""What compiles at run time, and where its compiler comes from: wheels, packages or the base."""

from __future__ import annotations

from dataclasses import replace

from gpuimage.plan.base import Base
from gpuimage.plan.draft import Draft
from gpuimage.plan.types import CudaHome
from gpuimage.plan.wanted import Wanted
from gpuimage.plan.wheels import CudaChoice

# Since CUDA 13 the compiler is whole as wheels; those of CUDA 12 lack nvcc itself.
_FIRST_AS_WHEELS = 13
_CUDA_BASES = ("base", "runtime", "devel")
# Names of `cuda-toolkit`'s extras: it pins each part of a release, whose versions do not follow CUDA's.
_EXTRAS = "cccl,crt,nvcc,nvvm"


def nvcc_as_wheels(draft: Draft, cuda: CudaChoice, base: Base) -> bool:
    """Whether nvcc is installed as wheels; on a base of nvidia/cuda it comes from that base's repository."""
    return (
        draft.spec.jit == "nvcc"
        and cuda.major is not None
        and cuda.major >= _FIRST_AS_WHEELS
        and base.flavor not in _CUDA_BASES
    )


def with_nvcc(draft: Draft, want: Wanted, cuda: CudaChoice, base: Base) -> Wanted:
    """What is asked for, and with it the wheels of nvcc where it comes as wheels.

    The runtime is asked for by minor version only: what else is in the lock may need one point release of it.
    """
    if not nvcc_as_wheels(draft, cuda, base) or not cuda.minor:
        return want
    lines = (f"cuda-toolkit[{_EXTRAS}]=={cuda.minor}.*", f"nvidia-cuda-runtime=={cuda.minor}.*")
    return replace(want, lines=want.lines + lines)


def cuda_home(draft: Draft, cuda: CudaChoice, base: Base) -> tuple[CudaHome, ...]:
    """The step that makes a toolkit of the compiler's wheels; none where nvcc does not come as wheels."""
    if not nvcc_as_wheels(draft, cuda, base) or cuda.major is None:
        return ()
    because = (
        "the compiler's wheels lie in Python's folder: nvcc looks for its libraries in lib64, linkers for a libcudart "
        "without a version, and build tools for /usr/local/cuda"
    )
    return (CudaHome(cuda.major, because),)


def compilers(draft: Draft, cuda: CudaChoice, base: Base) -> tuple[tuple[str, ...], str]:
    """The distribution's packages that `jit` needs, and why; none in a devel image, whose base has them."""
    spec = draft.spec
    if spec.jit == "none":
        _none(draft, cuda)
    if spec.jit == "none" or spec.flavor == "devel":
        return (), ""
    # The official Python images, and what is copied from them, have their headers.
    headers = ("python3-dev",) if base.python == "apt" else ()
    if spec.jit == "triton":
        why = "builds a small module in C, against Python's headers, before its first launch"
        draft.decide("jit", "a C compiler in the image", f"triton {why}", key="jit")
        return ("gcc", "libc6-dev", *headers), f"for jit: triton, which {why}"
    draft.decide(
        "jit",
        "nvcc, a C++ compiler and CUDA's headers in the image",
        "jit: nvcc compiles kernels at run time; a devel base would bring profilers and static libraries too",
        key="jit",
    )
    because = "for jit: nvcc, which has the host's C++ compiler do its part of each file"
    if nvcc_as_wheels(draft, cuda, base) or not cuda.minor:
        return ("g++", *headers), because
    return (f"cuda-minimal-build-{cuda.minor.replace('.', '-')}", "g++", *headers), because


def _none(draft: Draft, cuda: CudaChoice) -> None:
    draft.decide(
        "jit",
        "no compiler in the image",
        "jit: none promises that nothing compiles at run time",
        key="jit",
    )
    for name in cuda.needs_nvcc_at_run:
        draft.warn(
            "jit",
            f"{name} compiles at run time",
            "it needs nvcc in the image unless its kernels were installed beforehand",
            key="jit",
        )
