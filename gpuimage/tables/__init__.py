"""Questions to the tables of CUDA, driver, GPU, PyTorch, wheel and base-image facts.

Each answer carries its `source` and whether that was `verified`; what the tables do not know is `Unknown`,
with the reason. The data (`gpuimage/data/*.json`) is decoded and checked on the first question that needs it, and a module of questions is
loaded when its first name is asked for. A user's own rows (`_own`) take part in every answer.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuimage.tables._answers import DataError, Unknown
    from gpuimage.tables._load import raw_rows
    from gpuimage.tables._own import own_rows
    from gpuimage.tables.census import Overview, TableCount, overview
    from gpuimage.tables.clock import age, staleness, today
    from gpuimage.tables.cuda import (
        CudaRange,
        CudaRelease,
        NvccSupport,
        cuda_minors,
        cuda_range_for,
        cuda_release,
        nvcc_capabilities,
    )
    from gpuimage.tables.drivers import DriverVerdict, driver_verdict
    from gpuimage.tables.gpu_code import GpuLibrary, gpu_library, ptx_cuda, smallest_kernel, zstd_cuda
    from gpuimage.tables.hosts import (
        Commands,
        FileCount,
        docker_has,
        docker_since,
        install_commands,
        torch_files,
    )
    from gpuimage.tables.images import (
        CudaImage,
        cuda_tag,
        cuda_tags_complete,
        flavor_libraries,
        library_family,
        os_python,
        smallest_flavor,
    )
    from gpuimage.tables.loader import (
        DlopenFamily,
        dlopen_families,
        driver_libraries,
        opened_by_name,
        optional_plugin,
    )
    from gpuimage.tables.lookup import FoundRow, kinds, show
    from gpuimage.tables.messages import KnownError, known_errors
    from gpuimage.tables.minimum_driver import (
        BranchEnd,
        DriverNeed,
        branch_end,
        driver_branches,
        driver_cuda,
        driver_need,
        parse_driver,
    )
    from gpuimage.tables.os_libraries import Carrier, carriers, glibc_releases
    from gpuimage.tables.products import Gpu, gpu, gpus
    from gpuimage.tables.require import RequireCuda, StartVerdict, require_cuda, start_verdict
    from gpuimage.tables.sizes import SizeFact, base_size, pip_cache_bytes, torch_set_bytes
    from gpuimage.tables.torch import TorchRelease, cuda_of_variant, torch_release, torch_versions
    from gpuimage.tables.wheels import NvidiaWheel, WheelFacts, nvidia_wheel, wheel

_PLACES = {
    "BranchEnd": "minimum_driver",
    "Carrier": "os_libraries",
    "Commands": "hosts",
    "CudaImage": "images",
    "CudaRange": "cuda",
    "CudaRelease": "cuda",
    "DataError": "_answers",
    "DlopenFamily": "loader",
    "DriverNeed": "minimum_driver",
    "DriverVerdict": "drivers",
    "FileCount": "hosts",
    "FoundRow": "lookup",
    "Gpu": "products",
    "GpuLibrary": "gpu_code",
    "KnownError": "messages",
    "NvccSupport": "cuda",
    "NvidiaWheel": "wheels",
    "Overview": "census",
    "RequireCuda": "require",
    "SizeFact": "sizes",
    "StartVerdict": "require",
    "TableCount": "census",
    "TorchRelease": "torch",
    "Unknown": "_answers",
    "WheelFacts": "wheels",
    "age": "clock",
    "base_size": "sizes",
    "branch_end": "minimum_driver",
    "carriers": "os_libraries",
    "cuda_minors": "cuda",
    "cuda_of_variant": "torch",
    "cuda_range_for": "cuda",
    "cuda_release": "cuda",
    "cuda_tag": "images",
    "cuda_tags_complete": "images",
    "dlopen_families": "loader",
    "docker_has": "hosts",
    "docker_since": "hosts",
    "driver_branches": "minimum_driver",
    "driver_cuda": "minimum_driver",
    "driver_libraries": "loader",
    "driver_need": "minimum_driver",
    "driver_verdict": "drivers",
    "flavor_libraries": "images",
    "glibc_releases": "os_libraries",
    "gpu": "products",
    "gpu_library": "gpu_code",
    "gpus": "products",
    "install_commands": "hosts",
    "kinds": "lookup",
    "known_errors": "messages",
    "library_family": "images",
    "nvcc_capabilities": "cuda",
    "nvidia_wheel": "wheels",
    "opened_by_name": "loader",
    "optional_plugin": "loader",
    "os_python": "images",
    "overview": "census",
    "own_rows": "_own",
    "parse_driver": "minimum_driver",
    "pip_cache_bytes": "sizes",
    "ptx_cuda": "gpu_code",
    "raw_rows": "_load",
    "require_cuda": "require",
    "show": "lookup",
    "smallest_flavor": "images",
    "smallest_kernel": "gpu_code",
    "staleness": "clock",
    "start_verdict": "require",
    "today": "clock",
    "torch_files": "hosts",
    "torch_release": "torch",
    "torch_set_bytes": "sizes",
    "torch_versions": "torch",
    "wheel": "wheels",
    "zstd_cuda": "gpu_code",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"gpuimage.tables.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


__all__ = [
    "BranchEnd",
    "Carrier",
    "Commands",
    "CudaImage",
    "CudaRange",
    "CudaRelease",
    "DataError",
    "DlopenFamily",
    "DriverNeed",
    "DriverVerdict",
    "FileCount",
    "FoundRow",
    "Gpu",
    "GpuLibrary",
    "KnownError",
    "NvccSupport",
    "NvidiaWheel",
    "Overview",
    "RequireCuda",
    "SizeFact",
    "StartVerdict",
    "TableCount",
    "TorchRelease",
    "Unknown",
    "WheelFacts",
    "age",
    "base_size",
    "branch_end",
    "carriers",
    "cuda_minors",
    "cuda_of_variant",
    "cuda_range_for",
    "cuda_release",
    "cuda_tag",
    "cuda_tags_complete",
    "dlopen_families",
    "docker_has",
    "docker_since",
    "driver_branches",
    "driver_cuda",
    "driver_libraries",
    "driver_need",
    "driver_verdict",
    "edition",
    "flavor_libraries",
    "glibc_releases",
    "gpu",
    "gpu_library",
    "gpus",
    "install_commands",
    "kinds",
    "known_errors",
    "library_family",
    "nvcc_capabilities",
    "nvidia_wheel",
    "opened_by_name",
    "optional_plugin",
    "os_python",
    "overview",
    "own_rows",
    "parse_driver",
    "pip_cache_bytes",
    "ptx_cuda",
    "raw_rows",
    "require_cuda",
    "show",
    "smallest_flavor",
    "smallest_kernel",
    "staleness",
    "start_verdict",
    "today",
    "torch_files",
    "torch_release",
    "torch_set_bytes",
    "torch_versions",
    "wheel",
    "zstd_cuda",
]


def edition() -> str:
    """Return the day on which the tables were gathered, `2026-12-01`.

    Where a user's own rows take part, their digest follows, `2026-12-01+user.0a1b2c3d`: the same text means the same answers.
    """
    gathered: str = import_module("gpuimage.tables._load").edition().edition
    own: str = import_module("gpuimage.tables._own").digest()
    return f"{gathered}+user.{own}" if own else gathered
