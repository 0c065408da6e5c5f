"""A machine as its files show it, below a root: this one, or another one's tree that is mounted somewhere."""

from __future__ import annotations

import errno
import os
import re
import shlex
import stat
from collections import deque
from pathlib import Path

from gpuimage import process
from gpuimage.errors import Location, SpecError
from gpuimage.tables import Commands, install_commands

_PROGRAMS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_MOST_BYTES = 4_000_000  # of a file of settings
_MOST_LINKS = 40  # as the kernel's own limit
_SYSTEMS = {
    "debian": "apt", "ubuntu": "apt",
    "fedora": "dnf", "rhel": "dnf", "centos": "dnf", "amzn": "dnf",
    "suse": "zypper", "opensuse": "zypper", "sles": "zypper",
}  # fmt: skip


class Host:
    """Files, programs and package system of a machine.

    `here` says that it is this one: only then its environment, its libraries and its programs may be asked.
    `system` is apt, dnf, zypper or None; `os` and `version` are ID and VERSION_ID of os-release.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise SpecError(
                "this is no directory", where=Location(root), hint="name the root of a machine's files"
            )
        self.root = root
        self.here = root.resolve() == Path("/")
        release = self._release()
        self.os = release.get("ID", "")
        self.version = release.get("VERSION_ID", "")
        families = (name.partition("-")[0] for name in (self.os, *release.get("ID_LIKE", "").split()))
        self.system = next((_SYSTEMS[name] for name in families if name in _SYSTEMS), None)

    def _release(self) -> dict[str, str]:
        text = self.read("/etc/os-release") or self.read("/usr/lib/os-release") or ""
        pairs = re.findall(r"^([A-Z_]+)=[\"']?([^\"'\n]*)", text, re.MULTILINE)
        return dict(pairs)

    def resolve(self, path: str) -> Path:
        """The file behind a path; links, absolute ones too, stay below the root. OSError for a loop of them."""
        if self.here:
            return Path(os.path.realpath(path))
        parts, done, links = deque(path.split("/")), list[str](), 0
        while parts:
            part = parts.popleft()
            if part == "..":
                done = done[:-1]
            elif part in ("", "."):
                continue
            elif (place := self.root.joinpath(*done, part)).is_symlink():
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
                target = str(place.readlink())
                done = [] if target.startswith("/") else done
                parts.extendleft(reversed(target.split("/")))
            else:
                done.append(part)
        return self.root.joinpath(*done)

    def text(self, path: str) -> str:
        """The text of a regular file; OSError where it cannot be read or is none."""
        place = self.resolve(path)
        if not stat.S_ISREG(place.stat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        with place.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")

    def read(self, path: str) -> str | None:
        """The text of a regular file, None where it cannot be read."""
        try:
            return self.text(path)
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Whether there is something at a path."""
        try:
            return self.resolve(path).exists()
        except OSError:
            return False

    def names(self, directory: str) -> list[str]:
        """What a directory holds, sorted; nothing where it cannot be read."""
        try:
            return sorted(os.listdir(self.resolve(directory)))  # noqa: PTH208  # names alone
        except OSError:
            return []

    def program(self, name: str) -> str | None:
        """Where a program is: on PATH, where this is the machine, or where programs usually are."""
        on_path = process.which(name) if self.here else None
        if on_path:
            return str(on_path)
        return next((path for folder in _PROGRAMS if self._is_file(path := f"{folder}/{name}")), None)

    def _is_file(self, path: str) -> bool:
        try:
            return self.resolve(path).is_file()
        except OSError:
            return False

    def commands(self, *lines: str) -> tuple[str, ...]:
        """Commands as the user of this machine types them: root needs no sudo, and may not have it."""
        if self.here and os.geteuid() == 0:
            return tuple(re.sub(r"\bsudo ", "", line) for line in lines)
        return lines

    def service(self, verb: str, name: str, *, user: bool = False) -> str:
        """The command that starts or restarts a service."""
        if user:
            return f"systemctl --user {verb} {name}"
        # The directory is there where systemd runs; a tree that is only looked at has nothing below /run.
        if not self.here or self.exists("/run/systemd/system"):
            return f"sudo systemctl {verb} {name}"
        return f"sudo service {name} {verb}"

    def install(self, what: str) -> tuple[tuple[str, ...], str]:
        """The commands that install something, and what must be so before, or why there are none."""
        found = install_commands(what, self.system, self.os, self.version)
        if isinstance(found, Commands):
            unsure = "" if found.verified else "commands not verified"
            return self.commands(*found.lines), "; ".join(filter(None, (found.note, unsure)))
        return (), found.reason


def quoted(path: object) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(path))
