"""The host compiler is newer than this nvcc takes.

## Why
Each CUDA release names the newest gcc that it works with in its headers, and stops with "unsupported GNU version" at a newer
one (cuda_releases.json: headers read, or torch's own table).

## Cost
No bytes: the build fails.

## Instead
Take the compiler of the distribution, an older g++-N as CUDAHOSTCXX, or a newer CUDA.

## Bad
```dockerfile
FROM nvidia/cuda:12.2.2-devel-ubuntu22.04
ENV CXX=g++-13 CUDAHOSTCXX=g++-13
RUN cmake -S /src -B /b -DCMAKE_CUDA_ARCHITECTURES="75;86" && cmake --build /b
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
ENV CXX=g++-13 CUDAHOSTCXX=g++-13
RUN cmake -S /src -B /b -DCMAKE_CUDA_ARCHITECTURES="75;86" && cmake --build /b
```

## Not judged
A newer compiler that is installed and not chosen for CUDA, clang, and the default compiler of a distribution.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.facts.runs import Call
from gpuimage.finding import Hit, Rule
from gpuimage.rules.builds import cuda_of
from gpuimage.rules.environment import settings_of
from gpuimage.tables import NvccSupport, nvcc_capabilities

_GCC = re.compile(r"(?:\S*/)?(?:gcc|g\+\+)-(?P<major>\d+)")
_CCBIN = re.compile(r"(?:-ccbin|--compiler-bindir)[ =](?P<name>\S+)")
_COMPILES = frozenset({"nvcc", "cmake", "make", "ninja", "python", "python3", "pip", "uv", "bazel", "meson"})


def check(file: FileFacts) -> Iterator[Hit]:
    """Hold every chosen gcc of a stage that compiles against what its nvcc takes."""
    for stage in file.stages:
        cuda = cuda_of(file, stage) if stage.used else None
        support = nvcc_capabilities(cuda) if cuda else None
        if isinstance(support, NvccSupport) and any(call.name in _COMPILES for call in file.calls_of(stage)):
            found = [(span, major) for span, major in _chosen(stage) if major > support.host_gcc_max]
            if found:
                span, major = found[0]
                yield Hit(
                    span,
                    f"gcc {major} is the host compiler, and nvcc of CUDA {support.cuda} takes gcc up to {support.host_gcc_max}: "
                    "it stops at an unsupported GNU version",
                    f"use g++-{support.host_gcc_max}, or a newer CUDA",
                    severity="error" if support.host_gcc_verified else "warning",
                )


def _chosen(stage: StageFacts) -> Iterator[tuple[Span, int]]:
    """The versions of gcc that a stage chooses for nvcc, the surest first."""
    for names in (("CUDAHOSTCXX", "NVCC_CCBIN", "CMAKE_CUDA_HOST_COMPILER"), ("CXX", "CC")):
        for step in stage.steps:
            for setting in settings_of(step):
                match = _GCC.fullmatch(setting.value or "") if setting.name.text in names else None
                if match:
                    yield setting.given.span, int(match["major"])
    for step in stage.steps:
        for call in step.calls:
            yield from _of_call(call)


def _of_call(call: Call) -> Iterator[tuple[Span, int]]:
    for name in ("CUDAHOSTCXX", "NVCC_CCBIN", "CXX"):
        match = _GCC.fullmatch(call.assigned.get(name) or "")
        if match and call.name in _COMPILES:
            yield call.span, int(match["major"])
    ccbin = _CCBIN.search(call.text) if call.name == "nvcc" else None
    host = re.search(r"-DCMAKE_CUDA_HOST_COMPILER=(?P<name>\S+)", call.text) if call.name == "cmake" else None
    for found in (ccbin, host):
        match = _GCC.fullmatch(found["name"]) if found else None
        if match:
            yield call.span, int(match["major"])
    if call.name == "update-alternatives" and "--install" in call.values:
        match = next((m for value in call.values if (m := _GCC.fullmatch(value))), None)
        if (match and "/usr/bin/g++" in call.values) or (match and "/usr/bin/gcc" in call.values):
            yield call.span, int(match["major"])


RULE = Rule("GI411", "host-compiler-too-new", "error", check)
