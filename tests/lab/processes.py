"""Start, find and stop the lab's own processes; ours are those whose arguments name our directory."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.lab.home import Home
from tests.lab.shell import LabError, is_root, read_text, run, tail


def command_line(pid: int) -> tuple[str, ...]:
    """Return the arguments of a process; empty when it is gone."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(part.decode(errors="replace") for part in raw.split(b"\0") if part)


def find(*, program: str, mentions: Path) -> tuple[int, ...]:
    """Return the ids of the processes of this program whose arguments name a file under the directory."""
    prefix = str(mentions)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        args = command_line(int(entry.name))
        if args and Path(args[0]).name == program and any(_is_under(arg, prefix) for arg in args[1:]):
            found.append(int(entry.name))
    return tuple(found)


def _is_under(argument: str, prefix: str) -> bool:
    value = argument.split("=", 1)[-1].removeprefix("unix://")
    return value == prefix or value.startswith(f"{prefix}/")


def start(args: Sequence[str], log: Path, *, root: bool = False, env: Mapping[str, str] | None = None) -> int:
    """Start a daemon in a session of its own with its output in a log, and return its process id.

    `env` replaces the environment. Through sudo the id stays unknown: 0.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    if root and not is_root():
        # sudo has to ask, if it must, before the daemon leaves the terminal behind.
        with log.open("wb") as output:
            run(["setsid", "--fork", *args], root=True, stdout=output.fileno(), stderr=output.fileno())
        return 0
    command = list(args)
    # Not subprocess: it complains about children that are meant to outlive us.
    return os.posix_spawn(
        command[0],
        command,
        os.environ if env is None else env,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def wait_until(ready: Callable[[], bool], pid: int, log: Path, what: str, seconds: float = 60) -> None:
    """Wait until a started daemon answers; LabError with the end of its log when it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ready():
            return
        if pid and not _is_alive(pid):
            break
        time.sleep(0.1)
    raise LabError(f"{what} did not start; the end of {log}:\n{tail(read_text(log))}")


def stop(pids: Sequence[int], *, seconds: float = 20, group: bool = False) -> None:
    """End processes by id, or their process groups: politely, then for good after some seconds."""
    targets = [-pid for pid in pids] if group else list(pids)
    for sign in (signal.SIGTERM, signal.SIGKILL):
        targets = [target for target in targets if _is_alive(target)]
        for target in targets:
            _send(target, sign)
        deadline = time.monotonic() + seconds
        while targets and time.monotonic() < deadline:
            time.sleep(0.05)
            targets = [target for target in targets if _is_alive(target)]


def _is_alive(target: int) -> bool:
    """Return whether a process lives; for a negative number, whether any of its process group does."""
    with contextlib.suppress(ChildProcessError):  # not ours, or reaped already
        os.waitpid(abs(target), os.WNOHANG)
    if target > 0:
        return _state(target) not in {"", "Z", "X"}
    members = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return any(_group(pid) == -target and _state(pid) not in {"", "Z", "X"} for pid in members)


def _state(pid: int) -> str:
    """Return the letter of a process's state (proc(5)); empty when it is gone."""
    fields = read_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[0] if fields else ""


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _send(pid: int, sign: signal.Signals) -> None:
    try:
        os.kill(pid, sign)
    except ProcessLookupError:
        return
    except PermissionError:
        with contextlib.suppress(LabError):  # gone meanwhile: whoever stops it looks whether it lives
            run(["kill", f"-{sign.value}", "--", str(pid)], root=True)


def unmount_under(*roots: Path) -> None:
    """Unmount everything mounted below the directories, the deepest first."""
    points = []
    for line in read_text(Path("/proc/self/mounts")).splitlines():
        point = line.split(" ")[1].encode().decode("unicode_escape")
        if any(point == str(root) or point.startswith(f"{root}/") for root in roots):
            points.append(point)
    for point in sorted(points, key=len, reverse=True):
        run(["umount", "--lazy", point], root=True)


def remove_tree(path: Path) -> None:
    """Remove a directory or file, as root where root or rootless containers own files in it."""
    command = ["rm", "-rf", "--one-file-system", str(path)]
    try:
        run(command)
    except LabError:
        if is_root():
            raise
        run(command, root=True)


def leftovers(home: Home) -> tuple[int, ...]:
    """Return processes of engines that outlived their daemon: shims, monitors, container networks."""
    programs = ("containerd", "containerd-shim", "containerd-shim-runc-v2", "conmon", "docker-proxy")
    return tuple(
        pid
        for program in programs
        for where in (home.docker, home.podman, home.run)
        for pid in find(program=program, mentions=where)
    )
