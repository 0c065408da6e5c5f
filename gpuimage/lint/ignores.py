"""Comments that silence findings.

`# gpuimage: ignore=GI301,name why` above an instruction, or between the lines of one, counts for that instruction;
`ignore-stage=` for the stage, `ignore-file=` for the file. hadolint's own comments count for the rules that have a twin.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from gpuimage.dockerfile import Dockerfile, Instruction, Span
from gpuimage.finding import Rule
from gpuimage.patterns import pattern

_OURS = pattern(
    r"#\s*gpuimage:\s*(?P<kind>ignore(?:-file|-stage)?)(?:\s*=\s*(?P<names>[\w-]+(?:\s*,\s*[\w-]+)*))?\s*(?P<reason>.*)",
    re.IGNORECASE,
)
_THEIRS = pattern(
    r"#\s*hadolint\s+(?P<all>global\s+)?ignore\s*=\s*(?P<names>[\w-]+(?:\s*,\s*[\w-]+)*)", re.IGNORECASE
)


class _Comment(Struct):
    """A comment: where it stands, where it counts, which rules it names, and which of them had something to ignore."""

    place: Span
    counts: Span
    codes: frozenset[str]
    unknown: tuple[str, ...] = ()
    reason: str = ""
    ours: bool = True
    used: set[str] | None = None

    def covers(self, rule: Rule, offset: int) -> bool:
        """Whether it silences a finding; it is then used."""
        if rule.code not in self.codes or not self.counts.start <= offset < self.counts.end:
            return False
        self.used = (self.used or set()) | {rule.code}
        return True


class Ignores:
    """The comments of one file."""

    def __init__(self, comments: Sequence[_Comment] = ()) -> None:
        self._comments = comments

    def __bool__(self) -> bool:
        return bool(self._comments)

    def covers(self, rule: Rule, offset: int) -> bool:
        """Whether a finding at an offset of the source is silenced."""
        covering = [
            comment for comment in self._comments if comment.covers(rule, offset)
        ]  # all of them count as used
        return bool(covering)

    def leftovers(self, *, require_reason: bool) -> Iterator[tuple[Span, str]]:
        """What is wrong with our own comments: unknown rules, nothing to ignore, no reason."""
        for comment in self._comments:
            if not comment.ours:
                continue
            for name in comment.unknown:
                yield comment.place, f"there is no rule {name}: this comment ignores nothing by it"
            unused = sorted(comment.codes - (comment.used or set()))
            if comment.used is None and comment.codes and not comment.unknown:
                named = ", ".join(unused) if len(unused) <= 4 else "any rule"
                yield comment.place, f"nothing here to ignore for {named}: the comment can go"
            elif unused and comment.used is not None and len(comment.codes) <= 8:
                yield comment.place, f"nothing here to ignore for {', '.join(unused)}"
            if require_reason and not comment.reason:
                yield comment.place, "this comment ignores a rule without saying why"


def read(dockerfile: Dockerfile, rules: Callable[[], Sequence[Rule]]) -> Ignores:
    """The comments of a file that silence findings; `rules` is only asked where there may be one."""
    if "ignore" not in dockerfile.source.text.lower():
        return Ignores()
    return Ignores(tuple(_comments(dockerfile, rules())))


def _comments(dockerfile: Dockerfile, rules: Sequence[Rule]) -> Iterator[_Comment]:
    source = dockerfile.source
    names = {name.lower(): rule.code for rule in rules for name in (rule.code, rule.name)}
    twins = {(twin.lower(), rule.code) for rule in rules for twin in rule.twins}
    for place, text, at in _lines(dockerfile):
        ours, theirs = _OURS.fullmatch(text), _THEIRS.match(text)
        if ours:
            kind = ours["kind"].lower()
            given = [name.strip().lower() for name in (ours["names"] or "").split(",") if name.strip()]
            codes = (
                frozenset(names[name] for name in given if name in names)
                if given
                else frozenset(names.values())
            )
            unknown = tuple(
                name.upper() if name.startswith("gi") else name for name in given if name not in names
            )
            reason = ours["reason"].strip(" -:;")
            yield _Comment(place, _counts(dockerfile, at, place, kind), codes, unknown, reason)
        elif theirs:
            given = [name.strip().lower() for name in theirs["names"].split(",")]
            codes = frozenset(code for twin, code in twins if twin in given)
            whole = Span(0, len(source.text) + 1)
            counts = whole if theirs["all"] else _counts(dockerfile, at, place, "ignore")
            if codes:
                yield _Comment(place, counts, codes, ours=False)


def _lines(dockerfile: Dockerfile) -> Iterator[tuple[Span, str, Instruction | None]]:
    """Every comment line with the instruction that it stands above or within."""
    source = dockerfile.source
    waiting: list[tuple[Span, str]] = []
    instructions = iter(dockerfile.instructions)
    for piece in dockerfile.pieces:
        if piece.kind == "comment":
            waiting.append((piece.span, source[piece.span].strip()))
        elif piece.kind == "instruction":
            one = next(instructions, None)
            if one is None:  # the rest is not judged
                return
            yield from ((span, text, one) for span, text in waiting)
            waiting = []
            yield from _within(dockerfile, one)
    yield from ((span, text, None) for span, text in waiting)


def _within(dockerfile: Dockerfile, one: Instruction) -> Iterator[tuple[Span, str, Instruction]]:
    """The comment lines between the lines of a continued instruction; a heredoc's own are its text."""
    source = dockerfile.source
    last = one.end_line if not one.heredocs else source.position(one.heredocs[0].body.start)[0] - 1
    for number in range(one.line, last):
        text = source.line(number).strip()
        if text.startswith("#"):
            yield Span(source.starts[number], source.end_of(number)), text, one


def _counts(dockerfile: Dockerfile, at: Instruction | None, place: Span, kind: str) -> Span:
    end = len(dockerfile.source.text) + 1
    if kind == "ignore-file":
        return Span(0, end)
    if kind == "ignore-stage":
        start = at.span.start if at is not None else place.start
        for stage in dockerfile.stages:
            first, last = stage.head.span.start, stage.instructions[-1].span.end
            if first <= start < last or stage is dockerfile.stages[-1]:
                return Span(first, max(last, 1))
    return at.span if at is not None else place
