"""Pieces of Markdown: text that means nothing else, tables, fences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuimage.reporters.visible import visible

# GitHub and GitLab write to whoever is named behind an @, whatever it is escaped with; not so behind an empty space.
_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=[A-Za-z0-9])")


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table."""
    ruled = [head, tuple("---" for _ in head), *(tuple(text(cell) for cell in row) for row in rows)]
    return ["| " + " | ".join(row) + " |" for row in ruled]


def text(value: str) -> str:
    """Text on one line, with nothing in it that Markdown or HTML would read."""
    escaped = re.sub(r"([\\`*_\[\]<>|#&~])", r"\\\1", visible(" ".join(value.split())))
    return _MENTION.sub("@&#8203;", escaped)


def fenced(lines: Sequence[str]) -> list[str]:
    """Lines between fences that are longer than any run of backticks in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *map(visible, lines), fence]


def folded(summary: str, lines: Sequence[str]) -> list[str]:
    """Lines that a click opens; the summary is a text of ours, without markup in it."""
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"]
