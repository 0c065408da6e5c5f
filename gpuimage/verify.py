"""Proves the fixes of a Dockerfile: builds it before and after, smoke-tests both images and compares them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

from gpuimage.dockerfile import Source
from gpuimage.engine import BuildRequest, Engine, ImageInfo
from gpuimage.engine.types import ignore_event
from gpuimage.errors import BuildError
from gpuimage.smoke import Expectation, SmokeReport, smoke
from gpuimage.units import size


@dataclass(frozen=True, slots=True)
class Proof:
    """Whether the fixed file is as good as the one before, and why."""

    holds: bool
    text: str


def verify(path: Path, before: bytes, after: bytes, engine: Engine, *, target: str | None = None) -> Proof:
    """Build both texts in the file's directory and compare; the images are removed again.

    Raises UnavailableError where the engine does not answer. A fixed file holds when it builds, no probe that passed
    before fails, and the image is not larger.
    """
    tags = [f"gpuimage-verify/{uuid.uuid4().hex[:12]}:{name}" for name in ("before", "after")]
    try:
        old = _build(path, before, tags[0], engine, target)
        if isinstance(old, str):
            return Proof(False, f"{path}: not fixed, because it does not build as it is: {old}")
        new = _build(path, after, tags[1], engine, target)
        if isinstance(new, str):
            return Proof(False, f"{path}: not fixed, because the fixed file does not build: {new}")
        return _compared(path, old, new)
    finally:
        for tag in tags:
            engine.remove(tag)


def _build(
    path: Path, data: bytes, tag: str, engine: Engine, target: str | None
) -> tuple[ImageInfo, SmokeReport] | str:
    request = BuildRequest(Source.decode(data).text, path.parent, tags=(tag,), target=target)
    try:
        image = engine.build(request, ignore_event)
    except BuildError as error:
        return error.what
    return image, smoke(engine, tag, Expectation())


def _compared(path: Path, old: tuple[ImageInfo, SmokeReport], new: tuple[ImageInfo, SmokeReport]) -> Proof:
    sizes = f"{size(old[0].size)} before, {size(new[0].size)} after"
    passed = {verdict.probe for verdict in old[1].verdicts if verdict.status == "passed"}
    worse = [v for v in new[1].verdicts if v.status == "failed" and v.probe in passed]
    if worse:
        return Proof(
            False, f"{path}: not fixed, because {worse[0].probe} failed after it: {worse[0].reason} ({sizes})"
        )
    if new[0].size > old[0].size:
        return Proof(False, f"{path}: not fixed, because the image would grow: {sizes}")
    return Proof(
        True,
        f"{path}: verified: both build, {len(passed)} probes passed before and none of them fails now; {sizes}",
    )
