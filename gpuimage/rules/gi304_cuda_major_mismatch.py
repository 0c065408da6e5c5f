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
from gpuimage.rules.builds import OWN_VARIABLE, builds, cuda_of
from gpuimage.tables import Unknown, cuda_of_variant, torch_release


def check(file: FileFacts) -> Iterator[Hit]:
    """Compare toolkit and torch of every stage that compiles an extension."""
    for stage in file.stages:
        cuda = cuda_of(file, stage) if stage.used and stage.root.has_nvcc is not False else None
        if cuda is None:
            continue
        torch = _torch(file, stage)
        if torch is None or torch[1].partition(".")[0] == cuda.partition(".")[0]:
            continue
        call = _compiles(file, stage, torch[0])
        if call is not None:
            yield Hit(
                call.span,
                f"this compiles with CUDA {cuda} for a torch that was built for CUDA {torch[1]}: another major stops the build",
                f"take torch from a CUDA {cuda.partition('.')[0]} index, or a devel image of CUDA {torch[1]}",
            )


def _torch(file: FileFacts, stage: StageFacts) -> tuple[Call, str] | None:
    """The last torch of a stage and the CUDA version that it was built for."""
    found = None
    for install in file.python_of(stage):
        one = install.find("torch")
        if one is None or install.builds:
            continue
        variant = install.variant(one)
        if variant is None and one.public and install.index is None:
            release = torch_release(one.public)
            variant = None if isinstance(release, Unknown) else release.default_variant
        minor = cuda_of_variant(variant) if variant else None
        found = (install.call, minor) if isinstance(minor, str) else None
    return found


def _compiles(file: FileFacts, stage: StageFacts, after: Call) -> Call | None:
    for build in builds(file, stage):
        if build.call.span.start > after.span.start and (
            build.sure or build.install is None or build.install.no_isolation
        ):
            return build.call
    for step in stage.steps:
        for install in file.python(step):
            named = any(one.name in OWN_VARIABLE for one in install.wanted)
            if named and install.no_isolation and install.call.span.start > after.span.start:
                return install.call
    return None


RULE = Rule("GI304", "cuda-major-mismatch", "error", check)
