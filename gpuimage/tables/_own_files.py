"""Files of own rows, read and checked: shape, keys and the form of each row; the laws are for the whole they are merged into."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, get_args

import msgspec

from gpuimage.errors import Location
from gpuimage.tables._answers import DataError, did_you_mean
from gpuimage.tables._laws import SHAPES
from gpuimage.tables._own import OwnTable
from gpuimage.tables._own_json import line_at, parse, row_places
from gpuimage.tables._sections import SECTIONS, Key, Row, key_of, named, rows_at
from gpuimage.tables._shipped import shipped

_LARGEST = 16_000_000  # bytes: the largest shipped table has 100 kB


def read_own(path: Path) -> OwnTable:
    """Read and check one file of own rows."""
    return own_table(path, _text(path))


def line_about(own: OwnTable, text: str) -> int | None:
    """Return the line of the row that a breach speaks of: the longest key that stands in its text."""
    told = [
        (len(name), section, number)
        for section, rows in own.sections.items()
        for number, row in enumerate(rows)
        if (name := named(row, SECTIONS[own.table][section])) and name in text
    ]
    if not told:
        return None
    _, section, number = max(told)
    return _line(own.text, section, number)


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
    """Return the type of a section's rows, None where they are read as they are."""
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
        self._patterns = _PATTERNS.get(table, ())
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
            if name in self._patterns and not _compiles(value):
                return f"this is no regular expression - at `{name}`"
        return None


_JSON = {
    str: "text", int: "number", float: "number", bool: "true or false", list: "list", dict: "object", type(None): "null",
}  # fmt: skip
_PATTERNS = {"known_bases": ("repository", "tag"), "errors": ("regex",)}


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
