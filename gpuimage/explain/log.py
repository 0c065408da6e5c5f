"""A log of any size as text that can be searched: decoded, without terminal codes, in pieces of bounded size."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpuimage.patterns import pattern

AHEAD = 8192
"""Characters behind a place that are there when it is searched: a message, and the lines that follow it."""

_BEHIND = 4096
_CODE = 512  # no terminal code is longer
_ESCAPE = pattern(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[()][0-9A-B]|[ -~])"
    # The same as loggers and `cat -v` write it.
    r"|(?:\\u001[bB]|\\x1[bB]|\\033|\\e|\^\[)\[[0-9;?]{0,32}[A-Za-z]"
)
_SIGNS = ("\x1b", "\\u001", "\\x1", "\\033[", "\\e[", "^[[")  # one of these is in every code
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Piece(NamedTuple):
    """A part of a log: the places from `start` to `end` are its own, the rest is around them; `line` is its first line's number."""

    text: str
    line: int
    start: int
    end: int


def decoded(chunks: Iterable[bytes]) -> Iterator[str]:
    """Decode a log: UTF-8, or UTF-16 as Windows writes it; what cannot be decoded is replaced."""
    decoder: codecs.IncrementalDecoder | None = None
    for chunk in chunks:
        decoder = decoder or codecs.getincrementaldecoder(_encoding(chunk))("replace")
        yield decoder.decode(chunk)
    if decoder:
        yield decoder.decode(b"", final=True)


def pieces(texts: Iterable[str]) -> Iterator[Piece]:
    """Cut a log into overlapping pieces, none much larger than the largest of `texts`."""
    text, line, start = "", 1, 0
    for clean in _clean(texts):
        text += clean
        end = len(text) - AHEAD
        end = (
            text.rfind("\n", start, end) + 1 or end
        )  # whole lines, unless one is longer than all that is read ahead
        if end <= start:
            continue
        yield Piece(text, line, start, end)
        keep = max(0, end - _BEHIND)
        line += text.count("\n", 0, keep)
        text, start = text[keep:], end - keep
    yield Piece(text, line, start, len(text))


def _encoding(first: bytes) -> str:
    for mark, name in _MARKS:
        if first.startswith(mark):
            return name
    sample = first[:512]
    if (
        len(sample) >= 4 and b"\0" in sample
    ):  # UTF-16 without its mark: every second byte of English is a zero
        for name, at in (("utf-16-le", 1), ("utf-16-be", 0)):
            if sample[at::2].count(0) > 0.8 * len(sample[at::2]) and not sample[1 - at :: 2].count(0):
                return name
    return "utf-8"


def _clean(texts: Iterable[str]) -> Iterator[str]:
    """Without terminal codes, zero bytes and the carriage returns of Windows; a code is never cut in two."""
    rest = ""
    for text in texts:
        whole = rest + text
        cut = _cut(whole)
        yield _cleaned(whole[:cut])
        rest = whole[cut:]
    yield _cleaned(rest)


def _cut(text: str) -> int:
    """Where a text may be cut: behind its last line break, else before what may be the beginning of a code."""
    at = text.rfind("\n") + 1
    if at:
        return at
    tail = max(0, len(text) - _CODE)
    begins = [found for mark in ("\x1b", "\\", "^", "\r") if (found := text.find(mark, tail)) >= 0]
    return min(begins, default=len(text))


def _cleaned(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "")
    if any(sign in text for sign in _SIGNS):
        text = _ESCAPE.sub("", text)
    return text.replace("\r\n", "\n") if "\r" in text else text
