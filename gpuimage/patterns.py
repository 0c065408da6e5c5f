"""Regular expressions that are compiled when they are first used: most files need few of them."""

from __future__ import annotations

import re
from typing import cast


class _Lazy:
    """Stands for a pattern; its methods replace these ones on their first use."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self._text, self._flags)
        for method in ("match", "fullmatch", "search", "finditer", "findall", "sub", "split", "pattern"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, later."""
    return cast("re.Pattern[str]", _Lazy(text, flags))
