"""The programs that a RUN runs, with what holds where each stands."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuimage.dockerfile import LONGEST, Heredoc, Instruction, Span
from gpuimage.dockerfile.shell import Argument, Command
from gpuimage.dockerfile.source import Source
from gpuimage.dockerfile.variables import Undefined
from gpuimage.dockerfile.wrappers import Program, programs
from gpuimage.patterns import pattern

if TYPE_CHECKING:
    from gpuimage.facts.stages import Step

_ONLY_HEREDOC = pattern(r"\d*<<-?\s*(\S+)")
MOST_PROGRAMS = 5_000
"""Programs of one script that are looked at; no person writes as many, and time and memory stay bounded."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})


class Script(Struct, frozen=True, dict=True):
    """A text that a shell runs; `marks` pairs its offsets with those of the source, in order."""

    text: str
    marks: tuple[tuple[int, int], ...]
    heredoc: bool = False

    def place(self, span: Span) -> Span:
        """The place in the source of a span of the text."""
        last = self._offset(max(span.end - 1, span.start))
        return Span(self._offset(span.start), last + (span.end > span.start))

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(here for here, _ in self.marks)

    def _offset(self, at: int) -> int:
        here, there = self.marks[max(bisect_right(self._starts, at) - 1, 0)]
        return there + at - here


class Call(Struct, frozen=True, dict=True):
    """A program that a RUN runs.

    `assigned` are the variables that the script sets for it (None: to what nobody knows), `directory` is where it
    runs, None where that is not known. `tolerated` says that the step goes on when it fails.
    """

    program: Program
    step: Step
    script: Script
    assigned: Mapping[str, str | None]
    directory: str | None
    tolerated: bool

    @cached_property
    def name(self) -> str:
        """The program's name, without directory and, for pip, without version."""
        return self.program.name

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The words behind the name."""
        return self.program.command.arguments

    @cached_property
    def values(self) -> tuple[str, ...]:
        """The words behind the name: the value where it is known, else as written."""
        return tuple(str(argument) for argument in self.arguments)

    @cached_property
    def text(self) -> str:
        """Name and words, for patterns."""
        return " ".join((self.name, *self.values))

    @cached_property
    def span(self) -> Span:
        """The place of the whole command in the source."""
        words = self.program.command.words
        return self.script.place(Span(words[0].span.start, max(word.span.end for word in words)))

    def place(self, argument: Argument) -> Span:
        """The place of one of its words in the source."""
        return self.script.place(argument.span)

    def variable(self, name: str) -> str | Undefined | None:
        """A variable's value as the program sees it: of the script, else of the stage."""
        return self.assigned[name] if name in self.assigned else self.step.lookup(name)

    def is_set(self, name: str) -> bool:
        """Whether a variable is surely given a value that is not empty, be it one that only the build knows."""
        value = self.assigned[name] if name in self.assigned else self.step.variables.get(name, "")
        return value is None or bool(value)

    def absolute(self, path: str) -> str | None:
        """A path as seen from the image's root; None where the directory is not known."""
        home = self.step.home
        if path == "~" or path.startswith("~/"):
            path = home + path[1:]
        if path.startswith("/"):
            return posixpath.normpath(path)
        return posixpath.normpath(posixpath.join(self.directory, path)) if self.directory else None


def scripts(instruction: Instruction, source: Source) -> Script | None:
    """The script of a RUN; None for one that no shell reads: an array, or a heredoc with a `#!` of another program."""
    if instruction.json or instruction.problem:
        return None
    text = instruction.arguments
    if instruction.heredocs and _ONLY_HEREDOC.fullmatch(text.strip()):
        return _body(instruction, source)
    marks = list(instruction.marks)
    for heredoc in instruction.heredocs:
        text += "\n"
        marks.append((len(text), heredoc.body.start))
        text += source.text[heredoc.body.start : heredoc.end.end].rstrip("\r\n")
    return Script(text[:LONGEST], tuple(marks)) if text else None


def _body(instruction: Instruction, source: Source) -> Script | None:
    script = _of_heredoc(instruction.heredocs[0], source)
    first = script.text.partition("\n")[0]
    if first.startswith("#!") and not any(re.search(rf"\b{shell}\b", first) for shell in _SHELLS):
        return None
    return script


def _of_heredoc(heredoc: Heredoc, source: Source) -> Script:
    return Script(source[heredoc.body][:LONGEST], ((0, heredoc.body.start),), heredoc=True)


def calls(step: Step, source: Source) -> Iterator[Call]:
    """The programs of a RUN in the order of its text."""
    instruction = step.instruction
    if instruction.json:
        yield from _array(step)
        return
    script = scripts(instruction, source)
    if script is not None:
        yield from _read(step, script, source)


def _array(step: Step) -> Iterator[Call]:
    """The command of `RUN ["program", "argument"]`; a shell in it is read like any other."""
    instruction = step.instruction
    where = instruction.values[0].span if instruction.values else instruction.span
    words = tuple(Argument(_quoted(text), Span(0, len(where)), text) for text in instruction.texts)
    text = " ".join(word.raw for word in words)
    script = Script(text, ((0, where.start),))
    for program in programs(text, step.lookup):
        whole = Span(0, len(where))
        command = program.command
        moved = tuple(Argument(word.raw, whole, word.value) for word in command.words)
        fixed = Command(moved, command.assignments, command.redirections, command.before, command.inside)
        yield Call(
            Program(fixed, program.through, program.module), step, script, {}, step.workdir, tolerated=False
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _read(step: Step, script: Script, source: Source) -> Iterator[Call]:
    found = list(islice(programs(script.text, step.lookup), MOST_PROGRAMS))
    assigned: dict[str, str | None] = {}
    directories: dict[tuple[int, ...], list[str | None]] = {(): [step.workdir]}
    strict = step.stops_on_errors(script.text)
    for program, tolerated in zip(found, _tolerated(found, strict=strict), strict=True):
        command = program.command
        name = program.name
        own = {key: value.value for key, value in command.assignments}
        # A subshell begins where the one around it stands, and takes nothing back.
        places = directories.get(command.shells)
        if places is None:
            outer = next(
                directories[command.shells[:n]]
                for n in range(len(command.shells) - 1, -1, -1)
                if command.shells[:n] in directories
            )
            places = directories[command.shells] = outer[-1:]
        call = Call(program, step, script, {**assigned, **own}, places[-1], tolerated)
        yield call
        if name in ("export", "declare", "typeset", "readonly"):
            assigned |= _exported(command, step.variables)
        elif name == "unset":
            assigned |= dict.fromkeys((str(word) for word in command.arguments), "")
        elif name == "cd":
            places[-1] = _changed(call)
        elif name == "pushd":
            places.append(_changed(call) if call.arguments else None)
        elif name == "popd":
            places[:] = places[:-1] or [None]
        elif name in _SHELLS and not script.heredoc:  # a heredoc within a body is none of the instruction's
            yield from _fed(call, step, source)


def _fed(call: Call, step: Step, source: Source) -> Iterator[Call]:
    """What a shell reads from a heredoc: `bash <<EOF`."""
    for redirection in call.program.command.redirections:
        if redirection.operator.lstrip("0").startswith("<<") and "<<<" not in redirection.operator:
            name = str(redirection.target)
            for heredoc in step.instruction.heredocs:
                if heredoc.marker.name == name:
                    yield from _read(step, _of_heredoc(heredoc, source), source)


def _exported(command: Command, known: Mapping[str, str | None]) -> Iterator[tuple[str, str | None]]:
    """What `export X=y` sets; `export X` alone hands on an assignment whose value is not kept here."""
    for word in command.arguments:
        name, equals, _ = word.raw.partition("=")
        if name.isidentifier() and (equals or name not in known):
            yield name, (word.value.partition("=")[2] if equals and word.value is not None else None)


def _changed(call: Call) -> str | None:
    words = [word for word in call.arguments if not word.raw.startswith("-")]
    if not words:
        return call.step.home
    return call.absolute(words[0].value) if words[0].value is not None else None


def _tolerated(found: list[Program], *, strict: bool) -> list[bool]:
    """Whether the script goes on when a command fails: `|| …` behind it, a pipe, a condition, no `set -e`.

    Answered from the last one backwards, for a chain of `&&` fails as its last command does.
    """
    deciders = [len(found)] * len(found)
    answers = [False] * len(found)
    for at in reversed(range(len(found))):
        own = found[at].command
        decider = deciders[at] = _decider(found, at, deciders)
        if {"if", "while", "until", "!"} & set(own.inside):
            answers[at] = True
        elif decider < len(found):
            before = found[decider].command.before
            loose = before in (";", "\n", "&") and not strict
            answers[at] = before == "||" or loose or (before == "|" and decider == at + 1)
    return answers


def _decider(found: list[Program], at: int, deciders: list[int]) -> int:
    """The index of the command whose operator says what follows from a failure; the length of the list for none."""
    own = level = found[at].command.inside
    for index in range(at + 1, len(found)):
        command = found[index].command
        if len(command.inside) > len(level) and command.inside[-1] == "$(":
            continue
        while level and level[-1] in ("(", "{") and command.inside[: len(level)] != level:
            level = level[:-1]  # the group fails with its last command, and what is joined to it decides
        if command.inside[: len(level)] != level:
            break
        if command.before != "&&":
            return index
        if command.inside == own:
            return deciders[index]
    return len(found)
