"""What a Dockerfile cannot say: where its image will run, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Deploy = Literal["inference", "training", "dev"]


class Settings(Struct, frozen=True):
    """`driver` is the oldest host driver to serve (`550`), `archs` the fleet's compute capabilities as written."""

    driver: str | None = None
    archs: tuple[str, ...] = ()
    deploy: Deploy = "inference"
    registries: tuple[str, ...] = ()
    """Registries that are trusted; empty: no opinion."""
    target: str | None = None
    build_args: Mapping[str, str] = field(default_factory=dict)
