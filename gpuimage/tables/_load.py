"""Reads the data files: decoded once, on the first question that needs them, and held to their laws.

A file that breaks its shape or a law raises `DataError`, which names file and row: a wrong table must never
turn into a wrong image. A user's own rows (`_own`) are merged in first, and the whole is held to the same laws.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from gpuimage.errors import Location
from gpuimage.tables import _own
from gpuimage.tables import _rows as rows
from gpuimage.tables import _rows_host as hosts
from gpuimage.tables import _rows_libraries as libraries
from gpuimage.tables._answers import DataError
from gpuimage.tables._laws import SHAPES, Law
from gpuimage.tables._sections import Row, rows_at
from gpuimage.tables._shipped import shipped

T = TypeVar("T")


def decode(name: str, raw: bytes, kind: type[T], law: Law | None = None) -> T:
    """Decode and check one file; `name` is only for the message."""
    try:
        table = msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise DataError(f"data file {name} is not valid: {error}") from error
    for breach in law(table) if law else ():
        raise DataError(f"data file {name} breaks a law of the tables: {breach}")
    return table


def document(table: str) -> dict[str, Any]:
    """Return a table as its file holds it, every key of every row, the user's own rows merged in."""
    return merged(table, _own.tables().get(table))


def merged(table: str, own: _own.OwnTable | None) -> dict[str, Any]:
    """Return a table as its file holds it with these own rows."""
    found: dict[str, Any] = json.loads(shipped(f"{table}.json"))
    return _own.merge(found, own) if own else found


def raw_rows(table: str, section: str) -> list[Row]:
    """Return the rows of a section as the file holds them, the user's own rows merged in."""
    return rows_at(document(table), section)


def held(table: str, own: _own.OwnTable | None) -> object:
    """Decode a table with these own rows and hold the whole to its laws; DataError names the user's file and row."""
    kind, law = SHAPES[table]
    name = f"{table}.json"
    if own is None:
        return decode(name, shipped(name), kind, law)
    try:
        return decode(name, json.dumps(merged(table, own)).encode(), kind, law)
    except DataError as error:
        from gpuimage.tables._own_files import line_about  # noqa: PLC0415  # only for own rows, and then seldom

        _, _, breach = error.what.partition(": ")
        raise DataError(
            f"these rows break a law of the tables: {breach}",
            where=Location(own.path, line_about(own, breach)),
            hint="mend the row, or take it out; `gpuimage data show` prints shipped rows as examples",
        ) from error


def _table(name: str) -> object:
    return held(name, _own.tables().get(name))


@cache
def cuda_releases() -> rows.CudaReleases:
    """cuda_releases.json."""
    return cast("rows.CudaReleases", _table("cuda_releases"))


@cache
def forward_compat() -> rows.ForwardCompat:
    """forward_compat.json."""
    return cast("rows.ForwardCompat", _table("forward_compat"))


@cache
def gpus() -> rows.Gpus:
    """gpus.json."""
    return cast("rows.Gpus", _table("gpus"))


@cache
def torch_wheels() -> rows.TorchWheels:
    """torch_wheels.json."""
    return cast("rows.TorchWheels", _table("torch_wheels"))


@cache
def other_wheels() -> rows.OtherWheels:
    """other_wheels.json."""
    return cast("rows.OtherWheels", _table("other_wheels"))


@cache
def wheel_needs() -> rows.WheelNeeds:
    """wheel_needs.json."""
    return cast("rows.WheelNeeds", _table("wheel_needs"))


@cache
def nvidia_wheels() -> rows.NvidiaWheels:
    """nvidia_wheels.json."""
    return cast("rows.NvidiaWheels", _table("nvidia_wheels"))


@cache
def base_images() -> rows.BaseImages:
    """base_images.json."""
    return cast("rows.BaseImages", _table("base_images"))


@cache
def cuda_tags_seen() -> rows.TagsSeen:
    """cuda_tags_seen.json."""
    return cast("rows.TagsSeen", _table("cuda_tags_seen"))


@cache
def flavor_libraries() -> rows.FlavorLibraries:
    """flavor_libraries.json."""
    return cast("rows.FlavorLibraries", _table("flavor_libraries"))


@cache
def os_python() -> rows.OsPython:
    """os_python.json."""
    return cast("rows.OsPython", _table("os_python"))


@cache
def sizes() -> rows.Sizes:
    """sizes.json."""
    return cast("rows.Sizes", _table("sizes"))


@cache
def stand_ins() -> rows.StandIns:
    """stand_ins.json."""
    return cast("rows.StandIns", _table("stand_ins"))


@cache
def dlopen_families() -> libraries.DlopenFamilies:
    """dlopen_families.json."""
    return cast("libraries.DlopenFamilies", _table("dlopen_families"))


@cache
def gpu_code() -> libraries.GpuCode:
    """gpu_code.json."""
    return cast("libraries.GpuCode", _table("gpu_code"))


@cache
def os_libraries() -> libraries.OsLibraries:
    """os_libraries.json."""
    return cast("libraries.OsLibraries", _table("os_libraries"))


@cache
def host() -> hosts.HostFacts:
    """host.json."""
    return cast("hosts.HostFacts", _table("host"))


@cache
def errors() -> rows.Errors:
    """errors.json."""
    return cast("rows.Errors", _table("errors"))


@cache
def edition() -> rows.Edition:
    """edition.json."""
    return cast("rows.Edition", _table("edition"))
