"""Which lists of rows the data files hold, and what tells one row of a list from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuimage.tables._answers import Version, dotted, normalise

Row = dict[str, Any]
Key = tuple[object, ...]

SECTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "apt_packages": {
        "nvidia": ("package",),
        "debian": ("package", "suite", "version"),
        "signing_keys": ("key", "method"),
    },
    "base_images": {"nvidia_cuda.releases": ("cuda",)},
    "cuda_releases": {
        "releases": ("cuda",),
        "minors": ("cuda",),
        "minor_version_compat": ("major",),
        "arch_events": ("event", "cuda"),
        "driver_branch_eol": ("branch", "kind"),
    },
    "cuda_tags_seen": {"tags": ("cuda", "os", "flavours")},
    "default_compilers": {"rows": ("os",)},
    "dlopen_families": {"families": ("head",)},
    "errors": {"errors": ("id",)},
    "extensions": {"rows": ("names",)},
    "flavor_libraries": {"packages": ("package",), "families": ("family",)},
    "forward_compat": {
        "branches": ("branch",),
        "matrix": ("package",),
        "image_require_branches": ("cuda",),
    },
    "gpu_code": {"libraries": ("library",)},
    "gpus": {"gpus": ("name",)},
    "host": {"commands": ("what", "system", "os"), "docker": ("what",), "files": ("what",)},
    "known_bases": {"bases": ("repository", "tag")},
    "lint_costs": {"costs": ("what",)},
    "nvidia_wheels": {"wheels": ("name", "version"), "torch_sets": ("torch", "variant")},
    "os_libraries": {"libraries": ("library",), "glibc": ("os",)},
    "os_python": {"rows": ("os",)},
    "other_wheels": {"wheels": ("name",)},
    "sizes": {"measured": ("what",), "estimates": ("flavor", "cuda"), "images": ("image", "tag")},
    "stand_ins": {"bases": ("flavor",)},
    "torch_wheels": {"releases": ("torch",)},
    "wheel_needs": {"wheels": ("name", "versions", "extras")},
}
"""Table (the file's name without `.json`) and section (a dotted path) to the fields that make a row's key."""

ORDERED: Mapping[tuple[str, str], str] = {
    ("cuda_releases", "releases"): "cuda",
    ("cuda_releases", "minors"): "cuda",
    ("os_libraries", "glibc"): "glibc",
    ("torch_wheels", "releases"): "torch",
}
"""Sections whose rows stand by version, oldest first, and the field that holds it. In all others the first row that
fits an answer counts."""


def key_of(row: Row, fields: tuple[str, ...]) -> Key:
    """Return what tells a row from the others of its section; a field that it leaves out counts as None."""
    return tuple(
        normalise(str(row.get(field))) if field == "name" else _hashable(row.get(field)) for field in fields
    )


def _hashable(value: object) -> object:
    return tuple(map(_hashable, value)) if isinstance(value, list) else str(value) if value else None


def named(row: Row, fields: tuple[str, ...]) -> str:
    """Return a row's key for people: `torch 2.9.1` is "2.9.1"."""
    values = (row.get(field) for field in fields)
    parts = (" ".join(map(str, value)) if isinstance(value, list) else value for value in values)
    return " ".join(str(part) for part in parts if part)


def in_order(table: str, section: str) -> Callable[[Row], Version] | None:
    """Return what the rows of a section are sorted by, None where they are not sorted."""
    field = ORDERED.get((table, section))
    return None if field is None else lambda row: dotted(str(row.get(field))) or ()


def rows_at(document: Mapping[str, Any], section: str) -> list[Row]:
    """Return the rows of a section of a data file, none where it lacks the section."""
    found: Any = document
    for part in section.split("."):
        found = found.get(part, {}) if isinstance(found, Mapping) else {}
    return found if isinstance(found, list) else []
