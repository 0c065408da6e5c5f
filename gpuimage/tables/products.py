"""GPU products by the names people use for them."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from msgspec import Struct

from gpuimage.arch import ComputeCapability
from gpuimage.patterns import pattern
from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, did_you_mean
from gpuimage.tables._rows import GpuRow

GpuClass = Literal["data-center", "workstation", "consumer", "jetson"]

# What nvidia-smi and shops add to the names of NVIDIA's list.
_VENDOR = pattern(r"^(nvidia|geforce|tesla)\s+", re.IGNORECASE)
_EXTRA = pattern(r"\b\d+\s*gb\b|\bhbm\d\w?\b|\bgeneration\b", re.IGNORECASE)
_NOT_A_WORD = pattern(r"[^a-z0-9]+")


class Gpu(Struct, frozen=True):
    """A product. `data_center` decides about forward compatibility; None where the table cannot say."""

    name: str
    capability: ComputeCapability
    architecture: str
    gpu_class: GpuClass
    data_center: bool | None
    memory_gb: tuple[float, ...]
    aliases: tuple[str, ...]
    source: str
    verified: bool


def _gpu(row: GpuRow) -> Gpu:
    return Gpu(
        name=row.name,
        capability=ComputeCapability.parse(row.compute_capability),
        architecture=row.architecture,
        gpu_class=row.gpu_class,
        # Jetson boards have drivers and compat packages of their own.
        data_center=None if row.gpu_class == "jetson" else row.gpu_class == "data-center",
        memory_gb=row.memory_gb,
        aliases=row.aliases,
        source=f"{row.source} ({row.note})" if row.note else row.source,
        verified=row.verified,
    )


@cache
def gpus() -> tuple[Gpu, ...]:
    """Return every known product, in the order of the table."""
    return tuple(_gpu(row) for row in _load.gpus().gpus)


def _forms(name: str) -> tuple[str, ...]:
    """Return the keys of a name, the most exact one first."""
    text = name.strip()
    while (shorter := _VENDOR.sub("", text)) != text:
        text = shorter
    plain = _NOT_A_WORD.sub("", text.casefold())
    bare = _NOT_A_WORD.sub("", _EXTRA.sub(" ", text).casefold())
    return (plain,) if plain == bare else (plain, bare)


def index(products: tuple[Gpu, ...]) -> dict[str, Gpu]:
    """Map the keys of names to products; a key that would fit two different capabilities fits none."""
    names = [(product.name, product) for product in products]
    aliases = [(alias, product) for product in products for alias in product.aliases]
    found: dict[str, Gpu] = {}
    vague: set[str] = set()
    for at_least in (0, 1):  # exact names and aliases come before shortened ones
        for name, product in (*names, *aliases):
            for key in _forms(name)[at_least : at_least + 1]:
                if found.setdefault(key, product).capability != product.capability:
                    vague.add(key)
    return {key: product for key, product in found.items() if key not in vague}


@cache
def _keys() -> dict[str, Gpu]:
    return index(gpus())


def gpu(name: str) -> Gpu | Unknown:
    """Find a product by name or alias: `A10G`, `rtx 4090`, `NVIDIA L4`, `Tesla V100-SXM2-16GB`."""
    keys = _keys()
    for key in _forms(name):
        if key in keys:
            return keys[key]
    names = (other for product in gpus() for other in (product.name, *product.aliases))
    return Unknown(f"no GPU named {name!r} is in the tables{did_you_mean(name, names)}")
