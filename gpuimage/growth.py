"""What grew since a former report, and whether that is too much."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gpuimage.engine import ImageInfo, LayerInfo
from gpuimage.errors import Location, SpecError
from gpuimage.inspect import Change, WheelInfo
from gpuimage.reference import ImageReference, ReferenceSyntaxError
from gpuimage.spec import BadValueError, ByteSize, SpecFile
from gpuimage.units import size

FORMAT = 1
"""Of the report of a build as json; raised when a key changes its meaning or goes away."""

KIND = "build"
"""What that report says of itself, since other documents have formats too."""

_PERCENT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%", re.ASCII)
_MOST_BYTES = 50 * 10**6  # of a report; real ones have some hundred thousand


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """How much an image may grow: `percent` of what it was, or, where that is None, `bytes`."""

    percent: Decimal | None = Decimal(5)
    bytes: int = 0

    @classmethod
    def parse(cls, text: str) -> GrowthLimit:
        """Read `5%`, `0%` or `50MB`; BadValueError (a ValueError) for anything else."""
        match = _PERCENT.fullmatch(text.strip())
        if match:
            return cls(Decimal(match[1]))
        try:
            return cls(None, ByteSize.parse(text.strip()))
        except BadValueError as error:
            raise BadValueError(
                error.reason, "write a size such as 50MB, or a percentage such as 2%; 0% for none at all"
            ) from None

    def allowed(self, before: int) -> int:
        """The bytes that an image of this size may grow by."""
        return self.bytes if self.percent is None else int(before * self.percent / 100)

    def __str__(self) -> str:
        return size(self.bytes) if self.percent is None else f"{self.percent} %"


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a former report says of its image; `wheels` is None where nobody measured them."""

    path: Path
    image: str
    id: str
    bytes: int
    layers: tuple[LayerInfo, ...]
    wheels: tuple[WheelInfo, ...] | None


@dataclass(frozen=True, slots=True)
class Growth:
    """An image beside its baseline, in bytes on disk.

    `layers` and `wheels` are the changes among them, the largest first; wheels are None where one side does not know
    them.
    """

    baseline: Baseline
    limit: GrowthLimit
    after: int
    layers: tuple[Change, ...]
    wheels: tuple[Change, ...] | None

    @property
    def before(self) -> int:
        """The bytes of the baseline's image."""
        return self.baseline.bytes

    @property
    def grown(self) -> int:
        """Bytes more than before; negative for less."""
        return self.after - self.before

    @property
    def exceeded(self) -> bool:
        """Whether it grew by more than the limit."""
        return self.grown > self.limit.allowed(self.before)


def growth(
    baseline: Baseline, image: ImageInfo, wheels: Sequence[WheelInfo] | None, limit: GrowthLimit
) -> Growth:
    """Hold an image against a baseline; `wheels` are those found in it, None where its files were not read."""
    known = None if wheels is None or baseline.wheels is None else _wheels(baseline.wheels, wheels)
    return Growth(
        baseline,
        limit,
        image.size,
        _sorted(_layers(baseline.layers, image.layers)),
        None if known is None else _sorted(known),
    )


def _sorted(changes: Iterator[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda one: (-abs(one.grown), one.name)))


def _layers(before: Sequence[LayerInfo], after: Sequence[LayerInfo]) -> Iterator[Change]:
    """Pair layers of one instruction in their order; between those, by position."""
    was_made, is_made = ([layer.instruction for layer in layers] for layers in (before, after))
    for _, start, end, first, last in SequenceMatcher(a=was_made, b=is_made, autojunk=False).get_opcodes():
        old, new = before[start:end], after[first:last]
        for at in range(max(len(old), len(new))):
            was, now = (layers[at] if at < len(layers) else None for layers in (old, new))
            yield from _layer(was, now)


def _layer(was: LayerInfo | None, now: LayerInfo | None) -> Iterator[Change]:
    if was is None and now is not None:
        yield Change("layer", now.instruction, None, now.bytes, "new")
    elif was is not None and now is None:
        yield Change("layer", was.instruction, was.bytes, None, "gone")
    elif was is not None and now is not None:
        because = "" if was.instruction == now.instruction else f"was {was.instruction}"
        if because or was.bytes != now.bytes:
            yield Change("layer", now.instruction, was.bytes, now.bytes, because)


def _wheels(before: Sequence[WheelInfo], after: Sequence[WheelInfo]) -> Iterator[Change]:
    old, new = _by_name(before), _by_name(after)
    for name in {**old, **new}:
        was, now = old.get(name), new.get(name)
        if was is None and now is not None:
            yield Change("wheel", name, None, now[1], f"{now[0]}, new")
        elif was is not None and now is None:
            yield Change("wheel", name, was[1], None, f"{was[0]}, gone")
        elif was is not None and now is not None and was != now:
            because = f"{was[0]} to {now[0]}" if was[0] != now[0] else ""
            yield Change("wheel", name, was[1], now[1], because)


def _by_name(wheels: Sequence[WheelInfo]) -> Mapping[str, tuple[str, int]]:
    """Versions and bytes by name; what is installed in several environments counts together.

    What has no bytes has no RECORD, as a distribution's own packages: nobody knows what it weighs.
    """
    found: dict[str, tuple[str, int]] = {}
    for wheel in (wheel for wheel in wheels if wheel.bytes):
        version, held = found.get(wheel.name, ("", 0))
        versions = dict.fromkeys(filter(None, (*version.split(", "), wheel.version)))
        found[wheel.name] = (", ".join(versions), held + wheel.bytes)
    return found


# A former report, read strictly in what counts here; keys that are not named may come and go.

_Bytes = Annotated[int, Meta(ge=0, le=2**60)]


class _Layer(Struct, frozen=True):
    created_by: str
    bytes: _Bytes


class _Wheel(Struct, frozen=True):
    name: str
    version: str
    bytes: _Bytes


class _Sizes(Struct, frozen=True):
    total: _Bytes | None
    layers: Annotated[tuple[_Layer, ...], Meta(max_length=1000)] = ()


class _Head(Struct, frozen=True):
    format: int
    kind: str


class _Report(Struct, frozen=True):
    image: str
    variant: str
    flavor: str
    platform: str
    bytes: _Sizes
    wheels: tuple[_Wheel, ...] | None
    id: str | None = None


def read_baseline(path: Path, file: SpecFile) -> Baseline:
    """Read the report of a former build of the same image: same name, whatever its tag, flavor, variant and platform.

    SpecError for what is no such report, says so of another image, or of a build that made none.
    """
    text = _text(path)
    try:
        head = msgspec.json.decode(text, type=_Head)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _refused(path, f"no report of a build: {error}") from None
    if head.kind != KIND:
        raise _refused(path, f"no report of a build, but of {head.kind[:40]!r}")
    if head.format != FORMAT:
        raise _refused(path, f"of format {head.format}, and this gpuimage reads format {FORMAT}")
    try:
        report = msgspec.json.decode(text, type=_Report)
        reference = ImageReference.parse(report.image)
    except (msgspec.MsgspecError, RecursionError, ReferenceSyntaxError) as error:
        raise _refused(path, f"damaged: {error}") from None
    _same(path, report, reference, file)
    if report.bytes.total is None:
        raise _refused(path, "of a build that failed: it has no image to compare with")
    return Baseline(
        path,
        report.image,
        report.id or "",
        report.bytes.total,
        tuple(LayerInfo(layer.created_by, layer.bytes) for layer in report.bytes.layers),
        None
        if report.wheels is None
        else tuple(WheelInfo(wheel.name, wheel.version, wheel.bytes, "") for wheel in report.wheels),
    )


def _text(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _refused(path, f"no report of a build: it has more than {_MOST_BYTES // 10**6} MB")
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(f"the baseline cannot be read: {reason}", where=Location(path)) from error


def _same(path: Path, report: _Report, reference: ImageReference, file: SpecFile) -> None:
    spec = file.spec
    for what, theirs, ours in (
        ("image", reference.name, spec.image.name),
        ("flavor", report.flavor, spec.flavor),
        ("variant", report.variant, file.variant),
        ("platform", report.platform, spec.platforms[0]),
    ):
        if theirs != ours:
            raise _refused(path, f"of another {what}: {theirs or 'none'}, and this is {ours or 'none'}")


def _refused(path: Path, why: str) -> SpecError:
    return SpecError(
        "this is no baseline for the build",
        where=Location(path),
        why=f"it is {why}",
        hint="give the report.json that `gpuimage build --report` wrote for the last good build of this image",
    )
