"""Compilers stay in an image after their last use.

## Why
Compilers and headers are needed while something is built. In a single-stage image they are still there when the service
runs, are pulled with it, and make every security report longer.

## Cost
200 to 600 MB for build-essential and -dev packages (an estimate from notes on linting, 2026-12); a C compiler alone about
170 MB.

## Instead
Build in a stage of its own and copy what came out, or remove the packages in the same RUN that used them.

## Bad
```dockerfile
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake && rm -rf /var/lib/apt/lists/*
RUN git clone --depth 1 https://example.com/tool.git /t && cmake -S /t -B /t/b && cmake --build /t/b && rm -rf /t
```

## Good
```dockerfile
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends build-essential cmake
RUN git clone --depth 1 https://example.com/tool.git /t && cmake -S /t -B /t/b && cmake --build /t/b
FROM python:3.12-slim
COPY --from=build /t/b/tool /usr/local/bin/
```

## Not judged
Images for training or development; devel bases (GI101 speaks of those); images that hold what compiles when it runs:
Triton and `torch.compile` need a C compiler, DeepSpeed, FlashInfer and CuPy compile CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts, SystemCall
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.costs import typical

_COMPILERS = pattern(
    r"build-essential|g\+\+(-\d+)?|gcc(-\d+)?|clang(-\d+)?|cmake|ninja-build|gfortran|base-devel|gcc-c\+\+|rustc|cargo"
)
_BUILDERS = frozenset(
    {"make", "cmake", "ninja", "gcc", "g++", "cc", "c++", "meson", "cargo", "nvcc", "bazel", "configure"}
)
# Projects that call a compiler when they run (their documentation): an image with one of them keeps it rightly.
_JIT = frozenset(
    "torch triton deepspeed flashinfer-python vllm sglang cupy jax tensorflow numba xformers unsloth lmdeploy tilelang".split()
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every image for inference that is built in a single stage."""
    if file.settings.deploy != "inference":
        return
    for stage in file.targets:
        if stage.root.flavor == "devel" or stage.root.kind in ("ngc", "ngc-torch", "unknown", "other"):
            continue
        installs = [(call, name) for call in file.system_of(stage) if call.installs for name in _named(call)]
        if not installs or not _builds(file, stage) or _compiles_when_it_runs(file, stage):
            continue
        left = [(call, name) for call, name in installs if not _removed(file, stage, call, name)]
        if left:
            call, _ = left[-1]
            names = sorted({name for one, name in left if one is call})
            yield Hit(
                call.call.span,
                f"{', '.join(names)} {'stays' if len(names) == 1 else 'stay'} in the image after the last step that compiles",
                "build in a stage of its own, or remove them in the RUN that used them",
                typical("compilers"),
            )


def _named(call: SystemCall) -> list[str]:
    return [one.name for one in call.packages if _COMPILERS.fullmatch(one.name)]


def _builds(file: FileFacts, stage: StageFacts) -> bool:
    return any(call.name in _BUILDERS or call.name.endswith("configure") for call in file.calls_of(stage))


def _compiles_when_it_runs(file: FileFacts, stage: StageFacts) -> bool:
    found = list(file.shipped_python(stage))
    return any(not one.complete or any(w.name in _JIT for w in one.wanted) for one in found) or any(
        file.conda_of(stage)
    )


def _removed(file: FileFacts, stage: StageFacts, call: SystemCall, name: str) -> bool:
    start = call.call.span.start
    step = call.call.step
    return any(
        one.verb in ("remove", "purge", "del", "erase", "autoremove")
        and one.call.span.start > start
        and (not one.packages or any(p.name.rstrip("*") in name or not p.known for p in one.packages))
        for one in file.system(step)
    )


RULE = Rule("GI708", "compilers-left", "note", check)
