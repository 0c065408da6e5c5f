"""An instruction or directive that BuildKit cannot read.

## Why
BuildKit stops at the first instruction it does not know, at missing arguments, at a line of more than 65,535 bytes, at a heredoc without its end, and at an
instruction other than ARG in front of the first FROM (Dockerfile reference, BuildKit's parser). Everything else in the
file is still judged.

## Cost
No bytes: the build fails.

## Instead
What the message names.

## Bad
```dockerfile
FROM python:3.12-slim
RUNN pip install torch
```
```dockerfile
FROM python:3.12-slim
COPY app
```

## Good
```dockerfile
# syntax=docker/dockerfile:1
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0
```

## Not judged
Lines of a template language (`{% if … %}`, `{{ … }}`, `<% … %>`), and instructions that another frontend named by
`# syntax=` may know. Of a file with more than 2,000 instructions, of an instruction with more than 200,000
characters and of a RUN with more than 5,000 commands the rest is not judged; a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import KEYWORDS, LONGEST, Instruction, Problem, Span
from gpuimage.facts import FileFacts
from gpuimage.facts.file import MOST_INSTRUCTIONS
from gpuimage.facts.runs import MOST_PROGRAMS
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.shared import built_steps

_LONGEST_LINE = 65_535  # bytes: the largest token of the scanner in BuildKit's parser (tried)

_DIRECTIVE = pattern(r"#[ \t]*(syntax|escape)[ \t]*=[ \t]*(\S+)[ \t\r]*$", re.IGNORECASE)
_TEMPLATE = pattern(r"^\s*(\{[{%#]|<%|#\{|%%|@@|\{\w+\}\s*$)|\{\{|\{%")
_OWN_FRONTEND = pattern(r"(\S+/)?docker/dockerfile(-upstream)?([:@]\S+)?")


def check(file: FileFacts) -> Iterator[Hit]:
    """Each problem that the parser met, what stands in front of the first FROM, and directives that are none."""
    dockerfile = file.dockerfile
    yield from _unread(file)
    yield from _long_lines(file)
    if any(d.name == "syntax" and not _OWN_FRONTEND.fullmatch(d.value) for d in dockerfile.directives):
        return
    problems = [
        problem
        for problem in dockerfile.problems
        if not _TEMPLATE.search(file.source.line(file.source.position(problem.span.start)[0] - 1))
    ]
    if not file.stages and len(problems) > 2:
        yield Hit(
            problems[0].span,
            f"{len(problems)} lines begin no instruction, and there is no FROM: this is no Dockerfile",
        )
        return
    for problem in problems:
        yield Hit(problem.span, f"{_about(problem)}: the build stops here", _help(problem))
    yield from _in_front(file, {problem.span.start for problem in problems})
    yield from _too_late(file)


def _unread(file: FileFacts) -> Iterator[Hit]:
    """What is too long to be judged whole."""
    left = file.whole.instructions[len(file.dockerfile.instructions) :]
    if left:
        yield Hit(
            left[0].keyword_span,
            f"only the first {MOST_INSTRUCTIONS:,} instructions are judged, {len(left):,} more are not",
            severity="note",
        )
    for step in built_steps(file):
        one = step.instruction
        if len(one.span) <= MOST_PROGRAMS:
            continue
        long = one.cut or any(len(heredoc.body) > LONGEST for heredoc in one.heredocs)
        if long or len(step.calls) >= MOST_PROGRAMS:
            most = f"{LONGEST:,} characters" if long else f"{MOST_PROGRAMS:,} commands"
            yield Hit(
                one.keyword_span, f"only the first {most} of this {one.keyword} are judged", severity="note"
            )


def _long_lines(file: FileFacts) -> Iterator[Hit]:
    """Lines that BuildKit's parser refuses to read."""
    source = file.source
    for number, start in enumerate(source.starts):
        length = source.end_of(number) - start
        if length * 4 > _LONGEST_LINE:
            size = len(source.line(number).rstrip("\r\n").encode())
            if size > _LONGEST_LINE:
                yield Hit(
                    Span(start, start + 1),
                    f"the line has {size:,} bytes, and BuildKit reads none of more than {_LONGEST_LINE:,}: the build "
                    "stops here",
                    "break it with backslashes",
                )


def _about(problem: Problem) -> str:
    return problem.text if len(problem.text) < 160 else f"{problem.text[:157]}…"


def _help(problem: Problem) -> str:
    match = re.fullmatch(r"there is no instruction (\S+)", problem.text)
    near = _near(match[1].upper()) if match else None
    return (
        f"{near} is meant?"
        if near
        else "mend the line, or continue the one above with a backslash"
        if match
        else ""
    )


def _near(word: str) -> str | None:
    """The instruction that differs by one letter."""
    for one in sorted(KEYWORDS):
        shorter, longer = sorted((word, one), key=len)
        if len(longer) - len(shorter) > 1:
            continue
        at = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
        if shorter[at:] == longer[at + 1 :] or shorter[at + 1 :] == longer[at + 1 :]:
            return one
        if len(word) == len(one) and sorted(word) == sorted(one):
            return one
    return None


def _in_front(file: FileFacts, bad: set[int]) -> Iterator[Hit]:
    """Instructions before FROM, and a file without FROM."""
    before = file.dockerfile.before
    wrong = [
        one
        for one in before
        if one.keyword != "ARG" and not one.problem and one.keyword_span.start not in bad
    ]
    if any(_TEMPLATE.search(file.source[one.span]) for one in before):
        return
    if wrong and file.stages:
        yield _hit(
            wrong[0],
            f"{wrong[0].keyword} stands in front of the first FROM, where only ARG may: the build stops here",
        )
    elif before and not file.stages and not bad:
        yield Hit(
            (wrong or before)[0].keyword_span,
            "there is no FROM: by itself this builds no image",
            severity="note",
        )


def _hit(one: Instruction, message: str) -> Hit:
    return Hit(Span(one.keyword_span.start, one.keyword_span.end), message)


def _too_late(file: FileFacts) -> Iterator[Hit]:
    """`# syntax=` and `# escape=` behind another comment or a blank line are comments."""
    if "syntax" not in file.source.text and "escape" not in file.source.text:
        return
    taken = {directive.line for directive in file.dockerfile.directives}
    for number in range(len(file.source.starts)):
        text = file.source.line(number).strip()
        if text and not text.startswith("#"):
            return
        match = _DIRECTIVE.fullmatch(text)
        if not match or number in taken:
            continue
        if match[1].lower() == "syntax" and not ("/" in match[2] or ":" in match[2]):
            continue
        start = file.source.starts[number] + file.source.line(number).index("#")
        yield Hit(
            Span(start, start + len(text)),
            f"the directive {match[1]} stands behind another comment or a blank line, and counts as a comment there",
            "make it the first line of the file",
            severity="note",
        )


RULE = Rule("GI901", "bad-instruction", "error", check, twins=("DL1000",))
