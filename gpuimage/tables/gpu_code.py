"""What GPU code in a file asks of the host's driver, and the libraries that choose among kernels of their own."""

from __future__ import annotations

import fnmatch
from functools import cache
from typing import Literal

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, known


class GpuLibrary(Struct, frozen=True):
    """How a library's GPU code is judged, and which further ELF sections hold some.

    `library`: it chooses among its kernels itself, one container that runs is enough. `single`: made for some GPUs
    and not called on others. `alternatives`: one file of several is loaded, the best of them counts.
    """

    library: str
    judge: Literal["library", "single", "alternatives"]
    sections: tuple[str, ...]
    source: str


@cache
def gpu_library(path: str) -> GpuLibrary | None:
    """Return the row of the library at this path, None for one that is judged container by container."""
    for row in _load.gpu_code().libraries:
        if fnmatch.fnmatchcase(f"/{path}", row.pattern):
            return GpuLibrary(row.library, row.judge, row.sections, row.source)
    return None


@cache
def zstd_cuda() -> str:
    """Return the first CUDA minor whose driver reads GPU code that is compressed with zstd."""
    return _load.gpu_code().zstd.cuda


@cache
def smallest_kernel() -> int:
    """Return the bytes (of an ELF file, not compressed) below which machine code holds no kernel."""
    return _load.gpu_code().smallest_kernel.bytes


@cache
def ptx_cuda(isa: str) -> str | Unknown:
    """Return the first CUDA minor whose compiler writes this PTX ISA ("8.7" gives "12.8"): its driver reads it too."""
    wanted = known(isa)
    spoken = [(known(row.ptx_isa), row.cuda) for row in _load.cuda_releases().minors if row.ptx_isa]
    at_least = [cuda for own, cuda in sorted(spoken) if own >= wanted]
    return at_least[0] if at_least else Unknown(f"no source names the CUDA release of PTX ISA {isa}")
