"""What is known of the files of an image without starting it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuimage.errors import SpecError

_LINK_LIMIT = 40  # as the kernel's


class InspectError(SpecError):
    """What was given to look at cannot be read: not a tar archive, cut short, or no such directory."""


@dataclass(frozen=True, slots=True)
class Library:
    """One ELF file with a dynamic section; `bits` is 32 or 64, `bytes` its size on disk.

    A `runpath` of one empty entry is one that is there and empty: it finds nothing, but switches RPATH off.
    """

    path: str
    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    machine: str
    bits: int
    bytes: int

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class WheelInfo:
    """An installed distribution; `bytes` sums the files of its RECORD that are there."""

    name: str
    version: str
    bytes: int
    location: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """The files of one root: absolute paths as the container sees them.

    `sizes` holds regular files in bytes, hard links once more under their own name with 0; `links` symbolic links
    with their targets as written; `problems` says what could not be read, so that a partial answer shows as one.
    """

    sizes: Mapping[str, int]
    links: Mapping[str, str]
    executables: frozenset[str]
    libraries: tuple[Library, ...]
    wheels: tuple[WheelInfo, ...] = ()
    ld_so_conf: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    _by_path: Mapping[str, Library] = field(default_factory=dict, repr=False)

    @property
    def files(self) -> int:
        """How many regular files there are."""
        return len(self.sizes)

    @property
    def bytes(self) -> int:
        """The sum of their sizes."""
        return sum(self.sizes.values())

    def library(self, path: str) -> Library | None:
        """The library behind a path, links followed; None where there is none."""
        real = self.resolve(path)
        return self._by_path.get(real) if real else None

    def resolve(self, path: str) -> str | None:
        """The path with every symbolic link followed inside this root; None for a loop of links."""
        done, rest, jumps = "", path.split("/"), 0  # no normpath: `link/..` is where the link leads, one up
        while rest:
            part = rest.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}"
            target = self.links.get(here)
            if target is None:
                done = here
                continue
            jumps += 1
            if jumps > _LINK_LIMIT:
                return None
            if target.startswith("/"):
                done = ""
            rest = target.split("/") + rest
        return done or "/"
