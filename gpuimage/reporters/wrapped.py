"""Lines of reports for people, broken between words."""

from __future__ import annotations

import textwrap

WIDTH = 110
"""Characters of a line."""


def wrapped(head: str, text: str, indent: int) -> list[str]:
    """Break a head and the text behind it into lines; those after the first are indented, the text's spaces are one each."""
    return textwrap.wrap(
        head + " ".join(text.split()),
        WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
