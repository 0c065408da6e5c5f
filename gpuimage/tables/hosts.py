"""Machines that build and run images: how they get what they lack, and what their engines can."""

from __future__ import annotations

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, known


class Commands(Struct, frozen=True):
    """Commands in their order, as a user without root types them; `note` is what must be so before."""

    lines: tuple[str, ...]
    note: str
    source: str
    verified: bool


def install_commands(what: str, system: str | None, os: str = "", version: str = "") -> Commands | Unknown:
    """How a machine gets something: `container-toolkit`, `driver`, `engine` and what else the table holds.

    `system` is apt, dnf or zypper; `os` and `version` are ID and VERSION_ID of its os-release.
    """
    names = {os, f"{os}{version}", f"{os}{version.partition('.')[0]}"}
    for row in _load.host().commands:
        if (row.what, row.system) == (what, system) and (not row.os or names & set(row.os)):
            return Commands(row.commands, row.note, row.source, row.verified)
    return Unknown(f"how {os or 'this system'} {version} gets {what} is not in the tables".replace("  ", " "))


def docker_has(feature: str, version: str | None) -> bool | None:
    """Whether a Docker Engine of a version has a feature; None where the version cannot be read."""
    numbers = (version or "").partition("+")[0].partition("-")[0].partition("~")[0]
    for row in _load.host().docker:
        if row.what == feature:
            try:
                return known(numbers) >= known(row.version)
            except ValueError:
                return None
    return None


def docker_since(feature: str) -> str:
    """The first Docker Engine with a feature that the tables hold."""
    return next(row.version for row in _load.host().docker if row.what == feature)


class FileCount(Struct, frozen=True):
    """Files and directories of an installed set of packages."""

    what: str
    files: int
    source: str


def torch_files() -> FileCount | Unknown:
    """How many files and directories torch and all that it pulls in have, as far as that was counted."""
    for row in _load.host().files:
        if row.what.startswith("torch "):
            return FileCount(row.what, row.files, row.source)
    return Unknown("the files of an installed torch were not counted")
