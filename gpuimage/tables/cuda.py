"""Toolkit releases, and what the compiler of each takes."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from gpuimage.arch import ComputeCapability
from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, dotted, known
from gpuimage.tables._rows import MinorRow, ReleaseRow


class CudaRelease(Struct, frozen=True):
    """A toolkit release; `full_driver` is the Linux driver it was released with (a branch alone: `615`)."""

    version: str
    minor: str
    label: str
    full_driver: str | None
    note: str
    source: str
    verified: bool


class NvccSupport(Struct, frozen=True):
    """What nvcc of a toolkit minor compiles for, and the newest host compilers it takes (major versions)."""

    cuda: str
    real: frozenset[ComputeCapability]
    virtual: frozenset[ComputeCapability]
    host_gcc_max: int
    host_gcc_verified: bool
    host_clang_max: int | None
    ptx_isa: str | None
    source: str
    verified: bool


class CudaRange(Struct, frozen=True):
    """The toolkit minors whose nvcc takes a capability; `last` None: the newest one still does.

    `first_is_oldest_known`: the table begins there, so the true beginning may lie earlier.
    """

    capability: ComputeCapability
    first: str
    last: str | None
    first_is_oldest_known: bool
    source: str
    verified: bool

    @property
    def span(self) -> str:
        """The minors in words: `CUDA 12.8 or newer`, `CUDA 10.0 to 12.9`."""
        return f"CUDA {self.first} to {self.last}" if self.last else f"CUDA {self.first} or newer"


def cuda_minors() -> tuple[str, ...]:
    """Toolkit minors, oldest first; there is no 12.7, which was only ever a driver's number."""
    return tuple(row.cuda for row in _load.cuda_releases().minors)


def no_such_cuda(version: str) -> Unknown:
    """Build the answer for a CUDA version that no table has."""
    if dotted(version) is None:
        return Unknown(f"{version!r} is no CUDA version (write 12.8 or 12.8.1)")
    minors = cuda_minors()
    if dotted(version)[:2] == (12, 7):  # type: ignore[index]
        return Unknown("CUDA 12.7 was never released as a toolkit; the number only stood in drivers")
    return Unknown(f"CUDA {version} is not in the tables, which know {minors[0]} to {minors[-1]}")


def release_rows(version: str) -> tuple[ReleaseRow, ...]:
    """Return the releases that `12.8` or `12.8.1` means, oldest first; empty when there is none."""
    wanted = dotted(version)
    if wanted is None or len(wanted) not in {2, 3}:
        return ()
    return tuple(row for row in _load.cuda_releases().releases if known(row.cuda)[: len(wanted)] == wanted)


def minor_of(version: str) -> str | None:
    """Return the minor of `12.8` or `12.8.1` if the tables know it."""
    wanted = dotted(version)
    if wanted is None or len(wanted) not in {2, 3}:
        return None
    minor = f"{wanted[0]}.{wanted[1]}"
    return minor if minor in cuda_minors() else None


def cuda_release(version: str) -> CudaRelease | Unknown:
    """Return a release by its full version, or the newest point release of a minor."""
    rows = release_rows(version)
    if not rows:
        if minor_of(version) and len(known(version)) == 3:
            points = ", ".join(row.cuda for row in release_rows(str(minor_of(version))))
            return Unknown(f"CUDA {version} is not in the tables; of this minor they know {points}")
        return no_such_cuda(version)
    row = rows[-1]
    return CudaRelease(
        version=row.cuda,
        minor=row.minor,
        label=row.label,
        full_driver=row.linux_x86_64_driver_min,
        note=row.note,
        source=row.source,
        verified=row.verified,
    )


@cache
def _support(minor: str) -> NvccSupport | None:
    for row in _load.cuda_releases().minors:
        if row.cuda == minor:
            return _nvcc(row)
    return None


def _nvcc(row: MinorRow) -> NvccSupport:
    return NvccSupport(
        cuda=row.cuda,
        real=frozenset(map(ComputeCapability.parse, row.real_archs)),
        virtual=frozenset(map(ComputeCapability.parse, row.virtual_archs)),
        host_gcc_max=row.host_gcc_max_major,
        host_gcc_verified=row.host_gcc_verified,
        host_clang_max=row.host_clang_max_major,
        ptx_isa=row.ptx_isa,
        source=row.arch_source,
        verified=row.arch_verified,
    )


def nvcc_capabilities(cuda: str) -> NvccSupport | Unknown:
    """Return what nvcc of a toolkit compiles for; point releases of a minor do not differ in it."""
    minor = minor_of(cuda)
    return (_support(minor) if minor else None) or no_such_cuda(cuda)


def cuda_range_for(capability: ComputeCapability) -> CudaRange | Unknown:
    """Return the first and the last toolkit minor whose nvcc makes machine code for a capability."""
    table = _load.cuda_releases()
    taking = [row for row in table.minors if capability.sm in row.real_archs]
    if not taking:
        return Unknown(
            f"no nvcc from {table.minors[0].cuda} to {table.minors[-1].cuda} takes {capability.sm}"
        )
    first, last = taking[0], taking[-1]
    return CudaRange(
        capability=capability,
        first=first.cuda,
        last=None if last is table.minors[-1] else last.cuda,
        first_is_oldest_known=first is table.minors[0],
        source=f"{first.arch_source}; {last.arch_source}",
        verified=all(row.arch_verified for row in (first, last)),
    )
