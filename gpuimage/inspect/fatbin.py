"""GPU code in its containers: the headers of NVIDIA's fatbin format. Nothing is decompressed or disassembled.

The format was determined by experiment, with nvcc 13.0 and cuobjdump 13.5 as oracles (tests/test_inspect_nvcc.py):
a container is a header of 16 bytes and entries without gaps; an entry is a header of 64 bytes or more and a payload.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache

from gpuimage.arch import ComputeCapability
from gpuimage.inspect.source import Source
from gpuimage.inspect.types import Code, CodeKind, Compression, Container
from gpuimage.tables import smallest_kernel

# magic 0xBA55ED50, version 1, header of 16 bytes
MAGIC = bytes.fromhex("50ed55ba 0100 1000")
_HEADER = struct.Struct("<8sQ")
_ENTRY = struct.Struct(
    "<HHIQIIHHIIIQQQ"
)  # the first 64 bytes of an entry's header; a name and options may follow
_LONGEST_HEADER = 1 << 20

_KINDS: dict[int, CodeKind] = {1: "ptx", 2: "cubin", 8: "lto-ir"}
_DEBUG, _LZ4, _ZSTD, _SUFFIX_A, _SUFFIX_F = 0x2, 0x2000, 0x8000, 0x100000, 0x200000

MOST_ENTRIES = 300_000
"""Entries and containers that one file may have; libcufft, the one with most, has 23,532 of each."""


class FatbinError(ValueError):
    """A container says something that cannot be: where, and what."""


def containers(source: Source, start: int, end: int, *, packed: bool) -> Iterator[Container | FatbinError]:
    """Yield the containers between two offsets, without their section, and what is wrong with them.

    `packed` is for sections that hold nothing else: there, what is no container is an error. Elsewhere, bytes that
    only look like the start of one are passed over. Reading goes forward only.
    """
    position, left = start, MOST_ENTRIES
    while left > 0:
        at = _next(source, position, end)
        if packed and source.read(position, min(64, (end if at < 0 else at) - position)).strip(b"\0"):
            yield FatbinError(f"no container at offset {position}")  # zeros would be padding
        if at < 0:
            return
        container, error, position = _container(source, at, end, left, packed=packed)
        if container is not None:
            left -= len(container.code) + 1
            yield container
        if error is not None:
            yield error
    yield FatbinError(f"more than {MOST_ENTRIES} entries and containers; the rest was not read")


def _next(source: Source, position: int, end: int) -> int:
    if source.read(position, len(MAGIC)) == MAGIC and position + _HEADER.size <= end:
        return position
    return source.find(MAGIC, position, end)


def _container(
    source: Source, at: int, end: int, most: int, *, packed: bool
) -> tuple[Container | None, FatbinError | None, int]:
    """The container at an offset, what is wrong with it, and where to go on; None for what only looks like one."""
    header = source.read(at, _HEADER.size)
    if len(header) < _HEADER.size or at + _HEADER.size > end:
        return None, FatbinError(f"the container at offset {at} is cut short") if packed else None, end
    first = at + _HEADER.size
    stop = first + _HEADER.unpack(header)[1]
    beyond = stop > end
    if not packed and at % 8:
        return None, None, at + len(MAGIC)
    code, error = _entries(source, first, min(stop, end), most)
    if not packed and error is not None and not code:
        return None, None, at + len(MAGIC)
    if error is None and beyond:
        error = FatbinError(f"the container at offset {at} ends after its section")
    # Behind a damaged container the next one is looked for, wherever it stands.
    go_on = at + len(MAGIC) if error is not None else -(-stop // 8) * 8
    return Container("", at, stop - at, code), error, go_on


def _entries(
    source: Source, position: int, end: int, most: int
) -> tuple[tuple[Code, ...], FatbinError | None]:
    code: list[Code] = []
    while position < end:
        raw = source.read(position, _ENTRY.size) if position + _ENTRY.size <= end else b""
        if len(raw) < _ENTRY.size:
            return tuple(code), FatbinError(f"the entry at offset {position} is cut short")
        kind, _, header, payload, _, _, minor, major, arch, _, _, flags, _, plain = _ENTRY.unpack(raw)
        if not _ENTRY.size <= header <= _LONGEST_HEADER or header % 8:
            return tuple(code), FatbinError(f"the entry at offset {position} is damaged")
        if payload > end - position - header:
            return tuple(code), FatbinError(f"the entry at offset {position} reaches past the end")
        if len(code) >= most:
            break
        code.append(_code(kind, arch, flags, f"{major}.{minor}", header + payload, plain or payload))
        position += header + payload
    return tuple(code), None


def _code(kind: int, arch: int, flags: int, version: str, size: int, plain: int) -> Code:
    known = _KINDS.get(kind, "other")
    compression: Compression = "zstd" if flags & _ZSTD else "lz4" if flags & _LZ4 else "none"
    return Code(
        known, _capability(arch, flags), size, version if known == "ptx" else None, compression,
        debug=bool(flags & _DEBUG), bare=known == "cubin" and plain < smallest_kernel(),
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _capability(arch: int, flags: int) -> ComputeCapability | None:
    """The suffix stands in the container's flags alone: cubins of sm_100, 100a and 100f are marked alike inside."""
    if not 10 <= arch < 1000:
        return None
    suffix = "a" if flags & _SUFFIX_A else "f" if flags & _SUFFIX_F else ""
    return ComputeCapability(arch // 10, arch % 10, suffix)


def cubin_capability(osabi: int, flags: int) -> ComputeCapability | None:
    """Return what the ELF header of a loose cubin says; its suffix cannot be told from it."""
    number = flags >> 8 & 0xFF if osabi == _NEW_OSABI else flags & 0xFF
    return _capability(number, 0)


_NEW_OSABI = 0x41
