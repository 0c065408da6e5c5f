"""The rows behind an answer: all that the tables hold about one thing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from gpuimage.errors import SpecError
from gpuimage.patterns import pattern
from gpuimage.reference import CudaTag, ImageReference
from gpuimage.tables import _load, _own
from gpuimage.tables._answers import Unknown, did_you_mean, dotted, normalise
from gpuimage.tables._sections import SECTIONS, Row, key_of, rows_at
from gpuimage.tables.census import sources, verified
from gpuimage.tables.images import cuda_tag
from gpuimage.tables.products import gpu
from gpuimage.tables.torch import torch_release

_PIN = pattern(r"(?P<name>[^=\s]+)(?:\s*==\s*|\s+)(?P<version>\S+)")
_APT_VERSION = pattern(r"-\d+-\d+$")
_APT_BRANCH = pattern(r"-\d{3}$")


class FoundRow(Struct, frozen=True):
    """A row as its file holds it. `verified`: no part of it says that it is not; `file` is the user's, for an own row."""

    table: str
    section: str
    row: Row
    sources: tuple[str, ...]
    verified: bool
    file: Path | None


Names = Callable[[Row], Iterable[str]]
_Fits = Callable[[Row], bool]


def kinds() -> tuple[str, ...]:
    """Return what one may ask about."""
    return tuple(_KINDS)


def show(kind: str, name: str) -> tuple[FoundRow, ...] | Unknown:
    """Return every row about a thing: `torch` 2.9.1, `cuda` 12.8, `driver` 550, `gpu` A10G, `wheel` flash-attn.

    SpecError for a kind that is none; Unknown, with what it may have meant, for a name that no row has.
    """
    if kind not in _KINDS:
        hint = f"kinds are {', '.join(_KINDS)}"
        raise SpecError(f"the tables have no kind {kind!r}{did_you_mean(kind, _KINDS)}", hint=hint)
    found = _KINDS[kind](name.strip())
    return found if isinstance(found, Unknown) else tuple(found)


def _rows(table: str, section: str, fits: _Fits) -> Iterator[FoundRow]:
    own = _own.tables().get(table)
    keys = own.keys(section) if own else set()
    for row in rows_at(_load.document(table), section):
        if fits(row):
            file = own.path if own and key_of(row, SECTIONS[table][section]) in keys else None
            told = tuple(dict.fromkeys(sources(row)))
            yield FoundRow(table, section, row, told, verified(row), file)


def _where(**wanted: str | None) -> _Fits:
    return lambda row: all(row.get(field) == value for field, value in wanted.items())


def _torch(name: str) -> Iterable[FoundRow] | Unknown:
    release = torch_release(name)
    if isinstance(release, Unknown):
        return release
    return [
        *_rows("torch_wheels", "releases", _where(torch=release.version)),
        *_rows("nvidia_wheels", "torch_sets", _where(torch=release.version)),
    ]


def _cuda(name: str) -> Iterable[FoundRow] | Unknown:
    releases = list(_rows("cuda_releases", "releases", lambda row: name in (row["cuda"], row["minor"])))
    if not releases:
        names = [
            n for row in _load.raw_rows("cuda_releases", "releases") for n in (row["cuda"], row["minor"])
        ]
        return Unknown(f"CUDA {name} is not in the tables{did_you_mean(name, names)}")
    minor = releases[0].row["minor"]
    return [
        *releases,
        *_rows("cuda_releases", "minors", _where(cuda=minor)),
        *_rows("cuda_releases", "minor_version_compat", _where(major=minor.partition(".")[0])),
        *_rows("forward_compat", "matrix", _where(cuda=minor)),
    ]


def _driver(name: str) -> Iterable[FoundRow] | Unknown:
    """Rows of a branch; of an exact driver, the releases that came with it or with an older one of its branch."""
    wanted = dotted(name.removeprefix("R")) or ()

    def came_with(row: Row) -> bool:
        own = dotted(str(row["linux_x86_64_driver_min"])) or ()
        return own[:1] == wanted[:1] and (len(wanted) == 1 or own <= wanted)

    branch = str(wanted[0]) if wanted else ""
    found = [
        *_rows("cuda_releases", "releases", came_with),
        *_rows("cuda_releases", "driver_branch_eol", _where(branch=f"R{branch}")),
        *_rows("forward_compat", "branches", _where(branch=branch)),
    ]
    if wanted and found:
        return found
    rows = _load.raw_rows("cuda_releases", "releases")
    branches = dict.fromkeys(str(row["linux_x86_64_driver_min"]).partition(".")[0] for row in rows)
    return Unknown(f"driver {name} is in no row{did_you_mean(branch or name, branches)}")


def _gpu(name: str) -> Iterable[FoundRow] | Unknown:
    product = gpu(name)
    return product if isinstance(product, Unknown) else list(_rows("gpus", "gpus", _where(name=product.name)))


def _nvidia_wheel(name: str) -> Iterable[FoundRow] | Unknown:
    """Rows of a project, or of one version of it: `nvidia-cublas==13.4.1.3`."""
    pinned = _PIN.fullmatch(name)
    project, version = (pinned["name"], pinned["version"]) if pinned else (name, None)
    found = _named(((("nvidia_wheels", "wheels"), _name),), project, normalise)
    if version is None or isinstance(found, Unknown):
        return found
    rows = list(found)
    fitting = [one for one in rows if one.row["version"] == version]
    have = ", ".join(one.row["version"] for one in rows)
    return fitting or Unknown(f"{project} {version} is not in the tables, which know {have}")


def _image(name: str) -> Iterable[FoundRow] | Unknown:
    """Rows of a tag of nvidia/cuda or of its version, else what is known of a repository."""
    try:
        reference = ImageReference.parse(name)
        cuda = reference.repository.endswith("nvidia/cuda")
        tag = CudaTag.parse(reference.tag) if cuda and reference.tag else None
    except ValueError as error:
        return Unknown(f"{name} is no image with a tag that can be read: {error}")
    if tag is not None:
        listed = cuda_tag(tag.version, tag.flavor, cudnn=tag.cudnn is not None, os=tag.os)
        if isinstance(listed, Unknown):
            return listed
        return [
            *_rows("base_images", "nvidia_cuda.releases", _where(cuda=listed.version)),
            *_rows("cuda_tags_seen", "tags", _where(cuda=listed.version, os=tag.os)),
        ]
    plain = reference.name.removeprefix("docker.io/")
    known = list(_rows("known_bases", "bases", lambda row: bool(re.fullmatch(row["repository"], plain))))
    return known[:1] or Unknown(f"nothing is known of images of {plain}")


def _apt(name: str) -> Iterable[FoundRow] | Unknown:
    """`cuda-nvcc-12-8` and `nvidia-driver-550` stand in the table as cuda-nvcc-X-Y and nvidia-driver-NNN."""
    found = _named(
        ((("apt_packages", "nvidia"), _apt_names), (("apt_packages", "debian"), _apt_names)), name, str.lower
    )
    if not isinstance(found, Unknown):
        return found
    shape = _APT_BRANCH.sub("-NNN", _APT_VERSION.sub("-X-Y", name))
    general = (
        _named(((("apt_packages", "nvidia"), _apt_names),), shape, str.lower) if shape != name else found
    )
    return found if isinstance(general, Unknown) else general


def _apt_names(row: Row) -> list[str]:
    return str(row["package"]).split(" / ")


def _name(row: Row) -> list[str]:
    return [row["name"]]


def _named(
    places: Iterable[tuple[tuple[str, str], Names]], name: str, form: Callable[[str], str]
) -> Iterable[FoundRow] | Unknown:
    """Return the rows of several sections that bear a name, both sides brought into one form."""
    wanted, places = form(name), tuple(places)
    found = [
        row
        for (table, section), names in places
        for row in _rows(table, section, lambda row, names=names: wanted in map(form, names(row)))  # type: ignore[misc]
    ]
    if found:
        return found
    known = [
        one
        for (table, section), names in places
        for row in _load.raw_rows(table, section)
        for one in names(row)
    ]
    return Unknown(f"{name} is not in the tables{did_you_mean(name, known)}")


def _by(
    form: Callable[[str], str], *places: tuple[str, str, Names]
) -> Callable[[str], Iterable[FoundRow] | Unknown]:
    return lambda name: _named((((table, section), names) for table, section, names in places), name, form)


_KINDS: Mapping[str, Callable[[str], Iterable[FoundRow] | Unknown]] = {
    "torch": _torch,
    "cuda": _cuda,
    "driver": _driver,
    "gpu": _gpu,
    "wheel": _by(
        normalise,
        ("other_wheels", "wheels", _name),
        ("wheel_needs", "wheels", _name),
        ("extensions", "rows", lambda row: row["names"]),
    ),
    "nvidia-wheel": _nvidia_wheel,
    "image": _image,
    "os": _by(
        str.lower,
        ("os_python", "rows", lambda row: [row["os"]]),
        ("default_compilers", "rows", lambda row: [row["os"]]),
    ),
    "apt": _apt,
    "library": _by(
        str.lower,
        ("gpu_code", "libraries", lambda row: [row["library"]]),
        ("dlopen_families", "families", lambda row: [row["family"], row["head"]]),
        ("flavor_libraries", "families", lambda row: [row["family"], *row["prefixes"]]),
    ),
    "error": _by(str.lower, ("errors", "errors", lambda row: [row["id"]])),
}
