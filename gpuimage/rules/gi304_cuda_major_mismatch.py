"""An extension is compiled with another CUDA major than torch was built for.

## Why
torch's extension builder compares the toolkit with the CUDA of torch: another major raises "The detected CUDA version mismatches
the version that was used to compile PyTorch", another minor only warns (torch 2.14.1 source).

## Cost
No bytes: the build fails.

## Instead
Take torch from the index of the toolkit's major, or the devel image of torch's.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN pip install --no-cache-dir torch==2.6.0 --index-url https://download.pytorch.org/whl/cu118
RUN pip install --no-cache-dir --no-build-isolation flash-attn==2.7.4
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN pip install --no-cache-dir torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124
RUN pip install --no-cache-dir --no-build-isolation flash-attn==2.7.4
```

## Not judged
Images that compile nothing: wheels run on any CUDA of their own, whatever the base holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.facts.runs import Call
from gpuimage.finding import Hit, Rule
from gpuimage.rules.compiling import builds
from gpuimage.rules.toolkits import toolkit
from gpuimage.tables import Unknown, cuda_of_variant, torch_release


def check(file: FileFacts) -> Iterator[Hit]:
    """Compare toolkit and torch of every build of an extension."""
    for stage in file.stages:
        for step in stage.steps if stage.used else ():
            for build in builds(file, step):
                cuda, torch = toolkit(file, step).cuda, _torch(file, stage, build.call)
                isolated = build.install is not None and not build.install.no_isolation
                if cuda and torch and not isolated and _major(torch) != _major(cuda):
                    yield Hit(
                        build.span,
                        f"this compiles with CUDA {cuda} for a torch that was built for CUDA {torch}: another major stops the build",
                        f"take torch from a CUDA {_major(cuda)} index, or a devel image of CUDA {torch}",
                    )


def _major(cuda: str) -> str:
    return cuda.partition(".")[0]


def _torch(file: FileFacts, stage: StageFacts, before: Call) -> str | None:
    """The CUDA version that the torch was built for which a command finds; None where nobody knows."""
    found = file.once("torch builds", stage.steps[0], lambda: tuple(_torches(file, stage)))
    start = before.span.start
    return next((minor for at, minor in reversed(found) if at < start), None)


def _torches(file: FileFacts, stage: StageFacts) -> Iterator[tuple[int, str | None]]:
    for install in file.python_of(stage):
        one = install.find("torch")
        if one is None or install.builds:
            continue
        variant = install.variant(one)
        if variant is None and one.public and install.index is None:
            release = torch_release(one.public)
            variant = None if isinstance(release, Unknown) else release.default_variant
        minor = cuda_of_variant(variant) if variant else None
        yield install.call.span.start, minor if isinstance(minor, str) else None


RULE = Rule("GI304", "cuda-major-mismatch", "error", check)
