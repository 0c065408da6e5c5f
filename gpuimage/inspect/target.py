"""What a person points at: an image archive, a layout, a root, a wheel, one file; found out by content, not by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from gpuimage.errors import Location
from gpuimage.inspect.collect import Collector, inspection
from gpuimage.inspect.gpu import interesting
from gpuimage.inspect.layers import inspect_image, inspect_layout, is_image_entry
from gpuimage.inspect.source import on_disk
from gpuimage.inspect.tar import Readable, first_name, plain
from gpuimage.inspect.tree import inspect_directory, inspect_tar, inspect_wheel
from gpuimage.inspect.types import InspectError, Inspection

Kind = Literal["image", "root", "directory", "wheel", "file"]
"""`root` is the file system of an image, as one archive or one directory; `directory` any other one."""

OnBytes = Callable[[int, int | None], None]
"""Told how many bytes were read, and of how many (None: nobody knows)."""

_ZIP = b"PK\x03\x04"


def inspect_path(
    path: Path,
    *,
    image: str | None = None,
    platform: str | None = None,
    every_section: bool = False,
    on_bytes: OnBytes | None = None,
) -> tuple[Kind, Inspection]:
    """Look at anything on disk; see `inspect_image` for `image` and `platform`. InspectError for what is none of these."""
    if path.is_dir():
        if (path / "oci-layout").is_file():
            return "image", inspect_layout(path, image=image, platform=platform, every_section=every_section)
        found = inspect_directory(path, every_section=every_section)
        return "root" if _is_root(found) else "directory", found
    try:
        with path.open("rb") as file:
            start = file.read(8)
            if start.startswith(_ZIP):
                return "wheel", inspect_wheel(path, every_section=every_section)
            if interesting(start):
                return "file", _one_file(path, every_section=every_section)
            file.seek(0)
            size = path.stat().st_size
            told = on_bytes or _ignore
            kind, archived = inspect_stream(
                _Counted(file, told, size), image=image, platform=platform, every_section=every_section
            )
            told(size, size)  # nobody reads what stands behind the end of an archive
            return kind, archived
    except InspectError as error:
        raise InspectError(error.what, where=Location(path), why=error.why, hint=error.hint) from error
    except OSError as error:
        raise InspectError("cannot read this", where=Location(path), why=error.strerror) from error


def inspect_stream(
    stream: Readable,
    *,
    image: str | None = None,
    platform: str | None = None,
    every_section: bool = False,
    on_bytes: OnBytes | None = None,
) -> tuple[Kind, Inspection]:
    """Look at a tar stream, compressed or not: an image (`docker save`) or a root file system (`docker export`)."""
    archive = plain(_Counted(stream, on_bytes, None) if on_bytes else stream)
    if is_image_entry(first_name(archive)):
        found = inspect_image(archive, image=image, platform=platform, every_section=every_section)
        return "image", found
    return "root", inspect_tar(archive, every_section=every_section)


def _one_file(path: Path, *, every_section: bool) -> Inspection:
    found = Collector(every_section=every_section)
    with on_disk(path) as source:
        found.file(f"/{path.name}", source.size, 0, source)
    if found.files.problems and not found.files.gpu and not found.files.libraries:
        raise InspectError("this file is damaged", why="; ".join(found.files.problems))
    return inspection(found.files)


def _is_root(found: Inspection) -> bool:
    """Whether a directory is laid out as the root of a system."""
    return any(path.startswith("/etc/") for path in found.sizes) and any(
        path.startswith(("/usr/", "/lib/", "/bin/")) for path in found.sizes
    )


def _ignore(_read: int, _total: int | None) -> None:
    """Show no progress."""


class _Counted:
    """A stream that tells how far it was read."""

    def __init__(self, stream: Readable, on_bytes: OnBytes, total: int | None) -> None:
        self._stream = stream
        self._on_bytes = on_bytes
        self._total = total
        self._read = 0

    def read(self, count: int) -> bytes:
        data = self._stream.read(count)
        self._read += len(data)
        self._on_bytes(self._read, self._total)
        return data
