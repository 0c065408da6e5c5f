"""What no ELF header tells: libraries that others open by name, and those that the host's driver brings."""

from __future__ import annotations

import fnmatch

from msgspec import Struct

from gpuimage.tables import _load


class DlopenFamily(Struct, frozen=True):
    """Libraries that `head` opens by name; a member may be a pattern for fnmatch where its name holds a version."""

    family: str
    head: str
    members: tuple[str, ...]
    source: str
    verified: bool


def dlopen_families() -> tuple[DlopenFamily, ...]:
    """Return every family of libraries whose parts are opened by name at run time."""
    return tuple(
        DlopenFamily(row.family, row.head, row.members, row.source, row.verified)
        for row in _load.dlopen_families().families
    )


def driver_libraries() -> frozenset[str]:
    """Return the names that the NVIDIA container toolkit brings from the host."""
    return _load.dlopen_families().driver.names


def opened_by_name(path: str) -> bool:
    """Whether the library at this absolute path is opened by name, so that its own needs count."""
    return _matches(path, _load.dlopen_families().roots.patterns)


def optional_plugin(path: str) -> bool:
    """Whether the library at this absolute path is loaded only by those who installed what it needs."""
    return _matches(path, _load.dlopen_families().optional.patterns)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)
