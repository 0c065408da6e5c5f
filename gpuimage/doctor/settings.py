"""Docker's daemon.json, which the daemon reads when it starts."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

from gpuimage.doctor.host import Host, quoted
from gpuimage.doctor.types import Line


class Daemon(Struct, frozen=True):
    """Docker's daemon.json: `problem` where it cannot be read; `runtime` is the program of the runtime nvidia."""

    path: str
    problem: str | None = None
    runtime: str | None = None


def read_daemon(host: Host, *, rootless: bool) -> Daemon | None:
    """Read daemon.json; None where there is none, which is fine."""
    own = host.here and rootless
    path = str(Path("~/.config/docker/daemon.json").expanduser()) if own else "/etc/docker/daemon.json"
    if not host.exists(path):
        return None
    try:
        # The daemon takes an empty file, and one with a byte order mark.
        settings = json.loads(host.text(path).removeprefix("\ufeff").strip() or "{}")
        if not isinstance(settings, dict):
            return Daemon(path, problem="it holds no JSON object")
        runtimes = settings.get("runtimes") or {}
        entry = runtimes.get("nvidia") if isinstance(runtimes, dict) else None
        return Daemon(path, runtime=str(entry.get("path") or "") if isinstance(entry, dict) else None)
    except json.JSONDecodeError as error:
        return Daemon(path, problem=f"line {error.lineno}, column {error.colno}: {error.msg}")
    except PermissionError:
        return Daemon(path)  # the daemon may read what this user may not
    except (OSError, RecursionError) as error:
        return Daemon(path, problem=getattr(error, "strerror", None) or "it is nested too deep")


def settings_line(host: Host, daemon: Daemon | None, *, serves: bool) -> Line | None:
    """A line about settings with which the daemon does not start, though one may still serve; None where they are well."""
    if daemon is None or daemon.problem is None:
        return None
    return Line(
        area="engine",
        name="docker settings",
        status="warning" if serves else "missing",
        seen=f"{daemon.path}: {daemon.problem}",
        why="a daemon does not start with these, and nvidia-ctk cannot change them",
        mend=host.commands(f"sudo dockerd --validate --config-file={quoted(daemon.path)}"),
    )
