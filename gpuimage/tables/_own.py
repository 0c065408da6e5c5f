"""A user's own rows: what the shipped tables do not know yet, or know otherwise.

They stand in `~/.config/gpuimage/data/<table>.json` ($XDG_CONFIG_HOME counts), or in the directory that
GPUIMAGE_DATA names, which then is the only one; an empty GPUIMAGE_DATA means none. A file has the shape of the
shipped one and holds only the rows it adds; a row with the key of a shipped one takes its place. What an answer
draws from them carries `user's FILE` in its source.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gpuimage.errors import Location
from gpuimage.tables._answers import DataError
from gpuimage.tables._sections import SECTIONS, Key, Row, in_order, key_of, rows_at

VARIABLE = "GPUIMAGE_DATA"


class OwnTable(msgspec.Struct, frozen=True):
    """The own rows of one table: section to rows, their sources marked; `text` is the file as it was read."""

    path: Path
    text: str
    sections: Mapping[str, list[Row]]

    @property
    def table(self) -> str:
        """The table they belong to."""
        return self.path.stem

    @property
    def count(self) -> int:
        """How many rows it adds or replaces."""
        return sum(map(len, self.sections.values()))

    def keys(self, section: str) -> set[Key]:
        """What tells these rows of a section from others."""
        fields = SECTIONS[self.table][section]
        return {key_of(row, fields) for row in self.sections.get(section, ())}


def directory() -> Path | None:
    """Return where own rows are looked for, whether it exists or not; None where there are to be none."""
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return Path(chosen) if chosen else None
    config = os.environ.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(config):  # noqa: PTH117  # the base directory specification ignores a relative one
        return Path(config, "gpuimage", "data")
    home = os.path.expanduser("~")  # noqa: PTH111  # without a home it stays as it is, and nothing is raised
    return Path(home, ".config", "gpuimage", "data") if home != "~" else None


@cache
def tables() -> Mapping[str, OwnTable]:
    """Return the own rows by table; DataError, with file and line, for a file that cannot be taken."""
    folder = directory()
    if folder is None:
        return {}
    if not os.path.isdir(folder):  # noqa: PTH112  # the one look at the disk where there are none; never raises
        if os.environ.get(VARIABLE):
            raise DataError(f"{VARIABLE} names {folder}, which is no directory", hint=f"mkdir -p {folder}")
        return {}
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))  # noqa: PTH208
    except OSError as error:
        raise DataError(
            "these own rows cannot be read", where=Location(folder), why=error.strerror
        ) from error
    from gpuimage.tables._own_files import read_own  # noqa: PLC0415  # for the few who have own rows

    return {table.table: table for name in names if (table := read_own(folder / name)).count}


def own_rows() -> Mapping[str, int]:
    """Return how many rows each of the user's files adds or replaces, by its name."""
    return {own.path.name: own.count for own in tables().values()}


@cache
def digest() -> str:
    """Return the first 8 hex digits of SHA-256 over all own rows, "" where there are none."""
    if not tables():
        return ""
    import hashlib  # noqa: PLC0415  # for the few who have own rows

    rows = {name: own.sections for name, own in tables().items()}
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:8]


def merge(document: dict[str, Any], own: OwnTable) -> dict[str, Any]:
    """Put own rows into a table: in the place of the row with the same key, else by order, else in front."""
    for section, rows in own.sections.items():
        fields = SECTIONS[own.table][section]
        mine = {key_of(row, fields): row for row in rows}
        there = [mine.pop(key_of(row, fields), row) for row in rows_at(document, section)]
        whole = [*mine.values(), *there]
        order = in_order(own.table, section)
        *above, last = section.split(".")
        holder = document
        for part in above:
            holder = holder[part]
        holder[last] = sorted(whole, key=order) if order else whole
    return document
