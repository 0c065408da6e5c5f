"""The list of architectures is set where the build does not see it.

## Why
`export` ends with the shell of its own RUN, and ENV counts for what follows it. A list that is exported in a step of its
own, or set behind the step that compiles, changes nothing there: without a GPU to ask the build stops (pytorch/ort#95,
pytorch/pytorch#28955), and a project with a default compiles all of it.

## Cost
No bytes: the build fails, or takes longer and serves other cards than the file says.

## Instead
ENV in front of the step that compiles, or the export in that step.

## Bad
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
RUN export TORCH_CUDA_ARCH_LIST="8.0;9.0"
RUN FORCE_CUDA=1 python setup.py bdist_wheel
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"
RUN FORCE_CUDA=1 python setup.py bdist_wheel
```

## Not judged
Lists behind a build that has one of its own, and what scripts export.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.arch_lists import ENVIRONMENT, Given
from gpuimage.rules.compiling import Build
from gpuimage.rules.environment import removal, settings_of
from gpuimage.rules.late_lists import blind, lost_exports, set_behind


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at lists behind the builds that lack them, and at exports that nothing can use."""
    if not any(name in file.source.text for name in ENVIRONMENT):
        return
    seen: set[Span] = set()
    for one in lost_exports(file):
        seen.add(one.span)
        yield Hit(
            one.span,
            f"{one.name} is lost: the export ends with its own RUN, and no later step has this arch list",
            "write ENV instead, or export it in the RUN that compiles",
            fix=_as_env(file, one),
        )
    for stage in file.stages:
        for build, name in blind(file, stage) if stage.used else ():
            late = set_behind(file, stage, build, name)
            if late is not None and late.span not in seen:
                seen.add(late.span)
                line = build.call.step.instruction.line
                yield Hit(
                    late.span,
                    f"{name} is set after its use: {build.project or 'what is compiled'} in line {line} is built without this arch list",
                    "move it in front of the step that compiles",
                    fix=_move(file, late, build),
                )


def _as_env(file: FileFacts, one: Given) -> Fix | None:
    """`RUN export X=y` alone becomes `ENV X=y`."""
    instruction = one.step.instruction
    words = one.call.arguments if one.call is not None else ()
    if (
        len(one.step.calls) != 1
        or len(words) != 1
        or not one.exact
        or instruction.flags
        or instruction.heredocs
    ):
        return None
    start, end = instruction.keyword_span.start, one.span.start - len(one.quote)
    if "\n" in file.source.text[start:end]:
        return None
    return Fix("set it with ENV", (Edit(Span(start, end), f"ENV {one.name}="),))


def _move(file: FileFacts, one: Given, build: Build) -> Fix | None:
    """An ENV of this one variable in front of the build that needs it; not where it hangs on what is set between."""
    target = build.call.step.instruction
    if one.kind != "env" or not one.exact or target.onbuild or build.call.step.stage != one.step.stage:
        return None
    setting = next((s for s in settings_of(one.step) if s.name.text == one.name), None)
    alone = len(one.step.instruction.values) == 2
    gone = removal(file, setting) if setting is not None and alone else None
    if gone is None:
        return None
    at = target.keyword_span.start
    quoted = f"{one.quote}{one.text}{one.quote}"
    return Fix(
        f"move {one.name} in front of line {target.line}",
        (Edit(Span(at, at), f"ENV {one.name}={quoted}\n"), gone),
    )


RULE = Rule("GI405", "arch-list-after-use", "warning", check, fix="suggested")
