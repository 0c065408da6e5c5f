"""What an image weighs against the budgets of its spec: the whole, its largest layer, its largest wheel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gpuimage.engine import ImageInfo
from gpuimage.inspect import WheelInfo
from gpuimage.smoke.verdict import Expectation, Status

Part = Literal["image", "layer", "wheel"]


@dataclass(frozen=True, slots=True)
class Measure:
    """The largest of one kind and its budget, in bytes on disk.

    `limit` is None where there is no budget, `actual` where nobody measured; `name` is what is largest. `over` holds
    all that is over the budget with its bytes, the largest first.
    """

    part: Part
    limit: int | None
    actual: int | None
    name: str = ""
    over: tuple[tuple[str, int], ...] = ()

    @property
    def status(self) -> Status:
        """Skipped where there is no budget, or where nobody measured."""
        if self.limit is None or self.actual is None:
            return "skipped"
        return "failed" if self.over else "passed"


def measure(
    image: ImageInfo, wheels: Sequence[WheelInfo] | None, expectation: Expectation
) -> tuple[Measure, ...]:
    """Hold image, layers and wheels against their budgets; `wheels` is None where the image's files were not read."""
    layers = [(layer.instruction, layer.bytes) for layer in image.layers]
    found = None if wheels is None else [(wheel.label, wheel.bytes) for wheel in wheels]
    return (
        _measured("image", [("the image", image.size)], expectation.image_budget),
        _measured("layer", layers or [("no layer", 0)], expectation.layer_budget),
        Measure("wheel", expectation.wheel_budget, None)
        if found is None
        else _measured("wheel", found or [("no wheel", 0)], expectation.wheel_budget),
    )


def _measured(part: Part, all_of_it: Iterable[tuple[str, int]], limit: int | None) -> Measure:
    ordered = sorted(all_of_it, key=lambda one: -one[1])
    over = () if limit is None else tuple(one for one in ordered if one[1] > limit)
    name, largest = ordered[0]
    return Measure(part, limit, largest, name, over)
