"""JSON that people write by hand: errors with the line, and the place of each row."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from gpuimage.errors import Location
from gpuimage.tables._answers import DataError

_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


def parse(path: Path, text: str) -> object:
    """Decode a JSON document; DataError with the line for what is none, for a name that stands twice, and for NaN."""
    try:
        found: object = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise DataError(
            f"this is no JSON: {error.msg}", where=Location(path, error.lineno, error.colno)
        ) from error
    except RecursionError as error:
        raise DataError("this JSON is nested too deeply", where=Location(path)) from error
    except UnicodeEncodeError as error:
        raise DataError(
            "half a surrogate pair (\\ud800 to \\udfff) is no text", where=Location(path)
        ) from error
    except ValueError as error:
        raise DataError(f"this is no JSON: {error}", where=Location(path)) from error
    return found


def line_at(text: str, offset: int) -> int:
    """Return the line of a character, counted from 1."""
    return text.count("\n", 0, offset) + 1


def row_places(text: str) -> Iterator[tuple[tuple[str, int], int]]:
    """Yield section and number of each row of a sound document with the offset at which it begins."""
    yield from _places(text, _skip(text, 0), "")


def _places(text: str, at: int, prefix: str) -> Iterator[tuple[tuple[str, int], int]]:
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, at) + 1)  # past the colon
        if text[value] == "{":
            yield from _places(text, value, f"{prefix}{name}.")
        elif text[value] == "[":
            yield from (((prefix + name, number), place) for number, place in enumerate(_items(text, value)))
        _, at = _DECODER.raw_decode(text, value)
        at = _past_comma(text, at)


def _items(text: str, at: int) -> Iterator[int]:
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at
        _, at = _DECODER.raw_decode(text, at)
        at = _past_comma(text, at)


def _past_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(
            f"{next(name for name in names if names.count(name) > 1)!r} stands twice in an object"
        )
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
