"""A build for people: the image, its layers and wheels against prediction, budget and baseline, the smoke report."""

from __future__ import annotations

from collections.abc import Sequence

from gpuimage.build import BuildResult
from gpuimage.growth import Growth
from gpuimage.report import BuildReport
from gpuimage.reporters.build_words import (
    against,
    changes,
    cut,
    exceeded,
    headline,
    since,
    wheel_rows,
)
from gpuimage.reporters.smoke_text import verdict_lines
from gpuimage.reporters.visible import visible
from gpuimage.units import signed, size

_SHOWN = 12  # changes that are named one by one


def build_text(report: BuildReport) -> str:
    """The report as text, ending in a line break."""
    result = report.result
    if result is None:
        return f"image   {report.name}\n\n{visible(headline(report))}\n"
    width = max(len(label) for label, _ in _summary(result))
    lines = [f"{label:<{width}}  {text}" for label, text in _summary(result)]
    lines += ["", "layers"]
    lines += [f"  {size(layer.bytes):>9}  {cut(layer.instruction)}" for layer in result.image.layers]
    if rows := wheel_rows(result):
        lines += ["", "wheels, on disk (predicted)"]
        lines += [f"  {actual:>9}  ({predicted})  {name}" for actual, predicted, name in rows]
    lines += _changes(result.growth) if result.growth else []
    lines += ["", *(verdict_lines(result.report) if result.report else ["built, not smoke-tested"])]
    lines += [f"FAILED: {reason}" for reason in exceeded(result)]
    lines += [f"FAILED: {report.failure.what}"] if report.failure else []
    return "\n".join(map(visible, lines)) + "\n"


def _summary(result: BuildResult) -> list[tuple[str, str]]:
    return [
        ("image", ", ".join(result.tags)),
        ("id", result.image.id),
        ("engine", result.engine),
        ("size", against(result)),
        *([("growth", since(result.growth))] if result.growth else []),
        *(("pushed", f"{tag} {digest}") for tag, digest in result.digests.items()),
    ]


def _changes(found: Growth) -> Sequence[str]:
    lines = ["", f"since {found.baseline.image} ({size(found.before)})"]
    rows = changes(found)
    for one in rows[:_SHOWN]:
        why = f"  {one.because}" if one.because else ""
        lines.append(f"  {signed(one.grown):>9}  {cut(one.name)} ({one.kind}){cut(why)}")
    if len(rows) > _SHOWN:
        lines.append(f"  … and {len(rows) - _SHOWN} more (--format json has all)")
    if not rows:
        lines.append("  no layer and no wheel changed")
    if found.wheels is None:
        lines.append("  wheels: not known, because they were not measured on both sides")
    return lines
