"""The tables for people: what they hold, the rows about one thing, and what an index knows by now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuimage.refresh import Change, Refresh
from gpuimage.reporters.visible import visible
from gpuimage.reporters.wrapped import wrapped
from gpuimage.tables import FoundRow, Overview

_BESIDE = frozenset({"source", "verified"})  # said last, for the whole row


def overview_text(found: Overview) -> str:
    """Edition, age, a line for each table, and where own rows are; ends in a line break."""
    days = "1 day" if found.age_days == 1 else f"{found.age_days} days"
    old = f": too old to know what is new (more than {found.stale_after_days})" if found.stale else ""
    width = max(len(table.name) for table in found.tables)
    lines = [
        f"edition {found.edition}, {days} old{old}",
        "",
        f"{'table':<{width}}  rows  not verified  newest source",
    ]
    for table in found.tables:
        own = f"  {table.own} of your own" if table.own else ""
        newest = f"{table.newest or 'undated':<10}{own}".rstrip()
        lines.append(f"{table.name:<{width}}  {table.rows:>4}  {table.unverified or '–':>12}  {newest}")
    rows, unverified = (sum(getattr(t, what) for t in found.tables) for what in ("rows", "unverified"))
    lines += [f"{'together':<{width}}  {rows:>4}  {unverified:>12}", "", *_own_rows(found)]
    return "\n".join(lines) + "\n"


def _own_rows(found: Overview) -> Iterator[str]:
    files = [table for table in found.tables if table.file]
    if not files:
        place = found.own_directory
        yield f"own rows: none in {_short(place)}" if place else "own rows: none, GPUIMAGE_DATA is empty"
    for table in files:
        yield f"own rows: {table.own} in {_short(table.file)}"


def _short(path: Path | None) -> str:
    try:
        return visible(f"~/{path.relative_to(Path.home())}") if path else ""
    except (ValueError, RuntimeError):
        return visible(str(path))


def rows_text(kind: str, name: str, found: Sequence[FoundRow]) -> str:
    """Every row field by field, with its source; ends in a line break."""
    blocks = [
        "\n".join([
            f"{one.table}.json, {one.section}" + (f"  (your own: {_short(one.file)})" if one.file else ""),
            *_fields(one.row, 2),
            *wrapped("  source: ", visible("; ".join(one.sources) or "named for the whole table"), 10),
            f"  {'verified' if one.verified else 'not verified, or not all of it'}",
        ])
        for one in found
    ]  # fmt: skip
    return "\n\n".join(blocks) + "\n"


def _fields(row: dict[str, object], indent: int) -> Iterator[str]:
    shown = {name: value for name, value in row.items() if name not in _BESIDE}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        head = f"{' ' * indent}{name:<{width}}  "
        if isinstance(value, dict) and value:
            yield head.rstrip()
            yield from _fields(value, indent + 2)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield head.rstrip()
            for part in value:
                text = ", ".join(f"{key} {_plain(one)}" for key, one in part.items())
                yield from wrapped(f"{' ' * indent}- ", visible(text), indent + 2)
        elif isinstance(value, list) and any(" " in str(part) for part in value):
            yield head.rstrip()
            for part in value:
                yield from wrapped(f"{' ' * indent}- ", visible(_plain(part)), indent + 2)
        else:
            yield from wrapped(head, visible(_plain(value)), len(head)) or [head.rstrip()]


def _plain(value: object) -> str:
    if value is None:
        return "not known"
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def refresh_text(found: Refresh, files: Sequence[Path]) -> str:
    """The differences row by row, and what became of them; ends in a line break."""
    lines = [line for change in found.changes for line in _change(change)]
    if found.missing:
        lines += wrapped("not on this index: ", visible(", ".join(found.missing)), 4)
    for minor in found.compilers:
        lines.append(f"CUDA {minor} has a compiler that the tables do not know: --nvcc {minor} looks into it")
    count = len(found.changes)
    rows = "1 row differs" if count == 1 else f"{count} rows differ"
    lines.append(f"{found.index}: {found.asked} projects asked, {rows if count else 'no difference'}")
    lines += [f"wrote {_short(path)}" for path in files]
    if count and not files:
        lines.append("nothing was written: --write keeps these as your own rows")
    return "\n".join(lines) + "\n"


def _change(change: Change) -> Iterator[str]:
    yield visible(f"{change.about}: {'new' if change.kind == 'added' else 'changed'}  ({change.table}.json)")
    for one in change.fields:
        before = "" if change.kind == "added" else f"{_plain(one.before)} -> "
        yield from wrapped(f"  {one.field}: ", visible(before + _plain(one.after)), 6)
