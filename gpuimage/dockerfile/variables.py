"""Variables in a Dockerfile: `$A`, `${A}`, `${A:-b}` and its like, as BuildKit and a shell resolve them."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

Lookup = Callable[[str], "str | Undefined | None"]
"""Answers for a name: its value, None where nobody can know it before the build, UNDEFINED where it is not set."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = (":-", ":+", ":?", "##", "%%", "//", "-", "+", "?", "#", "%", "/")  # the longer ones first
_DEEPEST = 50  # braces within braces; deeper ones are no variable, so that no text takes long
_SPECIAL = frozenset("@*#?-$!0123456789")


class Undefined:
    """The answer for a name that is not set; BuildKit and shells take it for an empty text."""

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED = Undefined()


class Expansion(Struct, frozen=True):
    """`value` is None where it hangs on what is not known; `undefined` names what is not set and has no default."""

    value: str | None
    undefined: tuple[str, ...] = ()


class Variable(Struct, frozen=True):
    """One use: `operator` is one of `- :- + :+ ? :? # ## % %% / //`, or empty; `word` is what follows it."""

    name: str
    operator: str = ""
    word: str = ""


def expand(text: str, lookup: Lookup, *, escape: str = "\\", raw: bool = False) -> Expansion:
    """Resolve the variables of a word and take its quotes off; nothing is resolved inside single quotes.

    `raw` keeps quotes and escapes, as a pattern needs them.
    """
    out: list[str] = []
    known, undefined, quote, at = True, list[str](), "", 0
    while at < len(text):
        char = text[at]
        if char == escape and quote != "'" and at + 1 < len(text):
            if raw or (quote and text[at + 1] not in f'"$`{escape}'):
                out.append(char)  # between double quotes it escapes these alone
            out.append(text[at + 1])
            at += 2
        elif quote != "'" and char == "$" and (found := read(text, at)) is not None:
            variable, at = found
            answer = resolve(variable, lookup)
            known = known and answer.value is not None
            out.append(answer.value or "")
            undefined += answer.undefined
        else:
            opens, closes = not quote and char in "'\"", quote != "" and char == quote
            if opens or closes:
                quote = char if opens else ""
            if raw or not (opens or closes):
                out.append(char)
            at += 1
    return Expansion("".join(out) if known else None, tuple(undefined))


def read(text: str, at: int) -> tuple[Variable, int] | None:
    """The variable that begins with the `$` at an offset, and where it ends; None where there is none."""
    if text.startswith("${", at):
        return _braced(text, at + 2)
    name = _NAME.match(text, at + 1)
    if name is not None:
        return Variable(name[0]), name.end()
    following = text[at + 1 : at + 2]
    return (Variable(following), at + 2) if following and following in _SPECIAL else None


def _braced(text: str, start: int) -> tuple[Variable, int] | None:
    name = _NAME.match(text, start)
    end = _closing(text, start)
    if name is None or end is None:
        return None
    rest = text[name.end() : end]
    operator = next((operator for operator in _OPERATORS if rest.startswith(operator)), "")
    return None if rest and not operator else (Variable(name[0], operator, rest[len(operator) :]), end + 1)


def resolve(variable: Variable, lookup: Lookup) -> Expansion:
    """The value of one use of a variable."""
    value = lookup(variable.name)
    operator = variable.operator
    if value is None:
        return Expansion(None)
    unset = isinstance(value, Undefined)
    text = "" if isinstance(value, Undefined) else value
    empty = unset or (operator.startswith(":") and not text)
    if operator in ("-", ":-"):
        return expand(variable.word, lookup) if empty else Expansion(text)
    if operator in ("+", ":+"):
        return Expansion("") if empty else expand(variable.word, lookup)
    if operator in ("?", ":?"):
        return Expansion(None) if empty else Expansion(text)
    if operator:
        return _cut(text, operator, expand(variable.word, lookup, raw=True), variable.name, unset=unset)
    return Expansion(text, (variable.name,) if unset else ())


def _cut(text: str, operator: str, word: Expansion, name: str, *, unset: bool) -> Expansion:
    undefined = (name,) if unset else ()
    if word.value is None:
        return Expansion(None, undefined)
    if operator[0] == "/":
        pattern, _, new = word.value.partition("/")
        if not pattern:
            return Expansion(text, undefined)
        count = 0 if operator == "//" else 1
        return Expansion(re.sub(_pattern(pattern, greedy=True), lambda _: new, text, count=count), undefined)
    greedy = len(operator) == 2
    pattern = _pattern(word.value, greedy=greedy)
    if operator[0] == "#":
        match = re.match(pattern, text, re.DOTALL)
        return Expansion(text[match.end() :] if match else text, undefined)
    # From the end: the shortest match is the one that begins last.
    starts = range(len(text) + 1) if greedy else range(len(text), -1, -1)
    for start in starts:
        if re.fullmatch(_pattern(word.value, greedy=True), text[start:], re.DOTALL):
            return Expansion(text[:start], undefined)
    return Expansion(text, undefined)


def _pattern(glob: str, *, greedy: bool) -> str:
    """A shell's pattern as a regular expression: `*`, `?` and escaped characters."""
    out, at = "", 0
    while at < len(glob):
        char = glob[at]
        if char == "\\" and at + 1 < len(glob):
            at += 1
            out += re.escape(glob[at])
        elif char == "*":
            out += ".*" if greedy else ".*?"
        elif char == "?":
            out += "."
        else:
            out += re.escape(char)
        at += 1
    return out


def _closing(text: str, at: int) -> int | None:
    """Where the brace that is open at an offset closes; quotes and braces inside it are passed over."""
    depth, quote = 1, ""
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            at += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif text.startswith("${", at):
            depth += 1
            at += 1
            if depth > _DEEPEST:
                return None
        elif char == "}":
            depth -= 1
            if not depth:
                return at
        at += 1
    return None
