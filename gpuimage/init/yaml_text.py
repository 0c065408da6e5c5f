"""Values as the YAML of a spec, with a comment behind each line that has one to say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from gpuimage.patterns import pattern

_WIDTH = 100  # characters of a line before its comment
_COLUMN = 40  # where comments begin
# Texts that YAML reads as themselves without quotes, also within brackets.
_PLAIN = pattern(r"(?:[A-Za-z_/]|\./)[A-Za-z0-9_./=<>!~+@-]*(?::[A-Za-z0-9_./-]+)?", re.ASCII)
_WORDS = frozenset("y n yes no true false on off null".split())
# Line breaks to YAML and none to JSON.
_BREAKS = {
    "\u0085": "\\u0085",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
    "\ufeff": "\\ufeff",
    "\x7f": "\\u007f",
}

Key = tuple[str, ...]


def scalar(text: str) -> str:
    """A text in quotes where YAML would read something else."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    for char, escape in _BREAKS.items():
        quoted = quoted.replace(char, escape)
    return re.sub(r"[\x80-\x9f\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", quoted)


def flow(value: object) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    return scalar(str(value))


def written(values: Mapping[str, object], comments: Mapping[Key, str] | None = None) -> str:
    """Keys with their values, ending in a line break; `comments` are found by the place of a key, or of a list's entry as text."""
    return "".join(f"{line}\n" for line in _mapping(values, comments or {}, (), ""))


def _mapping(
    values: Mapping[str, object], comments: Mapping[Key, str], path: Key, indent: str
) -> Iterator[str]:
    for key, value in values.items():
        here, head = (*path, key), f"{indent}{scalar(key)}:"
        if isinstance(value, Mapping) and value:
            yield with_comment(head, comments.get(here, ""))
            yield from _mapping(value, comments, here, f"{indent}  ")
        elif isinstance(value, (list, tuple)) and _in_lines(value, comments, here, head):
            yield with_comment(head, comments.get(here, ""))
            yield from _entries(value, comments, here, f"{indent}  ")
        else:
            yield with_comment(f"{head} {flow(value)}", comments.get(here, ""))


def _in_lines(value: Sequence[object], comments: Mapping[Key, str], here: Key, head: str) -> bool:
    """Whether a list takes a line for each entry: comments that differ, mappings, or too much for one line."""
    own = any((*here, shown_key(entry)) in comments for entry in value)
    return own or any(isinstance(entry, Mapping) for entry in value) or len(head) + len(flow(value)) > _WIDTH


def _entries(value: Sequence[object], comments: Mapping[Key, str], here: Key, indent: str) -> Iterator[str]:
    for entry in value:
        comment = comments.get((*here, shown_key(entry)), "")
        if not isinstance(entry, Mapping) or not entry:
            yield with_comment(f"{indent}- {flow(entry)}", comment)
            continue
        lines = [f"{scalar(str(key))}: {flow(item)}" for key, item in entry.items()]
        yield with_comment(f"{indent}- {lines[0]}", comment)
        yield from (f"{indent}  {line}" for line in lines[1:])


def shown_key(entry: object) -> str:
    """How `comments` names an entry of a list: its text, or the first value of a mapping."""
    return str(next(iter(entry.values()), "")) if isinstance(entry, Mapping) else str(entry)


def with_comment(line: str, comment: str) -> str:
    """A line with its comment behind it."""
    return (
        f"{line:<{_COLUMN}}# {comment}"
        if comment and len(line) < _COLUMN
        else f"{line}  # {comment}"
        if comment
        else line
    )
