"""Where the lab keeps its state: `.lab` in the checkout, or the directory GPUIMAGE_LAB names."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.lab.shell import LabError

CHECKOUT = Path(__file__).resolve().parents[2]

_LONGEST_SOCKET = 100  # sun_path holds 108 bytes; the rest is for what engines append


@dataclass(frozen=True, slots=True)
class Home:
    """The lab's directories. Everything in `root` survives a reboot, nothing in `run` has to."""

    root: Path

    @classmethod
    def find(cls) -> Home:
        chosen = os.environ.get("GPUIMAGE_LAB")
        return cls(Path(chosen).expanduser().absolute() if chosen else CHECKOUT / ".lab")

    @property
    def run(self) -> Path:
        """A short directory for sockets and run state: podman adds some 90 characters of its own."""
        tag = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:10]
        if os.geteuid() == 0:
            return Path(f"/run/gpuimage-lab-{tag}")
        return Path(f"/tmp/gpuimage-lab-{os.getuid()}-{tag}")

    @property
    def docker(self) -> Path:
        return self.root / "docker"

    @property
    def socket(self) -> Path:
        """Docker's socket: in `root` when the path is short enough for a socket, else in `run`."""
        near = self.root / "docker.sock"
        return near if len(os.fsencode(near)) <= _LONGEST_SOCKET else self.run / "docker.sock"

    @property
    def registry(self) -> Path:
        return self.root / "registry"

    @property
    def podman(self) -> Path:
        return self.root / "podman"

    @property
    def bases(self) -> Path:
        return self.root / "bases"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def keep(self) -> Path:
        """Marks a lab that `up` started: a test session then leaves it running."""
        return self.root / "keep"

    def make(self) -> None:
        """Create the directories, private to this user."""
        for path in (self.root, self.bases, self.tmp):
            path.mkdir(parents=True, exist_ok=True)
        self.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.run.stat().st_uid != os.geteuid():
            raise LabError(f"{self.run} belongs to another user: remove it, or set GPUIMAGE_LAB elsewhere")

    @contextmanager
    def locked(self, name: str = "lab") -> Iterator[None]:
        """Let one process at a time change the lab, or make one base."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / f"{name}.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


class Use:
    """Says that a process uses the lab, so that another one does not stop it under its feet."""

    def __init__(self, home: Home) -> None:
        home.root.mkdir(parents=True, exist_ok=True)
        self._handle = (home.root / "users.lock").open("w")
        fcntl.flock(self._handle, fcntl.LOCK_SH)

    def is_last(self) -> bool:
        """Return whether nobody else uses the lab; keeps the lock for good when so."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def close(self) -> None:
        self._handle.close()
