"""The commands of a shell script, as a RUN holds them.

Read are words, quotes, `$X`, `$(…)`, backquotes, `&& || ; | & ( ) { }`, newlines, comments, redirections, heredocs and
the keywords of if, for, while, until, case and functions. Not read: arithmetic, arrays, aliases, `eval`, and what a
loop makes of its variable; such words are unknown, never guessed. No input is an error: what is not closed ends with
the script.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from gpuimage.dockerfile.source import Span
from gpuimage.dockerfile.variables import UNDEFINED, Lookup, Undefined, expand
from gpuimage.dockerfile.words import Marker, markers

_OPERATORS = ("&&", "||", ";;&", ";;", ";&", "|&", ";", "|", "&", "\n", "(", ")")
_FIRST = frozenset("&|;\n()")
_REDIRECTION = re.compile(r"(\d*|&)(<<<|<<-?|<>|>>|>\||>&|<&|&>>|&>|<|>)")
_PLAIN = re.compile(r"[^\\'\"`$ \t\r\n;|&()<>]+")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=")
_DEEPEST = 20  # levels of quotes, substitutions and compound commands that are told apart: time stays bounded
_BEGIN = frozenset({"if", "while", "until", "then", "else", "elif", "do", "{", "!", "time"})
_END = frozenset({"fi", "done", "esac", "}"})


class Argument(Struct, frozen=True):
    """A word of a command: as written, where, and its value; None where that is known only when it runs."""

    raw: str
    span: Span
    value: str | None

    def __str__(self) -> str:
        return self.raw if self.value is None else self.value


class Redirection(Struct, frozen=True):
    """`>file`, `2>&1`, `<<EOF`: the operator with its descriptor, and where it goes."""

    operator: str
    target: Argument


class Command(Struct, frozen=True):
    """A simple command. `before` is the operator that joins it to what precedes ("" for the first).

    `inside` names what it stands in, outermost first: `if`, `for`, `while`, `case`, `(`, `{`, `$(`; `!` last where it is
    negated. `shells` numbers the subshells among these, so that two that follow each other are told apart.
    """

    words: tuple[Argument, ...]
    assignments: tuple[tuple[str, Argument], ...] = ()
    redirections: tuple[Redirection, ...] = ()
    before: str = ""
    inside: tuple[str, ...] = ()
    shells: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The command's name without its directory; "" where there is none or it is not known."""
        return (self.words[0].value or "").rsplit("/", 1)[-1] if self.words else ""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """What follows the name."""
        return self.words[1:]


def commands(script: str, lookup: Lookup = lambda _: None) -> Iterator[Command]:
    """All commands of a script in the order of the text, those in `$(…)` after the one that holds them; read as needed.

    Spans are offsets into the script. Assignments of the script itself count for what follows them where they are
    unconditional; `lookup` answers for all other names.
    """
    return _Reader(script, lookup).read()


class _Reader(Struct):
    text: str
    lookup: Lookup
    offset: int = 0
    """Where this script begins in the outermost one."""
    inside: tuple[str, ...] = ()
    shells: tuple[int, ...] = ()
    opened: list[int] = field(default_factory=lambda: [0])
    """How many subshells the outermost script has opened so far."""
    own: dict[str, str | None] = field(default_factory=dict)
    at: int = 0
    bodies: list[Marker] = field(default_factory=list)
    nested: list[tuple[str, int]] = field(default_factory=list)
    depth: int = 0
    negated: bool = False

    def read(self) -> Iterator[Command]:
        before = ""
        while self.at < len(self.text):
            self._gap()
            operator = self._operator()
            if operator == "\n":
                self._skip_bodies()
                before = before or "\n"
                continue
            if operator:
                before = before if operator in "()" else operator
                self._nest(operator)
                if operator.startswith(";;") or operator == ";&":
                    self._pattern()
                continue
            command = self._command(before)
            if command is not None:
                yield command
                before = ""
            for script, start in self.nested if self.inside.count("$(") < _DEEPEST else ():
                inside, shells = (*self.inside, "$("), (*self.shells, self._number())
                yield from _Reader(script, self.value_of, start, inside, shells, self.opened, self.own).read()
            self.nested.clear()

    def value_of(self, name: str) -> str | Undefined | None:
        """What a name stands for here."""
        return self.own[name] if name in self.own else self.lookup(name)

    def _nest(self, operator: str) -> None:
        if operator == "(" and self._enter("("):
            self.shells += (self._number(),)
        elif operator == ")" and self.inside and self.inside[-1] == "(":
            self.inside, self.shells = self.inside[:-1], self.shells[:-1]

    def _number(self) -> int:
        self.opened[0] += 1
        return self.opened[0]

    def _enter(self, kind: str) -> bool:
        deep = len(self.inside) >= 5 * _DEEPEST
        if not deep:
            self.inside += (kind,)
        return not deep

    def _gap(self) -> None:
        """Pass over blanks, continued lines and comments."""
        while self.at < len(self.text):
            if self.text[self.at] in " \t\r":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return

    def _operator(self) -> str:
        if self.text[self.at : self.at + 1] not in _FIRST:
            return ""
        for operator in _OPERATORS:
            if self.text.startswith(operator, self.at):
                if operator == "&" and self.text.startswith("&>", self.at):
                    return ""
                self.at += len(operator)
                return operator
        return ""

    def _command(self, before: str) -> Command | None:
        """Read one simple command; None for a keyword that holds none itself."""
        words: list[Argument] = []
        assignments: list[tuple[str, Argument]] = []
        redirections: list[Redirection] = []
        while self.at < len(self.text):
            self._gap()
            redirection = _REDIRECTION.match(self.text, self.at)
            if redirection and (redirection[1] != "&" or redirection[2][:1] == ">"):
                redirections.append(self._redirection(redirection))
                continue
            if self.at >= len(self.text) or self.text[self.at] in _FIRST:
                break
            word = self._word()
            if not words and not assignments and self._keyword(word):
                return None
            name = _ASSIGNMENT.match(word.raw)
            if name and not words:
                value = Argument(
                    word.raw[name.end() :], Span(word.span.start + name.end(), word.span.end),
                    self._value(word.raw[name.end() :]),
                )  # fmt: skip
                assignments.append((name[1], value))
            else:
                words.append(word)
        if self.text.startswith("(", self.at) and len(words) == 1 and not assignments:
            self._function()
            return None
        if assignments and not words and before != "|":
            self._assign(assignments)
        if not (words or assignments or redirections):
            return None
        inside = (*self.inside, "!") if self.negated else self.inside
        self.negated = False
        return Command(tuple(words), tuple(assignments), tuple(redirections), before, inside, self.shells)

    def _assign(self, assignments: list[tuple[str, Argument]]) -> None:
        """An assignment that may not happen makes the value unknown, no other."""
        for name, value in assignments:
            self.own[name] = None if self.inside else value.value

    def _keyword(self, word: Argument) -> bool:
        """Whether the word belongs to the grammar and not to a command."""
        raw = word.raw
        if raw in ("for", "select", "case"):
            self._enter(raw)
            self._until_body(raw)
        elif raw == "function":
            self._gap()
            self._word()
            self._function()
        elif raw in ("if", "while", "until", "{"):
            self._enter(raw)
        elif raw in _END:
            self.inside = self.inside[:-1]
        elif raw not in _BEGIN:
            return False
        self.negated = raw == "!"
        return True

    def _until_body(self, kind: str) -> None:
        """Pass over the head of `for x in a b; do` and `case $x in`."""
        name = ""
        while self.at < len(self.text):
            self._gap()
            if self._operator() in ("\n", ";"):
                if kind != "case":
                    return
                continue
            if self.at >= len(self.text):
                return
            start = self.at
            word = self._word()
            if self.at == start:  # an operator that has no business here
                self.at += 1
            name = name or word.raw
            if kind != "case":
                self.own[name] = None  # it takes another value in each round
            if word.raw == "in" and kind == "case":
                self._pattern()
                return

    def _pattern(self) -> None:
        """Pass over `a|b)` of a case."""
        while self.at < len(self.text):
            self._gap()
            start = self.at
            if self._operator() == ")":
                return
            if self.at == start:
                word = self._word()
                if word.raw == "esac":
                    self.at = start
                    return
                if self.at == start:
                    self.at += 1

    def _function(self) -> None:
        """Pass over the `()` of a function; its body is read like any other."""
        self._gap()
        if self.text.startswith("(", self.at):
            end = self.text.find(")", self.at)
            self.at = len(self.text) if end < 0 else end + 1

    def _redirection(self, match: re.Match[str]) -> Redirection:
        start = self.at
        self.at = match.end()
        self._gap()
        target = self._word()
        if match[2] in ("<<", "<<-"):
            self.bodies += list(markers(self.text[start : target.span.end - self.offset]))[:1]
        return Redirection(match[0], target)

    def _skip_bodies(self) -> None:
        for marker in self.bodies:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = end + 1
                if (line.lstrip("\t") if marker.chomp else line) == marker.name:
                    break
        self.at = min(self.at, len(self.text))
        self.bodies.clear()

    def _word(self) -> Argument:
        """Read up to a blank or operator that is not quoted."""
        start = self.at
        while self.at < len(self.text):
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                self.at = plain.end()
                continue
            char = self.text[self.at]
            if char == "\\":
                self.at = min(self.at + 2, len(self.text))
            elif char == "'":
                self._to("'")
            elif char == '"':
                self._double()
            elif char == "`" or self.text.startswith(("$(", "${"), self.at):
                self._substitution()
            elif char in " \t\r\n;|&()<>":
                break
            else:
                self.at += 1
        raw = self.text[start : self.at]
        return Argument(raw, Span(self.offset + start, self.offset + self.at), self._value(raw))

    def _to(self, mark: str) -> None:
        end = self.text.find(mark, self.at + 1)
        self.at = len(self.text) if end < 0 else end + 1

    def _double(self) -> None:
        self.at += 1
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "\\":
                self.at += 2
            elif self.text[self.at] == "`" or self.text.startswith(("$(", "${"), self.at):
                self._substitution()
            else:
                self.at += 1
        self.at = min(self.at + 1, len(self.text))

    def _substitution(self) -> None:
        """Pass over `$(…)`, `${…}` or backquotes, and keep the commands in them for later."""
        if self.depth >= _DEEPEST:
            self.at += 1
            return
        if self.text[self.at] == "`":
            start = self.at + 1
            self._to("`")
            self.nested.append((self.text[start : self.at - 1], self.offset + start))
            return
        opening = self.text[self.at + 1]
        closing = ")" if opening == "(" else "}"
        start = self.at + 2
        self.at = start
        depth = 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\":
                self.at = min(self.at + 2, len(self.text))
                continue
            if char == "'" and opening == "(":
                self._to("'")
                continue
            if char == '"':
                kept = len(self.nested)
                self.depth += 1
                self._double()
                self.depth -= 1
                del self.nested[kept:]  # it is read again with what holds it
                continue
            depth += (char == opening) - (char == closing)
            self.at += 1
            if not depth:
                break
        inner = self.text[start : self.at - (0 if depth else 1)]
        if opening == "(" and not inner.startswith("("):  # `$((…))` is arithmetic
            self.nested.append((inner, self.offset + start))

    def _value(self, raw: str) -> str | None:
        if "`" in raw or "$(" in raw or "$'" in raw or "$[" in raw:
            return None
        found = expand(raw.replace("\\\n", ""), self._shell_value)
        return found.value

    def _shell_value(self, name: str) -> str | Undefined | None:
        """In a shell a name that nobody set here may come from anywhere: the base image, or the machine."""
        value = self.value_of(name)
        return None if value is UNDEFINED else value
