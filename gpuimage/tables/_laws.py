"""What must hold in each table as a whole, and which shape its file has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from gpuimage.arch import ArchError, ComputeCapability
from gpuimage.tables import _rows as rows
from gpuimage.tables import _rows_host as hosts
from gpuimage.tables import _rows_libraries as libraries
from gpuimage.tables._answers import known


def twice(what: str, names: Iterable[str]) -> Iterator[str]:
    """Say which name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield f"{what} {name} occurs twice"
        seen.add(name)


def cuda_laws(table: rows.CudaReleases) -> Iterator[str]:
    """Hold the laws of cuda_releases.json.

    The full driver never falls from one release to a later one, among verified rows. The unverified ones are
    outside it: the developer preview 13.4.0 names 616.00 and 13.4 GA only the branch 615.
    """
    yield from twice("release", (row.cuda for row in table.releases))
    yield from twice("minor", (row.cuda for row in table.minors))
    for row in table.releases:
        if not row.cuda.startswith(row.minor + "."):
            yield f"release {row.cuda} does not belong to minor {row.minor}"
        if row.minor == "12.7":
            yield "release 12.7 exists, which never did"
    order = sorted(table.releases, key=lambda row: known(row.cuda))
    if order != list(table.releases):
        yield "releases are not in order"
    sure = [(row, row.linux_x86_64_driver_min) for row in order if row.verified]
    for (old, before), (new, after) in pairwise(sure):
        if before is None or after is None:
            yield f"release {old.cuda} or {new.cuda} is verified without a driver"
        elif known(before) > known(after):
            yield f"release {new.cuda} needs driver {after}, the older {old.cuda} already {before}"
    yield from _compiler_laws(table)


def _compiler_laws(table: rows.CudaReleases) -> Iterator[str]:
    if [row.cuda for row in table.minors] != sorted((row.cuda for row in table.minors), key=known):
        yield "minors are not in order"
    known_minors = {row.minor for row in table.releases}
    spans: dict[str, list[int]] = {}
    for at, row in enumerate(table.minors):
        if row.cuda not in known_minors:
            yield f"minor {row.cuda} has no release"
        for arch in (*row.real_archs, *row.virtual_archs):
            try:
                ComputeCapability.parse(arch)
            except ArchError as error:
                yield f"minor {row.cuda}: {error}"
        for arch in row.real_archs:
            spans.setdefault(arch, []).append(at)
    for arch, span in spans.items():
        if span != list(range(span[0], span[-1] + 1)):
            yield f"{arch} disappears from the compiler and comes back"


def forward_laws(table: rows.ForwardCompat) -> Iterator[str]:
    """Hold the laws of forward_compat.json: every status column is one of the branches."""
    yield from twice("package", (row.package for row in table.matrix))
    columns = {row.branch for row in table.branches}
    for row in table.matrix:
        if row.package != f"cuda-compat-{row.cuda.replace('.', '-')}":
            yield f"package {row.package} is not of CUDA {row.cuda}"
        if set(row.status) != columns:
            yield f"package {row.package} has other branches than the table"


def gpu_laws(table: rows.Gpus) -> Iterator[str]:
    """Hold the laws of gpus.json: a name stands once."""
    yield from twice("GPU", (row.name for row in table.gpus))


def torch_laws(table: rows.TorchWheels) -> Iterator[str]:
    """Hold the laws of torch_wheels.json."""
    yield from twice("torch", (row.torch for row in table.releases))
    for row in table.releases:
        if row.cuda_variants_verified and row.pypi_linux_x86_64.default_cuda not in row.cuda_variants:
            yield f"torch {row.torch}: the default variant is not among its variants"
        for archs in row.arch_lists:
            if archs.x86_64 is not None and not archs.source:
                yield f"torch {row.torch} {archs.variant}: an arch list without a source"
            if archs.x86_64 is None and archs.verified:
                yield f"torch {row.torch} {archs.variant}: verified without an arch list"
            if archs.variant not in row.cuda_variants:
                yield f"torch {row.torch} {archs.variant}: an arch list of no known variant"


def image_laws(table: rows.BaseImages) -> Iterator[str]:
    """Hold the laws of base_images.json: no empty flavour list, no CUDA twice, cudnn never with base."""
    yield from twice("image", (row.cuda for row in table.nvidia_cuda.releases))
    for row in table.nvidia_cuda.releases:
        for os, flavours in row.os_flavours.items():
            if not flavours or any("cudnn" in flavour and "base" in flavour for flavour in flavours):
                yield f"image {row.cuda} on {os} has impossible flavours"


def family_laws(table: libraries.DlopenFamilies) -> Iterator[str]:
    """Hold the law of dlopen_families.json: a head stands once."""
    yield from twice("family of", (row.head for row in table.families))


def gpu_code_laws(table: libraries.GpuCode) -> Iterator[str]:
    """Hold the law of gpu_code.json: a library stands once."""
    yield from twice("library", (row.library for row in table.libraries))


def os_library_laws(table: libraries.OsLibraries) -> Iterator[str]:
    """Hold the laws of os_libraries.json: a library and a distribution stand once."""
    yield from twice("library", (row.library for row in table.libraries))
    yield from twice("distribution", (row.os for row in table.glibc))


def error_laws(table: rows.Errors) -> Iterator[str]:
    """Hold the laws of errors.json: an error stands once, its pattern is one, and what it follows is known."""
    names = [row.id for row in table.errors]
    yield from twice("error", names)
    for row in table.errors:
        yield from (
            f"{row.id} follows {name}, which is no error" for name in row.follows if name not in names
        )
        try:
            re.compile(row.regex)
        except re.error as error:
            yield f"the pattern of {row.id} is no regular expression: {error}"


Law = Callable[[Any], Iterator[str]]

SHAPES: Mapping[str, tuple[type, Law | None]] = {
    "base_images": (rows.BaseImages, image_laws),
    "cuda_releases": (rows.CudaReleases, cuda_laws),
    "cuda_tags_seen": (rows.TagsSeen, None),
    "dlopen_families": (libraries.DlopenFamilies, family_laws),
    "edition": (rows.Edition, None),
    "errors": (rows.Errors, error_laws),
    "flavor_libraries": (rows.FlavorLibraries, None),
    "forward_compat": (rows.ForwardCompat, forward_laws),
    "gpu_code": (libraries.GpuCode, gpu_code_laws),
    "gpus": (rows.Gpus, gpu_laws),
    "host": (hosts.HostFacts, None),
    "nvidia_wheels": (rows.NvidiaWheels, None),
    "os_libraries": (libraries.OsLibraries, os_library_laws),
    "os_python": (rows.OsPython, None),
    "other_wheels": (rows.OtherWheels, None),
    "sizes": (rows.Sizes, None),
    "stand_ins": (rows.StandIns, None),
    "torch_wheels": (rows.TorchWheels, torch_laws),
    "wheel_needs": (rows.WheelNeeds, None),
}
"""Table to the type of its file and the laws it keeps. The others are read as they are."""
