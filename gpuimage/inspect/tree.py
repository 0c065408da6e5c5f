"""The files of a root file system: a directory, a tar stream of an engine's export, a wheel."""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from gpuimage.errors import Location
from gpuimage.inspect.collect import COPY_BYTES, Collector, absolute, inspection, spelled
from gpuimage.inspect.source import on_disk
from gpuimage.inspect.tar import TAR_ERRORS, Readable, entries, plain
from gpuimage.inspect.types import InspectError, Inspection

_MOST_INFLATED = 200 * 10**9  # bytes; a wheel of that size is a bomb

# Files of these names hold no machine code; in a directory they are not even opened.
_TEXT_SUFFIXES = frozenset(
    ".c .cc .cpp .cu .cuh .css .csv .gz .h .hpp .html .inc .js .json .md .pem .png .py .pyc .pyi .pyx .pxd .rst .svg "
    ".toml .txt .xml .yaml .yml".split()
)


def read_members(stream: Readable, found: Collector) -> None:
    """Note every entry of a tar stream, compressed or not; what ends early is told as a problem, unless nothing was read before."""
    try:
        for member, content in entries(plain(stream)):
            found.member(member, content)
    except TAR_ERRORS as error:
        if not found.files.sizes:
            raise InspectError(f"this is not a tar archive: {error}") from error
        found.files.problems.append(f"the archive ends early: {error}")
    found.files.join_hard_links()


def inspect_tar(stream: Readable, *, every_section: bool = False) -> Inspection:
    """Read a flattened root file system (`docker export`) once, front to back, compressed or not.

    Memory stays bounded by the number of files. Names that climb out of the root are read as the kernel would: `..`
    at the root stays there. InspectError for what is no tar archive.
    """
    found = Collector(every_section=every_section)
    read_members(stream, found)
    return inspection(found.files)


def inspect_directory(root: Path, *, every_section: bool = False) -> Inspection:
    """Read a directory as the root of a container would see it: absolute links start at `root`, none is followed out."""
    if not root.is_dir():
        raise InspectError("there is no such directory", where=Location(root))
    found = Collector(every_section=every_section)
    raw_names: dict[str, str] = {}
    todo = [""]
    # Depth first and by name, as archives are written, so that both take the same name of a file for the first.
    visit = _Visit(found)
    while todo:
        name = todo.pop()
        path = spelled(name)
        if path != name:
            raw_names[path] = name
        try:
            todo += (f"{name}/{entry}" for entry in visit(root / name[1:], path))
        except OSError as error:
            found.files.problems.append(f"{path or '/'}: {error.strerror}")
    found.files.join_hard_links()
    _digest_same_sizes(root, found, raw_names)
    return inspection(found.files)


class _Visit:
    """Notes what stands at a path, and gives the names in a directory, the last one first."""

    def __init__(self, found: Collector) -> None:
        self._found = found
        self._first_names: dict[tuple[int, int], str] = {}

    def __call__(self, full: Path, path: str) -> list[str]:
        status = full.lstat() if path else full.stat()
        if stat.S_ISDIR(status.st_mode):
            return sorted((entry.name for entry in full.iterdir()), reverse=True)
        if stat.S_ISLNK(status.st_mode):
            self._found.files.links[path] = spelled(str(full.readlink()))
        elif stat.S_ISREG(status.st_mode):
            self._file(full, path, status)
        return []

    def _file(self, full: Path, path: str, status: os.stat_result) -> None:
        if status.st_nlink > 1:
            first = self._first_names.setdefault((status.st_dev, status.st_ino), path)
            if first != path:
                self._found.files.hard_links[path] = first
                return
        if full.suffix in _TEXT_SUFFIXES:
            self._found.skipped(path, status.st_size, status.st_mode)
            return
        with on_disk(full) as source:
            self._found.file(path, status.st_size, status.st_mode, source)


def _digest_same_sizes(root: Path, found: Collector, raw_names: Mapping[str, str]) -> None:
    """Only files of one size can be copies of each other."""
    by_size: dict[int, list[str]] = {}
    for path, size in found.files.sizes.items():
        if size >= COPY_BYTES:
            by_size.setdefault(size, []).append(path)
    for path in (path for paths in by_size.values() if len(paths) > 1 for path in paths):
        try:
            with (root / raw_names.get(path, path)[1:]).open("rb") as file:
                found.files.digests[path] = hashlib.file_digest(file, "sha256").digest()
        except OSError as error:
            found.files.problems.append(f"{path}: {error.strerror}")


def inspect_wheel(path: Path, *, every_section: bool = False) -> Inspection:
    """Read a wheel, or any other zip file, without unpacking it: its entries are the files of the root."""
    found = Collector(every_section=every_section)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in entries) > _MOST_INFLATED:
                raise InspectError(
                    "this wheel says it holds more than 200 GB", where=Location(path), why="it is a zip bomb"
                )
            _read_entries(archive, entries, found)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InspectError("this is not a wheel", where=Location(path), why=str(error)) from error
    return inspection(found.files)


def _read_entries(archive: zipfile.ZipFile, entries: Iterable[zipfile.ZipInfo], found: Collector) -> None:
    for entry in entries:
        path = absolute(entry.filename)
        try:
            with archive.open(entry) as content:
                found.passing(path, entry.file_size, entry.external_attr >> 16, content)
        # An entry can be damaged or encrypted in many ways, and zlib has errors of its own.
        except InspectError:
            raise
        except Exception as error:
            found.files.problems.append(f"{path}: {error}")
