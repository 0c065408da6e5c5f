"""Which GPUs the code of a file runs on: container by container, as the driver loads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct

from gpuimage.arch import ComputeCapability
from gpuimage.inspect.types import CodeKind, Container, GpuFile
from gpuimage.tables import GpuLibrary, Unknown, driver_cuda, driver_need, gpu_library, ptx_cuda, zstd_cuda

State = Literal["native", "jit", "partial", "none"]
Severity = Literal["error", "warning", "note"]

_SHOWN = 12


class Coverage(Struct, frozen=True):
    """What one file has for one GPU.

    `native`, `jit` and `nothing` count its loadable containers: machine code that runs there, only PTX for the driver
    to compile, neither. `state` sums them up; `severity` is None where all is well, and `because` says why it is not.
    `cuda` is the CUDA release whose driver is needed to load what runs ("12.4": compressed with zstd; "13.0": its
    PTX), None where any driver of the GPU will do; `driver` is that driver, where the tables know it.
    """

    path: str
    target: ComputeCapability
    state: State
    native: int
    jit: int
    nothing: int
    severity: Severity | None = None
    because: str = ""
    cuda: str | None = None
    driver: str | None = None


def coverage(
    files: Iterable[GpuFile],
    targets: Sequence[ComputeCapability],
    driver: str | None = None,
    *,
    linked: bool = True,
) -> tuple[Coverage, ...]:
    """Hold every file with loadable GPU code against every target, files in order, targets within.

    `driver` is the oldest host driver ("550" or "550.54.14"): what it cannot load counts as nothing. Static
    libraries and code left for linking are never loaded as they are, and judged only without `linked`: what they will
    become a part of is then what counts.
    """
    host = driver_cuda(driver) if driver else None
    spoken = None if host is None or isinstance(host, Unknown) else host
    judged = [(file, gpu_library(file.path), _loadable(file, linked=linked)) for file in files]
    found = [
        _one(file, row, containers, target, spoken)
        for file, row, containers in judged
        if containers
        for target in targets
    ]
    return tuple(_alternatives(found))


def needed(
    kind: CodeKind, capability: ComputeCapability | None, targets: Sequence[ComputeCapability]
) -> bool:
    """Whether a driver may load such an entry on one of the targets; code of unknown use counts as needed."""
    if capability is None or kind not in ("cubin", "ptx"):
        return True
    return any(_runs(kind, capability, target) for target in targets)


class DriverDemand(Struct, frozen=True):
    """What part of a file's code asks of the driver: `why` ("zstd", "PTX ISA 8.7"), the CUDA release, its driver.

    `cuda` and `driver` are None where no source names them.
    """

    why: str
    cuda: str | None
    driver: str | None


def driver_needs(file: GpuFile) -> tuple[DriverDemand, ...]:
    """What a file's compression and newest PTX ask of the driver, whatever the GPU; empty for plain machine code."""
    codes = [code for container in file.containers for code in container.code]
    needs = []
    if any(code.compression == "zstd" for code in codes):
        needs.append(DriverDemand("zstd", zstd_cuda(), _driver(zstd_cuda())))
    newest = max((code.isa for code in codes if code.isa), key=_key, default=None)
    if newest:
        release = ptx_cuda(newest)
        cuda = None if isinstance(release, Unknown) else release
        needs.append(DriverDemand(f"PTX ISA {newest}", cuda, _driver(cuda)))
    return tuple(needs)


def _loadable(file: GpuFile, *, linked: bool) -> tuple[Container, ...]:
    if linked and file.kind == "archive":
        return ()
    found = tuple(container for container in file.containers if container.loadable)
    return found if found or linked else tuple(one for one in file.containers if one.code)


@cache
def _runs(kind: CodeKind, capability: ComputeCapability | None, target: ComputeCapability) -> bool:
    if capability is None:
        return False
    if kind == "cubin":
        return capability.cubin_runs_on(target)
    return kind == "ptx" and capability.ptx_runs_on(target)


def _key(cuda: str | None) -> tuple[int, ...]:
    return tuple(map(int, cuda.split("."))) if cuda else ()


@cache
def _wants(isa: str | None, compression: str) -> str | None:
    """The CUDA release whose driver reads such an entry; None where every driver of its GPU does."""
    release = ptx_cuda(isa) if isa else None
    wants = [zstd_cuda()] if compression == "zstd" else []
    if release and not isinstance(release, Unknown):
        wants.append(release)
    return max(wants, key=_key, default=None)


def _container(container: Container, target: ComputeCapability, spoken: str | None) -> tuple[str, str | None]:
    """What a container has for a GPU, and the CUDA release whose driver that takes."""
    late: str | None = None
    for kind, name in (("cubin", "native"), ("ptx", "jit")):
        wants = {
            _wants(code.isa, code.compression)
            for code in container.code
            if code.kind == kind and _runs(code.kind, code.capability, target)
        }
        if wants:
            least = min(wants, key=_key)
            if spoken is None or _key(least) <= _key(spoken):
                return name, least
            late = least if late is None else min(late, least, key=_key)
    return ("late", late) if late else ("nothing", None)


def _one(
    file: GpuFile,
    row: GpuLibrary | None,
    containers: Sequence[Container],
    target: ComputeCapability,
    spoken: str | None,
) -> Coverage:
    found = [_container(container, target, spoken) for container in containers]
    counts = dict.fromkeys(("native", "jit", "late", "nothing"), 0) | Counter(kind for kind, _ in found)
    native, jit, nothing = counts["native"], counts["jit"], counts["nothing"] + counts["late"]
    state = _state(native, jit, nothing, row)
    # What decides about the driver: all that runs, or the better half of it where the library chooses itself.
    counted = ("native",) if native and _chooses(row) else ("native", "jit") if native + jit else ("late",)
    cuda = max((wants for kind, wants in found if kind in counted and wants), key=_key, default=None)
    driver = _driver(cuda)
    severity, because = _Words(file, row, containers, target, counts, cuda, driver).verdict(state)
    return Coverage(file.path, target, state, native, jit, nothing, severity, because, cuda, driver)


def _chooses(row: GpuLibrary | None) -> bool:
    return row is not None and row.judge in ("library", "single")


@cache
def _driver(cuda: str | None) -> str | None:
    """The driver that came with a CUDA minor's first release."""
    for version in (f"{cuda}.0", cuda) if cuda else ():
        need = driver_need(version)
        if not isinstance(need, Unknown) and need.full:
            return need.full
    return None


def _state(native: int, jit: int, nothing: int, row: GpuLibrary | None) -> State:
    if not native + jit:
        return "none"
    if nothing and not _chooses(row):
        return "partial"
    return "native" if native else "jit"


class _Words(Struct, frozen=True):
    """One answer as a person reads it."""

    file: GpuFile
    row: GpuLibrary | None
    containers: Sequence[Container]
    target: ComputeCapability
    counts: dict[str, int]
    cuda: str | None
    driver: str | None

    def verdict(self, state: State) -> tuple[Severity | None, str]:
        """How bad it is, and why."""
        late = self.counts["late"]
        single = self.file.kind == "cubin" or (self.row is not None and self.row.judge == "single")
        if single and not self.counts["native"]:
            return (
                "note",
                f"it is made for some GPUs only, and {self.target} is none of them: {self._archs()}",
            )
        if state == "none":
            if late:
                return "error", f"what it has for {self.target} needs {self._wanted()}"
            return "error", f"no code for {self.target}: it has {self._archs()}"
        if state == "partial":
            nothing = self.counts["nothing"] + late
            what = f"{nothing} of {len(self.containers)} containers have nothing for {self.target}"
            return "warning", f"{what}; their kernels would fail with 'no kernel image is available'"
        if state == "jit":
            jit = self.counts["jit"]
            where = f", in {jit} of {len(self.containers)} containers" if jit < len(self.containers) else ""
            return "warning", f"only PTX for {self.target}{where}: compiled at first use, by {self._wanted()}"
        return None, ""

    def _wanted(self) -> str:
        if self.driver:
            return f"driver {self.driver} or newer (CUDA {self.cuda})"
        return f"the driver of CUDA {self.cuda} or newer" if self.cuda else "the driver"

    def _archs(self) -> str:
        codes = {
            (code.kind, code.capability)
            for container in self.containers
            for code in container.code
            if code.capability
        }
        cubins = sorted(capability for kind, capability in codes if kind == "cubin" and capability)
        ptx = sorted(capability for kind, capability in codes if kind == "ptx" and capability)
        shown = [str(one) for one in cubins[:_SHOWN]] + (["…"] if len(cubins) > _SHOWN else [])
        made = f"machine code for {' '.join(shown)}" if shown else "no machine code"
        return f"{made} and {'PTX ' + ' '.join(map(str, ptx)) if ptx else 'no PTX'}"


def _alternatives(found: Sequence[Coverage]) -> Iterator[Coverage]:
    """Of files of which one is loaded, the best counts; what the others lack is a note."""
    covered = {
        (row.library, one.path.rpartition("/")[0], one.target)
        for one in found
        if (row := gpu_library(one.path)) and row.judge == "alternatives" and one.state in ("native", "jit")
    }
    for one in found:
        row = gpu_library(one.path)
        if (
            row
            and one.severity == "error"
            and (row.library, one.path.rpartition("/")[0], one.target) in covered
        ):
            because = f"{one.because}; another file of {row.library} has"
            yield Coverage(
                one.path, one.target, one.state, one.native, one.jit, one.nothing, "note", because, one.cuda, one.driver
            )  # fmt: skip
        else:
            yield one
