"""The bytes of one file: read where they are wanted on disk, read once and forgotten where the file passes by in a stream."""

from __future__ import annotations

import hashlib
import io
import mmap
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Protocol

from gpuimage.inspect.tar import Readable

CHUNK = 1 << 20

# What of a passing file is kept in memory: how many chunks of its start, and how many of the newest ones. The names an
# ELF file's dynamic section refers to lie near its start, or near its end where patchelf has moved them; lld writes the
# names of sections before those of symbols, which are 36 MB in triton 3.7.
_HEAD = 32
_RECENT = 64


class NotKeptError(ValueError):
    """The bytes asked for have passed by and were not kept."""


class Source(Protocol):
    """Random access to one file, as far as it has not passed by."""

    @property
    def size(self) -> int:
        """Bytes in the file."""

    @property
    def passes(self) -> bool:
        """Whether it is read once, front to back."""

    def read(self, offset: int, count: int) -> bytes:
        """Return the bytes at an offset, fewer at the end of the file."""

    def find(self, needle: bytes, start: int, end: int) -> int:
        """Return the first offset in [start, end) at which the needle stands whole, -1 where there is none."""

    def keep(self, start: int, end: int) -> None:
        """Ask that these bytes can still be read after they have passed by."""


class InMemory:
    """The whole of a file, as bytes; nothing passes by."""

    passes = False

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, offset: int, count: int) -> bytes:
        """See Source."""
        return self._data[offset : offset + count]

    def find(self, needle: bytes, start: int, end: int) -> int:
        """See Source."""
        return self._data.find(needle, start, end)

    def keep(self, start: int, end: int) -> None:
        """See Source."""


class OnDisk:
    """A file on disk: headers are read one by one, and only a search maps it; nothing passes by."""

    passes = False

    def __init__(self, file: int) -> None:
        self.size = os.fstat(file).st_size
        self._file = file
        self._map: mmap.mmap | None = None

    def read(self, offset: int, count: int) -> bytes:
        """See Source."""
        # Not from a map: its page faults cost more than the calls.
        return os.pread(self._file, count, offset) if offset < self.size else b""

    def find(self, needle: bytes, start: int, end: int) -> int:
        """See Source."""
        if self._map is None:
            if not self.size:
                return -1
            self._map = mmap.mmap(self._file, 0, access=mmap.ACCESS_READ)
        return self._map.find(needle, start, end)

    def keep(self, start: int, end: int) -> None:
        """See Source."""

    def close(self) -> None:
        """Give up the map."""
        if self._map is not None:
            self._map.close()


@contextmanager
def on_disk(path: Path) -> Iterator[OnDisk]:
    """Open a file on disk."""
    with path.open("rb", buffering=0) as file, closing(OnDisk(file.fileno())) as source:
        yield source


class Passing:
    """A file that is read once, front to back, in chunks; only some of them stay in memory.

    `size` is what the archive's index says, `digest` is of what really came. Chunks are copied into buffers of
    `pool`, which `close` gives back for the next file: freeing and taking them from the allocator anew leaves ever
    more holes between what stays.
    """

    passes = True

    def __init__(self, content: Readable, size: int, pool: list[bytearray]) -> None:
        self.size = size
        self._content = content
        self._hash = hashlib.sha256()
        self._pool = pool
        self._chunks: dict[int, tuple[bytearray, int]] = {}
        self._wanted: set[int] = set()
        self._next = 0
        self._ended = False

    @property
    def digest(self) -> bytes:
        """SHA-256 of all that was read; only meaningful after `drain`."""
        return self._hash.digest()

    def keep(self, start: int, end: int) -> None:
        """See Source; at most as much as the start of a file may take."""
        first, last = start // CHUNK, (min(end, self.size) - 1) // CHUNK
        self._wanted.update(range(first, min(last, first + _HEAD) + 1))

    def drain(self) -> None:
        """Read to the end."""
        while self._pull():
            pass

    def close(self) -> None:
        """Give the buffers back."""
        self._pool += (buffer for buffer, _ in self._chunks.values())
        self._chunks.clear()

    def read(self, offset: int, count: int) -> bytes:
        """See Source; NotKeptError for what is gone."""
        end = min(offset + count, self.size)
        if end <= offset:
            return b""
        first, last = offset // CHUNK, (end - 1) // CHUNK
        while self._next <= last and self._pull():
            pass
        parts = [
            self._chunk(number, max(offset, number * CHUNK), min(end, (number + 1) * CHUNK))
            for number in range(first, last + 1)
        ]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def find(self, needle: bytes, start: int, end: int) -> int:
        """See Source."""
        end = min(end, self.size)
        position = start
        while position + len(needle) <= end:
            number = position // CHUNK
            while self._next <= number and self._pull():
                pass
            base = number * CHUNK
            if number not in self._chunks:
                return -1  # the file is shorter than it should be
            buffer, filled = self._chunks[number]
            found = buffer.find(needle, position - base, min(end - base, filled))
            if found >= 0:
                return base + found
            # What stands across the border to the next chunk.
            border = max(position, base + CHUNK - len(needle) + 1)
            found = self.read(border, 2 * len(needle) - 2).find(needle)
            if found >= 0 and border + found + len(needle) <= end:
                return border + found
            position = base + CHUNK
        return -1

    def _chunk(self, number: int, start: int, end: int) -> bytes:
        kept = self._chunks.get(number)
        if kept is None:
            if number >= self._next:
                return b""  # the file is shorter than it should be
            raise NotKeptError(f"the bytes at {number * CHUNK} have passed by")
        buffer, filled = kept
        return bytes(memoryview(buffer)[start - number * CHUNK : min(end - number * CHUNK, filled)])

    def _pull(self) -> bool:
        if self._ended:
            return False
        buffer = self._pool.pop() if self._pool else bytearray(CHUNK)
        filled = 0
        while filled < CHUNK and (part := self._content.read(CHUNK - filled)):
            buffer[filled : filled + len(part)] = part
            filled += len(part)
            self._hash.update(part)
        self._ended = filled < CHUNK
        if not filled:
            self._pool.append(buffer)
            return False
        self._chunks[self._next] = buffer, filled
        old = self._next - _RECENT
        if old >= _HEAD and old not in self._wanted and (gone := self._chunks.pop(old, None)):
            self._pool.append(gone[0])
        self._next += 1
        return True


class Part:
    """A range of another source: a member of a static library."""

    def __init__(self, source: Source, offset: int, size: int) -> None:
        self._source = source
        self._offset = offset
        self.size = size
        self.passes = source.passes

    def read(self, offset: int, count: int) -> bytes:
        """See Source."""
        return self._source.read(self._offset + offset, max(0, min(count, self.size - offset)))

    def find(self, needle: bytes, start: int, end: int) -> int:
        """See Source."""
        found = self._source.find(needle, self._offset + start, self._offset + min(end, self.size))
        return found - self._offset if found >= 0 else -1

    def keep(self, start: int, end: int) -> None:
        """See Source."""
        self._source.keep(self._offset + start, self._offset + min(end, self.size))


class SourceFile(io.RawIOBase):
    """A source as pyelftools wants it: a file with a position. Gives at most `limit` bytes in all."""

    def __init__(self, source: Source, limit: int) -> None:
        self._source = source
        self._left = limit
        self._position = 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that `seek` works."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the position."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._source.size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Read from the position; ValueError once more was read than a sound file needs."""
        data = self._source.read(self._position, len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("its tables refer to more bytes than a sound file's would")
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
