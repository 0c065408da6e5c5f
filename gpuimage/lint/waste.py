"""What of a file's image can go, and how large the image is as far as the tables know."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gpuimage.facts import FileFacts
from gpuimage.finding import Cost, Finding, Waste, total
from gpuimage.rules.costs import base_bytes, torch_bytes


def waste_of(file: FileFacts, findings: Sequence[Finding]) -> Waste:
    """The sum of the findings' costs, and an estimate of the image's size; None where its base is not known."""
    costs = [one.hit.cost for one in findings if one.hit.cost is not None]
    found = total(costs)
    if not found.high:
        return found
    image = _image(file, [cost for cost in costs if not cost.of])
    if image is None:
        return found
    return replace(found, image_low=max(image[0], found.low), image_high=max(image[1], found.high))


def _image(file: FileFacts, extra: Sequence[Cost]) -> tuple[int, int] | None:
    """The bytes of the last image: its base, each torch that is installed, and what findings add to them."""
    if not file.targets:
        return None
    stage = file.targets[-1]
    base = base_bytes(stage.root)
    if base is None:
        return None
    low, high = base.low, base.high
    for install in file.shipped_python(stage):
        wanted = install.find("torch", "vllm")
        cost = torch_bytes(wanted, install) if wanted is not None else None
        if cost is not None:
            low, high = low + cost.low, high + cost.high
    return low + sum(cost.low for cost in extra), high + sum(cost.high for cost in extra)
