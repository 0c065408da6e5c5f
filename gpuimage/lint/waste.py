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
    parts = image_parts(file)
    if parts is None:
        return found
    image = [*parts, *(cost for cost in costs if not cost.of)]
    low, high = sum(one.low for one in image), sum(one.high for one in image)
    return replace(found, image_low=max(low, found.low), image_high=max(high, found.high))


def image_parts(file: FileFacts) -> tuple[Cost, ...] | None:
    """What the tables know of the last image: its base, and each torch that is installed; None where its base is not known."""
    if not file.targets:
        return None
    stage = file.targets[-1]
    base = base_bytes(stage.root)
    if base is None:
        return None
    seen: set[tuple[str | None, str | None]] = set()
    parts = [Cost(base.low, base.high, f"{stage.root.text} ({base.basis}; {base.source})")]
    for install in file.shipped_python(stage):
        wanted = install.find("torch", "vllm")
        if wanted is None or (install.target, wanted.specifier) in seen:
            continue  # the same version in the same place once more adds nothing
        seen.add((install.target, wanted.specifier))
        cost = torch_bytes(wanted, install)
        parts += [cost] if cost is not None else []
    return tuple(parts)
