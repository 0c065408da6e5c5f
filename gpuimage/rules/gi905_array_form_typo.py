"""A JSON array that is none: the brackets and commas go to the shell.

## Why
CMD, ENTRYPOINT, RUN and their like take an array only as JSON: double quotes, commas between, none at the end, both
brackets. Anything else is a shell command, and `['python', 'app.py']` is no program (Dockerfile reference, exec form).

## Cost
No bytes: the start, or the build, fails.

## Instead
Write it as JSON.

## Bad
```dockerfile
FROM python:3.12-slim
CMD ['python', 'app.py']
```
```dockerfile
FROM python:3.12-slim
ENTRYPOINT ["python", "app.py"
```

## Good
```dockerfile
FROM python:3.12-slim
RUN [ -f /etc/os-release ] && echo found
CMD ["python", "app.py"]
```

## Not judged
Tests of the shell (`RUN [ "$A" = b ] && …`), and arrays whose strings only the shell would resolve.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gpuimage.dockerfile import Instruction
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule

_KEYWORDS = frozenset({"CMD", "ENTRYPOINT", "RUN", "SHELL", "VOLUME", "COPY", "ADD", "HEALTHCHECK"})
_QUOTES = {"'": "'", '"': '"', "“": "”", "”": "”", "‘": "’", "’": "’", "`": "`"}
_EFFECT = {
    "RUN": "the shell gets it as a command and the build fails",
    "COPY": "it is read as names of files and the build fails",
    "ADD": "it is read as names of files and the build fails",
    "VOLUME": "the volume gets the brackets into its name",
    "SHELL": "the build fails",
    "HEALTHCHECK": "the shell gets it as a command and the check fails",
}


def check(file: FileFacts) -> Iterator[Hit]:
    """Each instruction that takes an array and begins like one."""
    for one in file.dockerfile.instructions:
        if one.keyword not in _KEYWORDS or one.json or one.heredocs:
            continue
        text, offset = one.arguments, 0
        if one.keyword == "HEALTHCHECK":
            if not text.upper().startswith("CMD"):
                continue
            offset = len(text) - len(text[3:].lstrip())
            text = text[offset:]
        if text[:1] != "[":
            continue
        found = _read(text, one.keyword)
        if found is not None and found.faults:
            effect = _EFFECT.get(one.keyword, "the shell gets it as a command and the start fails")
            yield Hit(
                one.place(offset, offset + len(text)),
                f"this array is no JSON ({', '.join(dict.fromkeys(found.faults))}): {effect}",
                "write it as JSON: double quotes, commas between, both brackets",
                fix=_fix(one, offset, found),
            )


class _Array(Struct):
    """What was read: its faults, what mends them (start, end, text), and whether it would mean the same in a shell."""

    faults: list[str]
    edits: list[tuple[int, int, str]]
    items: list[str]
    mends: bool = True


def _read(text: str, keyword: str) -> _Array | None:
    """Read a text that begins with a bracket; None for what is meant for the shell."""
    array = _Array([], [], [])
    at, comma, commas, last, end = 1, 0, 0, 0, len(text)
    if text[1:2] in (" ", "\t") and keyword == "RUN" and not _quoted_list(text):
        return None
    while True:
        at = _gap(text, at)
        if at >= end:
            array.faults.append("the closing bracket is missing")
            array.edits.append((end, end, "]"))
            break
        char = text[at]
        if char == "]":
            if comma:
                array.faults.append("a comma stands in front of the closing bracket")
                array.edits.append((comma - 1, comma, ""))
            if text[at + 1 :].strip():
                return None if keyword == "RUN" else _spoilt(array)
            break
        if array.items and not comma:
            array.faults.append("a comma is missing")
            array.edits.append((last, last, ","))
        if char == ",":
            return _spoilt(array)
        at = _item(text, at, array)
        last = at
        at = _gap(text, at)
        comma = at + 1 if text[at : at + 1] == "," else 0
        commas += 1 if comma else 0
        at += 1 if comma else 0
    if not array.items or (keyword == "RUN" and not commas):
        return None
    return array if array.faults else _spoilt(array)


def _quoted_list(text: str) -> bool:
    """Whether the bracket is followed by a quoted word and a comma, which no test of a shell is."""
    at = _gap(text, 1)
    closing = _QUOTES.get(text[at : at + 1])
    end = text.find(closing, at + 1) if closing else -1
    return end > 0 and text[end + 1 :].lstrip()[:1] == ","


def _spoilt(array: _Array) -> _Array:
    array.faults = array.faults or ["its strings or commas are not right"]
    array.mends = False
    return array


def _gap(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _item(text: str, at: int, array: _Array) -> int:
    """Read one string; where it ends."""
    closing = _QUOTES.get(text[at])
    if closing is None:
        end = at
        while end < len(text) and text[end] not in ",]" and not text[end].isspace():
            end += 1
        array.faults.append("a string has no quotes")
        array.edits += [(at, at, '"'), (end, end, '"')]
        array.items.append(text[at:end])
        return end
    end = at + 1
    while end < len(text) and text[end] != closing:
        end += 2 if text[end] == "\\" and closing == '"' else 1
    if end >= len(text):
        array.faults.append("a quote is not closed")
        array.mends = False
        array.items.append(text[at + 1 :])
        return len(text)
    if text[at] != '"':
        array.faults.append("JSON has double quotes only")
        array.edits += [(at, at + 1, '"'), (end, end + 1, '"')]
    array.items.append(text[at + 1 : end])
    return end + 1


def _fix(one: Instruction, offset: int, array: _Array) -> Fix | None:
    """Put the right characters in the place of the wrong ones."""
    if not array.mends or any('"' in item or "\\" in item for item in array.items):
        return None
    edits = []
    for start, end, new in array.edits:
        span = one.place(offset + start, offset + end) if end > start else None
        if span is None:
            before = one.place(offset + start - 1, offset + start)
            span = type(before)(before.end, before.end)
        edits.append(Edit(span, new))
    return Fix("make it JSON", tuple(edits), safe=not any("$" in item for item in array.items))


RULE = Rule("GI905", "array-form-typo", "error", check, fix="safe")
