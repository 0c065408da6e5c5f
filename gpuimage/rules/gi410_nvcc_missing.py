"""CUDA code is compiled in a stage that has no nvcc.

## Why
The `base` and `runtime` tags of nvidia/cuda and pytorch/pytorch, and images without CUDA, hold no compiler: nvcc comes with
`devel` tags and with the packages cuda-nvcc and cuda-toolkit (the CUDA container sources). The command is not found; PyTorch's
extension builder stops as CUDA_HOME is not set, CMake as it finds no CUDA compiler.

## Cost
No bytes: the build fails.

## Instead
Compile in a stage from the `devel` tag of the same CUDA, and copy the result.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
COPY a.cu /
RUN nvcc -o /a /a.cu
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build
COPY a.cu /
RUN nvcc -o /a /a.cu
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
COPY --from=build /a /a
```

## Not judged
Bases that nobody knows, and stages where a package, a copy, a mount, an archive or a script may have brought a toolkit.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import Call, FileFacts, Step
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.compiling import builds, root_of
from gpuimage.rules.shared import built_steps
from gpuimage.rules.toolkits import toolkit

# Switches that make a project compile CUDA code (llama.cpp, whisper.cpp, stable-diffusion.cpp and what wraps them).
_SWITCH = pattern(
    r"-D(?:GGML_CUDA|LLAMA_CUDA|LLAMA_CUBLAS|GGML_CUBLAS|WHISPER_CUBLAS|WHISPER_CUDA|SD_CUDA|SD_CUBLAS)=(?:ON|on|1|TRUE)\b"
)
_WRAPPERS = frozenset({"llama-cpp-python", "pywhispercpp", "stable-diffusion-cpp-python"})


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at what is compiled where the base has no compiler."""
    for step in built_steps(file):
        root = root_of(file, step)
        if step.instruction.keyword != "RUN" or root.has_nvcc is not False or root.kind == "rocm":
            continue
        found = [(span, what) for span, what in _compiled(file, step)]
        if found and toolkit(file, step).present is False:
            for span, what in found:
                yield Hit(
                    span,
                    f"{what}, and there is no nvcc in {root.text}: the build fails",
                    "compile in a stage from the devel image of the same CUDA, or install cuda-nvcc in this one",
                )


def _compiled(file: FileFacts, step: Step) -> Iterator[tuple[Span, str]]:
    for call in step.calls:
        if call.tolerated:
            continue
        if call.name == "nvcc":
            yield call.span, "nvcc is run"
        elif call.name == "cmake" and _SWITCH.search(call.text):
            yield call.span, "CMake is told to build with CUDA"
    for build in builds(file, step):
        if (
            build.sure
            and build.archs in ("list", "own", "")
            and not build.call.tolerated
            and not build.fetched
        ):
            yield build.span, f"{build.project or 'the extension'} compiles CUDA code"
    for install in file.python(step):
        wanted = install.find(*_WRAPPERS)
        if (
            wanted is not None
            and not install.extra_indexes
            and install.index is None
            and _switched(install.call)
        ):
            yield wanted.span, f"{wanted.name} is told to build with CUDA"


def _switched(call: Call) -> bool:
    value = call.variable("CMAKE_ARGS")
    return isinstance(value, str) and bool(_SWITCH.search(value)) and not call.tolerated


RULE = Rule("GI410", "nvcc-missing", "error", check)
