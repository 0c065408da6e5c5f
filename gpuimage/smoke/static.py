"""T0: what an image's files say, without a container and without a GPU."""

from __future__ import annotations

import fnmatch
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from gpuimage.engine import ImageInfo
from gpuimage.inspect import Closure, Inspection, closure, coverage, shares
from gpuimage.smoke.measure import measure
from gpuimage.smoke.verdict import Expectation, Status, Verdict
from gpuimage.tables import dlopen_families
from gpuimage.units import size

_DRIVER = re.compile(
    r"/(libcuda\.so\.\d[\d.]*|libnvidia-ml\.so\.\d[\d.]*|libnvidia-[\w-]+\.so\.\d+\.\d[\d.]*|libcudadebugger\.so\.\d[\d.]*)$"
)
_STUB = re.compile(r"/stubs/(libcuda|libnvidia-ml)\.so(\.1)?$")
_CORE = re.compile(
    r"^(libcudart|libcublas|libcublasLt|libcudnn|libcufft|libcurand|libcusolver|libcusparse|libnvrtc|libnccl)\.so\.(\d+)$"
)
_DEFAULT_DIRS = (
    "/lib",
    "/usr/lib",
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
)
_SHOWN = 5


def static_verdicts(
    inspection: Inspection, image: ImageInfo, expectation: Expectation
) -> tuple[Verdict, ...]:
    """All verdicts of the tier, in the order a reader wants them."""
    files = _Files(inspection, image, expectation)
    probes: tuple[tuple[str, Callable[[_Files], _Answer]], ...] = (
        ("elf-closure", _elf_closure),
        ("symbol-versions", _versions),
        ("dlopen-families", _dlopen_families),
        ("driver-not-baked", _driver_not_baked),
        ("stubs-off-the-library-path", _stubs),
        ("nvcc-as-promised", _nvcc),
        ("one-cuda-only", _one_cuda),
        ("size-budget", _budget),
        ("gpu-code", _gpu_code),
    )
    verdicts = []
    for name, probe in probes:
        began = time.monotonic()
        status, reason, evidence = probe(files)
        verdicts.append(Verdict(name, "T0", status, reason, time.monotonic() - began, evidence))
    if inspection.problems:
        note = f"; {len(inspection.problems)} files could not be read, so this answer is partial"
        verdicts = [replace(v, reason=v.reason + note) if v.probe == "elf-closure" else v for v in verdicts]
    return tuple(verdicts)


_Answer = tuple[Status, str, tuple[str, ...]]


@dataclass(frozen=True)
class _Files:
    inspection: Inspection
    image: ImageInfo
    expectation: Expectation

    @cached_property
    def environment(self) -> dict[str, str]:
        return dict(entry.split("=", 1) for entry in self.image.env if "=" in entry)

    @cached_property
    def closure(self) -> Closure:
        return closure(self.inspection, env=self.environment)

    @cached_property
    def search_path(self) -> frozenset[str]:
        """Where the loader looks in every process of this image, links followed."""
        entries = re.split("[:;]", self.environment.get("LD_LIBRARY_PATH", ""))
        directories = [*filter(None, entries), *self.inspection.ld_so_conf, *_DEFAULT_DIRS]
        return frozenset(self.inspection.resolve(d) or d for d in directories)

    @cached_property
    def for_compiling(self) -> bool:
        """Whether a toolkit may stand beside the wheels; without a promise, its compiler says so."""
        flavor = self.expectation.flavor
        if flavor is None:
            return any(name.endswith("/bin/nvcc") for name in self.names())
        return flavor == "devel" or self.expectation.jit == "nvcc"

    def names(self) -> Iterator[str]:
        yield from self.inspection.sizes
        yield from self.inspection.links

    def size(self, path: str) -> int:
        return self.inspection.sizes.get(self.inspection.resolve(path) or path, 0)


def _some(items: list[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more


def _elf_closure(files: _Files) -> _Answer:
    found = files.closure
    if not found.checked:
        return "skipped", "no library in this image has a dynamic section", ()
    evidence = [
        f"{m.library} opens {m.needed} from {m.elsewhere[0]}, off the loader's path" for m in found.off_path
    ]
    evidence += [f"{m.library} wants {m.needed}: a plug-in that nothing here loads" for m in found.optional]
    if found.missing:
        lost = [f"{m.library} needs {m.needed}" for m in found.missing]
        return "failed", f"the loader would not find: {_some(lost)}", tuple(lost)
    notes = [f"{len(found.off_path)} are loaded first by their package"] if found.off_path else []
    notes += [f"{len(found.optional)} wants of plug-ins that nothing here loads"] if found.optional else []
    notes += [f"{len(found.driver)} of the driver's come from the host"] if found.driver else []
    return (
        "passed",
        f"{found.checked} libraries find all they need" + (f" ({'; '.join(notes)})" if notes else ""),
        tuple(evidence),
    )


def _dlopen_families(files: _Files) -> _Answer:
    by_directory: dict[str, set[str]] = {}
    for path in files.names():
        directory, _, name = path.rpartition("/")
        if ".so" in name:
            by_directory.setdefault(directory, set()).add(name)
    checked: list[str] = []
    lost: list[str] = []
    for family in dlopen_families():
        for directory, names in sorted(by_directory.items()):
            if family.head not in names:
                continue
            checked.append(f"{family.family} in {directory}")
            lost += [
                f"{family.family} in {directory} has no {member}"
                for member in family.members
                if not any(fnmatch.fnmatchcase(name, member) for name in names)
            ]
    if lost:
        return "failed", f"parts that are opened by name at run time are missing: {_some(lost)}", tuple(lost)
    if not checked:
        return "skipped", "no library in this image opens others by name, as far as the tables know", ()
    return "passed", f"{len(checked)} families have all their parts", tuple(checked)


def _driver_not_baked(files: _Files) -> _Answer:
    baked = sorted(
        path
        for path in files.names()
        # A link to a stub is another probe's.
        if _DRIVER.search(path)
        and "/stubs/" not in (files.inspection.resolve(path) or path)
        and files.size(path)
    )
    compat = [path for path in baked if "/compat" in path]
    own = [path for path in baked if path not in compat]
    if own:
        return "failed", f"driver libraries are baked in and would hide the host's: {_some(own)}", tuple(own)
    if compat:
        reached = [path for path in compat if path.rpartition("/")[0] in files.search_path]
        if reached:
            return (
                "failed",
                f"cuda-compat is on the library path, where a newer host driver fails with error 803: {_some(reached)}",
                tuple(compat),
            )
        return (
            "passed",
            "no driver library; cuda-compat is there for the container toolkit to use",
            tuple(compat),
        )
    return "passed", "no driver library: the host's is injected when a container starts", ()


def _stubs(files: _Files) -> _Answer:
    stubs = sorted(path for path in files.names() if _STUB.search(path))
    reached = [path for path in stubs if path.rpartition("/")[0] in files.search_path]
    links = sorted(
        path for path in files.inspection.links
        if re.search(r"/(libcuda|libnvidia-ml)\.so\.1$", path) and "/stubs/" in (files.inspection.resolve(path) or "")
    )  # fmt: skip
    guilty = [*reached, *links]
    if guilty:
        return (
            "failed",
            f"a link-time stub would be loaded instead of the driver: {_some(guilty)}",
            tuple(guilty),
        )
    if stubs:
        return "passed", f"{len(stubs)} stubs, none where the loader looks", tuple(stubs)
    return "passed", "no link-time stub of the driver", ()


def _nvcc(files: _Files) -> _Answer:
    expected = files.expectation
    found = sorted(path for path in files.names() if path.endswith("/bin/nvcc") and files.size(path))
    runs = [
        path for path in found if (files.inspection.resolve(path) or path) in files.inspection.executables
    ]
    if expected.flavor is None and expected.jit is None:
        where = f"nvcc is at {found[0]}" if found else "there is no nvcc"
        return "skipped", f"{where}; a spec would say whether it belongs here", tuple(found)
    wanted = (expected.flavor == "devel" and not expected.cpu_only) or expected.jit == "nvcc"
    why = "jit: nvcc" if expected.jit == "nvcc" else f"flavor: {expected.flavor}"
    if wanted:
        if runs:
            return "passed", f"{why} promises nvcc, and it is at {runs[0]}", tuple(found)
        return (
            "failed",
            f"{why} promises nvcc, and there is none" + (f" that may be run ({found[0]})" if found else ""),
            tuple(found),
        )
    if found:
        total = sum(files.size(path) for path in found)
        return (
            "failed",
            f"{why} and jit: {expected.jit} promise no compiler, and nvcc is at {found[0]} ({size(total)} and the toolkit around it)",
            tuple(found),
        )
    return "passed", f"{why} and jit: {expected.jit} promise no nvcc, and there is none", ()


def _one_cuda(files: _Files) -> _Answer:
    places: dict[str, dict[str, set[str]]] = {}
    for path in files.names():
        match = _CORE.match(path.rpartition("/")[2])
        real = files.inspection.resolve(path)
        if match and real and files.size(real) and "/stubs/" not in path:
            places.setdefault(match[1], {}).setdefault(match[2], set()).add(real)
    twice = {
        f"{lib}.so.{v}": sorted(real)
        for lib, versions in places.items()
        for v, real in versions.items()
        if len(real) > 1
    }
    majors = sorted({*places.get("libcudart", {}), *places.get("libcublas", {})})
    evidence = tuple(f"{name}: {', '.join(paths)}" for name, paths in sorted(twice.items()))
    wasted = sum(min(files.size(path) for path in paths) for paths in twice.values())
    if twice:
        what = f"{len(twice)} CUDA libraries are there twice, {size(wasted)} of them dead: {_some(sorted(twice))}"
        if files.for_compiling:
            return "passed", f"{what}; the toolkit's are for compiling, the wheels' for running", evidence
        return "failed", what, evidence
    if len(majors) > 1:
        return (
            "failed",
            f"CUDA {' and '.join(majors)} are both there",
            tuple(
                sorted(
                    p for lib in ("libcudart", "libcublas") for v in places.get(lib, {}).values() for p in v
                )
            ),
        )
    if not places:
        return "passed", "no CUDA library in this image", ()
    return "passed", f"one CUDA, {len(places)} of its libraries, each once", ()


def _budget(files: _Files) -> _Answer:
    image = files.image
    limited = [one for one in measure(image, files.inspection.wheels, files.expectation) if one.limit]
    if not limited:
        return "skipped", f"no budget was set; the image has {size(image.size)}", ()
    over = [
        f"{one.part} budget {size(one.limit or 0)}: {one.name[:60]} has {size(one.actual or 0)}"
        for one in limited
        if one.over
    ]
    if over:
        evidence = tuple(f"{one.part}: {name} has {size(held)}" for one in limited for name, held in one.over)
        return "failed", "; ".join(over), evidence
    return (
        "passed",
        "; ".join(f"{one.part}: {size(one.actual or 0)} of {size(one.limit or 0)}" for one in limited),
        (),
    )


def _versions(files: _Files) -> _Answer:
    """As the loader sees it: `version 'GLIBC_2.38' not found`."""
    wanted = files.closure.versions
    if wanted:
        lost = [f"{one.library} wants {one.version} of {one.needed}" for one in wanted]
        return "failed", f"the image's libraries are too old: {_some(lost)}", tuple(lost)
    if not files.closure.checked:
        return "skipped", "no library in this image has a dynamic section", ()
    return "passed", "every symbol version that a library wants is there", ()


def _gpu_code(files: _Files) -> _Answer:
    gpu, expected = files.inspection.gpu, files.expectation
    loadable = [file for file in gpu if any(container.loadable for container in file.containers)]
    several = len(loadable) != 1
    what = f"{len(loadable)} file{'s' if several else ''} with GPU code"
    held = " ".join(share.arch for share in shares(loadable) if share.kind == "cubin")
    if expected.cpu_only and loadable:
        total = sum(file.code_bytes for file in loadable)
        reason = f"no GPU was promised, and there {'are' if several else 'is'} {what} ({size(total)})"
        return "failed", reason, tuple(file.path for file in loadable)
    if not loadable:
        if expected.arch and not expected.cpu_only:
            return "skipped", "no file has GPU code of its own: it is compiled at run time, if at all", ()
        return "passed", "no file has GPU code", ()
    if expected.arch is None:
        return (
            "skipped",
            f"no architecture was promised; {what} {'are' if several else 'is'} made for {held}",
            (),
        )
    answers = coverage(gpu, expected.arch.capabilities, expected.driver)
    by_severity = {
        severity: [f"{one.path}: {one.because}" for one in answers if one.severity == severity]
        for severity in ("error", "warning", "note")
    }
    evidence = tuple(line for lines in by_severity.values() for line in lines)
    if lost := by_severity["error"]:
        return "failed", f"{len(lost)} times a GPU would find no kernel: {lost[0]}", evidence
    partly = by_severity["warning"]
    return (
        "passed",
        f"{what} {'serve' if several else 'serves'} {expected.arch}"
        + (f"; {len(partly)} times only in part or as PTX: {partly[0]}" if partly else ""),
        evidence,
    )
