"""Running other programs; the only module that uses `subprocess`.

Each program gets a process group of its own. When its time is up, or when anything is raised here
(Ctrl-C included), the whole group is ended, so that no child of a child outlives us, and the child is
waited for, so that no zombie stays.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from gpuimage.errors import UnavailableError

GRACE = 5.0
"""Seconds that a group has to clean up after SIGTERM, before SIGKILL."""

_TAIL_LINES = 20
_UNREAD = 4_000_000  # bytes
_ROUND = 0.1
_HELPERS_AFTER = 1.0


@dataclass(frozen=True, slots=True)
class Completed:
    """A program that has ended; output is text, bytes that are not UTF-8 are replaced."""

    args: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


class ProcessTimeoutError(TimeoutError):
    """A program did not end in time and was killed; what it had written is kept."""

    def __init__(self, args: tuple[str, ...], seconds: float, stdout: str, stderr: str) -> None:
        super().__init__(f"`{args[0]}` did not end within {seconds:g} seconds")
        self.command = args
        self.seconds = seconds
        self.stdout = stdout
        self.stderr = stderr


def which(name: str) -> Path | None:
    """Return the program of that name on PATH, or None."""
    found = shutil.which(name)
    return Path(found) if found else None


def run(
    args: Sequence[str],
    *,
    input: bytes | None = None,  # noqa: A002  (the name that subprocess.run uses)
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = None,
    check: bool = False,
    tidy: float = 0.0,
) -> Completed:
    """Run a program to its end.

    `env` is added to this process's environment; `timeout` is in seconds; for `tidy` see stream. Raises
    UnavailableError when there is no such program or, with `check`, when it ends with another status
    than 0, and ProcessTimeoutError when it was killed for taking too long.
    """
    command = tuple(args)
    process = _start(command, env=env, cwd=cwd, stdin=input is not None, stderr=subprocess.PIPE)
    with _group(process, tidy):
        try:
            out, err = process.communicate(input, timeout)
        except subprocess.TimeoutExpired as late:
            end_group(process, tidy)
            seconds = timeout or 0.0
            raise ProcessTimeoutError(command, seconds, _text(late.stdout), _text(late.stderr)) from None
    done = Completed(command, process.returncode, _text(out), _text(err))
    if check and done.returncode != 0:
        raise failed(command, done.returncode, done.stderr or done.stdout)
    return done


class StreamingProcess:
    """A running program: iterate over it for the lines of its output and its errors, merged."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def __iter__(self) -> Iterator[str]:
        out = self._process.stdout
        if out is None:
            return
        for raw in out:
            yield from _states(raw)
        self._process.wait()

    @property
    def returncode(self) -> int:
        """Exit status; waits for the end of the program. Negative: ended by that signal."""
        return self._process.wait()


@contextmanager
def stream(
    args: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    tidy: float = 0.0,
    rest: Callable[[str], None] | None = None,
) -> Iterator[StreamingProcess]:
    """Run a program and read its output line by line; its group has ended when the block is left.

    A program that must clean up after itself gets `tidy` seconds for it: first only what it has started is
    killed, so that it sees its work fail; it is ended when the time is up. `rest` gets the lines that stood
    unread when the block was left, or came later: they may name what is still to be cleaned up.
    """
    process = _start(tuple(args), env=env, cwd=cwd, stdin=stdin is not None, stderr=subprocess.STDOUT)
    unread: list[bytes] = []
    try:
        with _group(process, tidy, unread), _feeding(process, stdin):
            yield StreamingProcess(process)
    finally:
        if rest:
            for raw in unread:
                for text in _states(raw):
                    rest(text)


def _states(raw: bytes) -> Iterator[str]:
    """A progress bar redraws its line with carriage returns: each state is a line of its own."""
    for part in raw.decode("utf-8", "replace").rstrip("\n").split("\r"):
        if part:
            yield part


@contextmanager
def pipe(args: Sequence[str], *, env: Mapping[str, str] | None = None) -> Iterator[BinaryIO]:
    """Run a program and read its binary output as a file.

    Raises UnavailableError when the program ends with another status than 0; a reader that leaves early
    ends the program and hears nothing of it.
    """
    command = tuple(args)
    with tempfile.TemporaryFile() as errors:
        process = _start(command, env=env, cwd=None, stdin=False, stderr=errors)
        with _group(process):
            out = process.stdout
            if out is None:  # a pipe was asked for; this is for the type checker
                raise RuntimeError("no pipe")
            yield _binary(out)
            finished = not out.read(1)
            if finished:
                process.wait()
        if finished and process.returncode != 0:
            errors.seek(0)
            raise failed(command, process.returncode, _text(errors.read()))


def _binary(file: IO[bytes]) -> BinaryIO:
    return file  # type: ignore[return-value]  # BinaryIO is IO[bytes] with a narrower name


def failed(command: tuple[str, ...], status: int, output: str) -> UnavailableError:
    """Return the error for a command that ended badly, with the last lines that it wrote."""
    tail = "\n".join(output.strip().splitlines()[-_TAIL_LINES:])
    shown = " ".join(command[:3])
    return UnavailableError(f"`{shown}` ended with status {status}", why=tail or None)


def end_group(process: subprocess.Popen[bytes], tidy: float = 0.0, unread: list[bytes] | None = None) -> None:
    """End a process, its group and its descendants: ask first, then kill, then wait for the process.

    What it has written and nobody read goes into `unread`.
    """
    # Nobody reads any more; a writer that meets a full pipe would never come to its clean-up.
    reader = threading.Thread(target=_drain, args=(process.stdout, unread), daemon=True)
    if tidy or unread is not None:
        reader.start()
    outside: set[_Child] = set()
    if process.poll() is None:
        # A second Ctrl-C means "now": go on to SIGKILL, the first one is already on its way up.
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            if not (tidy and _let_tidy(process, tidy)):
                # Children in sessions of their own (containers) are not reached by the group's signal.
                outside = _descendants(process.pid)
                _signal(process, signal.SIGTERM)
                process.wait(GRACE)
    _signal(process, signal.SIGKILL)
    for child in outside:
        child.kill()
    process.wait()
    if reader.is_alive():
        reader.join(GRACE)
    for file in (process.stdin, process.stdout, process.stderr):
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()


def _let_tidy(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Kill what a program has started until it gives up by itself; says whether it did."""
    begin = time.monotonic()
    while (past := time.monotonic() - begin) < seconds:
        children = _descendants(process.pid)
        containers = {child for child in children if child.session != process.pid}
        # Its own helpers know how to clean up after a container: they come second.
        for child in containers or (children if past > _HELPERS_AFTER else set()):
            child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ROUND)
            return True
    return False


def _drain(file: IO[bytes] | None, unread: list[bytes] | None) -> None:
    kept = 0
    with contextlib.suppress(OSError, ValueError):
        while data := file.readline(1 << 16) if file else b"":
            if unread is not None and kept < _UNREAD:
                unread.append(data)
                kept += len(data)


@dataclass(frozen=True, slots=True)
class _Child:
    """A process as /proc describes it; number and start time together are never used twice."""

    pid: int
    parent: int
    session: int
    started: str

    @classmethod
    def read(cls, pid: int) -> _Child | None:
        try:
            text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        except OSError:
            return None
        # pid (name) state ppid pgrp session …; the name may hold spaces and parentheses.
        parts = text.rpartition(")")[2].split()
        return cls(pid, int(parts[1]), int(parts[3]), parts[19])

    def kill(self) -> None:
        now = _Child.read(self.pid)  # its parent may be another by now
        if now is not None and now.started == self.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)


def _descendants(pid: int) -> set[_Child]:
    """List the children of a process and theirs; empty where there is no /proc."""
    by_parent: dict[int, list[_Child]] = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir("/proc"):
            child = _Child.read(int(entry.name)) if entry.name.isdigit() else None
            if child is not None:
                by_parent.setdefault(child.parent, []).append(child)
    found: set[_Child] = set()
    queue = [pid]
    while queue:
        for child in by_parent.get(queue.pop(), ()):
            if child not in found:
                found.add(child)
                queue.append(child.pid)
    return found


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    # The group's number is the first child's, and stays taken for as long as the group has members.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


@contextmanager
def _group(
    process: subprocess.Popen[bytes], tidy: float = 0.0, unread: list[bytes] | None = None
) -> Iterator[None]:
    try:
        yield
    finally:
        end_group(process, tidy, unread)


@contextmanager
def _feeding(process: subprocess.Popen[bytes], data: bytes | None) -> Iterator[None]:
    """Write standard input beside the reader: one of both alone would stop when a pipe is full."""
    if data is None or process.stdin is None:
        yield
        return
    file = process.stdin

    def feed() -> None:
        with contextlib.suppress(OSError, ValueError):  # the program may end without reading it all
            file.write(data)
        with contextlib.suppress(OSError, ValueError):
            file.close()

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    yield  # on an error the group is ended outside of this block, which frees a writer on a full pipe
    thread.join(GRACE)


def _start(
    command: tuple[str, ...],
    *,
    env: Mapping[str, str] | None,
    cwd: Path | None,
    stdin: bool,
    stderr: int | IO[bytes],
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, **env} if env else None,
            cwd=cwd,
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError) as problem:
        missing = cwd if cwd is not None and not cwd.is_dir() else command[0]
        raise UnavailableError(f"cannot run `{command[0]}`", why=f"{missing}: {problem.strerror}") from None


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
