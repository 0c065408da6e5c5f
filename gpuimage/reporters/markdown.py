"""Reports as Markdown, for pull requests and the summary of a CI run."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuimage.build import BuildResult
from gpuimage.reporters.build_text import instruction, summary, wheel_rows
from gpuimage.reporters.smoke_text import SIGNS, sentence
from gpuimage.smoke import SmokeReport
from gpuimage.units import size


def smoke_markdown(report: SmokeReport) -> str:
    """A heading, a table of verdicts, the evidence of each failure."""
    return "\n".join([f"## {_text(report.image)}", "", *_verdicts(report)]) + "\n"


def build_markdown(result: BuildResult) -> str:
    """What was built, its layers and wheels, and the smoke report."""
    lines = [f"## {_text(result.tags[0])}", ""]
    lines += [f"- {_text(label)}: {_text(text)}" for label, text in summary(result)]
    lines += [
        "",
        *_table(
            ("bytes", "layer"), [(size(layer.bytes), instruction(layer)) for layer in result.image.layers]
        ),
    ]
    wheels = wheel_rows(result)
    if wheels:
        lines += ["", *_table(("on disk", "predicted", "wheel"), wheels)]
    if result.report:
        lines += ["", *_verdicts(result.report)]
    return "\n".join(lines) + "\n"


def _verdicts(report: SmokeReport) -> list[str]:
    rows = [
        (verdict.tier, SIGNS[verdict.status], verdict.probe, verdict.reason) for verdict in report.verdicts
    ]
    lines = [f"**{_text(sentence(report))}**", "", *_table(("tier", "verdict", "probe", "reason"), rows)]
    for verdict in report.verdicts:
        if verdict.status == "failed" and verdict.evidence:
            lines += ["", f"### {_text(verdict.probe)}", "", *_fenced(verdict.evidence)]
    if report.line:
        lines += ["", f"`{report.line}`"]
    return lines


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    ruled = [head, tuple("---" for _ in head), *(tuple(_text(cell) for cell in row) for row in rows)]
    return ["| " + " | ".join(row) + " |" for row in ruled]


def _text(text: str) -> str:
    """Text on one line, with nothing in it that Markdown or HTML would read."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def _fenced(lines: tuple[str, ...]) -> list[str]:
    """Lines between fences that are longer than any run of backticks in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence, *lines, fence]
