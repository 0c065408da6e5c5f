"""A build as Markdown that fits a comment on a pull request: what failed first, sizes, and the rest behind a click."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuimage.build import BuildResult
from gpuimage.errors import BuildError, GpuImageError
from gpuimage.growth import Growth
from gpuimage.plan import Plan
from gpuimage.report import BuildReport
from gpuimage.reporters.build_words import (
    changes,
    cut,
    grown,
    headline,
    known,
    largest_before,
    since,
    wheel_rows,
)
from gpuimage.reporters.lint_words import message
from gpuimage.reporters.markdown_words import fenced, folded, table, text
from gpuimage.reporters.smoke_text import SIGNS
from gpuimage.smoke import SmokeReport
from gpuimage.units import signed, size, span

LIMIT = 65_000
"""Bytes; GitHub takes 65,536 characters in a comment."""

_ROWS = 20
_CELL = 400  # characters of what an image says
_LINES = 40  # of a failed step or probe, the last ones
_NONE = "–"

Block = tuple[str, list[str]]
"""What a part holds, in words of ours, and its lines."""


def build_markdown(*reports: BuildReport, unbuilt: Sequence[str] = ()) -> str:
    """Builds as one Markdown text of at most `LIMIT` bytes: several begin with a table of all.

    `unbuilt` names variants that nobody came to. What does not fit is left out and named, from the end.
    """
    if len(reports) == 1 and not unbuilt:
        return _one(reports[0], LIMIT)
    lines = _overview(reports, unbuilt)
    share = (LIMIT - _bytes(lines)) // max(len(reports), 1)
    for block in ([_one(report, share - 2)] for report in reports):
        if _bytes(lines) + _bytes(block) < LIMIT:
            lines += ["", block[0].rstrip("\n")]
    return "\n".join(lines) + "\n"


def _overview(reports: Sequence[BuildReport], unbuilt: Sequence[str]) -> list[str]:
    good = sum(report.passed for report in reports)
    rows = [
        (
            report.name,
            "passed" if report.passed else "FAILED",
            known(report.result.image.size if report.result else None),
            since(report.result.growth) if report.result and report.result.growth else _NONE,
        )
        for report in reports
    ]
    rows += [(name, "not built", _NONE, _NONE) for name in unbuilt]
    head = f"## {good} of {len(rows)} images passed"
    return [head, "", *table(("image", "verdict", "size", "growth"), rows)]


def _one(report: BuildReport, most: int) -> str:
    lines = [f"## {text(cut(report.name, _CELL))}", "", f"**{text(cut(headline(report), 2 * _CELL))}**"]
    left_out: list[str] = []
    for what, block in _blocks(report):
        # The sentence about what is left out takes some room too.
        if block and _bytes(lines) + _bytes(block) < most - 300:
            lines += ["", *block]
        elif block:
            left_out.append(what)
    if left_out:
        lines += ["", f"Left out, because it is too long for a comment: {', '.join(left_out)}."]
    return "\n".join(lines) + "\n"


def _bytes(lines: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines) + 1


def _blocks(report: BuildReport) -> Iterator[Block]:
    result, plan = report.result, report.plan
    if report.failure:
        yield "the error", _failure(report.failure)
    if result:
        yield "the sizes", _sizes(result)
        if result.report:
            yield "the failed probes", _failed(result.report)
            yield "their evidence", _evidence(result.report)
        if result.growth:
            yield "what grew", _changes(result.growth)
        rows = [(size(layer.bytes), cut(layer.instruction, _CELL)) for layer in result.image.layers]
        yield "the layers", folded(f"Layers ({len(rows)})", table(("bytes", "layer"), rows))
        if wheels := wheel_rows(result, _ROWS):
            yield "the wheels", folded("Wheels", table(("on disk", "predicted", "wheel"), wheels))
        if result.report:
            yield "the verdicts", _verdicts(result.report)
    if plan:
        yield "the decisions", _decisions(plan)
    yield "the findings", _findings(report)
    if report.rendered:
        dockerfile = fenced(report.rendered.dockerfile.splitlines())
        yield "the Dockerfile", folded("Dockerfile", [f"{dockerfile[0]}dockerfile", *dockerfile[1:]])


def _failure(error: GpuImageError) -> list[str]:
    lines = [f"at {text(str(error.where))}"] if error.where else []
    lines += [f"why: {text(cut(error.why, 2 * _CELL))}"] if error.why else []
    lines += [f"try: {text(cut(error.hint, 2 * _CELL))}"] if error.hint else []
    made = [f"- {line}" for line in lines]
    if isinstance(error, BuildError) and error.log:
        made += [*([""] if made else []), *fenced(_tail(error.log))]
    return made


def _tail(lines: Sequence[str]) -> list[str]:
    return [cut(line, _CELL) for line in lines[-_LINES:]]


def _sizes(result: BuildResult) -> list[str]:
    """Image, largest layer and largest wheel beside prediction, budget and baseline."""
    predicted = result.plan.predicted_bytes
    before = largest_before(result.growth) if result.growth else {}
    rows = []
    for one in result.measures:
        what = "image" if one.part == "image" else f"largest {one.part}"
        row = [
            what,
            known(one.actual) + (" FAILED" if one.over else ""),
            span(*predicted) if one.part == "image" and predicted else _NONE,
            _NONE if one.limit is None else size(one.limit),
        ]
        if before:
            was = before[one.part]
            row += [known(was), _NONE if was is None or one.actual is None else grown(was, one.actual)]
        rows.append(tuple(row))
    head = ("", "size", "predicted", "budget", *(("before", "growth") if before else ()))
    return table(head, rows)


def _failed(report: SmokeReport) -> list[str]:
    failed = [one for one in report.verdicts if one.status == "failed"]
    rows = [(one.tier, cut(one.probe, 100), cut(one.reason, _CELL)) for one in failed]
    return table(("tier", "failed probe", "reason"), rows) if rows else []


def _evidence(report: SmokeReport) -> list[str]:
    lines: list[str] = []
    for one in report.verdicts:
        if one.status == "failed" and one.evidence:
            lines += [*([""] if lines else []), f"**{text(cut(one.probe, 100))}**", ""]
            lines += fenced(_tail(one.evidence))
    return folded("Evidence", lines) if lines else []


def _verdicts(report: SmokeReport) -> list[str]:
    rows = [
        (one.tier, SIGNS[one.status], cut(one.probe, 100), cut(one.reason, _CELL)) for one in report.verdicts
    ]
    lines = table(("tier", "verdict", "probe", "reason"), rows)
    if report.line:
        lines += ["", text(cut(report.line, _CELL))]
    return folded(f"Verdicts ({len(rows)})", lines)


def _changes(found: Growth) -> list[str]:
    rows = [
        (signed(one.grown), one.kind, cut(one.name, _CELL), cut(one.because, _CELL))
        for one in changes(found)[:_ROWS]
    ]
    base = found.baseline
    lines = [f"{text(since(found))}.", "", *table(("growth", "of", "what", "why"), rows)]
    if not rows:
        lines = [f"No layer and no wheel differs from {text(base.image)}."]
    if found.wheels is None:
        lines += ["", "Wheels were not measured on both sides."]
    more = len(changes(found)) - len(rows)
    lines += ["", f"{more} smaller changes are in report.json."] if more else []
    return folded("What changed since the baseline", lines)


def _decisions(plan: Plan) -> list[str]:
    decided = [
        (one.topic, one.choice + ("" if one.verified else " (not verified)"), cut(one.because, _CELL))
        for one in (*plan.decisions, *plan.warnings)
    ]
    refused = [("refused", one.what, cut(one.because, _CELL)) for one in plan.refusals]
    return folded("Decisions", table(("what", "choice", "because"), [*decided, *refused]))


def _findings(report: BuildReport) -> list[str]:
    found = report.findings.findings if report.findings else ()
    rows = [
        (str(one.line), one.severity, f"{one.rule.code} {one.rule.name}", cut(message(one), _CELL))
        for one in found[:_ROWS]
    ]
    return folded(f"Lint ({len(found)})", table(("line", "severity", "rule", "what"), rows)) if rows else []
