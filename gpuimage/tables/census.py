"""What the tables hold, counted: rows, rows that nobody verified, own rows, and how new their sources are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

from msgspec import Struct

from gpuimage.patterns import pattern
from gpuimage.tables import _load, _own
from gpuimage.tables._laws import SHAPES
from gpuimage.tables._sections import SECTIONS, Row, rows_at
from gpuimage.tables.clock import STALE_AFTER_DAYS, age, today

_DATE = pattern(r"(?<!\d)20\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?(?!\d)")


class TableCount(Struct, frozen=True):
    """One table. `unverified`: rows of which at least a part was recalled, inferred or quoted.

    `newest` is the newest date that a source names (2026-12 or 2026-12-01), None where none names one. `own` rows are the
    user's, `file` is where they stand; rows count them too.
    """

    name: str
    rows: int
    unverified: int
    newest: str | None
    own: int = 0
    file: Path | None = None


class Overview(Struct, frozen=True):
    """The tables as a whole; `edition` is what plans and labels say, `own_directory` where own rows are looked for."""

    edition: str
    gathered: str
    age_days: int
    stale_after_days: int
    own_directory: Path | None
    tables: tuple[TableCount, ...]

    @property
    def stale(self) -> bool:
        """Whether the tables are too old to be trusted about what is new."""
        return self.age_days > self.stale_after_days


def overview(on: date | None = None) -> Overview:
    """Count what the tables hold; `on` is the day of the question, today by default."""
    from gpuimage.tables import edition  # noqa: PLC0415  # the package loads this module

    return Overview(
        edition=edition(),
        gathered=_load.edition().edition,
        age_days=age(on),
        stale_after_days=STALE_AFTER_DAYS,
        own_directory=_own.directory(),
        tables=tuple(_count(table) for table in sorted(SECTIONS)),
    )


def _count(table: str) -> TableCount:
    """Count the rows of a table; DataError where own rows break a law of it, whether an answer needs it or not."""
    document, own = _load.document(table), _own.tables().get(table)
    if own and table in SHAPES:
        _load.held(table, own)
    rows = [row for section in SECTIONS[table] for row in rows_at(document, section)]
    # A source may also name a day to come: when a driver branch ends.
    until = max(_load.edition().edition, today().isoformat())
    dates = [day for row in rows for text in sources(row) for day in _DATE.findall(text) if day <= until]
    return TableCount(
        name=table,
        rows=len(rows),
        unverified=sum(1 for row in rows if not verified(row)),
        newest=max(dates, default=None),
        own=own.count if own else 0,
        file=own.path if own else None,
    )


def sources(value: object) -> Iterator[str]:
    """Yield every text of a row that says where it comes from, or of which day it is."""
    if isinstance(value, list):
        for part in value:
            yield from sources(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            if isinstance(part, str) and (name in ("source", "date") or name.endswith("_source")):
                yield part
            else:
                yield from sources(part)


def verified(row: Row) -> bool:
    """Whether no part of a row says that it is not verified."""
    return all(
        part is not False if name == "verified" or name.endswith("_verified") else _parts_verified(part)
        for name, part in row.items()
    )


def _parts_verified(value: object) -> bool:
    if isinstance(value, list):
        return all(_parts_verified(part) for part in value)
    return not isinstance(value, dict) or verified(value)
