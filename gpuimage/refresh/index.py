"""A package index, by PyPI's simple API in JSON (PEP 691, 700): which files a project has, and what a wheel says of itself."""

from __future__ import annotations

import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from email.parser import BytesParser
from urllib.parse import urljoin, urlsplit

import msgspec
from packaging.tags import Tag
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from gpuimage import remote
from gpuimage.errors import SpecError, UnavailableError
from gpuimage.tables._answers import normalise

_JSON = "application/vnd.pypi.simple.v1+json"
_SMALL = 1 << 22  # bytes of a text inside a wheel


class File(msgspec.Struct, frozen=True):
    """A file of a release; `tags` is empty for a source archive, `described` says that its metadata lies beside it."""

    name: str
    url: str
    size: int
    uploaded: str
    requires_python: str | None
    sha256: str
    described: bool
    tags: frozenset[Tag]

    def for_linux(self, machine: str) -> bool:
        """Whether it is a wheel made for Linux on such a machine (`x86_64`)."""
        return any("linux" in tag.platform and tag.platform.endswith(machine) for tag in self.tags)

    @property
    def platform(self) -> str:
        """The last part of a wheel's name: `manylinux_2_28_x86_64`."""
        return self.name.removesuffix(".whl").rpartition("-")[2]

    @property
    def for_any(self) -> bool:
        """Whether it is a wheel for every machine."""
        return any(tag.platform == "any" for tag in self.tags)


class Project(msgspec.Struct, frozen=True):
    """A project's releases that were not withdrawn."""

    name: str
    releases: Mapping[Version, tuple[File, ...]]

    def newest(self, minor: tuple[int, ...] = ()) -> Version | None:
        """Return the newest release that is no preview, of those whose version begins so."""
        fitting = (v for v in self.releases if not v.is_prerelease and v.release[: len(minor)] == minor)
        return max(fitting, default=None)


class _FileRow(msgspec.Struct):
    filename: str
    url: str
    hashes: dict[str, str] = {}  # msgspec copies a default for each struct
    size: int | None = None
    uploaded: str | None = msgspec.field(name="upload-time", default=None)
    requires_python: str | None = msgspec.field(name="requires-python", default=None)
    yanked: bool | str = False
    metadata: bool | dict[str, str] = msgspec.field(name="core-metadata", default=False)


class _Page(msgspec.Struct):
    name: str
    files: list[_FileRow]


class Index:
    """An index by its address. Every answer that is none raises UnavailableError."""

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        self.url = url.rstrip("/")
        self._timeout = timeout
        try:
            fine = urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
        except ValueError:
            fine = False
        if not fine:
            raise SpecError(
                f"{url.rpartition('@')[2]} is no address of a package index",  # without a password
                hint=f"give one like {remote.PYPI}",
            )

    @property
    def name(self) -> str:
        """The address as it may be shown."""
        return remote.shown(self.url)

    def project(self, name: str) -> Project | None:
        """Return a project, None where the index has none of that name."""
        address = f"{self.url}/{normalise(name)}/"
        try:
            data, at = remote.read(address, accept=_JSON, timeout=self._timeout, login=self.url)
        except remote.MissingError:
            return None
        try:
            page = msgspec.json.decode(data, type=_Page)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UnavailableError(
                f"{remote.shown(address)} does not answer as a package index",
                why=str(error),
                hint="the index must speak the simple API in JSON (PEP 691)",
            ) from error
        if normalise(page.name) != normalise(name):
            raise UnavailableError(f"{remote.shown(address)} answers for another project, {page.name!r}")
        return Project(normalise(name), _releases(page, at))

    def requirements(self, file: File) -> tuple[str, ...]:
        """Return what a wheel requires: by the metadata beside it (PEP 658), else from within by range requests."""
        if file.described:
            data, _ = remote.read(f"{file.url}.metadata", timeout=self._timeout, login=self.url)
        else:
            data = self.member(file, r"[^/]+\.dist-info/METADATA")
        parsed = BytesParser().parsebytes(data)
        if parsed.get("Name") is None:
            raise UnavailableError(f"{file.name} has no metadata that can be read")
        return tuple(map(str, parsed.get_all("Requires-Dist") or ()))

    def listing(self, file: File) -> Sequence[zipfile.ZipInfo]:
        """Return the directory of a wheel, by range requests."""
        with self._archive(file) as archive:
            return archive.infolist()

    def member(self, file: File, pattern: str) -> bytes:
        """Return a small file inside a wheel, the first whose whole name fits the regular expression."""
        with self._archive(file) as archive:
            info = next((one for one in archive.infolist() if re.fullmatch(pattern, one.filename)), None)
            if info is None or info.file_size > _SMALL:
                raise UnavailableError(f"{file.name} holds no {pattern.rpartition('/')[2]} that can be read")
            try:
                return archive.read(info)
            except BROKEN as error:
                raise _unreadable(file, error) from error

    def _archive(self, file: File) -> zipfile.ZipFile:
        try:
            remote_file = remote.RemoteFile(file.url, timeout=self._timeout, login=self.url)
            return zipfile.ZipFile(io.BufferedReader(remote_file, 1 << 18))
        except BROKEN as error:
            raise _unreadable(file, error) from error


BROKEN = (OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, RuntimeError)
"""What zipfile raises for archives that are damaged, encrypted, or packed in a way it does not know."""


def _unreadable(file: File, error: Exception) -> UnavailableError:
    return UnavailableError(
        f"{file.name} cannot be read in parts",
        why=str(error),
        hint="the index must answer range requests, or offer metadata files (PEP 658)",
    )


def package_index(url: str | None = None, *, timeout: float = 30.0) -> Index:
    """Return the index at an address, else the one that the environment tells uv or pip, else PyPI.

    `timeout` is how many seconds it may be silent. SpecError for what is no address.
    """
    told = next((value for name in remote.INDEX_VARIABLES if (value := os.environ.get(name))), remote.PYPI)
    return Index(url or told, timeout=timeout)


def _releases(page: _Page, address: str) -> dict[Version, tuple[File, ...]]:
    found: dict[Version, list[File]] = {}
    for row in page.files:
        if row.yanked is not False:
            continue
        try:
            version, tags = _version(row.filename)
        except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
            continue  # eggs, installers, and names that pip would not take either
        found.setdefault(version, []).append(_file(row, tags, page.name, address))
    return {version: tuple(files) for version, files in found.items()}


def _version(name: str) -> tuple[Version, frozenset[Tag]]:
    if name.endswith(".whl"):
        _, version, _, tags = parse_wheel_filename(name)
        return version, tags
    return parse_sdist_filename(name)[1], frozenset()


def _file(row: _FileRow, tags: frozenset[Tag], project: str, address: str) -> File:
    if row.size is None or row.size <= 0:
        raise UnavailableError(
            f"the index does not tell the size of {row.filename}",
            hint="it must speak version 1.1 of the simple API (PEP 700)",
        )
    try:
        url = urljoin(address, row.url)
        urlsplit(url)
    except ValueError as error:
        raise UnavailableError(f"the index names a file of {project} by no address", why=row.url) from error
    return File(
        name=row.filename, url=url, size=row.size, uploaded=(row.uploaded or "")[:10],
        requires_python=row.requires_python, sha256=row.hashes.get("sha256", ""),
        described=row.metadata is not False, tags=tags,
    )  # fmt: skip
