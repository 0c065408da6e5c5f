"""GPU code made to measure: entries, containers, and ELF files with sections to put them in."""

from __future__ import annotations

import struct
from collections.abc import Mapping

_KINDS = {"ptx": 1, "cubin": 2, "lto-ir": 8}
_COMPRESSIONS = {"none": 0, "lz4": 0x2000, "zstd": 0x8000}
_SUFFIXES = {"": 0, "a": 0x100000, "f": 0x200000}


def entry(
    kind: str,
    arch: str,
    *,
    size: int = 4096,
    isa: str = "8.0",
    compression: str = "none",
    debug: bool = False,
) -> bytes:
    """One entry: `arch` as "9.0a", `size` bytes of payload (a multiple of 8)."""
    number, suffix = (arch[:-1], arch[-1]) if arch[-1].isalpha() else (arch, "")
    major, minor = map(int, isa.split(".")) if kind == "ptx" else (1, 7)
    flags = 0x11 | _COMPRESSIONS[compression] | _SUFFIXES[suffix] | (2 if debug else 0)
    packed = compression != "none"
    header = struct.pack(
        "<HHIQIIHHIIIQQQ",
        _KINDS[kind], 0x0101, 64, size, size if packed else 0, 0, minor, major,
        int(number.replace(".", "")), 0, 0, flags, 0, 3 * size if packed else 0,
    )  # fmt: skip
    return header + bytes(range(256)) * (size // 256) + bytes(size % 256)


def container(*entries: bytes) -> bytes:
    """A container of these entries."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def sections(
    parts: Mapping[str, bytes], *, machine: int = 62, kind: int = 3, flags: int = 0, abi: int = 0
) -> bytes:
    """An ELF file of 64 bits with these sections, in this order, and nothing else."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*parts, ".shstrtab"))
    body, rows, offset = b"", [bytes(64)], 64
    for name, data in (*parts.items(), (".shstrtab", names)):
        gap = -offset % 8
        body += bytes(gap)
        offset += gap
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        rows.append(
            struct.pack(
                "<IIQQQQIIQQ", at, 3 if name == ".shstrtab" else 1, 0, 0, offset, len(data), 0, 0, 8, 0
            )
        )
        body += data
        offset += len(data)
    body += bytes(-offset % 8)
    offset += -offset % 8
    header = struct.pack(
        "<4sBBBBB7xHHIQQQIHHHHHH",
        b"\x7fELF", 2, 1, 1, abi, 0, kind, machine, 1, 0, 0, offset, flags, 64, 56, 0, 64, len(rows), len(rows) - 1,
    )  # fmt: skip
    return header + body + b"".join(rows)


def library(*containers: bytes, section: str = ".nv_fatbin", filler: int = 0) -> bytes:
    """A library whose GPU code is these containers."""
    return sections({".text": bytes(filler), section: b"".join(containers)})


def archive(members: Mapping[str, bytes]) -> bytes:
    """A static library, as `ar` writes it."""
    made = b"!<arch>\n"
    for name, data in members.items():
        made += f"{name + '/':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data
        made += b"\n" * (len(data) % 2)
    return made
