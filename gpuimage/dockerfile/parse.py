"""From the text of a Dockerfile to its stages and instructions, as BuildKit reads them; no file is ever lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuimage.dockerfile.source import Source, Span
from gpuimage.dockerfile.splitter import Directive, Group, escape_of, split
from gpuimage.dockerfile.types import Dockerfile, Flag, Instruction, Piece, Problem, Stage, Value
from gpuimage.dockerfile.words import SPACES, Word, WordsError, array, flags, pairs
from gpuimage.dockerfile.words import split as split_words

_ONE_STRING = frozenset({"USER", "WORKDIR", "STOPSIGNAL", "MAINTAINER"})
_SHELL_OR_ARRAY = frozenset({"RUN", "CMD", "ENTRYPOINT", "SHELL"})
_WORDS_OR_ARRAY = frozenset({"COPY", "ADD", "VOLUME"})
_WORDS = frozenset({"FROM", "EXPOSE"})
_PAIRS = frozenset({"ENV", "LABEL"})
KEYWORDS = (
    _ONE_STRING | _SHELL_OR_ARRAY | _WORDS_OR_ARRAY | _WORDS | _PAIRS | {"ARG", "ONBUILD", "HEALTHCHECK"}
)

LONGEST = 200_000
"""Characters of an instruction that are read. Linux starts no program with a longer argument than 131,071 bytes
(execve(2), MAX_ARG_STRLEN), and a RUN is one argument of its shell; the rest is bounded for time and memory."""


def parse(source: Source) -> Dockerfile:
    """Read a file; a bad instruction carries its `problem`, and all others are there."""
    directives, groups = split(source)
    escape = escape_of(directives)
    instructions = [_instruction(source, group, escape) for group in groups]
    first = next(
        (i for i, one in enumerate(instructions) if one.keyword == "FROM" and not one.onbuild),
        len(instructions),
    )
    return Dockerfile(
        source,
        tuple(directives),
        tuple(instructions[:first]),
        tuple(_stages(instructions[first:])),
        tuple(_pieces(source, directives, groups)),
    )


def _stages(instructions: Sequence[Instruction]) -> Iterator[Stage]:
    starts = [i for i, one in enumerate(instructions) if one.keyword == "FROM" and not one.onbuild]
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else len(instructions)
        head = instructions[start]
        words = head.texts
        name = words[2].lower() if len(words) == 3 and words[1].lower() == "as" else None
        yield Stage(
            index, words[0] if words else "", name, head.flag("platform"), tuple(instructions[start:end])
        )


def _pieces(source: Source, directives: Sequence[Directive], groups: Sequence[Group]) -> Iterator[Piece]:
    special = {directive.line for directive in directives}
    line = 0
    for group in [*groups, Group(len(source.starts), len(source.starts))]:
        for number in range(line, min(group.first, len(source.starts))):
            text = source.line(number)
            kind = "comment" if text.lstrip(SPACES).startswith("#") else "blank"
            yield Piece(
                "directive" if number in special else "comment" if kind == "comment" else "blank",
                Span(source.starts[number], source.end_of(number)),
            )
        if group.first < len(source.starts):
            yield Piece("instruction", Span(source.starts[group.first], source.end_of(group.last)))
        line = group.last + 1


def _instruction(source: Source, group: Group, escape: str) -> Instruction:
    text = group.text[:LONGEST].rstrip()
    start = len(text) - len(text.lstrip())
    keyword, onbuild, end = group.keyword, False, start + _length(text, start)
    begin = start
    problem = "" if keyword in KEYWORDS else f"there is no instruction {text[start:end]}"
    if keyword == "ONBUILD":
        outer, begin = flags(text, end)
        inner = text[begin : begin + _length(text, begin)]
        if inner:
            onbuild, keyword, end = True, inner.upper(), begin + len(inner)
            problem = "" if keyword in KEYWORDS else f"there is no instruction {inner}"
            problem = "ONBUILD cannot stand behind ONBUILD" if keyword == "ONBUILD" else problem
            problem = "flags stand behind the instruction that ONBUILD holds back" if outer else problem
        else:
            begin, problem = start, "ONBUILD without an instruction"
    found, at = flags(text, end)
    words: list[Word] = []
    is_json = False
    try:
        words, is_json = _values(keyword, text, at, escape) if not problem else ([], False)
        problem = problem or _incomplete(keyword, words)
    except WordsError as error:
        problem = str(error)
    if any(not heredoc.terminated for heredoc in group.heredocs):
        problem = f"the heredoc {group.heredocs[-1].marker.name} has no end"

    def span(one: Word) -> Span:
        return Span(
            group.offset(one.start), group.offset(max(one.end - 1, one.start)) + (one.end > one.start)
        )

    whole = Span(source.starts[group.first], source.end_of(group.last))
    named = span(Word("", begin, end))
    return Instruction(
        keyword=keyword,
        line=group.first + 1,
        end_line=group.last + 1,
        span=whole,
        keyword_span=named,
        flags=tuple(_flag(one, span(one)) for one in found),
        arguments=text[at:].strip(),
        values=tuple(Value(one.text, span(one)) for one in words),
        json=is_json,
        onbuild=onbuild,
        heredocs=tuple(group.heredocs),
        blank_lines=tuple(group.blank_lines),
        problem=Problem(problem, named) if problem else None,
        marks=_marks(group, len(text) - len(text[at:].lstrip())),
        cut=len(group.text) > LONGEST,
    )


def _marks(group: Group, begin: int) -> tuple[tuple[int, int], ...]:
    """The group's marks for offsets that count from the beginning of the arguments."""
    return tuple((here - begin, there) for here, there in group.marks)


def _flag(word: Word, span: Span) -> Flag:
    name, equals, value = word.text[2:].partition("=")
    return Flag(name, value if equals else None, span)


def _length(text: str, start: int) -> int:
    end = start
    while end < len(text) and text[end] not in SPACES:
        end += 1
    return end - start


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACES:
        at += 1
    return at


def _values(keyword: str, text: str, at: int, escape: str) -> tuple[list[Word], bool]:
    """The values behind the flags, and whether they came as an array; no white space ends the text."""
    end = len(text)
    if at >= end:
        return [], False
    if keyword == "HEALTHCHECK":
        return _healthcheck(text, at)
    if keyword in _SHELL_OR_ARRAY | _WORDS_OR_ARRAY:
        strings = array(text, at)
        if strings is not None:
            return [Word(string, at, end) for string in strings], True
    if keyword in _ONE_STRING | _SHELL_OR_ARRAY:
        words = [Word(text[at:end], at, end)]
    elif keyword == "ARG":
        words = pairs(text, at, escape)
    elif keyword in _PAIRS:
        words = _name_values(keyword, text, at, escape)
    else:
        words = split_words(text, at)
    return words, False


def _healthcheck(text: str, at: int) -> tuple[list[Word], bool]:
    kind = Word(text[at : at + _length(text, at)], at, at + _length(text, at))
    start = _skip(text, kind.end)
    end = len(text)
    if start >= end:
        return [kind], False
    strings = array(text, start)
    if strings is not None:
        return [kind, *(Word(string, start, end) for string in strings)], True
    return [kind, Word(text[start:end], start, end)], False


def _name_values(keyword: str, text: str, at: int, escape: str) -> list[Word]:
    """`A=1 B=2` as name, value, name, value; the old form `A 1 2` as one name and one value."""
    words = pairs(text, at, escape)
    if "=" not in words[0].text:
        end = len(text)
        name = Word(text[at : at + _length(text, at)], at, at + _length(text, at))
        start = _skip(text, name.end)
        if start >= end:
            raise WordsError(f"{keyword} needs a name and a value")
        return [name, Word(text[start:end], start, end)]
    found = []
    for word in words:
        name_text, equals, value = word.text.partition("=")
        if not equals:
            raise WordsError(f"{word.text} has no `=`: {keyword} wants name=value")
        middle = word.start + len(name_text)
        found += [Word(name_text, word.start, middle), Word(value, middle + 1, word.end)]
    return found


def _incomplete(keyword: str, words: Sequence[Word]) -> str:
    if keyword == "FROM" and not (len(words) == 1 or (len(words) == 3 and words[1].text.lower() == "as")):
        return "FROM wants an image, or an image AS name"
    if keyword in ("COPY", "ADD") and len(words) < 2:
        return f"{keyword} wants a source and a destination"
    if not words and keyword not in ("CMD", "ENTRYPOINT", "RUN"):
        return f"{keyword} without arguments"
    return ""
