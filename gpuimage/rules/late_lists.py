"""Lists of architectures that a build does not see: set behind it, or lost with the RUN that exports them."""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts, Step
from gpuimage.rules.arch_lists import ENVIRONMENT, Given, given, lists_of
from gpuimage.rules.compiling import Build, builds, needs_list, root_of, scope

# Commands behind an export that use nothing of it.
_IDLE = frozenset({"export", "echo", "printf", "cd", "true", "env", "set", "declare", "printenv", ":"})


def blind(file: FileFacts, stage: StageFacts) -> Iterator[tuple[Build, str]]:
    """The builds of a stage that run without the variable they need, with its name."""
    for step in stage.chain:
        for build in builds(file, step):
            name = (
                build.variable if build.row is not None and build.archs == "own" else needs_list(file, build)
            )
            if name is not None and scope(build.call, root_of(file, step), name) is False:
                yield build, name


def set_behind(file: FileFacts, stage: StageFacts, build: Build, name: str) -> Given | None:
    """The ENV or ARG of a stage that sets a variable behind a build."""
    start = build.call.step.instruction.span.start
    for step in stage.chain:
        if step.instruction.span.start > start and step.instruction.keyword in ("ENV", "ARG"):
            for one in lists_of(file, step):
                if one.name == name and step.instruction.span.start <= one.span.start:
                    return one
    return None


def lost_exports(file: FileFacts, *names: str) -> Iterator[Given]:
    """The exports that nothing behind them in their RUN can use."""
    for one in given(file, *(names or ENVIRONMENT)):
        if one.kind == "export" and one.call is not None and _last(one.step, one):
            yield one


def _last(step: Step, one: Given) -> bool:
    """Whether only idle commands follow an export."""
    behind = False
    for call in step.calls:
        if behind and call.name not in _IDLE:
            return False
        behind = behind or (one.call is not None and call.program is one.call.program)
    return behind


def late(file: FileFacts, build: Build, name: str) -> bool:
    """Whether the list that a build lacks is set too late or lost, which GI405 tells."""
    start = build.call.step.instruction.span.start
    for stage in file.stages:
        if stage.used and any(step is build.call.step for step in stage.chain):
            if set_behind(file, stage, build, name) is not None:
                return True
            places = {step.instruction.span.start for step in stage.chain}
            if any(
                one.step.instruction.span.start in places and one.step.instruction.span.start < start
                for one in lost_exports(file, name)
            ):
                return True
    return False
