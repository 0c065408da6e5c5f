"""Fixes as edits of the source: applied where they do not overlap, nothing else touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from gpuimage.dockerfile import Dockerfile, Source, parse
from gpuimage.finding import Edit, Finding, Fix

_ROUNDS = 10  # a fix may uncover another finding; what does not end by then is left as it was


class Fixed(Struct, frozen=True):
    """A source with its fixes in it, and what they did."""

    source: Source
    says: tuple[str, ...] = ()


def fix(source: Source, findings_of: Callable[[Source], Sequence[Finding]], *, unsafe: bool) -> Fixed:
    """Apply what can be fixed until nothing is left to; with `unsafe` also what a person must agree to.

    A round whose result no longer reads as a Dockerfile like the one before is not taken.
    """
    says: list[str] = []
    for _ in range(_ROUNDS):
        found = [one for one in findings_of(source) if one.hit.fix and (one.hit.fix.safe or unsafe)]
        if not found:
            break
        taken = _together(source, found)
        if taken is None:
            break
        source, said = taken
        says += said
    return Fixed(source, tuple(says))


def _together(source: Source, found: Sequence[Finding]) -> tuple[Source, list[str]] | None:
    """One round: all fixes at once, else each by itself; None where none can be taken."""
    fixes = [one.hit.fix for one in found if one.hit.fix]
    groups: list[Sequence[Fix]] = [fixes, *([one] for one in fixes)] if len(fixes) > 1 else [fixes]
    before = parse(source)
    for group in groups:
        text, taken = apply(source, group)
        after = Source.of(text, bom=source.bom, encoding=source.encoding)
        if taken and text != source.text and _reads_alike(before, parse(after)) and _encodes(after):
            return after, [one.says for one in taken]
    return None


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
    taken: list[Edit] = []
    done: list[Fix] = []
    for one in fixes:
        fresh = [edit for edit in one.edits if edit not in taken]
        if any(_overlap(edit, other) for edit in fresh for other in taken):
            continue
        taken += fresh
        done.append(one)
    text = source.text
    crlf = "\r\n" in text
    for edit in sorted(taken, key=lambda edit: (edit.span.start, edit.span.end), reverse=True):
        new = edit.text.replace("\r\n", "\n").replace("\n", "\r\n") if crlf else edit.text
        text = text[: edit.span.start] + new + text[edit.span.end :]
    return text, done


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same characters, or insert at the same place."""
    if one.span.start == other.span.start and (len(one.span) == 0 or len(other.span) == 0):
        return True
    return one.span.start < other.span.end and other.span.start < one.span.end
