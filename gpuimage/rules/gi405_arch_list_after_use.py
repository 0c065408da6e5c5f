"""TORCH_CUDA_ARCH_LIST is set where the build does not see it.

## Why
`export` holds for its own RUN alone, and ENV for the steps behind it. A list that is exported in a step of its own, or set
behind the step that compiles, changes nothing there.

## Cost
No bytes: the build fails without a list, or compiles for what it finds.

## Instead
Put ENV in front of the step that compiles, or the export into that step.

## Bad
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
RUN export TORCH_CUDA_ARCH_LIST="8.0;9.0"
RUN python setup.py bdist_wheel
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"
RUN python setup.py bdist_wheel
```

## Not judged
Lists that a later step or the running container may still use.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.builds import OWN_VARIABLE, TORCH_LIST, builds, list_settings


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at lists behind the last build, and at exports in steps that build nothing."""
    for stage in file.stages:
        if stage.used:
            yield from _late(file, stage)


def _late(file: FileFacts, stage: StageFacts) -> Iterator[Hit]:
    found = [build.call for build in builds(file, stage) if build.name not in OWN_VARIABLE]
    without = [call for call in found if not call.is_set(TORCH_LIST)]
    for setting in list_settings(file, stage, TORCH_LIST):
        here = setting.step.instruction
        if setting.call is not None and setting.call.name == "export":
            last = setting.step.calls[-1]
            if last is setting.call and here.keyword == "RUN":
                yield Hit(
                    setting.call.span,
                    "this export ends with its RUN: no later step has the list of architectures",
                    "use ENV, or export it in the RUN that compiles",
                )
        elif here.keyword == "ENV" and without and all(call.span.start < here.span.start for call in found):
            line = without[-1].step.instruction.line
            yield Hit(
                setting.span,
                f"the list of architectures is set after line {line} compiled without it",
                "move this ENV in front of the step that compiles",
            )


RULE = Rule("GI405", "arch-list-after-use", "warning", check)
