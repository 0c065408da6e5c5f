"""Run commands for the lab, and say on stderr what takes long."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


class LabError(Exception):
    """The lab cannot be set up here; the message says why and what would help."""


def say(text: str) -> None:
    """Print one progress line on stderr."""
    print(f"lab: {text}", file=sys.stderr, flush=True)


def which(name: str) -> str | None:
    """Find a command, also in the system directories an ordinary user's PATH leaves out."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    return shutil.which(name, path=path)


def is_root() -> bool:
    return os.geteuid() == 0


def as_root(args: Sequence[str]) -> list[str]:
    """Return the command so that root runs it: as it is, or through sudo (which asks only on a terminal)."""
    if is_root():
        return list(args)
    sudo = which("sudo")
    if sudo is None:
        raise LabError(f"`{args[0]}` needs root: run as root, or install sudo")
    return [sudo, *([] if sys.stdin.isatty() else ["-n"]), "--", *args]


def run(
    args: Sequence[str],
    *,
    root: bool = False,
    env: Mapping[str, str] | None = None,
    stdout: int | None = subprocess.PIPE,
    stderr: int | None = subprocess.PIPE,
    timeout: float | None = None,
) -> str:
    """Run a command to its end and return its output; LabError with the last lines when it fails."""
    command = as_root(args) if root else list(args)
    done = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL if not sys.stdin.isatty() else None,
        stdout=stdout,
        stderr=stderr,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        raise LabError(
            f"`{' '.join(args)}` failed ({done.returncode}):\n{tail(done.stderr or done.stdout or '')}"
        )
    return done.stdout or ""


def tail(text: str, lines: int = 15) -> str:
    """Return the last lines of a log, indented."""
    return "\n".join(f"  {line}" for line in text.strip().splitlines()[-lines:])


def read_text(path: Path) -> str:
    """Read a file that may be absent (then: an empty text)."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def write_text(path: Path, text: str) -> None:
    """Replace a file atomically; leave it alone when it already says this."""
    if read_text(path) == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(path)
