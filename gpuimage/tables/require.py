"""NVIDIA_REQUIRE_CUDA: the check that the container toolkit makes before an image starts.

It is independent of what would run: the nvidia/cuda 12.4.1 images refuse driver branch 545, although
minor-version compatibility would run them. `NVIDIA_DISABLE_REQUIRE=1` lifts the check.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, dotted, known
from gpuimage.tables._rows import ImageRow
from gpuimage.tables.cuda import cuda_release, minor_of, release_rows
from gpuimage.tables.minimum_driver import driver_cuda, driver_need, parse_driver, speaks
from gpuimage.tables.products import Gpu

# NVML's names of brands, by the class of product. A data-centre card reports "tesla" or "nvidia".
_BRANDS = {
    "data-center": frozenset({"tesla", "nvidia"}),
    "workstation": frozenset({"quadro", "quadrortx", "nvidiartx"}),
    "consumer": frozenset({"geforce", "geforcertx", "titan", "titanrtx"}),
    "jetson": frozenset[str](),
}


class RequireCuda(Struct, frozen=True):
    """The text of NVIDIA_REQUIRE_CUDA, and the older branches and the brands that it lets pass."""

    cuda: str
    text: str
    branches: tuple[int, ...]
    brands: tuple[str, ...]
    because: str
    source: str
    verified: bool


class StartVerdict(Struct, frozen=True):
    """Whether the container toolkit starts an image; `some-brands`: it depends on the card's brand."""

    outcome: Literal["accepted", "some-brands", "refused", "unknown"]
    because: str
    source: str
    verified: bool


def _image_row(cuda: str) -> ImageRow | None:
    """Return the newest row of `12.8`, or the one of `12.8.1`."""
    wanted = dotted(cuda)
    if wanted is None or len(wanted) not in {2, 3}:
        return None
    rows = [
        row for row in _load.base_images().nvidia_cuda.releases if known(row.cuda)[: len(wanted)] == wanted
    ]
    return max(rows, key=lambda row: known(row.cuda), default=None)


def _text(first: str, branches: tuple[int, ...], brands: tuple[str, ...]) -> str:
    """Write alternatives parted by spaces, the conditions of each parted by commas."""
    older = [f"brand={brand},driver>={branch},driver<{branch + 1}" for branch in branches for brand in brands]
    return " ".join([first, *older])


def require_cuda(cuda: str, *, compat: bool = True) -> RequireCuda | Unknown:
    """Return what NVIDIA_REQUIRE_CUDA of the nvidia/cuda images of `12.8` or `12.8.1` says.

    Branches rise, brands are in alphabetical order. NVIDIA's lists count on the cuda-compat package in its
    images; `compat=False` is for an image without it, and leaves out the branches below the floor of the
    major, which would start there only to fail. Without a row for this CUDA it is `cuda>=X.Y` alone.
    """
    minor = minor_of(cuda)
    row = _image_row(cuda)
    if minor is None or (row is None and not release_rows(cuda)):
        missing = cuda_release(cuda)
        return missing if isinstance(missing, Unknown) else Unknown(f"CUDA {cuda} has no image row")
    if row is None:
        return RequireCuda(
            cuda=cuda,
            text=f"cuda>={minor}",
            branches=(),
            brands=(),
            because=f"the container sources at hand (2025-08-18) have no image of CUDA {cuda}, so no older"
            " driver branch is let pass",
            source=_load.base_images().require_grammar.source,
            verified=False,
        )
    drivers = driver_need(row.cuda)
    lowest = 0 if compat or isinstance(drivers, Unknown) else known(drivers.floor)[0]
    branches = tuple(sorted(b for b in row.require_driver_branches_allowed if b >= lowest))
    brands = tuple(sorted(row.require_brands)) if branches else ()
    left_out = len(row.require_driver_branches_allowed) - len(branches)
    because = f"as in the nvidia/cuda images of {row.cuda}"
    if left_out:
        because += f", without {left_out} branches that only its cuda-compat package serves"
    return RequireCuda(
        cuda=row.cuda,
        text=_text(row.require_cuda_first, branches, brands),
        branches=branches,
        brands=brands,
        because=because,
        source=row.source,
        verified=row.verified,
    )


Outcome = Literal["accepted", "some-brands", "refused", "unknown"]


def start_verdict(cuda: str, driver: str, gpu: Gpu | None = None) -> StartVerdict:
    """Say whether the container toolkit starts the nvidia/cuda image of a CUDA on a host's driver."""
    need, version = require_cuda(cuda), parse_driver(driver)
    if isinstance(need, Unknown):
        return StartVerdict("unknown", need.reason, "tables", verified=False)
    if version is None:
        slip = f"{driver!r} is no driver version (write 550 or 550.54.14)"
        return StartVerdict("unknown", slip, "tables", verified=False)
    outcome, why = _start(need, version[0], speaks(version, cuda), gpu)
    own = driver_cuda(driver)
    says = f"driver {driver} speaks CUDA {own}" if own else f"driver {driver}"
    return StartVerdict(outcome, f"{says}; {why}", need.source, need.verified)


def _start(need: RequireCuda, branch: int, spoken: bool | None, gpu: Gpu | None) -> tuple[Outcome, str]:
    first = need.text.split()[0]
    if spoken:
        return "accepted", f"the image asks for {first}"
    if spoken is None:
        return "unknown", f"no source names the driver branch of CUDA {need.cuda}"
    if branch not in need.branches:
        listed = ", ".join(map(str, need.branches)) or "none"
        why = f"the image asks for {first} or one of the older branches {listed}"
        lift = " (NVIDIA_REQUIRE_CUDA; NVIDIA_DISABLE_REQUIRE=1 lifts the check)"
        return "refused" if need.verified else "unknown", why + lift
    return _by_brand(need, branch, gpu)


def _by_brand(need: RequireCuda, branch: int, gpu: Gpu | None) -> tuple[Outcome, str]:
    passes = f"the image lets branch {branch} pass"
    brands = _BRANDS[gpu.gpu_class] if gpu else frozenset[str]()
    if gpu is None or not brands:
        return "some-brands", f"{passes} for the brands {', '.join(need.brands)}"
    if brands <= set(need.brands):
        return "accepted", f"{passes} for the brand of a {gpu.name}"
    if brands.isdisjoint(need.brands):
        return "refused", f"{passes}, but not for the brand of a {gpu.name}"
    return "unknown", f"{passes} for the brands {', '.join(need.brands)}; that of a {gpu.name} is not known"
