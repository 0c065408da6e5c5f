"""A finished build for people: the image, its layers and wheels against prediction and budget, the smoke report."""

from __future__ import annotations

import re

from gpuimage.build import BuildResult
from gpuimage.engine import LayerInfo
from gpuimage.reporters.smoke_text import verdict_lines
from gpuimage.units import size, span

# BuildKit writes `RUN |1 A=b /bin/sh -c … # buildkit`, others `/bin/sh -c …` and `/bin/sh -c #(nop) COPY …`.
_RECORDED = re.compile(r"(?:RUN )?(?:\|\d+ .*?)?(?:/bin/sh -c )(?P<nop>#\(nop\) )?(?P<text>.*)")

_SHOWN = 12
"""Wheels that are named one by one; a torch image holds sixty."""


def build_text(result: BuildResult) -> str:
    """The result as text, ending in a line break."""
    width = max(len(label) for label, _ in summary(result))
    lines = [f"{label:<{width}}  {text}" for label, text in summary(result)]
    lines += [
        "",
        "layers",
        *(f"  {size(layer.bytes):>9}  {instruction(layer)}" for layer in result.image.layers),
    ]
    wheels = wheel_rows(result)
    if wheels:
        lines += ["", "wheels, on disk (predicted)"]
        lines += [f"  {actual:>9}  ({predicted})  {name}" for actual, predicted, name in wheels]
    lines += ["", *(verdict_lines(result.report) if result.report else ["built, not smoke-tested"])]
    return "\n".join(lines) + "\n"


def summary(result: BuildResult) -> list[tuple[str, str]]:
    """What was built, as (label, text) rows."""
    predicted = result.plan.predicted_bytes
    unknown = sum(part.low is None for part in result.plan.parts)
    against = [f"predicted {span(*predicted)}"] if predicted else []
    against += (
        [f"without {unknown} part{'s' if unknown > 1 else ''} not known"] if predicted and unknown else []
    )
    budget = result.plan.spec.spec.budget.image
    against += [f"budget {size(budget)}"] if budget is not None else []
    return [
        ("image", ", ".join(result.tags)),
        ("id", result.image.id),
        ("engine", result.engine),
        ("size", size(result.image.size) + (f" ({', '.join(against)})" if against else "")),
        *(("pushed", f"{tag} {digest}") for tag, digest in result.digests.items()),
    ]


def wheel_rows(result: BuildResult) -> list[tuple[str, str, str]]:
    """The largest wheels as (bytes on disk, bytes predicted by the lock, name and version), the rest as one row."""
    # A distribution package of the base has no RECORD, so nothing is known of its bytes: its layer counts them.
    found = [wheel for wheel in (result.report.wheels if result.report else ()) if wheel.bytes]
    wheels = sorted(found, key=lambda wheel: -wheel.bytes)
    lock = result.plan.lock
    predicted = {package.name: package.installed_bytes for package in lock.packages} if lock else {}
    rows = []
    for wheel in wheels[:_SHOWN]:
        expected = predicted.get(wheel.name)
        rows.append(
            (
                size(wheel.bytes),
                "not known" if expected is None else size(expected),
                f"{wheel.name} {wheel.version}",
            )
        )
    rest = wheels[_SHOWN:]
    if rest:
        known = [predicted.get(wheel.name) for wheel in rest]
        total = "not known" if None in known else size(sum(value or 0 for value in known))
        rows.append((size(sum(wheel.bytes for wheel in rest)), total, f"{len(rest)} smaller wheels"))
    return rows


def instruction(layer: LayerInfo) -> str:
    """The instruction that made a layer, on one line, without what engines put around it."""
    line = " ".join(layer.created_by.split()).removesuffix("# buildkit").rstrip()
    match = _RECORDED.fullmatch(line)
    if match:
        line = match["text"] if match["nop"] else f"RUN {match['text']}"
    line = line or "(no instruction is recorded)"
    return line if len(line) <= 90 else line[:89] + "…"
