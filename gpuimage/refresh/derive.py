"""Rows of the tables as a package index has them: what follows from file listings and metadata, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from gpuimage.errors import UnavailableError
from gpuimage.refresh.index import File, Index, Project
from gpuimage.tables._answers import normalise
from gpuimage.tables._sections import Row

_MACHINE = "x86_64"
_ABOUT_CUDA = re.compile(r"cuda|nvidia|-cu\d\d|^(py)?torch$|^triton$|^tensorrt", re.IGNORECASE)
_PULLED_IN = re.compile(r"nvidia-|cuda-|(pytorch-)?triton$", re.IGNORECASE)
_NAMED_MAJOR = re.compile(r"-cu(\d\d)$")
_LIBRARY = re.compile(r"nvidia/[^/]+/lib(?:64)?/([^/]+\.so[.\d]*)")
_CU_FOLDER = re.compile(r"nvidia/cu(\d\d)/")


class Derived(Struct, frozen=True):
    """A row of a section as it should be; `before` is the one that stands there now."""

    table: str
    section: str
    about: str
    row: Row
    before: Row | None


def torch(index: Index, project: Project, version: Version, before: Row | None, today: str) -> Derived | None:
    """Return the row of a torch release, None where it has no wheel for Linux on x86_64."""
    wheels = [file for file in project.releases[version] if file.for_linux(_MACHINE)]
    if not wheels:
        return None
    largest = max(wheels, key=lambda file: file.size)
    requires = index.requirements(largest)
    pulled = [line for line in requires if _PULLED_IN.match(_name(line))]
    source = f"PyPI project torch {version}, read {today}"
    old_pypi = before["pypi_linux_x86_64"] if before else {}
    # Before 1.13 the wheel holds CUDA itself, and nothing on the index tells which.
    default = default_build(pulled) or old_pypi.get("default_cuda")
    if default is None:
        raise UnavailableError(f"the pins of torch {version} do not tell which CUDA it is built for")
    pypi = {
        **old_pypi,
        "default_cuda": default,
        "python_tags": _python_tags(wheels),
        "platform_tags": sorted({file.platform for file in wheels}),
        "wheel_bytes": largest.size,
        "uploaded": min(file.uploaded for file in wheels),
        "source": source,
    }
    triton = next((line for line in pulled if "triton" in _name(line)), None)
    measured = {
        "pypi_linux_x86_64": pypi,
        "requires_python": largest.requires_python,
        "requires_dist_nvidia": _same_requirements(before, pulled),
        "triton": _pin(triton) if triton else None,
    }
    row = {
        "torch": ".".join(map(str, (version.major, version.minor, version.micro))),
        **(before or _new_torch(default, source)),
        **measured,
    }
    return Derived("torch_wheels", "releases", f"torch {version}", row, before)


def _new_torch(default: str, source: str) -> Row:
    """What the index does not tell of a new release is null and not verified: other builds, architectures, partners."""
    return {
        "cuda_variants": [default],
        "cuda_variants_source": f"{source}: the build that PyPI has; others are not looked up",
        "cuda_variants_verified": False,
        "arch_lists": [{"variant": default, "x86_64": None, "ptx": False, "source": None, "verified": False}],
        "torchvision": None,
        "torchvision_verified": False,
        "torchaudio": None,
        "torchaudio_verified": False,
    }


def default_build(requires: Iterable[str]) -> str | None:
    """Return the CUDA build that pins speak of (`cu128`): that of the toolkit, else of the CUDA runtime."""
    pins = {_name(line): line for line in requires}
    for name in ("cuda-toolkit", "nvidia-cuda-runtime"):
        line = pins.get(name) or next((pins[one] for one in pins if one.startswith(f"{name}-cu")), None)
        if line and (found := re.search(r"==\s*(\d+)\.(\d+)", line)):
            return f"cu{found[1]}{found[2]}"
    return None


def nvidia(index: Index, project: Project, rows: list[Row], today: str) -> Iterator[Derived]:
    """Yield the rows of one of NVIDIA's projects: those in the table, and the newest version."""
    known = {Version(row["version"]): row for row in rows}
    newest = project.newest()
    for version in sorted({*known, *([newest] if newest else [])}):
        file = _largest(project, version)
        if file is None:
            continue  # a version that was withdrawn stays known: images may hold it
        about, before = f"{project.name} {version}", known.get(version)
        measured: Row = {"wheel": file.name, "wheel_bytes": file.size, "uploaded": file.uploaded}
        if before is None:
            measured |= _looked_into(index, project, version, file, known)
            source = f"PyPI project {about}, read {today}"
            measured |= {"name": rows[0]["name"], "version": str(version), "source": source}
        yield Derived("nvidia_wheels", "wheels", about, {**(before or {}), **measured}, before)


def _looked_into(
    index: Index, project: Project, version: Version, file: File, known: dict[Version, Row]
) -> Row:
    """Read the directory of a wheel: its libraries and their CUDA, and its bytes on disk."""
    listing = index.listing(file)
    libraries = sorted({found[1] for one in listing if (found := _LIBRARY.fullmatch(one.filename))})
    folders = {int(found[1]) for one in listing if (found := _CU_FOLDER.match(one.filename))}
    major, sure = _cuda_major(project.name, version, folders, known)
    row: Row = {
        "cuda_major": major,
        "unpacked_bytes": sum(one.file_size for one in listing),
        "verified": sure,
    }
    if libraries:
        row |= {"libraries": libraries, "libraries_source": "file listing of the wheel"}
    return row


def _cuda_major(
    name: str, version: Version, folders: set[int], known: dict[Version, Row]
) -> tuple[int, bool]:
    """Return a wheel's CUDA major by its name, its folder or its own number; else that of the last version, not sure."""
    if named := _NAMED_MAJOR.search(name):
        return int(named[1]), True
    if len(folders) == 1:
        return folders.pop(), True
    last = max(known)
    counts_by_cuda = last.major == known[last]["cuda_major"]
    return (version.major, True) if counts_by_cuda else (known[last]["cuda_major"], False)


def wheel(index: Index, project: Project, before: Row, today: str) -> Derived | None:
    """Return the row of another project at its newest version, None where it has none that is no preview."""
    newest = project.newest()
    if newest is None:
        return None
    files = project.releases[newest]
    linux = [file for file in files if file.for_linux(_MACHINE)]
    largest = max(linux, key=lambda file: file.size, default=None)
    row: Row = {
        **before,
        "newest": str(newest),
        "wheel_bytes_linux_x86_64": largest.size if largest else None,
        "sdist_only": not any(file.tags for file in files),
    }
    if not _same_version(before.get("newest"), newest):
        row |= _of_newest(index, project, files, linux, before)
    if row != before:
        row |= {
            "uploaded": min(file.uploaded for file in files),
            "platform_tags": sorted({file.platform for file in linux}),
            "source": f"PyPI project {project.name} {newest}: file listing and metadata, {today}",
        }
    return Derived("other_wheels", "wheels", project.name, row, before)


def _of_newest(index: Index, project: Project, files: Iterable[File], linux: list[File], before: Row) -> Row:
    """What changes with a version: its requirements, and with them how sure its CUDA major still is."""
    one = next(iter(linux), None) or next((file for file in files if file.for_any), None)
    lines = index.requirements(one) if one else ()
    about = [line for line in lines if _ABOUT_CUDA.search(_name(line))]
    known = before.get("newest_cuda_major")
    sure = known is None or re.search(rf"-(cu|cuda){known}\d?x?(-|$)", project.name) is not None
    return {
        "requires_dist_cuda": about,
        "newest_cuda_major_verified": None if known is None else sure,
        "verified": bool(before["verified"]) and sure,
    }


def _largest(project: Project, version: Version) -> File | None:
    files = project.releases.get(version, ())
    fitting = [file for file in files if file.for_linux(_MACHINE) or file.for_any]
    return max(fitting, key=lambda file: file.size, default=None)


def _python_tags(wheels: Iterable[File]) -> list[str]:
    """Return `cp312`, `cp313t` …, those without the interpreter's lock last."""
    tags = set()
    for file in wheels:
        for tag in file.tags:
            free = re.fullmatch(r"cp\d+t", tag.abi)
            tags.add(tag.abi if free else tag.interpreter)
    return sorted(tags, key=lambda tag: (tag.endswith("t"), int("0" + re.sub(r"\D", "", tag))))


def _same_requirements(before: Row | None, pulled: list[str]) -> list[str]:
    """Return the requirements as the table writes them where they are the same in other words."""
    old: list[str] = list(before["requires_dist_nvidia"]) if before else []
    return old if {_parsed(line) for line in old} == {_parsed(line) for line in pulled} else pulled


def _parsed(line: str) -> Any:  # a Requirement, or the text of what is none
    try:
        return Requirement(line)
    except InvalidRequirement:
        return line


def _pin(line: str) -> str:
    """Return a requirement without its marker: `triton==3.5.1`."""
    parsed = _parsed(line)
    return f"{parsed.name}{parsed.specifier}" if isinstance(parsed, Requirement) else line


def _name(line: str) -> str:
    return normalise(re.split(r"[\s\[(<>=!~;]", line.strip(), maxsplit=1)[0])


def _same_version(text: str | None, version: Version) -> bool:
    try:
        return text is not None and Version(text) == version
    except InvalidVersion:
        return False
