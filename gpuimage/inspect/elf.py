"""The dynamic section of an ELF file: what it is called, what it needs, and where it looks for that.

The only user of pyelftools. Program headers alone are read, for stripped files have no section headers.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, BinaryIO

from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from gpuimage.inspect.types import Library

MAGIC = b"\x7fELF"
_MOST_TAGS = 100_000
_TEXTS = {"DT_NEEDED": "needed", "DT_SONAME": "soname", "DT_RPATH": "rpath", "DT_RUNPATH": "runpath"}


def read_library(file: BinaryIO, path: str, size: int) -> Library | None:
    """The library at the start of `file`, or None for an ELF file without a dynamic section.

    ValueError for a damaged one: pyelftools stops in many ways at hostile input, and all of them mean that.
    """
    try:
        elf = ELFFile(file)
        dynamic = next(
            (segment for segment in elf.iter_segments() if isinstance(segment, DynamicSegment)), None
        )
        if dynamic is None:
            return None
        texts: dict[str, list[str]] = {name: [] for name in _TEXTS}
        tag: Any  # each kind has an attribute of its own name
        for tag in islice(dynamic.iter_tags(), _MOST_TAGS):
            name = tag.entry.d_tag
            if name in texts:
                texts[name].append(getattr(tag, _TEXTS[name]))
    except Exception as error:
        raise ValueError(f"{path} is a damaged ELF file: {error}") from error
    return Library(
        path=path,
        soname=next(iter(texts["DT_SONAME"]), None),
        needed=tuple(texts["DT_NEEDED"]),
        rpath=_entries(texts["DT_RPATH"]),
        runpath=_entries(texts["DT_RUNPATH"]) or (("",) if texts["DT_RUNPATH"] else ()),
        machine=str(elf.header.e_machine),
        bits=int(elf.elfclass),
        bytes=size,
    )


def _entries(texts: list[str]) -> tuple[str, ...]:
    return tuple(entry for text in texts for entry in text.split(":") if entry)
