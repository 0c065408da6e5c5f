"""ELF files: what a library is called, what it needs and where it looks for that, and where its sections lie.

The only user of pyelftools.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from gpuimage.inspect.source import NotKeptError, Source, SourceFile
from gpuimage.inspect.types import Library

MAGIC = b"\x7fELF"
_MOST_TAGS = 10_000
_MOST_SECTIONS = 100_000
_MOST_VERSIONS = 10_000
_MOST_BYTES = 8 << 20  # of headers, tags and names read from one file; the most seen was 1 MB
_TEXTS = {"DT_NEEDED": "needed", "DT_SONAME": "soname", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}
_LONGEST_NAMES = 16 << 20
_SHT_NULL, _SHT_NOBITS, _OWN_VERSIONS, _NEEDED_VERSIONS = 0, 8, 0x6FFFFFFD, 0x6FFFFFFE
_PT_DYNAMIC = 2
_BUFFER = 1 << 12


class Section(NamedTuple):
    """A section with bytes in the file."""

    name: str
    start: int
    end: int


class Elf(NamedTuple):
    """An ELF file; `library` is None without a dynamic section, `machine` as pyelftools names it.

    `partial`: its tables lie too far apart to be kept while it passes by, and only its name is known.
    """

    library: Library | None
    sections: tuple[Section, ...]
    machine: str
    abi: int
    flags: int
    partial: bool = False


def mark_tables(source: Source) -> None:
    """Ask a source to keep what `read_elf` will want after the file has passed by."""
    header = source.read(0, 64)
    if len(header) < 64 or header[4:6] != b"\x02\x01":  # 64 bits, little endian; others are small
        return
    programs, sections = struct.unpack_from("<QQ", header, 32)
    size, count = struct.unpack_from("<HH", header, 54)
    # The names of the sections stand before their headers.
    source.keep(max(0, sections - (1 << 20)), source.size)
    table = source.read(programs, size * count) if programs < 1 << 20 else b""
    for at in range(0, len(table) - 55, max(size, 56)):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", table, at)
        if kind == _PT_DYNAMIC:
            source.keep(offset, offset + length)


def read_elf(source: Source, path: str, *, dynamic: bool = True) -> Elf:
    """Read the tables of an ELF file; without `dynamic` its sections alone.

    ValueError for a damaged one: pyelftools stops in many ways at hostile input, and all of them mean that.
    """
    try:
        # Unbuffered, every field of every table would be a read of its own.
        elf = ELFFile(io.BufferedReader(SourceFile(source, _MOST_BYTES), _BUFFER))
        known = str(elf.header.e_machine), _abi(elf.header.e_ident.EI_OSABI), int(elf.header.e_flags)
        try:
            rows = _rows(elf, source)
            library = _library(elf, rows, path, source.size) if dynamic else None
            return Elf(library, tuple(_sections(elf, rows, source)), *known)
        except NotKeptError:
            # Others need it by its name all the same.
            named = Library(path, None, (), (), (), known[0], int(elf.elfclass), source.size)
            return Elf(named if dynamic else None, (), *known, partial=True)
    except Exception as error:
        raise ValueError(f"{path} is a damaged ELF file: {error or type(error).__name__}") from error


def _abi(value: Any) -> int:
    return value if isinstance(value, int) else 0


class _Row(NamedTuple):
    """A section's header; pyelftools would take a second for the thousands of sections of some objects."""

    number: int
    name: int
    kind: int
    start: int
    size: int


def _rows(elf: Any, source: Source) -> list[_Row]:
    count, width = int(elf.num_sections()), int(elf.header.e_shentsize)
    if count > _MOST_SECTIONS:
        raise ValueError(f"{count} sections")
    order = "<" if elf.little_endian else ">"
    shape = struct.Struct(order + ("II16xQQ" if elf.elfclass == 64 else "II8xII"))
    table = source.read(int(elf.header.e_shoff), count * width)
    if len(table) < count * width:
        raise ValueError("its section headers lie behind its end: it is cut short")
    return [
        _Row(number, *shape.unpack_from(table, number * width))
        for number in range(count)
        if width >= shape.size
    ]


def _sections(elf: Any, rows: list[_Row], source: Source) -> Iterator[Section]:
    names = b""
    if (at := elf.get_shstrndx()) < len(rows):
        names = source.read(rows[at].start, min(rows[at].size, _LONGEST_NAMES))
    for row in rows:
        if row.kind not in (_SHT_NULL, _SHT_NOBITS) and row.start < source.size:
            name = names[row.name : names.find(b"\0", row.name)].decode("utf-8", errors="replace")
            yield Section(name, row.start, min(row.start + row.size, source.size))


def _library(elf: Any, rows: list[_Row], path: str, size: int) -> Library | None:
    # Program headers, for stripped files have no section headers.
    dynamic = next((segment for segment in elf.iter_segments() if isinstance(segment, DynamicSegment)), None)
    if dynamic is None:
        return None
    texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
    tag: Any  # each kind has an attribute of its own name
    for tag in islice(dynamic.iter_tags(), _MOST_TAGS):
        name = tag.entry.d_tag
        if name in texts:
            texts[name].append(getattr(tag, _TEXTS[name]))
    return Library(
        path=path,
        soname=next(iter(texts["DT_SONAME"]), None),
        needed=tuple(texts["DT_NEEDED"]),
        rpath=_entries(texts["DT_RPATH"]),
        runpath=_entries(texts["DT_RUNPATH"]) or (("",) if texts["DT_RUNPATH"] else ()),
        machine=str(elf.header.e_machine),
        bits=int(elf.elfclass),
        bytes=size,
        wants=tuple(islice(_wanted_versions(elf, rows), _MOST_VERSIONS)),
        defines=tuple(islice(_own_versions(elf, rows), _MOST_VERSIONS)),
    )


def _wanted_versions(elf: Any, rows: list[_Row]) -> Iterator[tuple[str, str]]:
    for row in rows:
        if row.kind != _NEEDED_VERSIONS:
            continue
        for need, versions in islice(elf.get_section(row.number).iter_versions(), _MOST_VERSIONS):
            for version in islice(versions, _MOST_VERSIONS):
                yield need.name, version.name


def _own_versions(elf: Any, rows: list[_Row]) -> Iterator[str]:
    for row in rows:
        if row.kind != _OWN_VERSIONS:
            continue
        for _, versions in islice(elf.get_section(row.number).iter_versions(), _MOST_VERSIONS):
            yield from (version.name for version in islice(versions, 1))


def _entries(texts: list[str]) -> tuple[str, ...]:
    return tuple(entry for text in texts for entry in text.split(":") if entry)
