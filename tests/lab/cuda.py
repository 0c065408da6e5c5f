"""A CUDA toolkit laid out as in nvidia/cuda, from the wheels NVIDIA publishes on PyPI."""

from __future__ import annotations

import io
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from tests.lab.home import Home
from tests.lab.rootfs import EPOCH
from tests.lab.shell import LabError, run

# Extras of the package cuda-toolkit, which pins every component of a CUDA point release.
COMPONENTS = {
    "base": ("cudart",),
    # The families onnxruntime-gpu links to; the real flavor holds more (cuSOLVER, cuSPARSE, NPP, NCCL).
    "runtime": ("cudart", "cublas", "cufft", "curand", "nvrtc"),
    "devel": ("cudart", "nvcc", "cccl", "crt", "nvvm"),
}
_CUDNN = {"12": "nvidia-cudnn-cu12==9.10.2.21", "13": "nvidia-cudnn-cu13==9.13.0.50"}
# The wheels of 13.0.0 have no crt/link.stub and cicc in another folder: their nvcc cannot link a program.
_COMPLETE = {"13.0.0": "13.0.2"}
_EXECUTABLE = re.compile(r"(^|/)(bin|nvvm/bin)/[^/]+$")
_UNVERSIONED = re.compile(r"^(lib[^/]+\.so)\.[\d.]+$")


def overlay(home: Home, work: Path, version: str, flavor: str, *, cudnn: bool) -> Path:
    """Write a tar with /usr/local/cuda of this point release ("13.0.2") into `work` and return its path.

    LabError for what the wheels do not have: nvcc before CUDA 13.
    """
    major, minor = version.split(".")[:2]
    if flavor == "devel" and major == "12":
        raise LabError(f"no stand-in for CUDA {version} devel: PyPI has no nvcc before CUDA 13")
    release = _COMPLETE.get(version, version) if flavor == "devel" else version
    requirements = [f"cuda-toolkit[{','.join(COMPONENTS[flavor])}]=={release}"]
    if cudnn and flavor != "devel":  # nothing built here links to it, and it is 500 MB
        requirements.append(_CUDNN[major])
    wheels = _download(home, release, flavor, requirements)
    top = f"usr/local/cuda-{major}.{minor}"
    path = work / "cuda.tar"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for directory in ("usr", "usr/local", top):
            _add(tar, directory, kind=tarfile.DIRTYPE)
        seen = set()
        for wheel in wheels:
            for name, data, executable in _files(wheel, headers=flavor == "devel"):
                seen.add(name)
                _add(tar, f"{top}/{name}", data, executable=executable)
        for link, target in _links(seen, f"{major}.{minor}", devel=flavor == "devel").items():
            _add(tar, link, target=target)
        conf = b"/usr/local/cuda/lib64\n/usr/local/nvidia/lib\n/usr/local/nvidia/lib64\n"
        _add(tar, "etc", kind=tarfile.DIRTYPE)
        _add(tar, "etc/ld.so.conf.d", kind=tarfile.DIRTYPE)
        _add(tar, "etc/ld.so.conf.d/000_cuda.conf", conf)
    return path


def _download(home: Home, version: str, flavor: str, requirements: list[str]) -> tuple[Path, ...]:
    directory = home.root / "wheels" / f"{version}-{flavor}"
    directory.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--no-cache-dir"]
    run([*pip, "--dest", str(directory), *requirements])
    return tuple(sorted(directory.glob("nvidia_*.whl")))


def _files(wheel: Path, *, headers: bool) -> Iterator[tuple[str, bytes, bool]]:
    """Yield the files of a wheel as they lie in a toolkit: path below it, content, executable or not."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            parts = PurePosixPath(entry.filename).parts
            # nvidia/cu13/lib/x, nvidia/cublas/lib/x: the part after "nvidia" only says whose wheel it is.
            hidden = any(part.startswith(".") for part in parts)
            if (
                entry.is_dir()
                or len(parts) < 4
                or parts[0] != "nvidia"
                or hidden
                or parts[-1].endswith(".py")
            ):
                continue
            name = "/".join(parts[2:])
            if headers or name.startswith("lib/"):
                executable = bool(_EXECUTABLE.search(name)) or bool(entry.external_attr >> 16 & 0o100)
                yield name, archive.read(entry), executable


def _links(names: set[str], minor: str, *, devel: bool) -> dict[str, str]:
    top = f"usr/local/cuda-{minor}"
    links = {"usr/local/cuda": f"cuda-{minor}", f"{top}/lib64": "lib"}
    for name in sorted(names) if devel else ():
        match = _UNVERSIONED.match(name.removeprefix("lib/"))
        if match and f"lib/{match[1]}" not in names:
            links[f"{top}/lib/{match[1]}"] = name.removeprefix("lib/")
    return links


def _add(
    tar: tarfile.TarFile,
    name: str,
    data: bytes = b"",
    *,
    kind: bytes = tarfile.REGTYPE,
    target: str | None = None,
    executable: bool = False,
) -> None:
    info = tarfile.TarInfo(f"./{name}")
    info.mtime, info.size = EPOCH, len(data)
    info.type = tarfile.SYMTYPE if target else kind
    info.linkname = target or ""
    info.mode = 0o755 if executable or kind == tarfile.DIRTYPE else 0o644
    tar.addfile(info, io.BytesIO(data))


def links(path: Path, targets: dict[str, str]) -> Path:
    """Write a tar of symbolic links (name -> target) and return its path."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, target in targets.items():
            _add(tar, name, target=target)
    return path


def environment(version: str, flavor: str) -> dict[str, str]:
    """Return the environment nvidia/cuda images of this release set (facts/base_images.json)."""
    major, minor = version.split(".")[:2]
    common = {
        "PATH": "/usr/local/nvidia/bin:/usr/local/cuda/bin:"
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "NVARCH": "x86_64",
        "CUDA_VERSION": version,
        "NVIDIA_REQUIRE_CUDA": f"cuda>={major}.{minor}",
        "NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    }
    if flavor == "devel":
        common["LIBRARY_PATH"] = "/usr/local/cuda/lib64/stubs"
        common["CUDA_HOME"] = "/usr/local/cuda"  # not in the real image; harmless, and tools look for it
    return common
