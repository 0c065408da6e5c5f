"""A smoke report as Markdown."""

from __future__ import annotations

from gpuimage.reporters.markdown_words import fenced, table, text
from gpuimage.reporters.smoke_text import SIGNS, sentence
from gpuimage.smoke import SmokeReport


def smoke_markdown(report: SmokeReport) -> str:
    """A heading, a table of verdicts, the evidence of each failure."""
    rows = [
        (verdict.tier, SIGNS[verdict.status], verdict.probe, verdict.reason) for verdict in report.verdicts
    ]
    lines = [f"## {text(report.image)}", "", f"**{text(sentence(report))}**", ""]
    lines += table(("tier", "verdict", "probe", "reason"), rows)
    for verdict in report.verdicts:
        if verdict.status == "failed" and verdict.evidence:
            lines += ["", f"### {text(verdict.probe)}", "", *fenced(verdict.evidence)]
    if report.line:
        lines += ["", text(report.line)]
    return "\n".join(lines) + "\n"
