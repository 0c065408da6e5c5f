"""What every question of the tables shares: the answer that nobody knows, the error of a broken file, and how versions compare."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from gpuimage.errors import GpuImageError
from gpuimage.patterns import pattern

_DASHES = pattern(r"[-_.]+")
_DOTTED = pattern(r"\d+(\.\d+)*", re.ASCII)

Version = tuple[int, ...]


class DataError(GpuImageError):
    """A data file of this installation, or a user's own, is missing, or breaks its shape or its laws."""


class Unknown(Struct, frozen=True):
    """The tables do not know; `reason` says what was looked for and what they know instead. It is false."""

    reason: str

    def __bool__(self) -> Literal[False]:
        return False


@lru_cache(maxsize=4096)
def dotted(text: str) -> Version | None:
    """`550.54.14` as (550, 54, 14); None for what is not numbers and dots."""
    return tuple(int(part) for part in text.split(".")) if _DOTTED.fullmatch(text) else None


def known(text: str) -> Version:
    """`dotted` of a text from the tables, whose form the decoding has checked."""
    version = dotted(text)
    if version is None:
        raise ValueError(f"{text!r} is not numbers and dots")
    return version


def normalise(name: str) -> str:
    """Write a project name as PyPI compares it."""
    return _DASHES.sub("-", name.strip()).lower()


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """` (did you mean X or Y?)`, upper and lower case aside, or nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - only when an answer is unknown

    spelled = {name.casefold(): name for name in names}
    close = [spelled[key] for key in get_close_matches(word.strip().casefold(), spelled, n=3, cutoff=0.6)]
    return f" (did you mean {' or '.join(close)}?)" if close else ""
