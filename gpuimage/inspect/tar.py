"""Tar archives read once, front to back, whatever they are compressed with and wherever they come from."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol, Self, cast

TAR_ERRORS = (
    tarfile.TarError, EOFError, OSError, ValueError, OverflowError, RecursionError, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What damaged archives raise."""

_CHUNK = 1 << 20
_START = 1 << 16  # holds the first entry's header and its extended ones
# Bytes of a pax header or a long name: tarfile reads it into memory whole, and in some Pythons takes a time that grows
# with its square.
_LONGEST_EXTENSION = 256 << 10
_EXTENSIONS = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK,
)  # fmt: skip


class Readable(Protocol):
    """All that is asked of a stream; a read may give less than asked, and nothing only at the end."""

    def read(self, count: int, /) -> bytes:
        """Read at most so many bytes."""


class Forward:
    """A stream with a position that only grows, which is all that tarfile needs; it can look ahead."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._position = 0
        self._ahead = b""

    def peek(self, count: int) -> bytes:
        """Return the next bytes without passing them, fewer at the end."""
        while len(self._ahead) < count and (more := self._stream.read(count - len(self._ahead))):
            self._ahead += more
        return self._ahead[:count]

    def read(self, count: int = -1) -> bytes:
        """Read so many bytes, fewer only at the end."""
        if count < 0:
            raise ValueError("a stream is never read whole")
        parts, missing = [], count
        if self._ahead:
            parts.append(self._ahead[:missing])
            self._ahead = self._ahead[missing:]
            missing -= len(parts[0])
        while missing and (part := self._stream.read(missing)):
            parts.append(part)
            missing -= len(part)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        self._position += len(data)
        return data

    def tell(self) -> int:
        """Return how many bytes have passed."""
        return self._position

    def seek(self, position: int, _whence: int = 0) -> int:
        """Pass bytes until the position; ValueError for one that has passed."""
        if position < self._position:
            raise ValueError("a stream cannot go back")
        while self._position < position and self.read(min(_CHUNK, position - self._position)):
            pass
        return self._position


class _Content:
    """The content of one entry, read straight from the archive's stream."""

    def __init__(self, stream: Forward, size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, count: int) -> bytes:
        data = self._stream.read(min(count, self._left))
        if len(data) < min(count, self._left):
            raise tarfile.ReadError("unexpected end of data")
        self._left -= len(data)
        return data


class _Member(tarfile.TarInfo):
    """A member whose header is damaged stops the reading with an error: tarfile takes that for the end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        """Read the next header; a block of zeros is the end, a cut or damaged one is not."""
        try:
            return super().fromtarfile(archive)
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":
                raise
            raise tarfile.ReadError(str(error)) from error

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read one header; a name of gigabytes is damage too."""
        member = super().frombuf(buf, encoding, errors)
        if member.type in _EXTENSIONS and member.size > _LONGEST_EXTENSION:
            raise tarfile.ReadError(f"an extended header of {member.size} bytes")
        return member


def entries(stream: Forward) -> Iterator[tuple[tarfile.TarInfo, Readable | None]]:
    """Yield each entry with its content (None for what is no regular file), to be read before the next one is asked for.

    One of TAR_ERRORS for what is damaged; everything before it has been yielded.
    """
    with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r:", tarinfo=_Member) as archive:
        while (member := archive.next()) is not None:
            if not member.isreg():
                yield member, None
            elif member.issparse():
                yield member, cast("Readable", archive.extractfile(member))
            else:
                yield member, _Content(stream, member.size)
            archive.__dict__["members"].clear()  # tarfile keeps every entry, which nobody asks for again


def first_name(stream: Forward) -> str:
    """Return the name of the first entry without passing it, "" for what is no tar archive."""
    try:
        for member, _ in entries(Forward(io.BytesIO(stream.peek(_START)))):
            return member.name
    except TAR_ERRORS:
        pass
    return ""


def plain(stream: Readable) -> Forward:
    """Undo the compression of a stream, found by its first bytes: gzip, zstd, xz, bzip2 or none."""
    outer = stream if isinstance(stream, Forward) else Forward(stream)
    start = outer.peek(6)
    for magic, opened in _COMPRESSIONS.items():
        if start.startswith(magic):
            return Forward(opened(outer))
    return outer


def _zstd(stream: Forward) -> Readable:
    import zstandard  # noqa: PLC0415  # few images need it

    made = zstandard.ZstdDecompressor().stream_reader(cast("IO[bytes]", stream), read_across_frames=True)
    return _Zstd(made)


def _xz(stream: Forward) -> Readable:
    return lzma.LZMAFile(cast("IO[bytes]", stream))


class _Zstd:
    """Zstandard has an error class of its own, which would have to be loaded to be caught."""

    def __init__(self, reader: Readable) -> None:
        self._reader = reader

    def read(self, count: int) -> bytes:
        try:
            return self._reader.read(count)
        except Exception as error:
            raise tarfile.ReadError(f"damaged zstd data: {error}") from error


_COMPRESSIONS: dict[bytes, Callable[[Forward], Readable]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=cast("IO[bytes]", stream)),
    b"\x28\xb5\x2f\xfd": _zstd,
    b"\xfd7zXZ\x00": _xz,
    b"BZh": lambda stream: bz2.BZ2File(cast("IO[bytes]", stream)),
}
