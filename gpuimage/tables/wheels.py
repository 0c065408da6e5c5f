"""How a wheel comes to its CUDA libraries: brought along, pulled in, expected in the image, or not needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, did_you_mean, dotted, known, normalise
from gpuimage.tables._rows import NeedsRow, NvidiaWheelRow, WheelRow
from gpuimage.tables.torch import TorchRelease, cuda_of_variant, torch_release, torch_versions

Cuda = Literal["bundled", "wheels", "system", "framework", "none"]

if TYPE_CHECKING:
    from packaging.version import Version

# Before it the PyPI wheel of torch holds CUDA itself, from it on it depends on nvidia-* wheels
# (torch_wheels.json, rules).
_TORCH_SPLIT = (1, 13)


class WheelFacts(Struct, frozen=True):
    """One wheel, with the extras asked for.

    `cuda`: `bundled` inside the wheel, `wheels` (pulls nvidia-* wheels), `system` (`system_libraries` must be
    in the image), `framework` (through torch or jax), `none`. `libraries`: the families it is known to load,
    and `needs_cudnn`: whether it uses cuDNN, both from wherever. `wheel_bytes`: the Linux x86_64 download,
    None for another version than the one in the tables. `needs_nvcc`: `run` is for what compiles when used.
    """

    name: str
    version: str | None
    cuda: Cuda
    cuda_major: int | None
    libraries: tuple[str, ...]
    system_libraries: tuple[str, ...]
    needs_cudnn: bool
    needs_nvcc: Literal["no", "build", "run"]
    sdist_only: bool
    wheel_bytes: int | None
    note: str
    source: str
    verified: bool


class NvidiaWheel(Struct, frozen=True):
    """One version of a CUDA wheel of NVIDIA; `libraries` are file names; None is unmeasured."""

    name: str
    version: str
    cuda_major: int
    wheel_bytes: int
    unpacked_bytes: int | None
    libraries: tuple[str, ...]
    libraries_verified: bool
    newest: bool
    source: str
    verified: bool


@cache
def _projects() -> dict[str, WheelRow]:
    return {normalise(row.name): row for row in _load.other_wheels().wheels}


@cache
def _needs() -> dict[str, tuple[NeedsRow, ...]]:
    table: dict[str, tuple[NeedsRow, ...]] = {}
    for row in _load.wheel_needs().wheels:
        key = normalise(row.name)
        table[key] = (*table.get(key, ()), row)
    return table


def _parsed(text: str) -> Version:
    from packaging.version import Version  # noqa: PLC0415  # slow to load, and seldom asked for

    return Version(text)


def _version(text: str | None) -> Version | Unknown | None:
    if text is None:
        return None
    try:
        return _parsed(text)
    except ValueError:
        return Unknown(f"{text!r} is no version")


def wheel(
    name: str, version: str | None = None, extras: frozenset[str] = frozenset()
) -> WheelFacts | Unknown:
    """Return what a project needs; `version` None is the newest in the tables."""
    key = normalise(name)
    if key == "torch":
        return _torch(version)
    asked = _version(version)
    if isinstance(asked, Unknown):
        return asked
    if key in _nvidia_names() and key not in _needs():
        return _of_nvidia(key, version)
    return _by_needs(key, asked, {normalise(extra) for extra in extras})


def _by_needs(key: str, asked: Version | None, extras: set[str]) -> WheelFacts | Unknown:
    project, rows = _projects().get(key), _needs().get(key, ())
    newest = _parsed(project.newest) if project and project.newest else None
    for row in rows:
        if set(row.extras) <= extras and _fits(row, asked or newest):
            return _facts(row, project, asked, newest)
    if rows:
        return Unknown(
            f"{key} {asked} is not in the tables, which know {', '.join(r.versions for r in rows)}"
        )
    if project is not None:
        return Unknown(f"how {key} comes to its CUDA libraries is not in the tables ({project.needs})")
    return Unknown(f"{key} is not in the tables{did_you_mean(key, {**_projects(), **_needs(), 'torch': ()})}")


def _fits(row: NeedsRow, version: Version | None) -> bool:
    if not row.versions or version is None:
        return True
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415  # slow to load, and seldom asked for

    return SpecifierSet(row.versions).contains(version, prereleases=True)


def _facts(
    row: NeedsRow, project: WheelRow | None, asked: Version | None, newest: Version | None
) -> WheelFacts:
    at_newest = project is not None and (asked is None or asked == newest)
    notes = [row.note] if row.note else []
    if project is not None and project.note:
        notes.append(project.note)
    shown = asked or newest
    return WheelFacts(
        name=normalise(row.name),
        version=str(shown) if shown else None,
        cuda=row.cuda,
        cuda_major=row.cuda_major,
        libraries=row.libraries,
        system_libraries=row.libraries if row.cuda == "system" else (),
        needs_cudnn="libcudnn" in row.libraries,
        needs_nvcc=row.needs_nvcc,
        sdist_only=project is not None and project.sdist_only,
        wheel_bytes=project.wheel_bytes_linux_x86_64 if project is not None and at_newest else None,
        note="; ".join(notes),
        source=row.source,
        verified=row.verified,
    )


def _torch(version: str | None) -> WheelFacts | Unknown:
    text = version or torch_versions()[-1]
    release = torch_release(text)
    if isinstance(release, Unknown):
        return release
    local = text.partition("+")[2] or None
    if local == "cpu":
        return _torch_facts(release, "none", None, None)
    minor = cuda_of_variant(local or release.default_variant)
    if isinstance(minor, Unknown):
        return minor
    early = known(release.version) < _TORCH_SPLIT
    at_default = local in {None, release.default_variant}
    return _torch_facts(
        release,
        "bundled" if early else "wheels",
        int(minor.partition(".")[0]),
        release.wheel_bytes if at_default else None,
    )


def _torch_facts(release: TorchRelease, cuda: Cuda, major: int | None, size: int | None) -> WheelFacts:
    return WheelFacts(
        name="torch",
        version=release.version,
        cuda=cuda,
        cuda_major=major,
        libraries=(),
        system_libraries=(),
        needs_cudnn=cuda != "none",
        needs_nvcc="no",
        sdist_only=False,
        wheel_bytes=size,
        note="",
        source=release.source,
        verified=release.verified,
    )


@cache
def _nvidia_names() -> dict[str, tuple[NvidiaWheelRow, ...]]:
    table: dict[str, tuple[NvidiaWheelRow, ...]] = {}
    for row in _load.nvidia_wheels().wheels:
        key = normalise(row.name)
        table[key] = (*table.get(key, ()), row)
    return table


@cache
def _newest(key: str) -> str:
    """Return the newest version of one of NVIDIA's wheels: a user's own row may be newer than the shipped ones."""
    return max((row.version for row in _nvidia_names()[key]), key=lambda version: dotted(version) or ())


def nvidia_wheel(name: str, version: str | None = None) -> NvidiaWheel | Unknown:
    """Return one of NVIDIA's CUDA wheels; `version` None is the newest in the tables."""
    key, asked = normalise(name), _version(version)
    if isinstance(asked, Unknown):
        return asked
    rows = _nvidia_names().get(key, ())
    if not rows:
        return Unknown(
            f"{key} is not among NVIDIA's wheels in the tables{did_you_mean(key, _nvidia_names())}"
        )
    for row in rows:
        if row.version == _newest(key) if asked is None else _parsed(row.version) == asked:
            return _nvidia(row)
    have = ", ".join(row.version for row in rows)
    return Unknown(f"{key} {version or ''} is not in the tables, which know {have}")


def _nvidia(row: NvidiaWheelRow) -> NvidiaWheel:
    return NvidiaWheel(
        name=normalise(row.name),
        version=row.version,
        cuda_major=row.cuda_major,
        wheel_bytes=row.wheel_bytes,
        unpacked_bytes=row.unpacked_bytes,
        libraries=tuple(part for name in row.libraries for part in name.split(" / ")),
        libraries_verified=row.libraries_verified and row.libraries_source is not None,
        newest=row.version == _newest(normalise(row.name)),
        source=row.source,
        verified=row.verified,
    )


def _of_nvidia(key: str, version: str | None) -> WheelFacts:
    """Return a CUDA wheel itself as an answer to `wheel`: it holds the libraries."""
    exact = nvidia_wheel(key, version)
    newest = nvidia_wheel(key)
    any_version = exact if isinstance(exact, NvidiaWheel) else newest
    if isinstance(any_version, Unknown):
        any_version = _nvidia(_nvidia_names()[key][0])
    return WheelFacts(
        name=key,
        version=version or any_version.version,
        cuda="bundled",
        cuda_major=any_version.cuda_major,
        libraries=(),
        system_libraries=(),
        needs_cudnn=False,
        needs_nvcc="no",
        sdist_only=False,
        wheel_bytes=any_version.wheel_bytes if isinstance(exact, NvidiaWheel) else None,
        note="",
        source=any_version.source,
        verified=any_version.verified and isinstance(exact, NvidiaWheel),
    )
