"""Finds the known errors in a pasted message or a whole log, the first one first, and says what is behind them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from gpuimage.arch import ArchError, ComputeCapability
from gpuimage.tables import KnownError, Unknown, cuda_range_for, driver_need, known_errors

_LONGEST_LINE = 4000  # characters of a line that are searched: no known message is longer


class Diagnosis(Struct, frozen=True):
    """A known error in a text: where it first stands, how often, and what the tables and the message itself say.

    `line` counts from 1. `facts` are worked out from what the message names: "compute_120 needs CUDA 12.8".
    """

    error: KnownError
    line: int
    text: str
    count: int
    facts: tuple[str, ...] = ()


def explain(text: str) -> tuple[Diagnosis, ...]:
    """Return each known error of a text once, in the order in which they appear; empty where none is known.

    What went wrong first is usually the cause, and what follows its consequence. Of the errors that one line
    matches, the one that matches most of it counts.
    """
    found: dict[str, Diagnosis] = {}
    for number, line in enumerate(text.splitlines(), 1):
        searched = line[:_LONGEST_LINE]
        matches = [(match, error) for error in known_errors() if (match := error.pattern.search(searched))]
        if not matches:
            continue
        match, error = max(matches, key=lambda pair: len(pair[0][0]))
        seen = found.get(error.id)
        if seen is None:
            found[error.id] = Diagnosis(error, number, line.strip(), 1, _facts(error, searched, match))
        else:
            found[error.id] = Diagnosis(error, seen.line, seen.text, seen.count + 1, seen.facts)
    return tuple(found.values())


def _facts(error: KnownError, line: str, match: re.Match[str]) -> tuple[str, ...]:
    work_out = _WORKED_OUT.get(error.id)
    fact = work_out(line[match.start() :]) if work_out else None
    return (fact,) if fact else ()


def _compiler(text: str) -> str | None:
    """Which nvcc takes an architecture that this one refused."""
    named = re.search(r"(?:compute|sm)_\d+[af]?", text)
    if named is None:
        return None
    try:
        known = cuda_range_for(ComputeCapability.parse(named[0]))
    except ArchError:
        return None
    if isinstance(known, Unknown):
        return known.reason
    return f"{named[0]} needs the compiler of {known.span}"


def _spoken(text: str) -> str | None:
    """Which CUDA a driver speaks that torch found too old ("found version 12040")."""
    named = re.search(r"found version (\d+)", text)
    if named is None:
        return None
    cuda = f"{int(named[1]) // 1000}.{int(named[1]) % 1000 // 10}"
    need = driver_need(cuda)
    branch = "" if isinstance(need, Unknown) or not need.full else f" (branch {need.full.partition('.')[0]})"
    return f"the host's driver speaks CUDA {cuda}{branch}: take a build for CUDA {cuda} or older of the same major, or a newer driver"


_WORKED_OUT: Mapping[str, Callable[[str], str | None]] = {
    "nvcc-unsupported-arch": _compiler,
    "ptxas-unknown-arch": _compiler,
    "torch-driver-too-old": _spoken,
}
