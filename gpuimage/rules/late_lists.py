"""Lists of architectures that a build does not see: set behind it, or lost with the RUN that exports them."""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts, Step
from gpuimage.rules.arch_lists import ENVIRONMENT, Given, given, lists_of
from gpuimage.rules.compiling import Build, ancestry, builds, needs_list, root_of, scope

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

    def read() -> Iterator[Given]:
        for step in stage.chain:
            if step.instruction.keyword in ("ENV", "ARG"):
                # An ARG may take its value from in front of the first FROM: that one stands before every build.
                yield from (
                    one for one in lists_of(file, step) if step.instruction.span.start <= one.span.start
                )

    found = file.once("late lists", stage.steps[0], lambda: tuple(read()))
    return next((one for one in found if one.name == name and one.span.start > start), None)


def lost_exports(file: FileFacts) -> tuple[Given, ...]:
    """The exports that nothing behind them in their RUN can use."""
    if not file.stages:
        return ()
    return file.once(
        "lost exports",
        file.stages[0].steps[0],
        lambda: tuple(
            one for one in given(file, *ENVIRONMENT) if one.kind == "export" and _last(one.step, one)
        ),
    )


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
    start, own = build.call.step.instruction.span.start, build.call.step.stage
    lost = [one for one in lost_exports(file) if one.name == name and one.step.instruction.span.start < start]
    for stage in file.stages:
        above = ancestry(file, stage)
        if not stage.used or own not in above:
            continue
        if set_behind(file, stage, build, name) is not None or any(one.step.stage in above for one in lost):
            return True
    return False
