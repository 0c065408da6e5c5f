"""How BuildKit takes an instruction's text apart: flags, words, pairs, JSON, heredoc markers.

Every function works on the joined text of one instruction and gives offsets into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from msgspec import Struct

SPACES = " \t\v\f\r"
_SPLIT = re.compile(r"[ \t\v\f\r]+")
_MARKER = re.compile(r"(\d*)<<(-?)([^<]*)", re.DOTALL)


class WordsError(ValueError):
    """The text breaks the grammar of its instruction."""


class Word(Struct, frozen=True):
    """A word and where it stands."""

    text: str
    start: int
    end: int


class Marker(Struct, frozen=True):
    """`<<-'EOF'`: `name` ends the body, `expand` says whether variables in it count, `chomp` whether tabs go."""

    name: str
    expand: bool
    chomp: bool
    descriptor: str


def split(text: str, start: int = 0) -> list[Word]:
    """Words between white space; quotes mean nothing here (FROM, COPY, EXPOSE …)."""
    words, at = [], start
    for gap in _SPLIT.finditer(text, start):
        if gap.start() > at:
            words.append(Word(text[at : gap.start()], at, gap.start()))
        at = gap.end()
    if at < len(text):
        words.append(Word(text[at:], at, len(text)))
    return words


def flags(text: str, start: int) -> tuple[list[Word], int]:
    """The `--name=value` words at the start, quotes taken off, and where the arguments begin."""
    found: list[Word] = []
    at = start
    while True:
        at = _gap(text, at)
        if not text.startswith("--", at):
            return found, at
        begin, word, quote = at, "", ""
        while at < len(text) and (quote or not text[at].isspace()):
            char = text[at]
            if char == "\\":
                at += 1
                word += text[at : at + 1]
            elif quote:
                quote = "" if char == quote else quote
                word += "" if not quote else char
            elif char in "'\"":
                quote = char
            else:
                word += char
            at += 1
        if word == "--":
            return found, _gap(text, at)
        found.append(Word(word, begin, at))


def _gap(text: str, at: int) -> int:
    """Where the white space at an offset ends."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def pairs(text: str, start: int, escape: str) -> list[Word]:
    """Words of ENV, LABEL and ARG: white space inside quotes or escaped does not end one."""
    words: list[Word] = []
    at = start
    while True:
        at = _gap(text, at)
        if at >= len(text):
            return words
        begin, quote, end = at, "", at
        while at < len(text) and (quote or not text[at].isspace()):
            char = text[at]
            if char == escape and quote != "'":
                if at + 1 == len(text):  # nothing is left to escape: it goes
                    at += 1
                    break
                at += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            at += 1
            end = at
        words.append(Word(text[begin:end], begin, end))


def array(text: str, start: int) -> tuple[str, ...] | None:
    """The strings of a JSON array, None for what is none; WordsError for an array of other things."""
    rest = text[start:].lstrip()
    if not rest.startswith("["):
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(rest)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(item, str) for item in value):
        raise WordsError("an array here holds strings only")
    return tuple(value)


def markers(text: str) -> Iterator[Marker]:
    """The heredocs that a command opens, in order."""
    if "<<" not in text:
        return
    for word in _shell_words(text):
        match = _MARKER.fullmatch(word)
        if match is None or not match[3] or len(_shell_words(match[3])) != 1:
            continue
        name = _unquoted(match[3])
        yield Marker(name, name == match[3], bool(match[2]), match[1])


def _shell_words(text: str) -> list[str]:
    """Words as a shell splits them, quotes and backslashes kept; none where a quote is not closed."""
    words: list[str] = []
    word, quote, at = "", "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            word += text[at : at + 2]
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char.isspace():
            if word:
                words.append(word)
            word = ""
            at += 1
            continue
        word += char
        at += 1
    if quote:
        return []
    return [*words, word] if word else words


def _unquoted(word: str) -> str:
    out, quote, at = "", "", 0
    while at < len(word):
        char = word[at]
        if char == "\\" and quote != "'":
            at += 1
            out += word[at : at + 1]
        elif quote:
            if char == quote:
                quote = ""
            else:
                out += char
        elif char in "'\"":
            quote = char
        else:
            out += char
        at += 1
    return out
