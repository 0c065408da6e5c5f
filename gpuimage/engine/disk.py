"""Is there room for the image that is about to be built."""

from __future__ import annotations

import math

from gpuimage.engine.types import Health
from gpuimage.errors import UnavailableError
from gpuimage.units import size

BUILD_FACTOR = 2.5
"""A build holds the image, the downloads of its caches and the layer being written (notes, lesson 13)."""


def required_disk(predicted_bytes: int) -> int:
    """Return the free bytes that a build of an image of this size needs."""
    return math.ceil(predicted_bytes * BUILD_FACTOR)


def prune_command(engine: str) -> str:
    """Return the command that removes what an engine keeps and nothing uses."""
    return "buildah rmi --prune" if engine == "buildah" else f"{engine} system prune"


def check_disk(health: Health, predicted: int) -> None:
    """Raise UnavailableError, with numbers, when the engine's disk cannot hold the build.

    `predicted` is the image's size in bytes. A disk whose free space is not known passes.
    """
    need = required_disk(predicted)
    if health.free_bytes is None or health.free_bytes >= need:
        return
    where = f" in {health.storage}" if health.storage else ""
    raise UnavailableError(
        f"not enough disk for this build: {size(need)} needed, {size(health.free_bytes)} free{where}",
        why=f"the image is expected to take {size(predicted)}; a build needs about {BUILD_FACTOR:g} times that",
        hint=f"free space with `{prune_command(health.engine)}`, or move the engine's storage to a larger disk",
    )
