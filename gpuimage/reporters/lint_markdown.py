"""Findings as Markdown, fit for a comment on a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.finding import FileReport, Report
from gpuimage.reporters.lint_words import cost_words, summary, waste_sentence
from gpuimage.reporters.markdown_words import table, text


def lint_markdown(report: Report) -> str:
    """A summary, and for each file with findings a table and what can go."""
    lines = ["## gpuimage lint", "", f"**{text(summary(report))}**"]
    for file in report.files:
        lines += _file(file)
    return "\n".join(lines) + "\n"


def _file(file: FileReport) -> Iterator[str]:
    if file.failure is None and not file.findings:
        return
    yield ""
    yield f"### {text(file.path)}"
    yield ""
    if file.failure is not None:
        yield f"could not be read: {text(file.failure)}"
        return
    rows = [
        (
            str(one.line),
            one.severity,
            f"{one.rule.code} {one.rule.name}",
            one.hit.message + (f" — {one.hit.help}" if one.hit.help else ""),
            cost_words(one),
        )
        for one in file.findings
    ]
    yield from table(("line", "severity", "rule", "what", "cost"), rows)
    sentence = waste_sentence(file)
    if sentence:
        yield ""
        yield f"{text(sentence[0].upper() + sentence[1:])}."
