"""What a look at a machine says: lines, each with what was seen and the command that mends it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Area = Literal["engine", "gpu", "network"]
Status = Literal["ok", "warning", "missing", "skipped"]
Purpose = Literal["build", "gpu"]


class Line(Struct, frozen=True, kw_only=True):
    """One thing of the machine.

    `seen` is never empty; `why` says what follows from it, or why it was skipped. `mend` are commands in their order.
    `stops` is what cannot work because of it: a build, or a GPU in a container.
    """

    area: Area
    name: str
    status: Status
    seen: str
    why: str = ""
    mend: tuple[str, ...] = ()
    stops: Purpose | None = None


class Checkup(Struct, frozen=True, kw_only=True):
    """All lines; `engine` is the one that a build would take, None where there is none or none was asked.

    `root` is where the machine's files were read; `required` is what must work besides building.
    """

    root: str
    engine: str | None
    lines: tuple[Line, ...]
    required: frozenset[str] = frozenset()

    def stopped(self, purpose: Purpose) -> tuple[str, ...]:
        """The names of the lines that something cannot work for."""
        return tuple(line.name for line in self.lines if line.stops == purpose)

    @property
    def can_build(self) -> bool:
        """Whether nothing stops a build."""
        return not self.stopped("build")

    @property
    def can_use_gpu(self) -> bool:
        """Whether nothing stops a container from getting a GPU."""
        return not self.stopped("gpu")

    @property
    def passed(self) -> bool:
        """Whether a build is possible, and what else is required."""
        return self.can_build and ("gpu" not in self.required or self.can_use_gpu)
