"""The shape of the rows about single libraries: what the loader does with them, and the GPU code they hold."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from gpuimage.tables._rows import Checked, CudaMinor, Date, Text


class GpuLibraryRow(Checked, frozen=True, kw_only=True):
    """A library whose GPU code is not judged container by container."""

    library: Text
    pattern: Text
    judge: Literal["library", "single", "alternatives"]
    sections: tuple[Text, ...]


class ZstdRow(Checked, frozen=True, kw_only=True):
    """The first CUDA whose driver reads GPU code compressed with zstd."""

    cuda: CudaMinor


class SmallestKernelRow(Checked, frozen=True, kw_only=True):
    """Machine code of fewer bytes holds no kernel."""

    bytes: Annotated[int, msgspec.Meta(gt=0)]


class GpuCode(msgspec.Struct, frozen=True, kw_only=True):
    """gpu_code.json."""

    zstd: ZstdRow
    smallest_kernel: SmallestKernelRow
    libraries: tuple[GpuLibraryRow, ...]


class FamilyOpenedRow(Checked, frozen=True, kw_only=True):
    """Libraries that their head opens by name; a member may be a pattern for fnmatch."""

    family: Text
    head: Text
    members: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]


class PathsRow(Checked, frozen=True, kw_only=True):
    """Patterns for fnmatch over absolute paths."""

    patterns: tuple[Text, ...]


class NamesRow(Checked, frozen=True, kw_only=True):
    """Names of libraries."""

    names: frozenset[Text]


class DlopenFamilies(msgspec.Struct, frozen=True, kw_only=True):
    """dlopen_families.json."""

    families: tuple[FamilyOpenedRow, ...]
    roots: PathsRow
    optional: PathsRow
    driver: NamesRow


class OsLibraryRow(Checked, frozen=True, kw_only=True):
    """The Debian package with a shared library."""

    library: Text
    package: Text
    date: Date


class GlibcRow(Checked, frozen=True, kw_only=True):
    """The C library of a distribution release."""

    os: Text
    glibc: CudaMinor
    date: Date


class OsLibraries(msgspec.Struct, frozen=True, kw_only=True):
    """os_libraries.json."""

    libraries: tuple[OsLibraryRow, ...]
    glibc: tuple[GlibcRow, ...]
