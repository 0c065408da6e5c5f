"""What a Dockerfile is made of."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from gpuimage.dockerfile.source import Source, Span
from gpuimage.dockerfile.splitter import Directive, Heredoc


class Flag(Struct, frozen=True):
    """`--name=value` before the arguments; `value` is None without an equals sign."""

    name: str
    value: str | None
    span: Span


class Value(Struct, frozen=True):
    """A word of an instruction, quotes as written."""

    text: str
    span: Span


class Problem(Struct, frozen=True):
    """What is wrong with an instruction; the rest of the file is read all the same."""

    text: str
    span: Span


class Instruction(Struct, frozen=True):
    """One instruction. Spans are offsets of the source; `line` and `end_line` count from 1, heredocs included.

    `keyword` is in upper case; under ONBUILD it is the inner one and `onbuild` is true. `values` are the words as
    BuildKit has them: the words of FROM, COPY …, one string for the shell form of RUN, CMD …, the strings of an array
    (`json`), the pairs of ENV and LABEL one after the other. `arguments` is the joined text behind the flags.
    """

    keyword: str
    line: int
    end_line: int
    span: Span
    keyword_span: Span
    flags: tuple[Flag, ...]
    arguments: str
    values: tuple[Value, ...]
    json: bool = False
    onbuild: bool = False
    heredocs: tuple[Heredoc, ...] = ()
    blank_lines: tuple[int, ...] = ()
    problem: Problem | None = None
    marks: tuple[tuple[int, int], ...] = field(default=())
    """Offsets in `arguments` with those in the source, one pair for each line of the instruction."""
    cut: bool = False
    """Whether the instruction is so long that its end is not in `arguments` and `values`."""

    def flag(self, name: str) -> str | None:
        """The value of a flag's last use, None where it is not given."""
        return next((flag.value or "" for flag in reversed(self.flags) if flag.name == name), None)

    def place(self, start: int, end: int) -> Span:
        """The place in the source of a piece of `arguments`."""
        last = self._offset(max(end - 1, start))
        return Span(self._offset(start), last + (end > start))

    def _offset(self, at: int) -> int:
        index = max(bisect_right(self.marks, (at, sys.maxsize)) - 1, 0)
        here, there = self.marks[index]
        return there + at - here

    @property
    def texts(self) -> tuple[str, ...]:
        """The values without their places."""
        return tuple(value.text for value in self.values)


class Stage(Struct, frozen=True):
    """A FROM and what follows it; `image` is what FROM says, variables unresolved, "" where it says nothing."""

    index: int
    image: str
    name: str | None
    platform: str | None
    instructions: tuple[Instruction, ...]

    @property
    def head(self) -> Instruction:
        """The FROM."""
        return self.instructions[0]


class Piece(Struct, frozen=True):
    """A stretch of the source; the pieces of a file tile it."""

    kind: Literal["instruction", "directive", "comment", "blank"]
    span: Span


class Dockerfile(Struct, frozen=True, dict=True):
    """A whole file. `before` are the instructions in front of the first FROM (ARG, as a rule)."""

    source: Source
    directives: tuple[Directive, ...]
    before: tuple[Instruction, ...]
    stages: tuple[Stage, ...]
    pieces: tuple[Piece, ...]

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """All instructions, in order."""
        return (*self.before, *(one for stage in self.stages for one in stage.instructions))

    def first(self, count: int) -> Dockerfile:
        """The file with no more than so many instructions; the source stays whole."""
        if len(self.instructions) <= count:
            return self
        kept: list[Stage] = []
        left = count - len(self.before)
        for stage in self.stages:
            if left > 0:
                kept.append(replace(stage, instructions=stage.instructions[:left]))
            left -= len(stage.instructions)
        return replace(self, before=self.before[:count], stages=tuple(kept))

    def find(self, name: str) -> int | None:
        """The index of the stage that `--from` names, by its name or its number."""
        return self._names.get(name.lower())

    @cached_property
    def _names(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for stage in self.stages:
            for name in (stage.name, str(stage.index)):
                if name:
                    found.setdefault(name, stage.index)
        return found

    @property
    def problems(self) -> Iterator[Problem]:
        """What is wrong with single directives and instructions, in order."""
        for directive in self.directives:
            if directive.problem:
                start = self.source.starts[directive.line]
                yield Problem(directive.problem, Span(start, self.source.end_of(directive.line)))
        yield from (one.problem for one in self.instructions if one.problem is not None)
