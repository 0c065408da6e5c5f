"""Who carries a shared library, and which distributions have a C library that is new enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, dotted, known
from gpuimage.tables.images import library_family, smallest_flavor


class Carrier(Struct, frozen=True):
    """One place to get a library from: a wheel of NVIDIA, a Debian package, or a flavor of nvidia/cuda."""

    kind: Literal["wheel", "package", "flavor"]
    name: str
    source: str
    verified: bool


def carriers(library: str) -> tuple[Carrier, ...]:
    """Return who carries a library by its file name (`libcudnn_ops.so.9.1.0` is libcudnn_ops.so.9); empty: not known."""
    names = tuple(_shorter(library))
    return (*_wheels(names), *_packages(names), *_flavors(library))


def glibc_releases(version: str) -> tuple[str, ...]:
    """Return the distribution releases with a glibc of `2.38` or newer (`ubuntu24.04`), oldest first; empty: none known."""
    wanted = dotted(version)
    if wanted is None:
        return ()
    return tuple(row.os for row in _load.os_libraries().glibc if known(row.glibc) >= wanted)


def _shorter(library: str) -> Iterator[str]:
    """The name, and the name without its last numbers: a soname has fewer of them than a file."""
    while True:
        yield library
        stem, _, last = library.rpartition(".")
        if not last.isdigit() or not stem:
            return
        library = stem


def _wheels(names: tuple[str, ...]) -> Iterator[Carrier]:
    seen = set()
    for row in _load.nvidia_wheels().wheels:
        held = {part for name in row.libraries for part in name.split(" / ")}
        if row.name not in seen and any(name in held for name in names if name.rpartition(".")[2].isdigit()):
            seen.add(row.name)
            yield Carrier("wheel", row.name, row.source, row.libraries_verified)


def _packages(names: tuple[str, ...]) -> Iterator[Carrier]:
    for row in _load.os_libraries().libraries:
        if row.library in names:
            yield Carrier("package", row.package, row.source, row.verified)


def _flavors(library: str) -> Iterator[Carrier]:
    family = library_family(library)
    if family is None:
        return
    found = smallest_flavor(frozenset({family}))
    if not isinstance(found, Unknown):
        flavor, cudnn = found
        yield Carrier(
            "flavor", f"{'cudnn-' if cudnn else ''}{flavor}", "flavor_libraries.json", verified=True
        )
