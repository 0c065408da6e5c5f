"""What a compiler takes, asked of the compiler itself: ptxas out of NVIDIA's wheel, run once, and its header read."""

from __future__ import annotations

import platform
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.version import Version

from gpuimage import process, remote
from gpuimage.errors import SpecError, UnavailableError
from gpuimage.refresh.derive import Derived
from gpuimage.refresh.index import BROKEN, File, Index, Project
from gpuimage.tables._sections import Row

PROJECTS = ("nvidia-cuda-nvcc-cu11", "nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc")
_TOOLKIT = "cuda-toolkit"
_HEADER = "crt/host_config.h"
_LARGEST = 1 << 30  # bytes of a ptxas
_SECONDS = 120.0


def minors(projects: Iterable[Project | None]) -> set[str]:
    """Return the CUDA minors that the index has a compiler of."""
    return {
        f"{version.major}.{version.minor}"
        for project in projects
        if project
        for version in project.releases
        if not version.is_prerelease and version.major
    }


def compiler(
    index: Index, minor: str, known: dict[str, Row], releases: list[Row], today: str
) -> Iterator[Derived]:
    """Yield the row of a minor, and for one that the tables lack the row of its newest release.

    This downloads some 50 MB and runs NVIDIA's ptxas with `--help`, in a directory that is gone afterwards.
    """
    numbers = _numbers(minor)
    project, version = _newest(index, numbers, minor)
    file = _wheel(project, version)
    before = known.get(minor)
    real, virtual = _targets(_help(index, file))
    source = f"PyPI {project.name} {version}"
    row: Row = {
        **(before or {"cuda": minor, "ptx_isa": None, "ptx_isa_source": None}),
        "real_archs": real,
        "virtual_archs": virtual,
        "arch_source": f"ptxas --help of {source}, run {today}",
        "arch_verified": True,
        **_host(index, project, version, file, minor, before),
    }
    yield Derived("cuda_releases", "minors", f"nvcc {minor}", row, before)
    if not any(one["minor"] == minor for one in releases):
        yield _release(index, numbers, minor, today)


def _numbers(minor: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{2})\.(\d{1,2})", minor)
    if found is None:
        raise SpecError(f"{minor!r} is no minor of CUDA", hint="write 13.5")
    return int(found[1]), int(found[2])


def _newest(index: Index, numbers: tuple[int, int], minor: str) -> tuple[Project, Version]:
    for name in (f"nvidia-cuda-nvcc-cu{numbers[0]}", "nvidia-cuda-nvcc"):
        project = index.project(name)
        version = project.newest(numbers) if project else None
        if project is not None and version is not None:
            return project, version
    raise SpecError(
        f"the index has no nvcc of CUDA {minor}",
        hint="a minor may come later than its toolkit; 12.7 was never released",
    )


def _wheel(project: Project, version: Version) -> File:
    machine = platform.machine()
    file = next((one for one in project.releases[version] if one.for_linux(machine)), None)
    if file is None:
        raise UnavailableError(f"{project.name} {version} has no wheel for Linux on {machine}")
    return file


def _help(index: Index, file: File) -> str:
    with tempfile.TemporaryDirectory(prefix="gpuimage-nvcc-") as name:
        folder = Path(name)
        wheel, ptxas = folder / "wheel", folder / "ptxas"
        # What runs must be the file that the index names.
        remote.download(file.url, wheel, file.sha256, login=index.url)
        try:
            with zipfile.ZipFile(wheel) as archive:
                info = next((one for one in archive.infolist() if one.filename.endswith("/bin/ptxas")), None)
                if info is None or info.file_size > _LARGEST:
                    raise UnavailableError(f"{file.name} holds no ptxas")
                with archive.open(info) as content, ptxas.open("wb") as target:
                    shutil.copyfileobj(content, target, 1 << 20)
        except BROKEN as error:
            raise UnavailableError(f"{file.name} cannot be unpacked", why=str(error)) from error
        ptxas.chmod(0o700)
        try:
            return process.run([str(ptxas), "--help"], cwd=folder, timeout=_SECONDS, check=True).stdout
        except (OSError, process.ProcessTimeoutError) as error:
            raise UnavailableError(f"ptxas of {file.name} does not run here", why=str(error)) from error


def _targets(text: str) -> tuple[list[str], list[str]]:
    """Return the real and the virtual architectures that `ptxas --help` allows, in the tables' order."""
    allowed = text.partition("--gpu-name")[2].partition("Default value")[0]
    real = set(re.findall(r"'(sm_\d+[af]?)'", allowed))
    virtual = set(re.findall(r"'(compute_\d+[af]?)'", allowed))
    if not real or not virtual:
        raise UnavailableError("the help of ptxas lists no architectures", why=text[:300] or None)
    return sorted(real, key=_by_number), sorted(virtual, key=_by_number)


def _by_number(name: str) -> tuple[int, str]:
    digits = re.sub(r"\D", "", name)
    return int(digits), name


def _host(
    index: Index, project: Project, version: Version, file: File, minor: str, before: Row | None
) -> Row:
    """Return the newest host compilers by the toolkit's own header: in the wheel, from CUDA 13 on in one of its own."""
    name, holder = project.name, file
    if not any(one.filename.endswith(_HEADER) for one in index.listing(file)):
        crt = index.project("nvidia-cuda-crt")
        at = crt.newest(_numbers(minor)) if crt else None
        if crt is None or at is None:
            raise UnavailableError(f"the index has no nvidia-cuda-crt of CUDA {minor}")
        name, holder = crt.name, _wheel(crt, at)
    text = index.member(holder, f".*/{_HEADER}").decode("utf-8", "replace")
    gcc = re.search(r"#if __GNUC__ > (\d+)", text)
    clang = re.search(r"clang version must be less than (\d+)", text)
    if gcc is None:
        raise UnavailableError(f"{_HEADER} of {name} names no newest gcc")
    found: Row = {
        "host_gcc_max_major": int(gcc[1]),
        "host_gcc_source": f"{_HEADER} of PyPI {name} for CUDA {minor}",
        "host_gcc_verified": True,
        "host_clang_max_major": int(clang[1]) - 1 if clang else None,
    }
    if before and all(before[key] == found[key] for key in ("host_gcc_max_major", "host_clang_max_major")):
        return {key: before[key] for key in found}
    return found


def _release(index: Index, numbers: tuple[int, int], minor: str, today: str) -> Derived:
    toolkit = index.project(_TOOLKIT)
    version = toolkit.newest(numbers) if toolkit else None
    if version is None:
        raise UnavailableError(f"the index has no {_TOOLKIT} of CUDA {minor}, which would name its release")
    row: Row = {
        "cuda": str(version),
        "label": str(version),
        "minor": minor,
        "linux_x86_64_driver_min": None,
        "windows_driver_min": None,
        "source": f"PyPI project {_TOOLKIT} {version}, read {today}",
        "verified": False,
        "note": "no package index names its driver",
    }
    return Derived("cuda_releases", "releases", f"CUDA {version}", row, None)
