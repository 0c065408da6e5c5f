"""Finds the known errors in a pasted message or a whole log, and puts the first cause first."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from gpuimage.explain.facts import facts
from gpuimage.explain.log import Piece, decoded, pieces
from gpuimage.explain.named import named
from gpuimage.explain.types import Diagnosis
from gpuimage.patterns import pattern
from gpuimage.tables import KnownError, known_errors

_BEFORE = 400  # characters of a line that are searched before a word of a message
_LINE = 2000  # and from there on: no message is longer
_CONTEXT = 3000  # characters behind a message in which its other lines stand
_SHOWN = 400  # characters of a line that are shown
_WRAPPED = 400  # a message that a terminal wrapped is no longer
_BREAKS = ("\n", "\r", "\\n", "\\r")  # a loop's progress bar, and the line breaks of escaped text
_ESCAPED = pattern(r"\\+(?:([nrt])|(?=[\"'/])|u00(2[267]|3[ce]))")
_FRAME = pattern(r"[ \t│┃|]*\n[ \t│┃|]*")  # a break and the frame that a terminal library draws around text
_BUILDS = ("uilding wheel for ", "Failed to build", "setup.py install for ")
_BUILT = pattern(
    r"(?:Failed to build installable wheels for some pyproject\.toml based projects \(|Failed to build:? |uilding wheel for "
    r"|setup\.py install for )[`'\"]?([A-Za-z0-9][\w.-]{0,80})"
)
_CODE = pattern(r"`[^`]{1,400}`|“[^”]{1,400}”")


def explain(text: str) -> tuple[Diagnosis, ...]:
    """Return each known error of a text once, the first cause first; empty where none is known.

    What went wrong first is usually the cause, and what follows its consequence; where the tables know that one error
    causes another, it comes first wherever it stands, and notices that are printed where all is well come last.
    Of the errors that one line matches, the most exact counts.
    """
    return _diagnosed(pieces([text]))


def explain_log(chunks: Iterable[bytes]) -> tuple[Diagnosis, ...]:
    """Do the same for a log of any size, read in parts (of about a megabyte): in bounded memory."""
    return _diagnosed(pieces(decoded(chunks)))


@dataclass(slots=True)
class _Found:
    """One error on its way to a diagnosis."""

    error: KnownError
    line: int
    text: str
    before: str
    after: str
    building: str | None
    count: int = 1


@dataclass(slots=True)
class _Search:
    """What is known after the pieces read so far."""

    found: dict[str, _Found] = field(default_factory=dict)
    building: str | None = None


def _diagnosed(parts: Iterable[Piece]) -> tuple[Diagnosis, ...]:
    search = _Search()
    for part in parts:
        _read(part, search)
    present = search.found.keys()
    made = []
    for one in search.found.values():
        what = named(one.error.id, one.before, one.after)
        follows = [name for name in one.error.follows if name in present]
        made.append(
            Diagnosis(
                error=one.error, line=one.line, text=one.text, count=one.count, facts=facts(one.error.id, what), named=what,
                follows=min(follows, key=lambda name: search.found[name].line, default=None),
                building=one.building or search.building,
            )
        )  # fmt: skip
    return tuple(_ordered(made))


def _ordered(found: Sequence[Diagnosis]) -> Iterator[Diagnosis]:
    """By line, notices last; nothing before what causes it."""
    waiting = sorted(found, key=lambda one: (one.error.notice, one.line))
    done: set[str] = set()
    while waiting:
        at = next((n for n, one in enumerate(waiting) if one.follows is None or one.follows in done), 0)
        one = waiting.pop(at)
        done.add(one.error.id)
        yield one


# One piece of a log


@cache
def _words() -> dict[str, tuple[KnownError, ...]]:
    """The words to look for, and the errors that may be there: plain text is found many times faster than patterns."""
    words: dict[str, tuple[KnownError, ...]] = {}
    for error in known_errors():
        for word in error.words:
            words[word] = (*words.get(word, ()), error)
    return words


def _read(piece: Piece, search: _Search) -> None:
    text, number, counted = piece.text, piece.line, 0
    places = _places(piece)
    ordered = sorted(places)
    built = {
        at: name[1] for word in _BUILDS for at in _all(text, word, piece) if (name := _BUILT.match(text, at))
    }
    end = -1
    for at in sorted(places.keys() | built.keys()):
        if at in built:
            search.building = built[at]
        if at not in places or at < end:
            continue
        end = _end(text, at)
        number += text.count("\n", counted, at)
        counted = at
        here = ordered[bisect_left(ordered, at) : bisect_left(ordered, end)]
        errors = {error.id: error for place in here for error in places[place]}
        _judge(text, _start(text, at), end, errors.values(), number, search)


def _places(piece: Piece) -> dict[int, list[KnownError]]:
    """Where the words of messages stand, and of which errors."""
    places: dict[int, list[KnownError]] = {}
    flat = piece.text.replace("\n", " ")  # a message that a terminal wrapped is found all the same
    for word, errors in _words().items():
        for at in _all(flat, word, piece):
            places.setdefault(at, []).extend(errors)
    return places


def _all(text: str, word: str, piece: Piece) -> Iterator[int]:
    last = piece.end + len(word) - 1  # a word that begins in the piece is the piece's
    at = text.find(word, piece.start, last)
    while at >= 0:
        yield at
        at = text.find(word, at + len(word), last)


def _start(text: str, at: int) -> int:
    """Where the line that a word stands in begins, as far back as it matters."""
    least = max(0, at - _BEFORE)
    return max(
        least, *(found + len(mark) for mark in _BREAKS if (found := text.rfind(mark, least, at)) >= 0), 0
    )


def _end(text: str, at: int) -> int:
    """Where it ends, as far on as it matters."""
    most = min(len(text), at + _LINE)
    return min(most, *(found for mark in _BREAKS if (found := text.find(mark, at, most)) >= 0), most)


def _judge(
    text: str, start: int, end: int, errors: Collection[KnownError], number: int, search: _Search
) -> None:
    """Note the error that a line holds, if it holds one."""
    line = _unescaped(text[start:end])
    best = _best(line, errors)
    if best is None:
        line = _FRAME.sub(" ", _unescaped(text[start : start + _WRAPPED]))
        # Where a pattern skips text, two lines that have nothing to do with each other would do.
        best = _best(line, [error for error in errors if ".{" not in error.pattern.pattern])
    if best is None or _quoted(line, best[0]):
        return
    match, error = best
    if seen := search.found.get(error.id):
        seen.count += 1
        return
    after = line[match.start() :] + _unescaped(text[end : end + _CONTEXT])
    search.found[error.id] = _Found(
        error, number, _shown(line, match), line[: match.start()], after, search.building
    )


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(_plain, text) if "\\" in text else text


def _best(line: str, errors: Iterable[KnownError]) -> tuple[re.Match[str], KnownError] | None:
    """The error that matches most of a line, of those that no other one there causes."""
    matches = [
        (max(found, key=_length), error) for error in errors if (found := [*error.pattern.finditer(line)])
    ]
    there = {error.id for _, error in matches}
    exact = [(match, error) for match, error in matches if not there.intersection(error.follows)] or matches
    return max(exact, key=lambda pair: (_length(pair[0]), -_rank()[pair[1].id]), default=None)


def _length(match: re.Match[str]) -> int:
    return match.end() - match.start()


@cache
def _rank() -> dict[str, int]:
    """The place of each error in the tables, the more exact ones first."""
    return {error.id: place for place, error in enumerate(known_errors())}


def _plain(match: re.Match[str]) -> str:
    if match[1]:
        return {"n": "\n", "r": "\r", "t": "\t"}[match[1]]
    return chr(int(match[2], 16)) if match[2] else ""


def _quoted(line: str, match: re.Match[str]) -> bool:
    """Whether a text about errors quotes the message, as documentation does: in code marks, within a sentence."""
    for code in _CODE.finditer(line):
        if code.start() < match.start() and match.end() <= code.end():
            return len(re.findall(r"[A-Za-z]{2,}", line[: code.start()] + line[code.end() :])) > 2
    return False


def _shown(line: str, match: re.Match[str]) -> str:
    if len(line) <= _SHOWN:
        return line.strip()
    first = max(0, match.start() - 100)
    text = line[first : first + _SHOWN].strip()
    return f"{'…' if first else ''}{text}{'…' if first + _SHOWN < len(line) else ''}"
