"""Small ELF files made to measure, valid enough for the system's own loader to list what they need."""

from __future__ import annotations

import struct
from collections.abc import Sequence

MACHINES = {"x86_64": 62, "aarch64": 183, "i386": 3}  # e_machine
_TAGS = {"needed": 1, "soname": 14, "rpath": 15, "runpath": 29}


def elf(
    *,
    needed: Sequence[str] = (),
    soname: str | None = None,
    rpath: str | None = None,
    runpath: str | None = None,
    machine: str = "x86_64",
    bits: int = 64,
    size: int = 0,
) -> bytes:
    """A shared object with a dynamic section and no section headers, filled up with zeros to `size`."""
    word, wide = ("Q", bits == 64) if bits == 64 else ("I", False)
    strings, tags = b"\0", []

    def text(name: str, value: str) -> None:
        nonlocal strings
        tags.append((_TAGS[name], len(strings)))
        strings += value.encode() + b"\0"

    for name in needed:
        text("needed", name)
    for name, value in (("soname", soname), ("rpath", rpath), ("runpath", runpath)):
        if value is not None:
            text(name, value)

    header, program, symbol = (64, 56, 24) if wide else (52, 32, 16)
    dynamic = -(-(header + 3 * program) // 16) * 16  # where it starts: after three program headers
    count = len(tags) + 6  # the five below and DT_NULL
    symbols = dynamic + count * 2 * struct.calcsize(word)
    hashes = symbols + symbol
    table = hashes + 4 * 4
    end = max(table + len(strings), size)
    # DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_NULL
    tags += [(4, hashes), (5, table), (6, symbols), (10, len(strings)), (11, symbol), (0, 0)]

    def segment(kind: int, offset: int, length: int, align: int) -> bytes:
        readable_writable = 6
        if wide:
            return struct.pack(
                "<IIQQQQQQ", kind, readable_writable, offset, offset, offset, length, length, align
            )
        return struct.pack(
            "<IIIIIIII", kind, offset, offset, offset, length, length, readable_writable, align
        )

    body = struct.pack(
        "<4sBBBx8xHHI" + 3 * word + "IHHHHHH",
        b"\x7fELF", 2 if wide else 1, 1, 1, 3, MACHINES[machine], 1,  # ET_DYN
        0, header, 0, 0, header, program, 3, 0, 0, 0,
    )  # fmt: skip
    body += segment(1, 0, end, 0x10000)  # PT_LOAD
    body += segment(2, dynamic, symbols - dynamic, 8)  # PT_DYNAMIC
    body += segment(0x6474E551, 0, 0, 16)  # PT_GNU_STACK
    body = body.ljust(dynamic, b"\0") + b"".join(struct.pack(f"<2{word}", *tag) for tag in tags)
    body += bytes(symbol) + struct.pack("<4I", 1, 1, 0, 0) + strings  # one empty symbol, one empty bucket
    return body.ljust(end, b"\0")
