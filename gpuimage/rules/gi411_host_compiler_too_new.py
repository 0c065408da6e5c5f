"""nvcc is given a host compiler that is newer than this CUDA takes.

## Why
Each toolkit has a newest gcc: 12 for CUDA 12.0 to 12.3, 13 up to 12.6, 14 for 12.8 and 12.9 (`crt/host_config.h` of each
release, read for cuda_releases.json, 2026-12). With a newer one nvcc stops: `unsupported GNU version`
(NVlabs/instant-ngp#1562, ggml-org/llama.cpp#24447). CUDAHOSTCXX, NVCC_CCBIN, `-ccbin` and CMAKE_CUDA_HOST_COMPILER choose it;
CC does for PyTorch's extensions; else it is the `g++` of the system.

## Cost
No bytes: the build fails.

## Instead
Install and choose the g++ that this CUDA takes, or take a newer CUDA.

## Bad
```dockerfile
FROM nvidia/cuda:12.2.2-devel-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends g++-13 cmake
ENV CUDAHOSTCXX=g++-13
RUN cmake -S /src -B /b && cmake --build /b
```

## Good
```dockerfile
FROM nvidia/cuda:12.2.2-devel-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends g++-12 cmake
ENV CUDAHOSTCXX=g++-12
RUN cmake -S /src -B /b && cmake --build /b
```

## Not judged
Stages that compile nothing, `-allow-unsupported-compiler`, clang, compilers from conda, toolkits whose version only the build
knows, and compilers that are installed but not chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import Call, FileFacts, StageFacts, Step
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.arch_lists import support
from gpuimage.rules.compiling import builds, default_gcc, inner
from gpuimage.rules.environment import settings_of
from gpuimage.rules.toolkits import toolkit
from gpuimage.tables import NvccSupport

_GCC = pattern(r"(?:\S*/)?(?:gcc|g\+\+)-(?P<major>[1-9][0-9]?)")
_BINDIR = pattern(r"(?:-ccbin|--compiler-bindir)[= ](?P<name>\S+)")
_HOST = pattern(r"-DCMAKE_CUDA_HOST_COMPILER(?::\w+)?=(?P<name>\S+)")
_SURE = ("CUDAHOSTCXX", "NVCC_CCBIN")
_COMPILERS = frozenset({"nvcc", "cmake", "make", "ninja", "meson", "bazel"})
_SYSTEM = frozenset(
    {
        "/usr/bin/g++",
        "/usr/bin/gcc",
        "/usr/bin/c++",
        "/usr/bin/cc",
        "/usr/local/bin/g++",
        "/usr/local/bin/gcc",
    }
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at the stages that compile, with a toolkit whose version is known."""
    if (
        "gcc" not in file.source.text
        and "g++" not in file.source.text
        and "build-essential" not in file.source.text
    ):
        return
    seen: set[Span] = set()
    for stage in file.stages:
        takes = support(toolkit(file, stage.end)) if stage.used else None
        if takes is None or not _compiles(file, stage) or _allowed(file, stage):
            continue
        found = _chosen(file, stage, takes)
        if found is not None and found[0] not in seen:
            seen.add(found[0])
            yield _hit(takes, *found)


def _compiles(file: FileFacts, stage: StageFacts) -> bool:
    return any(call.name in _COMPILERS for step in stage.chain for call in step.calls) or any(
        builds(file, step) for step in stage.chain
    )


def _allowed(file: FileFacts, stage: StageFacts) -> bool:
    return any("allow-unsupported-compiler" in file.source[step.instruction.span] for step in stage.chain)


def _hit(takes: NvccSupport, span: Span, major: int, sure: bool) -> Hit:
    known = "" if takes.host_gcc_verified else " as far as known"
    return Hit(
        span,
        f"gcc {major} is the host compiler, and nvcc of CUDA {takes.cuda} takes g++ up to {takes.host_gcc_max}{known}: it stops at an unsupported GNU version",
        f"install and choose g++-{takes.host_gcc_max}, or take a newer CUDA",
        severity="error" if takes.host_gcc_verified and sure else "warning",
    )


def _chosen(file: FileFacts, stage: StageFacts, takes: NvccSupport) -> tuple[Span, int, bool] | None:
    """The compiler that nvcc gets, where it is too new: its place, and whether it is certain."""
    by_name = _by_variables(file, stage)
    for name in (*_SURE, "CC", "CXX"):
        if name in by_name:
            span, major = by_name[name]
            extension = any(builds(file, step) for step in stage.chain)
            if major is None or (name == "CC" and not extension and "CXX" in by_name):
                continue
            sure = name in _SURE or (name == "CC" and extension)
            if major > takes.host_gcc_max:
                return span, major, sure
            if sure:
                return None
    for step in stage.chain:
        for call in step.calls:
            found = _by_call(file, call)
            if found is not None and found[1] > takes.host_gcc_max:
                return (*found, True)
    return _by_default(file, stage, takes)


def _by_variables(file: FileFacts, stage: StageFacts) -> dict[str, tuple[Span, int | None]]:
    """The last choice of each variable; None where only the build knows it."""
    found: dict[str, tuple[Span, int | None]] = {}
    for step in stage.chain:
        for setting in settings_of(step):
            if setting.name.text in (*_SURE, "CC", "CXX"):
                match = _GCC.fullmatch(setting.value or "")
                found[setting.name.text] = (setting.given.span, int(match["major"]) if match else None)
        for call in step.calls:
            for name, argument in call.program.command.assignments:
                match = _GCC.fullmatch(argument.value or "") if name in (*_SURE, "CC", "CXX") else None
                if match and (call.name in _COMPILERS or builds(file, step)):
                    found[name] = (call.script.place(argument.span), int(match["major"]))
    return found


def _by_call(file: FileFacts, call: Call) -> tuple[Span, int] | None:
    """`nvcc -ccbin`, CMake's definition, the alternative or link that makes it the system's."""
    text = call.text
    name = None
    if call.name == "nvcc":
        name = _BINDIR.search(text)
    elif call.name == "cmake":
        name = _HOST.search(text)
    if name is not None:
        match = _GCC.fullmatch(name["name"])
        return (_place(file, call, name["name"]), int(match["major"])) if match else None
    default = call.name == "update-alternatives" or (
        call.name == "ln" and str(call.arguments[-1] if call.arguments else "") in _SYSTEM
    )
    if default and (_SYSTEM & set(call.values) or {"gcc", "g++"} & set(call.values)):
        for argument in call.arguments:
            match = _GCC.fullmatch(str(argument))
            if match:
                return call.place(argument), int(match["major"])
    return None


def _place(file: FileFacts, call: Call, text: str) -> Span:
    return next(
        (inner(file, call, argument, text) for argument in call.arguments if text in argument.raw), call.span
    )


def _by_default(file: FileFacts, stage: StageFacts, takes: NvccSupport) -> tuple[Span, int, bool] | None:
    """The g++ of the distribution, where a toolkit of another origin meets it; NVIDIA's own images fit."""
    root = stage.root
    if root.kind not in ("plain", "python") or root.os is None:
        return None
    major = default_gcc(root.os)
    if major is None or major <= takes.host_gcc_max or _other_gcc(file, stage):
        return None
    return next(
        (
            (call.span, major, True)
            for step in stage.chain
            for call in step.calls
            if call.name == "nvcc" and _links(call)
        ),
        None,
    )


def _links(call: Call) -> bool:
    """Whether nvcc compiles, and does not only tell its version."""
    return any(value.endswith((".cu", ".cpp", ".c")) for value in call.values)


def _other_gcc(file: FileFacts, stage: StageFacts) -> bool:
    """Whether another g++ than the distribution's default may be meant."""
    return any(
        re.match(r"(?:g\+\+|gcc|clang|nvidia-cuda-toolkit)-?\d*$", package.name)
        and package.name not in ("g++", "gcc")
        for step in stage.chain
        for system in file.system(step)
        for package in system.packages
    ) or any(_mentions(step) for step in stage.chain)


def _mentions(step: Step) -> bool:
    return any(_GCC.fullmatch(value) for call in step.calls for value in call.values)


RULE = Rule("GI411", "host-compiler-too-new", "error", check)
