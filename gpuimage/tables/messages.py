"""Error messages of drivers, CUDA, frameworks and engines, and what is behind each."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from msgspec import Struct

from gpuimage.tables import _load


class KnownError(Struct, frozen=True):
    """A message: when it appears, what causes it, how to check that, and what to do."""

    id: str
    pattern: re.Pattern[str]
    stage: Literal["build", "start", "run"]
    cause: str
    check: str
    fix: str
    source: str
    verified: bool


@cache
def known_errors() -> tuple[KnownError, ...]:
    """Return every message that the tables know, in their order: the more exact ones stand first."""
    return tuple(
        KnownError(
            row.id, re.compile(row.regex), row.stage, row.cause, row.check, row.fix, row.source, row.verified
        )
        for row in _load.errors().errors
    )
