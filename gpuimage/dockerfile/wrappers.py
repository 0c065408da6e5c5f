"""What a command really runs: behind sudo, env, `bash -c`, `python -m`, `conda run` and their like."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.dockerfile.shell import Argument, Command, commands
from gpuimage.dockerfile.source import Span
from gpuimage.dockerfile.variables import Lookup

_SHELL = re.compile(r"(ba|da|a|z|k)?sh")
_PYTHON = re.compile(r"(python|pypy)(\d+(\.\d+)?)?")


class _Wrapper(Struct, frozen=True):
    """How the options of a wrapper end: those in `taking` are followed by a value; `words` come before the command."""

    taking: frozenset[str] = frozenset()
    words: int = 0
    assignments: bool = False


_WRAPPERS: Mapping[str, _Wrapper] = {
    "sudo": _Wrapper(
        frozenset({"-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "--user", "--group"}), assignments=True
    ),
    "doas": _Wrapper(frozenset({"-u", "-C"})),
    "gosu": _Wrapper(words=1),
    "env": _Wrapper(frozenset({"-u", "-C", "-S", "--unset", "--chdir"}), assignments=True),
    "exec": _Wrapper(frozenset({"-a"})),
    "command": _Wrapper(),
    "builtin": _Wrapper(),
    "nohup": _Wrapper(),
    "time": _Wrapper(frozenset({"-f", "-o"})),
    "nice": _Wrapper(frozenset({"-n", "--adjustment"})),
    "ionice": _Wrapper(frozenset({"-c", "-n"})),
    "stdbuf": _Wrapper(frozenset({"-i", "-o", "-e"})),
    "timeout": _Wrapper(frozenset({"-k", "-s", "--signal", "--kill-after"}), words=1),
    "xvfb-run": _Wrapper(frozenset({"-s", "-n", "--server-args"})),
    "eatmydata": _Wrapper(),
    "xargs": _Wrapper(frozenset({"-I", "-n", "-P", "-L", "-d", "-a", "-s"})),
}
# The word behind these names that makes them run another program, and their options that take a value.
_RUNNERS: Mapping[str, _Wrapper] = {
    "uv": _Wrapper(frozenset({"--with", "--python", "-p", "--extra", "--group", "--project", "--directory"})),
    "poetry": _Wrapper(frozenset({"-C", "--directory"})),
    "pdm": _Wrapper(frozenset({"-p"})),
    "conda": _Wrapper(frozenset({"-n", "--name", "-p", "--prefix", "--cwd"})),
    "mamba": _Wrapper(frozenset({"-n", "--name", "-p", "--prefix", "--cwd"})),
    "micromamba": _Wrapper(frozenset({"-n", "--name", "-p", "--prefix", "--cwd", "-r"})),
}


class Program(Struct, frozen=True):
    """A program that runs: the command without what wraps it, and the wrappers' names, outermost first.

    `module` is true for `python -m name`, whose first word is then the module.
    """

    command: Command
    through: tuple[str, ...] = ()
    module: bool = False
    path: str = ""
    """The program as written: `/opt/venv/bin/pip`; that of the interpreter for a module."""

    @property
    def name(self) -> str:
        """The program's name, without a version behind `pip3.11`; "" where it is not known."""
        return re.sub(r"^(pip)\d[\d.]*$", r"\1", self.command.name)

    @property
    def values(self) -> tuple[str | None, ...]:
        """The arguments' values, None for what is not known."""
        return tuple(argument.value for argument in self.command.arguments)


def programs(script: str, lookup: Lookup = lambda _: None) -> Iterator[Program]:
    """Every program that a script runs, as far as it can be read."""
    for command in commands(script, lookup):
        yield from _unwrapped(command, lookup, ())


def _unwrapped(command: Command, lookup: Lookup, through: tuple[str, ...]) -> Iterator[Program]:
    name, words = command.name, command.words
    if not words:
        return
    if len(through) < 8:  # more is no script that a person wrote
        inner = _script(command, name)
        if inner is not None:
            yield from _nested(command, inner, lookup, (*through, name))
            return
        start = _start(name, words)
        if start is not None and start < len(words):
            given = (*command.assignments, *_assigned(words[1:start]))
            inner_command = replace(command, words=words[start:], assignments=given)
            yield from _unwrapped(inner_command, lookup, (*through, name))
            return
        if _PYTHON.fullmatch(name) and (at := _module(words)) is not None:
            yield Program(
                replace(command, words=words[at:]), (*through, name), module=True, path=str(words[0])
            )
            return
    yield Program(command, through, path=str(words[0]))


def _script(command: Command, name: str) -> Argument | None:
    """The script of `bash -c script`, also behind `-lc` and `-o pipefail -c`."""
    if not _SHELL.fullmatch(name):
        return None
    words = command.words
    at = 1
    while at < len(words):
        value = words[at].value or ""
        if not value.startswith(("-", "+")):
            return None
        if re.fullmatch(r"-[a-zA-Z]*c", value):
            return words[at + 1] if at + 1 < len(words) else None
        at += 2 if re.fullmatch(r"[-+][a-zA-Z]*[oO]", value) else 1
    return None


def _nested(
    command: Command, script: Argument, lookup: Lookup, through: tuple[str, ...]
) -> Iterator[Program]:
    if script.value is None:
        # Quotes within double quotes may not be where they seem, but names and options mostly are.
        text = script.raw[1:-1] if script.raw[:1] in "'\"" and len(script.raw) > 1 else script.raw
    else:
        text = script.value
    exact = script.raw[1:-1] == text and script.raw[:1] in "'\""
    for inner in commands(text, lookup):
        given = ((name, _moved(value, script, exact=exact)) for name, value in inner.assignments)
        moved = replace(
            inner,
            words=tuple(_moved(word, script, exact=exact) for word in inner.words),
            assignments=(*command.assignments, *given),  # what the outer shell is given, it hands on
            redirections=tuple(
                replace(one, target=_moved(one.target, script, exact=exact)) for one in inner.redirections
            ),
            before=inner.before or command.before,
            inside=(*command.inside, *inner.inside),
            shells=(*command.shells, -1 - script.span.start, *inner.shells),  # a shell of its own
        )
        yield from _unwrapped(moved, lookup, through)


def _moved(word: Argument, script: Argument, *, exact: bool) -> Argument:
    """A word of an inner script with its place in the outer one; the whole script's where quotes hide it."""
    if not exact:
        return replace(word, span=script.span)
    start = script.span.start + 1
    return replace(word, span=Span(start + word.span.start, start + word.span.end))


def _start(name: str, words: tuple[Argument, ...]) -> int | None:
    """Where the wrapped command begins; None for what wraps none."""
    wrapper = _WRAPPERS.get(name)
    if name == "command" and len(words) > 1 and words[1].value in ("-v", "-V"):
        return None  # it only asks whether there is such a program
    if wrapper is not None:
        return _behind(words, 1, wrapper)
    runner = _RUNNERS.get(name)
    if runner is not None:
        at = _behind(words, 1, runner)
        if at < len(words) and words[at].value == "run":
            return _behind(words, at + 1, runner)
    return None


def _behind(words: tuple[Argument, ...], at: int, wrapper: _Wrapper) -> int:
    """The first word that is neither an option nor its value, nor an assignment where those are taken."""
    while at < len(words):
        value = words[at].value or ""
        if value == "--":
            return at + 1 + wrapper.words
        if value.startswith("-") and len(value) > 1:
            at += 2 if value in wrapper.taking else 1
        elif wrapper.assignments and re.match(r"[A-Za-z_][A-Za-z0-9_]*=", words[at].raw):
            at += 1
        else:
            break
    return at + wrapper.words


def _assigned(words: tuple[Argument, ...]) -> Iterator[tuple[str, Argument]]:
    """The `X=y` that a wrapper gives the program."""
    for word in words:
        name, equals, value = word.raw.partition("=")
        if equals and name.isidentifier():
            known = word.value.partition("=")[2] if word.value is not None else None
            start = word.span.start + len(name) + 1
            yield name, Argument(value, Span(min(start, word.span.end), word.span.end), known)


def _module(words: tuple[Argument, ...]) -> int | None:
    """Where the module of `python -m module` stands."""
    for at in range(1, len(words) - 1):
        value = words[at].value or ""
        if value == "-m":
            return at + 1
        if not re.fullmatch(r"-[bBdEiIOPqsSuvx]+", value):
            return None
    return None
