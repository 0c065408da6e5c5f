"""nvcc is called in a stage that has none.

## Why
The base and runtime flavors of nvidia/cuda and plain images hold no compiler for CUDA; devel does (base_images.json).

## Cost
No bytes: the build fails.

## Instead
Compile in a stage from a devel image, or install cuda-nvcc of the same version where that is enough.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN nvcc -o /a a.cu
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS build
RUN nvcc -o /a a.cu
```

## Not judged
Bases that are not known, commands that may fail, and stages that install or copy a toolkit in any way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Hit, Rule

_PACKAGES = r"(cuda|cuda-\d+-\d+|cuda-(toolkit|nvcc|minimal-build|compiler|libraries-dev|command-line-tools)\S*|nvidia-cuda-toolkit\S*|nvidia-cuda-dev)"
_TOOLKIT = re.compile(r"cuda|nvcc|nvhpc|hpc_sdk")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every nvcc in a stage whose base is known to have none."""
    for stage in file.stages:
        if not stage.used or stage.root.has_nvcc is not False or _brought(file, stage):
            continue
        for step in stage.steps:
            for call in step.calls:
                if call.name == "nvcc" and not call.tolerated:
                    yield Hit(
                        call.span,
                        f"there is no nvcc in {stage.root.text}: the step fails",
                        "compile in a stage from a devel image, or install cuda-nvcc of the same version",
                    )


def _brought(file: FileFacts, stage: StageFacts) -> bool:
    """Whether anything of the stage may have brought a toolkit."""
    if any(
        call.find(_PACKAGES) or any(not one.known for one in call.packages)
        for call in file.system_of(stage)
        if call.installs
    ):
        return True
    if any(True for _ in file.conda_of(stage)):
        return True
    if any(
        one.name.startswith("nvidia-cuda-nvcc") or one.name == "cuda-toolkit"
        for i in file.python_of(stage)
        for one in i.wanted
    ):
        return True
    for copy in file.chain_copies(stage):
        if any(_TOOLKIT.search(source or "cuda") for source in copy.sources) or (
            copy.from_ and _TOOLKIT.search(copy.target or "")
        ):
            return True
    return any(
        _TOOLKIT.search(change.source)
        for step in stage.chain
        for change in file.changes(step)
        if change.kind in ("fetched", "unpacked")
    ) or any(call.name.endswith(".run") or ".run" in call.text for call in file.calls_of(stage))


RULE = Rule("GI410", "nvcc-missing", "error", check)
