"""The nvidia/cuda images: which tags exist, what their flavors hold, when they end."""

from __future__ import annotations

from functools import cache
from typing import Literal

from msgspec import Struct

from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, dotted, known
from gpuimage.tables.cuda import no_such_cuda, release_rows
from gpuimage.tables.minimum_driver import branch_end, release_for_driver

FLAVORS = ("base", "runtime", "devel")
_UBUNTU = "ubuntu"


class CudaImage(Struct, frozen=True):
    """A tag of nvidia/cuda that a source lists; `end_of_life` None: no source decides it."""

    reference: str
    version: str
    flavor: str
    cudnn: bool
    os: str
    end_of_life: bool | None
    end_of_life_because: str
    source: str
    verified: bool


class _Listed(Struct, frozen=True):
    cuda: str
    os: str
    flavours: tuple[str, ...]
    source: str
    verified: bool


@cache
def _every_listed() -> tuple[_Listed, ...]:
    """Return a row per release and OS, those of the container sources first."""
    rows = [
        _Listed(row.cuda, os, flavours, row.source, row.verified)
        for row in _load.base_images().nvidia_cuda.releases
        for os, flavours in row.os_flavours.items()
    ]
    seen = _load.cuda_tags_seen().tags
    rows += [_Listed(row.cuda, row.os, row.flavours, row.source, row.verified) for row in seen]
    return tuple(rows)


def _listed(wanted: tuple[int, ...]) -> list[_Listed]:
    """Return every row for `12.8` or `12.8.1`."""
    return [row for row in _every_listed() if known(row.cuda)[: len(wanted)] == wanted]


def _flavour_key(row: _Listed, flavor: str, cudnn: bool) -> str | None:
    """Return the middle of the tag: `runtime`, `cudnn-runtime`; of several cuDNN the newest."""
    if not cudnn:
        return flavor if flavor in row.flavours else None
    # No release has both numbered keys (cudnn7, cudnn8) and a plain one, so the texts sort by age.
    keys = [f for f in row.flavours if f.startswith("cudnn") and f.endswith(f"-{flavor}")]
    return max(keys, default=None)


def _os_order(os: str, wanted: str | None) -> tuple[int, ...] | None:
    """Return how new an OS is among the wanted ones, None for one that is not wanted."""
    if wanted is not None:
        return (0,) if os == wanted else None
    return known(os.removeprefix(_UBUNTU)) if os.startswith(_UBUNTU) else None


def cuda_tag(cuda: str, flavor: str, *, cudnn: bool = False, os: str | None = None) -> CudaImage | Unknown:
    """Return the tag of nvidia/cuda for `12.8` (the newest point release that has it) or `12.8.1`.

    Only combinations that a source lists are answered. `os` None is the newest Ubuntu of that release.
    """
    wanted = dotted(cuda)
    if wanted is None or len(wanted) not in {2, 3}:
        return no_such_cuda(cuda)
    if flavor not in FLAVORS:
        return Unknown(f"nvidia/cuda has no flavor {flavor!r}; it has {', '.join(FLAVORS)}")
    if cudnn and flavor == "base":
        return Unknown("the base flavor of nvidia/cuda never carries cuDNN; runtime and devel do")
    rows = _listed(wanted)
    found = [
        (known(row.cuda), order, row.verified, row, key)
        for row in rows
        if (order := _os_order(row.os, os)) is not None and (key := _flavour_key(row, flavor, cudnn))
    ]
    if not found:
        return _no_tag(cuda, flavor, cudnn, os, rows)
    *_, row, key = max(found, key=lambda item: item[:3])
    ended, because = _end_of_life(row.cuda)
    return CudaImage(
        reference=f"nvidia/cuda:{row.cuda}-{key}-{row.os}",
        version=row.cuda,
        flavor=flavor,
        cudnn=cudnn,
        os=row.os,
        end_of_life=ended,
        end_of_life_because=because,
        source=row.source,
        verified=row.verified,
    )


def cuda_tags_complete(cuda: str) -> bool:
    """Whether the tables list every tag of a release (`12.4.1`); of later ones they know only tags that were seen."""
    return any(row.cuda == cuda for row in _load.base_images().nvidia_cuda.releases)


def _no_tag(cuda: str, flavor: str, cudnn: bool, os: str | None, rows: list[_Listed]) -> Unknown:
    asked = f"CUDA {cuda}, {'cudnn-' if cudnn else ''}{flavor}" + (f", {os}" if os else ", any Ubuntu")
    if rows:
        seen = sorted({f"{row.cuda}-{key}-{row.os}" for row in rows for key in row.flavours})
        some = ", ".join([tag for tag in seen if _UBUNTU in tag][-4:] or seen[-4:])
        return Unknown(f"no tag of nvidia/cuda for {asked} was seen; of this CUDA there are e.g. {some}")
    if release_rows(cuda):
        return Unknown(f"no tag of nvidia/cuda for {asked} was seen in any source")
    return no_such_cuda(cuda)


def _newest_point(version: str) -> str:
    """Return the newest release of the same minor that has any image."""
    minor = known(version)[:2]
    return max((row.cuda for row in _listed(minor)), key=known)


def _end_of_life(version: str) -> tuple[bool | None, str]:
    """Apply NVIDIA's support policy (base_images.json, eol_policy) as of the day of the tables."""
    today = _load.edition().edition
    for row in _load.base_images().nvidia_cuda.releases:
        if row.cuda == version and row.in_end_of_life_folder:
            return True, "the container sources keep it in their end-of-life folder"
    newest = _newest_point(version)
    if newest != version:
        return True, f"only the newest point release of a minor is supported, and {newest} is out"
    release = release_for_driver(version)
    driver = release.linux_x86_64_driver_min if release else None
    if driver is None:
        return None, "no source names the driver branch that decides it"
    end = branch_end(driver)
    if isinstance(end, Unknown):
        return None, end.reason
    ended = end.ended(today)
    verb = "ended" if ended else "ends"
    return ended, f"its driver branch {end.branch} {verb} {end.eol} ({end.source})"


def library_family(file: str) -> str | None:
    """Return the family of a CUDA library file: `libcudnn_ops.so.9` is libcudnn; None for any other file."""
    stem = file.rpartition("/")[2].partition(".so")[0]
    fits = [
        (len(prefix), row.family)
        for row in _load.flavor_libraries().families
        for prefix in row.prefixes
        if stem.startswith(prefix)
    ]
    return max(fits)[1] if fits else None


def _packages(flavour: str) -> set[str]:
    """Return the packages of a flavour, those of the flavours below it included (`runtime +`)."""
    packages: set[str] = set()
    for entry in _load.base_images().nvidia_cuda.flavours.get(flavour, ()):
        if entry.endswith(" +"):
            packages |= _packages(entry.removesuffix(" +"))
        else:
            packages.add(entry.split()[0])
    return packages


def flavor_libraries(flavor: str, cudnn: bool) -> frozenset[str]:
    """Return the families of shared libraries in a flavor of nvidia/cuda; empty for a flavor that is none."""
    if flavor not in FLAVORS:
        return frozenset()
    packages = _packages(flavor)
    if cudnn and flavor != "base":
        packages |= _packages("cudnn")
    return frozenset(
        family
        for row in _load.flavor_libraries().packages
        if row.package in packages
        for family in row.libraries
    )


def smallest_flavor(libraries: frozenset[str]) -> tuple[Literal["base", "runtime", "devel"], bool] | Unknown:
    """Return the smallest (flavor, cudnn) of nvidia/cuda that holds all these library families."""
    choices: tuple[tuple[Literal["base", "runtime", "devel"], bool], ...] = (
        ("base", False),
        ("runtime", False),
        ("runtime", True),
        ("devel", False),
        ("devel", True),
    )
    for flavor, cudnn in choices:
        if libraries <= flavor_libraries(flavor, cudnn):
            return flavor, cudnn
    lacking = ", ".join(sorted(libraries - flavor_libraries("devel", cudnn=True)))
    return Unknown(f"no flavor of nvidia/cuda holds {lacking}")


def os_python(os: str) -> str | Unknown:
    """Return the Python behind `python3` of `ubuntu24.04` or `debian12`: `3.12`."""
    table = _load.os_python().rows
    for row in table:
        if row.os == os:
            return row.python
    return Unknown(f"the Python of {os!r} is not in the tables, which know {', '.join(r.os for r in table)}")
