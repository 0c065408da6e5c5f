r"""Where each instruction of a Dockerfile begins and ends. The only user of dockerfile-parse.

dockerfile-parse names the instruction of each line that begins one. What it gets wrong is mended in front of it: it is
given each instruction joined on its first line, and comments for all other lines, so that none of these matters:

- the body of a heredoc becomes instructions;
- a blank line ends a continuation;
- an escaped escape character (`\\` at the end of a line) continues it;
- an escape directive behind `# check=` is overlooked, and one behind a blank line is none;
- an instruction that is still continued at the end of the file is lost, also one without arguments there;
- an instruction whose first line holds nothing but the continuation is lost;
- a byte order mark becomes part of the first keyword (Source takes it off);
- its pattern for continuations takes a time that grows with the square of the line's length: long lines are cut;

and behind it: lines count from 0, and comments come as instructions.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence

from dockerfile_parse import DockerfileParser
from msgspec import Struct, field

from gpuimage.dockerfile.source import Source, Span
from gpuimage.dockerfile.words import SPACES, Marker, array, flags, markers

DIRECTIVES = frozenset({"syntax", "escape", "check"})
_DIRECTIVE = re.compile(r"#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+)")
_HEREDOC_KEYWORDS = frozenset({"run", "copy", "add"})
_ESCAPES = ("\\", "`")
_LONG = 4096


class Heredoc(Struct, frozen=True):
    """A heredoc of an instruction; `body` and the line with the end marker are spans of the source.

    `terminated` is false where the file ends first.
    """

    marker: Marker
    body: Span
    end: Span
    terminated: bool = True


class Group(Struct):
    """The lines of one instruction: `text` joins them as BuildKit does, `marks` pairs its offsets with the source's.

    `first` and `last` count from 0; heredocs are included.
    """

    first: int
    last: int
    keyword: str = ""
    text: str = ""
    marks: list[tuple[int, int]] = field(default_factory=list)
    heredocs: list[Heredoc] = field(default_factory=list)
    blank_lines: list[int] = field(default_factory=list)

    def offset(self, at: int) -> int:
        """The offset in the source of an offset in `text`."""
        low, high = 0, len(self.marks)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.marks[middle][0] <= at else (low, middle)
        here, there = self.marks[low]
        return there + at - here


class Directive(Struct, frozen=True):
    """`# escape=…` and its like; `line` counts from 0, `problem` is empty where there is none."""

    name: str
    value: str
    line: int
    problem: str = ""


def split(source: Source) -> tuple[list[Directive], list[Group]]:
    """The parser directives and the instructions of a file."""
    directives = list(_directives(source))
    escape = escape_of(directives)
    groups: list[Group] = []
    given: list[str] = []
    at = 0
    while at < len(source.starts):
        group = _group(source, at, escape)
        last = group.last if group else at
        given += [f"{' '.join(group.text[:_LONG].split())} ." if group else "#", *["#"] * (last - at)]
        if group:
            groups.append(group)
        at = last + 1
    for group, entry in zip(groups, _instructions(given), strict=True):
        group.keyword = entry
    return directives, groups


def escape_of(directives: Sequence[Directive]) -> str:
    """The character that continues lines and escapes others."""
    return next((d.value for d in directives if d.name == "escape" and not d.problem), "\\")


def _instructions(lines: list[str]) -> list[str]:
    parser = DockerfileParser(fileobj=io.BytesIO("\n".join([*lines, ""]).encode()), env_replace=False)
    return [entry["instruction"] for entry in parser.structure if entry["instruction"] != "COMMENT"]


def _directives(source: Source) -> Iterator[Directive]:
    """Directives stand before anything else, each once; any other line ends them."""
    seen: set[str] = set()
    for number in range(len(source.starts)):
        match = _DIRECTIVE.fullmatch(source.line(number).strip())
        name = match[1].lower() if match else ""
        if match is None or name not in DIRECTIVES:
            return
        problem = f"the directive {name} stands here a second time" if name in seen else ""
        if name == "escape" and match[2] not in _ESCAPES:
            problem = f"{match[2]} is no escape character: \\ or ` is"
        seen.add(name)
        yield Directive(name, match[2], number, problem)


def _group(source: Source, first: int, escape: str) -> Group | None:
    """The instruction that begins at a line; None for a blank line or a comment."""
    line = _content(source.line(first))
    head = line.lstrip(SPACES)
    if not head or head.startswith("#"):
        return None
    group = Group(first, first)
    parts: list[str] = []
    more = _take(group, parts, head, source.starts[first] + len(line) - len(head), escape)
    while more and group.last + 1 < len(source.starts):
        group.last += 1
        line = _content(source.line(group.last))
        stripped = line.lstrip(SPACES)
        if not stripped:
            group.blank_lines.append(group.last)
        elif not stripped.startswith("#"):
            more = _take(group, parts, line, source.starts[group.last], escape)
    group.text = "".join(parts)
    if not group.text.strip():
        return None
    for marker in _markers(group.text):
        _body(source, group, marker)
    return group


def _content(line: str) -> str:
    return line.rstrip("\r\n")


def _take(group: Group, parts: list[str], line: str, offset: int, escape: str) -> bool:
    """Add a line to the parts of an instruction; whether the next one continues it."""
    bare = line.rstrip(" \t")
    more = bare.endswith(escape) and not bare.endswith(escape * 2)
    group.marks.append((group.marks[-1][0] + len(parts[-1]) if parts else 0, offset))
    parts.append(bare[:-1] if more else line)
    return more


def _markers(text: str) -> list[Marker]:
    """The heredocs of a RUN, COPY or ADD, also under ONBUILD, that is not in JSON form."""
    if "<<" not in text:
        return []
    start = len(text) - len(text.lstrip())
    keyword = text[start:].split(None, 1)[0]
    if keyword.lower() == "onbuild":
        _, start = flags(text, start + len(keyword))
        keyword = (text[start:].split(None, 1) or [""])[0]
    if keyword.lower() not in _HEREDOC_KEYWORDS:
        return []
    _, arguments = flags(text, start + len(keyword))
    try:
        if array(text, arguments) is not None:
            return []
    except ValueError:
        return []
    return list(markers(text))


def _body(source: Source, group: Group, marker: Marker) -> None:
    """Read a heredoc's body up to its end marker."""
    begin = source.end_of(group.last)
    while group.last + 1 < len(source.starts):
        group.last += 1
        line = _content(source.line(group.last))
        if (line.lstrip("\t") if marker.chomp else line) == marker.name:
            start = source.starts[group.last]
            group.heredocs.append(Heredoc(marker, Span(begin, start), Span(start, source.end_of(group.last))))
            return
    end = source.end_of(group.last)
    group.heredocs.append(Heredoc(marker, Span(begin, end), Span(end, end), terminated=False))
