"""What can go wrong, and the exit code of each kind.

GpuImageError
├── SpecError           2  the spec, or another input of the user, is wrong
├── PlanError           2  the spec is well-formed, but no correct image follows from it
├── ResolveError        2  the wheels asked for cannot be resolved together
├── UnavailableError    3  an engine, registry or package index does not answer
└── BuildError          4  a step of the image build failed

Exit code 1 is not an error: it is a verdict (findings, budget, smoke).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Location(NamedTuple):
    """A place in a file: line and column count from 1; key is the dotted path (`compile[0].package`)."""

    path: Path
    line: int | None = None
    column: int | None = None
    key: str | None = None

    def __str__(self) -> str:
        parts = [str(self.path), *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


class GpuImageError(Exception):
    """Base of all errors shown to the user: what is wrong, where, why, and the smallest change that helps."""

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        where: Location | None = None,
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        lines = [head]
        if self.why:
            lines.append(f"  why: {self.why}")
        if self.hint:
            lines.append(f"  try: {self.hint}")
        return "\n".join(lines)


class SpecError(GpuImageError):
    """The spec, or another input of the user, is wrong."""


class PlanError(GpuImageError):
    """The spec is well-formed, but no correct image follows from it."""


class ResolveError(GpuImageError):
    """The wheels asked for cannot be resolved together."""


class UnavailableError(GpuImageError):
    """An engine, registry or package index does not answer."""

    exit_code = 3


class BuildError(GpuImageError):
    """A step of the image build failed; `log` holds the last lines of its output."""

    exit_code = 4

    def __init__(
        self,
        what: str,
        *,
        where: Location | None = None,
        why: str | None = None,
        hint: str | None = None,
        log: tuple[str, ...] = (),
    ) -> None:
        super().__init__(what, where=where, why=why, hint=hint)
        self.log = log
