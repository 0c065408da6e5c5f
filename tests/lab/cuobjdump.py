"""NVIDIA's cuobjdump, from PyPI, as the oracle of what GPU code a file holds.

`cuobjdump -all FILE`, which prints the head of every entry, and not -lelf: the names -lelf lists (`x.1.sm_100.cubin`)
lose the `f` of `sm_100f`. It reads the sections .nv_fatbin and __nv_relfatbin only, and no others that hold code.
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import NamedTuple

_KINDS = {"elf": "cubin", "ptx": "ptx", "nvvm": "lto-ir"}
_ENTRY = re.compile(
    r"^Fatbin (?P<kind>\w+) code:\n=+\n"
    r"arch = sm_(?P<arch>\w+)\n"
    r"code version = \[(?P<major>\d+),(?P<minor>\d+)\]\n"
    r"(?P<rest>(?:.+\n)*)",  # up to the empty line before the next one
    re.MULTILINE,
)
_BARE = re.compile(r"^ELF file +\d+: .*\.sm_(\w+)\.cubin$", re.MULTILINE)


class CuobjdumpError(Exception):
    """Cuobjdump could not read the file; the message is its own."""


class Entry(NamedTuple):
    """One entry of a fatbin; `version` is the ISA of PTX ("9.0"), and for the other kinds that of their format."""

    kind: str
    arch: str
    version: str
    compressed: bool
    debug: bool


def listed(path: Path) -> Counter[tuple[str, str]]:
    """Count the code of a file by kind and capability: {("cubin", "9.0a"): 2, ("ptx", "12.0"): 1}."""
    found = Counter((entry.kind, entry.arch) for entry in entries(path))
    # A bare cubin has no entries to show, but its own name with the capability (without an `f`) is listed.
    return found or Counter(("cubin", _dotted(number)) for number in _BARE.findall(_cuobjdump("-lelf", path)))


def entries(path: Path) -> tuple[Entry, ...]:
    """Return the entries of every fatbin in a file (or an archive's members), in their order; none is no error."""
    text = _cuobjdump("-all", path)
    found = tuple(
        Entry(
            kind=_KINDS.get(match["kind"], "other"),
            arch=_dotted(match["arch"]),
            version=f"{match['major']}.{match['minor']}",
            compressed="compressed" in match["rest"].splitlines(),
            debug="has debug info" in match["rest"].splitlines(),
        )
        for match in _ENTRY.finditer(text)
    )
    if len(found) != len(re.findall(r"^Fatbin .*:$", text, re.MULTILINE)):
        raise CuobjdumpError(f"{path}: an entry is written in a form this oracle does not know:\n{text}")
    return found


def _dotted(number: str) -> str:
    return re.sub(r"(\d)([af]?)$", r".\1\2", number)


def _cuobjdump(option: str, path: Path) -> str:
    done = subprocess.run(
        [program(), option, str(path)], capture_output=True, text=True, errors="replace", check=False
    )
    # Exit code 255 also says that there is none: an ELF file without code, an archive with none in any member.
    none = done.returncode == 255 and re.fullmatch(
        r"cuobjdump info +: .* does not contain device code\n", done.stderr
    )
    if done.returncode != 0 and not none:
        raise CuobjdumpError(
            done.stderr.strip() or f"{path}: cuobjdump ended with exit code {done.returncode}"
        )
    return done.stdout


def program() -> str:
    files = importlib.metadata.files("nvidia-cuda-cuobjdump") or []
    return str(next(path for path in files if path.name == "cuobjdump").locate())
