"""Sentences and rows that several formats of a build's report share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpuimage.build import BuildResult
from gpuimage.growth import Growth
from gpuimage.inspect import Change, WheelInfo
from gpuimage.report import BuildReport
from gpuimage.reporters.smoke_text import sentence
from gpuimage.smoke import Measure
from gpuimage.units import signed, size, span


class WheelRow(NamedTuple):
    """A wheel of the image, in bytes on disk; `predicted` is what the lock says, None where it does not."""

    name: str
    version: str
    bytes: int
    predicted: int | None


def wheels(result: BuildResult) -> tuple[WheelRow, ...] | None:
    """The wheels with their bytes, the largest first; None where nobody measured them."""
    if result.wheels is None:
        return None
    lock = result.plan.lock
    predicted = {package.name: package.installed_bytes for package in lock.packages} if lock else {}
    # A distribution package of the base has no RECORD, so nothing is known of its bytes: its layer counts them.
    found: list[WheelInfo] = [wheel for wheel in result.wheels if wheel.bytes]
    found.sort(key=lambda wheel: (-wheel.bytes, wheel.name))
    return tuple(
        WheelRow(wheel.name, wheel.version, wheel.bytes, predicted.get(wheel.name)) for wheel in found
    )


def wheel_rows(result: BuildResult, most: int = 12) -> list[tuple[str, str, str]]:
    """The largest wheels as (bytes on disk, bytes predicted by the lock, name and version), the rest as one row."""
    found = wheels(result) or ()
    rows = [(size(row.bytes), known(row.predicted), f"{row.name} {row.version}") for row in found[:most]]
    rest = found[most:]
    if rest:
        predicted = [row.predicted for row in rest]
        total = None if None in predicted else sum(value or 0 for value in predicted)
        rows.append((size(sum(row.bytes for row in rest)), known(total), f"{len(rest)} smaller wheels"))
    return rows


def against(result: BuildResult) -> str:
    """The image's bytes beside prediction and budget: `2.15 GB (predicted 2.20 GB, budget 3.00 GB)`."""
    predicted = result.plan.predicted_bytes
    unknown = sum(part.low is None for part in result.plan.parts)
    beside = [f"predicted {span(*predicted)}"] if predicted else []
    beside += (
        [f"without {unknown} part{'s' if unknown > 1 else ''} not known"] if predicted and unknown else []
    )
    budget = result.plan.spec.spec.budget.image
    beside += [f"budget {size(budget)}"] if budget is not None else []
    return size(result.image.size) + (f" ({', '.join(beside)})" if beside else "")


def since(found: Growth) -> str:
    """How an image grew: `+12 MB (+0.6 %) since registry/infer:1.3.0, at most 5 %`."""
    return f"{grown(found.before, found.after)} since {found.baseline.image}, at most {found.limit}"


def grown(before: int, after: int) -> str:
    """A difference with its share of what was: `+12 MB (+0.6 %)`."""
    share = f" ({100 * (after - before) / before:+.1f} %)" if before else ""
    return signed(after - before) + share


def changes(found: Growth) -> tuple[Change, ...]:
    """Layers, then wheels, that differ from the baseline's."""
    return (*found.layers, *(found.wheels or ()))


def headline(report: BuildReport) -> str:
    """The outcome in one sentence, with every reason where it failed."""
    result = report.result
    if report.passed and result:
        return sentence(result.report) if result.report else "built, not smoke-tested"
    reasons = [" ".join(report.failure.what.split())] if report.failure else []
    if result and result.report and not result.report.passed:
        reasons.append(sentence(result.report).removeprefix("FAILED: "))
    return f"FAILED: {'; '.join([*reasons, *(exceeded(result) if result else ())])}"


def exceeded(result: BuildResult) -> Iterator[str]:
    """Which limits an image is over: budgets and growth."""
    yield from (over(one) for one in result.measures if one.status == "failed")
    if result.growth and result.growth.exceeded:
        yield f"the image grew too much: {since(result.growth)}"


def over(one: Measure) -> str:
    """What is over a budget: `the layer budget is 2.00 GB, and RUN pip install has 3.00 GB`."""
    more = f" (and {len(one.over) - 1} more)" if len(one.over) > 1 else ""
    return f"the {one.part} budget is {size(one.limit or 0)}, and {cut(one.name, 60)} has {size(one.actual or 0)}{more}"


def known(value: int | None) -> str:
    """Bytes, or that nobody knows them."""
    return "not known" if value is None else size(value)


def largest_before(found: Growth) -> Mapping[str, int | None]:
    """The largest of each kind in the baseline, as a measure of the image names it."""
    base = found.baseline
    return {
        "image": base.bytes,
        "layer": max((layer.bytes for layer in base.layers), default=0),
        "wheel": None if base.wheels is None else max((wheel.bytes for wheel in base.wheels), default=0),
    }


def cut(text: str, width: int = 90) -> str:
    """Text that fits a line."""
    return text if len(text) <= width else text[: width - 1] + "…"
