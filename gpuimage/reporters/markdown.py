"""Reports as Markdown, for pull requests and the summary of a CI run."""

from __future__ import annotations

from gpuimage.build import BuildResult
from gpuimage.reporters.build_text import instruction, summary, wheel_rows
from gpuimage.reporters.markdown_words import fenced, table, text
from gpuimage.reporters.smoke_text import SIGNS, sentence
from gpuimage.smoke import SmokeReport
from gpuimage.units import size


def smoke_markdown(report: SmokeReport) -> str:
    """A heading, a table of verdicts, the evidence of each failure."""
    return "\n".join([f"## {text(report.image)}", "", *_verdicts(report)]) + "\n"


def build_markdown(result: BuildResult) -> str:
    """What was built, its layers and wheels, and the smoke report."""
    lines = [f"## {text(result.tags[0])}", ""]
    lines += [f"- {text(label)}: {text(value)}" for label, value in summary(result)]
    lines += [
        "",
        *table(
            ("bytes", "layer"), [(size(layer.bytes), instruction(layer)) for layer in result.image.layers]
        ),
    ]
    wheels = wheel_rows(result)
    if wheels:
        lines += ["", *table(("on disk", "predicted", "wheel"), wheels)]
    if result.report:
        lines += ["", *_verdicts(result.report)]
    return "\n".join(lines) + "\n"


def _verdicts(report: SmokeReport) -> list[str]:
    rows = [
        (verdict.tier, SIGNS[verdict.status], verdict.probe, verdict.reason) for verdict in report.verdicts
    ]
    lines = [f"**{text(sentence(report))}**", "", *table(("tier", "verdict", "probe", "reason"), rows)]
    for verdict in report.verdicts:
        if verdict.status == "failed" and verdict.evidence:
            lines += ["", f"### {text(verdict.probe)}", "", *fenced(verdict.evidence)]
    if report.line:
        lines += ["", f"`{report.line}`"]
    return lines
