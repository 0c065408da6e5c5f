"""What a host driver does with code of a CUDA release: the rules of NVIDIA's compatibility guide."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, Version, known
from gpuimage.tables._rows import CompatRow, ReleaseRow
from gpuimage.tables.cuda import cuda_release
from gpuimage.tables.minimum_driver import (
    driver_need,
    floor_row,
    full_bound,
    parse_driver,
    reaches,
    release_for_driver,
    undecided,
)
from gpuimage.tables.products import Gpu
from gpuimage.tables.require import start_verdict

Outcome = Literal["full", "minor-version", "forward", "refused", "unknown"]


class DriverVerdict(Struct, frozen=True):
    """What a driver runs of a CUDA release.

    `full`: everything. `minor-version`: machine code, but no PTX of this toolkit and no newer features.
    `forward`: only with `package` (cuda-compat) in the image. `refused`: CUDA error 35. `package` is also set
    where it would help a data-centre card and nothing says that the card is none.
    """

    outcome: Outcome
    because: str
    package: str | None
    source: str
    verified: bool


class _Case(Struct, frozen=True):
    """One question, its tables looked up."""

    release: ReleaseRow
    driver: Version
    text: str
    gpu: Gpu | None
    ptx: bool

    @property
    def cuda(self) -> str:
        return self.release.cuda

    @property
    def major(self) -> int:
        return known(self.release.cuda)[0]

    @property
    def bare(self) -> bool:
        return len(self.driver) == 1

    @property
    def name(self) -> str:
        return f"driver branch {self.text}" if self.bare else f"driver {self.text}"


def driver_verdict(cuda: str, driver: str, gpu: Gpu | None = None, *, ptx: bool = False) -> DriverVerdict:
    """Say what a Linux driver (`550` or `550.54.14`) runs of CUDA `12.4` or `12.4.1`, and why.

    A bare branch is judged by its newest driver; where an older one of the branch would fare worse, `because`
    says so and the answer is not `verified`. `ptx`: code that the driver has to compile is wanted as well.
    """
    version, need, release = parse_driver(driver), driver_need(cuda), release_for_driver(cuda)
    if version is None:
        slip = f"{driver!r} is no driver version (write 550 or 550.54.14)"
        return DriverVerdict("unknown", slip, None, "tables", verified=False)
    if isinstance(need, Unknown) or release is None:
        missing = need if isinstance(need, Unknown) else cuda_release(cuda)
        reason = missing.reason if isinstance(missing, Unknown) else f"CUDA {cuda} has no driver row"
        return DriverVerdict("unknown", reason, None, "tables", verified=False)
    case = _Case(release, version, driver, gpu, ptx)
    bound = full_bound(release)
    if bound is not None and reaches(version, bound):
        return _full(case, bound)
    if floor_row(case.major) is not None and reaches(version, need.floor):
        return _minor_version(case, need.floor)
    return _below(case, need.floor)


def _full(case: _Case, bound: str) -> DriverVerdict:
    release, floor = case.release, floor_row(case.major)
    named = release.linux_x86_64_driver_min is not None
    role = (
        f"the driver CUDA {case.cuda} was released with"
        if named
        else f"the driver of a CUDA after {case.cuda}"
    )
    because = f"{case.name} is at or above {bound}, {role}"
    unsure = undecided(case.driver, bound)
    if unsure:
        because = f"{case.name} holds {bound}, {role}; the branch alone does not say if the host has less"
    if floor and floor.max_branch_exclusive and reaches(case.driver, floor.max_branch_exclusive):
        because += f"; a driver of a later major runs CUDA {case.major}.x by backward compatibility"
    compat = _compat(case)
    if compat and case.driver[0] > known(bound)[0]:
        because += f"; {compat.package} is older than this driver and must stay off the library path"
    return DriverVerdict("full", because, None, release.source, release.verified and not unsure)


def _minor_version(case: _Case, floor: str) -> DriverVerdict:
    release, row, package = case.release, floor_row(case.major), _package(case)
    parts = [f"{case.name} is at or above {floor}, the floor of CUDA {case.major}.x"]
    full = release.linux_x86_64_driver_min
    if full is None:
        parts.append(
            f"no source names the full driver of CUDA {case.cuda}, so only machine code is sure to run"
        )
    else:
        parts[0] += f", but below {full}, the driver CUDA {case.cuda} was released with"
        parts.append(
            "minor-version compatibility: machine code runs, newer features and PTX of this toolkit do not"
        )
    unsure = undecided(case.driver, floor)
    if unsure:
        parts.append("the branch alone does not say whether the host has an older driver than that")
    if case.ptx:
        may = "cannot" if full else "may not"
        parts.append(f"PTX made by CUDA {case.cuda} {may} be compiled by this driver (CUDA error 222)")
    if package:
        parts.append(f"on a data-centre GPU {package} in the image lifts this")
    start = start_verdict(case.cuda, case.text, case.gpu)
    if start.outcome == "refused":
        parts.append(f"the nvidia/cuda image itself would not start: {start.because}")
    return DriverVerdict(
        "minor-version",
        "; ".join(parts),
        package,
        _sources(release.source, row.source if row else ""),
        verified=release.verified and row is not None and row.verified and not unsure,
    )


def _sources(*texts: str) -> str:
    parts = [part for text in texts for part in text.split("; ") if part]
    return "; ".join(dict.fromkeys(parts))


def _below(case: _Case, floor: str) -> DriverVerdict:
    row = floor_row(case.major)
    kind = f"the floor of CUDA {case.major}.x" if row else f"the driver of CUDA {case.cuda}"
    low = f"{case.name} is below {floor}, {kind}"
    source, verified = (row.source, row.verified) if row else (case.release.source, case.release.verified)
    compat, package = _compat(case), _package(case)
    if compat and package and case.gpu is not None and case.gpu.data_center:
        because = (
            f"{low}, but {package} in the image serves branch {case.driver[0]} on a data-centre GPU"
            f" ({case.gpu.name}): forward compatibility"
        )
        return DriverVerdict(
            "forward", because, package, compat.source, compat.verified and case.gpu.verified
        )
    because = f"{low}: CUDA error 35, the driver is insufficient"
    if package:
        because += f"; on a data-centre GPU {package} in the image would serve branch {case.driver[0]}"
    elif case.gpu is not None and case.gpu.data_center is False and _serves(case):
        because += f"; cuda-compat does not help, a {case.gpu.name} is no data-centre GPU"
    elif not _serves(case):
        because += (
            f"; no cuda-compat package of CUDA {case.release.minor} is listed for branch {case.driver[0]}"
        )
    return DriverVerdict("refused", because, package, source, verified)


def _compat(case: _Case) -> CompatRow | None:
    for row in _load.forward_compat().matrix:
        if row.cuda == case.release.minor:
            return row
    return None


def _serves(case: _Case) -> bool:
    row = _compat(case)
    return row is not None and row.status.get(str(case.driver[0])) == "compatible"


def _package(case: _Case) -> str | None:
    """Return the cuda-compat package that serves this driver, unless the card is no data-centre one."""
    row = _compat(case)
    if row is None or not _serves(case) or (case.gpu is not None and case.gpu.data_center is False):
        return None
    return row.package
