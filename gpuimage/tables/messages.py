"""Error messages of drivers, CUDA, frameworks and engines, and what is behind each."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._rows import ErrorRow


class KnownError(Struct, frozen=True):
    """A message: when it appears, what causes it, how to check that, and what to do.

    A text that `pattern` matches holds one of `words`. `elsewhere` names what causes it where neither a spec nor an
    image does. `follows` are errors that cause this one where they stand in the same log. A `notice` is also printed
    where all is well.
    """

    id: str
    pattern: re.Pattern[str]
    words: tuple[str, ...]
    stage: Literal["build", "start", "run"]
    cause: str
    check: str
    fix: str
    elsewhere: str | None
    follows: tuple[str, ...]
    notice: bool
    source: str
    verified: bool


@cache
def known_errors() -> tuple[KnownError, ...]:
    """Return every message that the tables know, in their order: the more exact ones stand first."""
    return tuple(map(_known, _load.errors().errors))


def _known(row: ErrorRow) -> KnownError:
    return KnownError(
        id=row.id,
        pattern=re.compile(row.regex),
        words=row.words,
        stage=row.stage,
        cause=row.cause,
        check=row.check,
        fix=row.fix,
        elsewhere=row.elsewhere,
        follows=row.follows,
        notice=row.notice,
        source=row.source,
        verified=row.verified,
    )
