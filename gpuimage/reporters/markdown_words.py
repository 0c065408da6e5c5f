"""Pieces of Markdown: text that means nothing else, tables, fences."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuimage.reporters.visible import visible


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table."""
    ruled = [head, tuple("---" for _ in head), *(tuple(text(cell) for cell in row) for row in rows)]
    return ["| " + " | ".join(row) + " |" for row in ruled]


def text(value: str) -> str:
    """Text on one line, with nothing in it that Markdown or HTML would read."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", visible(" ".join(value.split())))


def fenced(lines: tuple[str, ...]) -> list[str]:
    """Lines between fences that are longer than any run of backticks in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]
