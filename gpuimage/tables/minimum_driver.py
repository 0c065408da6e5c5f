"""Which driver a toolkit needs, and which toolkit a driver speaks.

Two minima are easily mixed up. The *full* driver is the one that a toolkit release names: everything works.
The *floor* holds for a whole CUDA major: from it on, machine code of any release of that major runs
(minor-version compatibility), but neither PTX nor features newer than the driver.
"""

from __future__ import annotations

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, Version, dotted, known
from gpuimage.tables._rows import FloorRow, ReleaseRow
from gpuimage.tables.cuda import cuda_release, minor_of, release_rows

_OLDEST_BRANCH, _NEWEST_BRANCH = 100, 1000  # three digits; anything else is a slip


class DriverNeed(Struct, frozen=True):
    """The Linux x86_64 drivers for one toolkit release; `full` is None where no source names it.

    `floor` never lies above `full`: CUDA 11.0 was released with a driver older than the floor of 11.x.
    """

    cuda: str
    full: str | None
    floor: str
    source: str
    verified: bool


def parse_driver(text: str) -> Version | None:
    """`550` (a branch) or `550.54.14` as numbers; None for anything else."""
    driver = dotted(text)
    if driver is None or len(driver) > 3 or not _OLDEST_BRANCH <= driver[0] < _NEWEST_BRANCH:
        return None
    return driver


def reaches(driver: Version, need: str) -> bool:
    """Whether a driver is at or above a needed one; of a bare branch, whether its newest driver is."""
    wanted = known(need)
    return driver[0] >= wanted[0] if len(driver) == 1 else driver >= wanted


def undecided(driver: Version, need: str) -> bool:
    """Whether the bare branch does not say on which side of `need` the host is."""
    wanted = known(need)
    return len(driver) == 1 < len(wanted) and driver[0] == wanted[0]


def floor_row(major: int) -> FloorRow | None:
    """Return minor-version compatibility of a major; CUDA 10 and older have none."""
    for row in _load.cuda_releases().minor_version_compat:
        if row.major == str(major):
            return row
    return None


def release_for_driver(cuda: str) -> ReleaseRow | None:
    """Return the release that `12.8` or `12.8.1` stands for when drivers are asked about.

    For a minor that is the newest point release whose driver is known: 12.9.2 exists, but no source names
    its driver.
    """
    rows = release_rows(cuda)
    if not rows:
        return None
    named = [row for row in rows if row.linux_x86_64_driver_min]
    return (named or rows)[-1]


def driver_need(cuda: str) -> DriverNeed | Unknown:
    """Return the full driver and the floor of `12.8` or `12.8.1`."""
    row = release_for_driver(cuda)
    if row is None:
        missing = cuda_release(cuda)
        return missing if isinstance(missing, Unknown) else Unknown(f"CUDA {cuda} has no driver row")
    full, floor = row.linux_x86_64_driver_min, floor_row(known(row.cuda)[0])
    if floor is None:
        if full is None:
            return Unknown(f"no source names the driver of CUDA {row.cuda}")
        return DriverNeed(row.cuda, full, full, row.source, row.verified)
    lowest = min(floor.min_linux, full or floor.min_linux, key=known)
    return DriverNeed(
        cuda=row.cuda,
        full=full,
        floor=lowest,
        source=floor.source if row.source in floor.source else f"{row.source}; {floor.source}",
        verified=row.verified and floor.verified,
    )


def full_bound(row: ReleaseRow) -> str | None:
    """Return a driver that surely is full for a release: its own, else that of the next one with a driver."""
    rows = _load.cuda_releases().releases
    for later in rows[rows.index(row) :]:
        if later.linux_x86_64_driver_min:
            return later.linux_x86_64_driver_min
    return None


def _first_branch(minor: str) -> int | None:
    named = [row.linux_x86_64_driver_min for row in release_rows(minor)]
    return min((known(driver)[0] for driver in named if driver), default=None)


def driver_cuda(driver: str) -> str | Unknown:
    """Return the newest toolkit minor that the branch of a driver was released for (nvidia-smi shows it).

    Branches newer than the tables get the newest minor whose driver is known: they speak at least that.
    """
    version = parse_driver(driver)
    if version is None:
        return Unknown(f"{driver!r} is no driver version (write 550 or 550.54.14)")
    spoken = [
        row.cuda
        for row in _load.cuda_releases().minors
        if (first := _first_branch(row.cuda)) is not None and first <= version[0]
    ]
    if not spoken:
        return Unknown(f"driver {driver} is older than every toolkit in the tables")
    return spoken[-1]


def driver_branches() -> tuple[int, ...]:
    """Return the driver branches that any toolkit release in the tables came with, oldest first."""
    drivers = (row.linux_x86_64_driver_min for row in _load.cuda_releases().releases)
    return tuple(sorted({known(driver)[0] for driver in drivers if driver}))


class BranchEnd(Struct, frozen=True):
    """When support of a driver branch ends: `eol` is a month, `2026-06`, or a day."""

    branch: str
    kind: str
    eol: str
    source: str

    def ended(self, day: str) -> bool:
        """Whether it has ended on a day, `2026-12-01`; in its last month it has not."""
        return self.eol < day[: len(self.eol)]


def branch_end(driver: str) -> BranchEnd | Unknown:
    """Return when the branch of a driver ends, `550` or `550.54.14`."""
    branch = f"R{driver.partition('.')[0]}"
    for row in _load.cuda_releases().driver_branch_eol:
        if row.branch == branch:
            return BranchEnd(row.branch, row.kind, row.eol, row.source)
    return Unknown(f"no source says when its driver branch {branch} ends")


def speaks(driver: Version, cuda: str) -> bool | None:
    """Whether a driver's own CUDA version is `cuda` or newer; None where no source names its branch."""
    minor = minor_of(cuda)
    first = _first_branch(minor) if minor else None
    if first is None:
        return None
    return driver[0] >= first
