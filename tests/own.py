"""A user's own rows in tests, and the tables read anew for them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from gpuimage import tables
from gpuimage.tables._sections import SECTIONS

DATA = Path(tables.__file__).parent.parent / "data"


def forget() -> None:
    """Let every module of ours forget what it has read and worked out."""
    for name, module in list(sys.modules.items()):
        if name.startswith("gpuimage"):
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def shipped(table: str) -> dict[str, Any]:
    """A data file of ours as it is."""
    document: dict[str, Any] = json.loads((DATA / f"{table}.json").read_text(encoding="utf-8"))
    return document


def row_of(table: str, section: str, **wanted: str) -> dict[str, Any]:
    """A copy of the shipped row with these values."""
    rows: list[dict[str, Any]] = shipped(table)[section]
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


def only_rows(table: str, document: dict[str, Any]) -> dict[str, Any]:
    """The sections of a data file that may have own rows, and nothing else of it."""
    found: dict[str, Any] = {}
    for section in SECTIONS[table]:
        holder, source = found, document
        *above, last = section.split(".")
        for part in above:
            holder, source = holder.setdefault(part, {}), source[part]
        holder[last] = source[last]
    return found
