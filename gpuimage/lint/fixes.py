"""Fixes as edits of the source: applied where they do not overlap, nothing else touched."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from gpuimage.dockerfile import Dockerfile, Source, parse
from gpuimage.finding import Edit, Finding, Fix

_ROUNDS = 10  # a fix may uncover another finding; what does not end by then is left as it was
_ALONE = 50  # fixes that are tried by themselves where all together do not go


class Fixed(Struct, frozen=True):
    """A source with its fixes in it, and what they did."""

    source: Source
    says: tuple[str, ...] = ()


def fix(source: Source, findings_of: Callable[[Source], Sequence[Finding]], *, unsafe: bool) -> Fixed:
    """Apply what can be fixed until nothing is left to; with `unsafe` also what a person must agree to.

    A round is only taken when its result reads as a Dockerfile like the one before, and the findings that it fixes are
    gone: one that did not help (a quote that is never closed holds all that is put behind it) is left out.
    """

    def fixable(source: Source) -> list[Finding]:
        return [one for one in findings_of(source) if one.hit.fix and (one.hit.fix.safe or unsafe)]

    says: list[str] = []
    helpless: set[str] = set()
    left = fixable(source)
    for _ in range(_ROUNDS):
        found = [one for one in left if one.key not in helpless]
        before = parse(source)
        alone = [[one] for one in found[:_ALONE]] if len(found) > 1 else []
        for group in [found, *alone] if found else []:
            after, done = _applied(source, group)
            if not done or not _reads_alike(before, parse(after)) or not _encodes(after):
                continue
            now = fixable(after)
            if _helped(left, now, done):
                source, left = after, now
                says += [one.hit.fix.says for one in done if one.hit.fix]
                break
            if len(group) == 1:
                helpless.add(group[0].key)
        else:
            break
    return Fixed(source, tuple(says))


def _applied(source: Source, found: Sequence[Finding]) -> tuple[Source, list[Finding]]:
    """The source with the fixes in it, and the findings whose fixes went in."""
    text, taken = apply(source, [one.hit.fix for one in found if one.hit.fix])
    after = Source.of(text, bom=source.bom, encoding=source.encoding)
    return after, [one for one in found if one.hit.fix in taken] if text != source.text else []


def _helped(before: Sequence[Finding], after: Sequence[Finding], done: Sequence[Finding]) -> bool:
    """Whether each rule has as many findings fewer as were fixed."""
    was, now, fixed = (Counter(one.rule.code for one in group) for group in (before, after, done))
    return all(now[code] <= was[code] - count for code, count in fixed.items())


def _reads_alike(before: Dockerfile, after: Dockerfile) -> bool:
    """Whether an edited file still holds the same stages, and no instruction that cannot be read is new."""
    same = [(s.name, len(s.instructions)) for s in before.stages]
    now = [(s.name, len(s.instructions)) for s in after.stages]
    fewer = len(same) == len(now) and all(
        a[0] == b[0] and a[1] >= b[1] for a, b in zip(same, now, strict=True)
    )
    return fewer and len(list(after.problems)) <= len(list(before.problems))


def _encodes(source: Source) -> bool:
    try:
        source.encode()
    except UnicodeEncodeError:
        return False
    return True


def apply(source: Source, fixes: Iterable[Fix]) -> tuple[str, list[Fix]]:
    """The text with the fixes in it, and those that went in; one that overlaps an earlier one is left out."""
    taken: list[Edit] = []  # in the order of the text
    done: list[Fix] = []
    for one in fixes:
        fresh = [edit for edit in dict.fromkeys(one.edits) if not _holds(taken, edit)]
        if not any(_overlaps(taken, edit) for edit in fresh):
            for edit in fresh:
                insort(taken, edit, key=_place)
            done.append(one)
    crlf = "\r\n" in source.text
    pieces, at = list[str](), 0
    for edit in taken:
        new = edit.text.replace("\r\n", "\n").replace("\n", "\r\n") if crlf else edit.text
        pieces += (source.text[at : edit.span.start], new)
        at = edit.span.end
    return "".join((*pieces, source.text[at:])), done


def _place(edit: Edit) -> tuple[int, int]:
    return edit.span.start, edit.span.end


def _holds(taken: Sequence[Edit], edit: Edit) -> bool:
    at = bisect_left(taken, _place(edit), key=_place)
    return at < len(taken) and taken[at] == edit


def _overlaps(taken: Sequence[Edit], edit: Edit) -> bool:
    """Whether an edit touches the characters of one in a list in which none overlap, or inserts at the same place."""
    at = bisect_left(taken, _place(edit), key=_place)
    return any(_overlap(edit, other) for other in taken[max(at - 1, 0) : at + 2])


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same characters, or insert at the same place."""
    if one.span.start == other.span.start and (len(one.span) == 0 or len(other.span) == 0):
        return True
    return one.span.start < other.span.end and other.span.start < one.span.end
