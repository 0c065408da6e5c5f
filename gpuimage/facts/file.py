"""All that follows from one Dockerfile: its stages, and what each step installs, copies, fetches and deletes."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from msgspec import Struct, field

from gpuimage.dockerfile import Dockerfile, Source
from gpuimage.facts.beside import Context, Copy, copies, find
from gpuimage.facts.paths import Change, changes
from gpuimage.facts.python import PythonInstall, python_installs
from gpuimage.facts.runs import Call
from gpuimage.facts.settings import Settings
from gpuimage.facts.stages import StageFacts, Step, stages
from gpuimage.facts.system import SystemCall, system_call

if TYPE_CHECKING:
    from gpuimage.facts.conda import CondaInstall

T = TypeVar("T")

MOST_INSTRUCTIONS = 2_000
"""Instructions of a file that are judged; no person writes as many, and time and memory stay bounded."""


class FileFacts(Struct, frozen=True, dict=True):
    """One Dockerfile. Questions about a step are answered once and kept.

    `whole` is all that was parsed, `dockerfile` its first MOST_INSTRUCTIONS, of which the facts are. `settings` say what
    the file cannot: where its image will run. `context` reads the files beside it.
    """

    whole: Dockerfile
    settings: Settings = field(default_factory=Settings)
    directory: Path | None = None
    _kept: dict[tuple[str, int], object] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """The text."""
        return self.whole.source

    @cached_property
    def dockerfile(self) -> Dockerfile:
        """What is judged."""
        return self.whole.first(MOST_INSTRUCTIONS)

    @property
    def words(self) -> str:
        """What rules are woken by: the text, what fills its arguments, and marks for what stands in neither."""
        settings = self.settings
        marks = [f"config:{name}" for name in ("driver", "registries") if getattr(settings, name)]
        marks += ["file:stages"] if len(self.dockerfile.stages) > 1 else []
        return "\n".join((self.source.text, *settings.build_args.values(), *marks))

    @cached_property
    def context(self) -> Context:
        """The files beside the Dockerfile."""
        return Context(self.directory)

    @cached_property
    def stages(self) -> tuple[StageFacts, ...]:
        """The stages in the order of the file."""
        return stages(self.dockerfile, target=self.settings.target, build_args=self.settings.build_args)

    @cached_property
    def targets(self) -> tuple[StageFacts, ...]:
        """The stages that are images: the target, or the last stage and those that no other uses."""
        return tuple(stage for stage in self.stages if stage.is_target)

    @property
    def used(self) -> tuple[StageFacts, ...]:
        """The stages that are built at all."""
        return tuple(stage for stage in self.stages if stage.used)

    def python(self, step: Step) -> tuple[PythonInstall, ...]:
        """What a step installs with pip, uv, poetry and their like."""

        def read(path: str) -> tuple[str, str] | None:
            return self.read(step, path)

        return self._once(
            "python", step, lambda: tuple(one for call in step.calls for one in python_installs(call, read))
        )

    def conda(self, step: Step) -> tuple[CondaInstall, ...]:
        """What a step installs with conda."""
        return self._once("conda", step, lambda: tuple(self._conda(step)))

    def _conda(self, step: Step) -> Iterator[CondaInstall]:
        if not any(call.name.endswith(("conda", "mamba")) for call in step.calls):
            return
        from gpuimage.facts.conda import conda_install  # noqa: PLC0415  # few files use it

        for call in step.calls:
            one = conda_install(call, lambda path: self.read(step, path))
            if one is not None:
                yield one

    def system(self, step: Step) -> tuple[SystemCall, ...]:
        """The commands of apt, dnf, apk in a step."""
        return self._once(
            "system",
            step,
            lambda: tuple(one for call in step.calls if (one := system_call(call)) is not None),
        )

    def changes(self, step: Step) -> tuple[Change, ...]:
        """The paths that a step's commands touch."""
        return self._once("changes", step, lambda: tuple(one for call in step.calls for one in changes(call)))

    def copies(self, stage: StageFacts) -> tuple[Copy, ...]:
        """The COPY and ADD of a stage itself, in order."""
        return self._once("copies", stage.steps[0], lambda: tuple(copies(stage, self.dockerfile)))

    def chain_copies(self, stage: StageFacts) -> tuple[Copy, ...]:
        """The COPY and ADD of a stage's parents and its own."""
        above = self.chain_copies(self.stages[stage.parent]) if stage.parent is not None else ()
        return (*above, *self.copies(stage))

    def copies_before(self, step: Step) -> tuple[Copy, ...]:
        """The COPY and ADD that a step finds done."""
        stage = self.stages[step.stage]
        start = step.instruction.span.start
        return tuple(copy for copy in self.chain_copies(stage) if copy.step.instruction.span.start < start)

    def read(self, step: Step, path: str) -> tuple[str, str] | None:
        """The text of a file that a step sees at an absolute path, and its name in the context; None: not known."""
        return find(path, step, self.copies_before(step), self.context)

    def python_of(self, stage: StageFacts) -> Iterator[PythonInstall]:
        """What the parents of a stage and the stage itself install with pip, uv, poetry …, in order."""
        return (one for step in stage.chain for one in self.python(step))

    def conda_of(self, stage: StageFacts) -> Iterator[CondaInstall]:
        """The same with conda."""
        return (one for step in stage.chain for one in self.conda(step))

    def system_of(self, stage: StageFacts) -> Iterator[SystemCall]:
        """The same for apt, dnf, apk."""
        return (one for step in stage.chain for one in self.system(step))

    def calls_of(self, stage: StageFacts) -> Iterator[Call]:
        """Every program that the parents of a stage and the stage itself run."""
        return (call for step in stage.chain for call in step.calls)

    def shipped_python(self, stage: StageFacts) -> Iterator[PythonInstall]:
        """What of Python is in the image of a stage: its own, and environments copied from other stages."""
        yield from (one for one in self.python_of(stage) if not one.builds)
        for copy in self.chain_copies(stage):
            if copy.from_stage is None or copy.from_stage >= copy.step.stage:
                continue
            for one in self.shipped_python(self.stages[copy.from_stage]):
                if any(source and _holds(source, one) for source in copy.sources):
                    yield one

    def once(self, what: str, step: Step, make: Callable[[], T]) -> T:
        """What several rules ask of a step: made once and kept under a name of its own."""
        return self._once(f"rules:{what}", step, make)

    def _once(self, what: str, step: Step, make: Callable[[], T]) -> T:
        key = (what, id(step))
        if key not in self._kept:
            self._kept[key] = make()
        return cast("T", self._kept[key])


def _holds(source: str, install: PythonInstall) -> bool:
    """Whether a copied path holds the environment that a command installs into."""
    path = posixpath.normpath(source)
    if install.target:
        return (install.target + "/").startswith(path.rstrip("/") + "/") or path.startswith(
            install.target + "/lib"
        )
    return (
        path in ("/", "/usr", "/usr/local", "/usr/local/lib", "/opt/conda")
        or "site-packages" in path
        or "dist-packages" in path
    )
