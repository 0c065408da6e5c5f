"""A user's own rows: what the shipped tables do not know yet, or know otherwise.

They stand in `~/.config/gpuimage/data/<table>.json` ($XDG_CONFIG_HOME counts), or in the directory that
GPUIMAGE_DATA names, which then is the only one; an empty GPUIMAGE_DATA means none. A file has the shape of the
shipped one and holds only the rows it adds; a row with the key of a shipped one takes its place. What an answer
draws from them carries `user's FILE` in its source.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, get_args

import msgspec

from gpuimage.errors import Location
from gpuimage.tables._answers import DataError, did_you_mean
from gpuimage.tables._laws import SHAPES
from gpuimage.tables._own_json import line_at, parse, row_places
from gpuimage.tables._sections import SECTIONS, Key, Row, in_order, key_of, named, rows_at
from gpuimage.tables._shipped import shipped

VARIABLE = "GPUIMAGE_DATA"
_LARGEST = 16_000_000  # bytes: the largest shipped table has 100 kB


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

    def line_about(self, text: str) -> int | None:
        """The line of the row that a breach speaks of: the longest key that stands in its text."""
        told = [
            (len(name), section, number)
            for section, rows in self.sections.items()
            for number, row in enumerate(rows)
            if (name := named(row, SECTIONS[self.table][section])) and name in text
        ]
        if not told:
            return None
        _, section, number = max(told)
        return _line(self.text, section, number)


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
    return {table.table: table for name in names if (table := read_own(folder / name)).count}


@cache
def digest() -> str:
    """Return the first 8 hex digits of SHA-256 over all own rows, "" where there are none."""
    if not tables():
        return ""
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


def read_own(path: Path) -> OwnTable:
    """Read and check one file of own rows."""
    return own_table(path, _text(path))


def own_table(path: Path, text: str) -> OwnTable:
    """Check the text of a file of own rows, shape and keys; the laws are for the whole it is merged into."""
    if path.stem not in SECTIONS:
        hint = f"tables are {', '.join(SECTIONS)}"
        raise DataError(
            f"there is no table {path.stem}{did_you_mean(path.stem, SECTIONS)}",
            where=Location(path), hint=hint,
        )  # fmt: skip
    sections = dict(_sections(path, text, parse(path, text)))
    for section, rows in sections.items():
        _check_rows(path, text, section, rows)
    marked = {section: [_marked(row, path.name) for row in rows] for section, rows in sections.items()}
    return OwnTable(path, text, marked)


def _text(path: Path) -> str:
    try:
        if not path.is_file():
            raise DataError("this is no file", where=Location(path), hint="own rows are JSON files")
        if path.stat().st_size > _LARGEST:
            raise DataError(f"own rows of more than {_LARGEST} bytes are not read", where=Location(path))
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError("own rows must be UTF-8", where=Location(path), why=str(error)) from error
    except OSError as error:
        raise DataError("own rows cannot be read", where=Location(path), why=error.strerror) from error


def _sections(path: Path, text: str, found: object) -> Iterator[tuple[str, list[Row]]]:
    """Yield the sections of a file; only those of the shipped one, and only rows in them."""
    known = SECTIONS[path.stem]
    if not isinstance(found, dict):
        raise DataError(f"own rows stand in an object: {{{_example(path.stem)}}}", where=Location(path, 1))
    for name, value in _flat(found, {section.rpartition(".")[0] for section in known}):
        if name == "schema":
            continue
        if name not in known:
            hint = f"rows can be added to {', '.join(known)}"
            what = f"{path.stem} takes no own {name}{did_you_mean(name, known)}"
            raise DataError(what, where=Location(path), hint=hint)
        if not isinstance(value, list):
            raise DataError(f"{name} must be a list of rows", where=Location(path))
        for number, row in enumerate(value):
            if not isinstance(row, dict):
                _refuse(path, text, name, number, "a row must be an object")
        yield name, value


def _flat(found: Mapping[str, Any], holders: set[str]) -> Iterator[tuple[str, object]]:
    for name, value in found.items():
        if name in holders and isinstance(value, dict):
            yield from ((f"{name}.{inner}", rows) for inner, rows in value.items())
        else:
            yield name, value


def _check_rows(path: Path, text: str, section: str, rows: list[Row]) -> None:
    fields, seen = SECTIONS[path.stem][section], set[Key]()
    like = _Like(path.stem, section)
    for number, row in enumerate(rows):
        if like.says_verified:
            row.setdefault("verified", False)
        key = key_of(row, fields)
        if key in seen:
            _refuse(path, text, section, number, f"{named(row, fields)} stands here twice")
        seen.add(key)
        if wrong := like.wrong_with(_marked(row, path.name)):
            _refuse(path, text, section, number, wrong, named(row, fields))


def _refuse(path: Path, text: str, section: str, number: int, why: str, name: str = "") -> NoReturn:
    row = f"row {number + 1} of {section}" + (f" ({name})" if name else "")
    raise DataError(f"{row}: {why}", where=Location(path, _line(text, section, number)))


def _line(text: str, section: str, number: int) -> int | None:
    return next((line_at(text, at) for where, at in row_places(text) if where == (section, number)), None)


def _row_type(table: str, section: str) -> type | None:
    """Return the type of a section's rows, None where nothing but people reads them with care."""
    kind: Any = SHAPES[table][0] if table in SHAPES else None
    for part in section.split("."):
        if kind is None:
            return None
        kind = next((field.type for field in msgspec.structs.fields(kind) if field.name == part), None)
    found: type | None = get_args(kind)[0] if kind is not None else None
    return found


class _Like:
    """What the rows of a section must look like.

    Where code reads them as they are, without a type: the keys that every shipped row has, with values of the same types.
    """

    def __init__(self, table: str, section: str) -> None:
        self._kind = _row_type(table, section)
        self._required: set[str] = set()
        self._types: dict[str, set[type]] = {}
        if self._kind is None:
            rows = rows_at(json.loads(shipped(f"{table}.json")), section)
            self._required = set.intersection(*(set(row) for row in rows))
            for row in rows:
                for name, value in row.items():
                    self._types.setdefault(name, set()).add(type(value))

    @property
    def says_verified(self) -> bool:
        """Whether its rows say if they are verified; one that does not is not."""
        names = (
            self._types if self._kind is None else [one.name for one in msgspec.structs.fields(self._kind)]
        )
        return "verified" in names

    def wrong_with(self, row: Row) -> str | None:
        """Say what is wrong with a row."""
        if self._kind is not None:
            try:
                msgspec.convert(row, self._kind)
            except msgspec.ValidationError as error:
                text = str(error).replace(" - at `$.", " - at `")
                return text[0].lower() + text[1:]
        if lacking := sorted(self._required - set(row)):
            return f"object missing required field `{lacking[0]}`"
        for name, value in row.items():
            known = self._types.get(name)
            if known and type(value) not in known:
                return f"expected {' or '.join(sorted({_JSON[kind] for kind in known}))} - at `{name}`"
            if name in _PATTERNS and not _compiles(value):
                return f"this is no regular expression - at `{name}`"
        return None


_JSON = {
    str: "text", int: "number", float: "number", bool: "true or false", list: "list", dict: "object", type(None): "null",
}  # fmt: skip
_PATTERNS = frozenset({"repository", "tag", "regex"})


def _compiles(value: object) -> bool:
    try:
        re.compile(str(value))
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _example(table: str) -> str:
    return ", ".join(f'"{section}": [...]' for section in SECTIONS[table])


def _marked(row: Row, file: str) -> Row:
    """Return a row whose sources name the user's file."""
    mark = f"user's {file}"
    found: Row = _with_sources(row, lambda text: f"{text} ({mark})")
    if not any(_is_source(name) for name in row):
        found["source"] = mark
    return found


def unmarked(row: Row, table: str) -> Row:
    """Return a row as it stands in a file: its sources do not name the user's file."""
    found: Row = _with_sources(row, lambda text: text.removesuffix(f" (user's {table}.json)"))
    return found


def _with_sources(value: Any, change: Callable[[str], str]) -> Any:  # any part of a JSON document
    if isinstance(value, list):
        return [_with_sources(part, change) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        name: change(part)
        if isinstance(part, str) and part and _is_source(name)
        else _with_sources(part, change)
        for name, part in value.items()
    }


def _is_source(name: str) -> bool:
    return name == "source" or name.endswith("_source")
