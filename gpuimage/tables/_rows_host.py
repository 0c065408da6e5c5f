"""The shape of the rows about machines that build and run images: host.json."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gpuimage.tables._rows import Checked, Text

System = Literal["apt", "dnf", "zypper"]


class CommandRow(Checked, frozen=True, kw_only=True):
    """The commands that install something, or finish its installation."""

    what: Text
    system: System
    os: tuple[Text, ...]
    commands: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    note: str = ""


class DockerRow(Checked, frozen=True, kw_only=True):
    """The first Docker Engine in which something holds."""

    what: Text
    version: Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+\.\d+$")]
    note: Text


class FilesRow(Checked, frozen=True, kw_only=True):
    """How many files and directories a set of packages has."""

    what: Text
    files: Annotated[int, msgspec.Meta(gt=0)]


class HostFacts(msgspec.Struct, frozen=True, kw_only=True):
    """host.json."""

    commands: tuple[CommandRow, ...]
    docker: tuple[DockerRow, ...]
    files: tuple[FilesRow, ...]
