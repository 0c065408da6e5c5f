"""Times commands against each other, in turns, so that a busy machine slows both."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def seconds(call: Callable[[], object]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def quietly(command: list[str], cwd: Path | None = None, codes: tuple[int, ...] = (0,)) -> None:
    """Run a command without its output; any other exit code is an error."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in codes:
        raise subprocess.CalledProcessError(done.returncode, command, stderr=done.stderr)


def in_turns(ours: Callable[[], object], peer: Callable[[], object], runs: int) -> tuple[float, float]:
    """Medians of so many runs of both; the first run of each warms up and does not count."""
    ours()
    peer()
    times = [(seconds(ours), seconds(peer)) for _ in range(runs)]
    return statistics.median(a for a, _ in times), statistics.median(b for _, b in times)
