"""The patterns of a .dockerignore, as Docker's own matcher reads them (moby/patternmatcher).

The rules that surprise: a pattern is anchored at the root of the context (`*.log` matches only there,
`**/*.log` everywhere); what lies below a matched directory is matched too; the last pattern that matches
decides; `!` takes back.
"""

from __future__ import annotations

import posixpath
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from gpuimage.errors import SpecError

_WILDCARDS = frozenset("*?[\\")
# What the matcher escapes on the way to a regular expression; all else means itself there as well.
_ESCAPED = frozenset(".$+()|{}")


@dataclass(frozen=True, slots=True)
class _Pattern:
    text: str
    expression: re.Pattern[str]
    takes_back: bool

    def matches(self, path: str) -> bool:
        """Match the path itself or any directory above it."""
        while path:
            if self.expression.fullmatch(path):
                return True
            path = posixpath.dirname(path)
        return False


@dataclass(frozen=True, slots=True)
class IgnoreList:
    """Decides which files of a context are sent."""

    patterns: tuple[_Pattern, ...] = ()

    @classmethod
    def parse(cls, text: str) -> IgnoreList:
        """Read the text of a .dockerignore; SpecError for a pattern that is none."""
        return cls(tuple(_compile(line) for line in _lines(text)))

    def ignores(self, path: str) -> bool:
        """Say whether a path (relative to the context, with slashes) is left out."""
        ignored = False
        for pattern in self.patterns:
            # A pattern that would not change the answer need not be tried.
            if pattern.takes_back == ignored and pattern.matches(path):
                ignored = not pattern.takes_back
        return ignored

    def may_hold_exceptions(self, directory: str) -> bool:
        """Say whether an ignored directory can still hold files that a `!` pattern takes back."""
        below = directory + "/"
        return any(
            pattern.takes_back
            and (not _WILDCARDS.isdisjoint(pattern.text) or (pattern.text + "/").startswith(below))
            for pattern in self.patterns
        )


def _lines(text: str) -> Iterable[str]:
    for line in text.removeprefix("\ufeff").splitlines():
        if not line.startswith("#") and line.strip():
            yield line.strip()


def _compile(line: str) -> _Pattern:
    takes_back = line.startswith("!")
    text = line[1:].strip() if takes_back else line
    if not text:
        raise SpecError("a .dockerignore line holds only `!`", hint="write the pattern to take back after it")
    # Cleaned like a path: "./a//b/" is "a/b". POSIX keeps two leading slashes; Go does not.
    text = posixpath.normpath(text)
    if len(text) > 1:
        text = text.lstrip("/")
    try:
        with warnings.catch_warnings():
            # Python warns of "[[" in case it gets a meaning one day; it is a class that holds "[".
            warnings.simplefilter("ignore", FutureWarning)
            expression = re.compile(_expression(text), re.DOTALL)
    except re.error as problem:
        raise SpecError(f"`{line}` is not a .dockerignore pattern", why=str(problem)) from None
    return _Pattern(text, expression, takes_back)


def _expression(pattern: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*" and pattern.startswith("*", at):
            at += 1
            if pattern.startswith("/", at):
                at += 1
            # Two stars at the end match everything below; elsewhere any number of directories, none too.
            out.append("(.*/)?" if at < len(pattern) else ".*")
        elif char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "\\":
            out.append(re.escape(pattern[at]) if at < len(pattern) else r"\\")
            at += 1
        else:
            out.append("\\" + char if char in _ESCAPED else char)
    return "".join(out)
