"""How old the tables are, and when that is too old."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

from gpuimage.tables import _load, _own

STALE_AFTER_DAYS = 120
"""Past it a new PyTorch is all but certain: of the pauses between the 42 torch releases in the tables one was longer
(149 days), and each release moved CUDA builds, drivers or architectures."""

_TODAY = "GPUIMAGE_TODAY"


def today() -> date:
    """Return the day of the question: GPUIMAGE_TODAY (2026-12-24) where it is set, else the clock's, in UTC.

    SOURCE_DATE_EPOCH does not count: it dates what is built, and old tables are as old for an old commit.
    """
    try:
        return date.fromisoformat(os.environ.get(_TODAY, ""))
    except ValueError:
        return datetime.now(UTC).date()


def age(on: date | None = None) -> int:
    """Return the days since the tables were gathered, 0 for a clock that stands before it."""
    gathered = date.fromisoformat(_load.edition().edition)
    return max(0, ((on or today()) - gathered).days)


def staleness(on: date | None = None) -> str | None:
    """Return a sentence for people where the tables are too old, None where they are not.

    A user's own rows do not make them younger: they say nothing about all the rest.
    """
    days = age(on)
    if days <= STALE_AFTER_DAYS:
        return None
    mended = " (your own rows apart)" if _own.tables() else ""
    return (
        f"the tables are of {_load.edition().edition}, {days} days old{mended}: newer CUDA, drivers, GPUs and wheels are not "
        "known to them; upgrade gpuimage, or see what `gpuimage data refresh` finds"
    )
