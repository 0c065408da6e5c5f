"""Findings as workflow commands, which GitHub shows beside the lines of a pull request."""

from __future__ import annotations

from gpuimage.finding import Report
from gpuimage.reporters.lint_words import message, summary, waste_sentence
from gpuimage.reporters.visible import visible

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def lint_github(report: Report) -> str:
    """A command a finding; a notice for what can go in a file."""
    lines = []
    for file in report.files:
        if file.failure is not None:
            lines.append(f"::error file={_property(file.path)}::{_data(file.failure)}")
        for one in file.findings:
            # End columns are excluded here and included there; a range over several lines has no columns there.
            columns = (
                f",col={one.column},endColumn={max(one.end_column - 1, one.column)}"
                if one.line == one.end_line
                else ""
            )
            place = f"file={_property(file.path)},line={one.line},endLine={one.end_line}{columns}"
            title = _property(f"{one.rule.code} {one.rule.name}")
            lines.append(f"::{_COMMANDS[one.severity]} {place},title={title}::{_data(message(one))}")
        sentence = waste_sentence(file)
        if sentence:
            lines.append(f"::notice file={_property(file.path)},title=gpuimage::{_data(sentence)}")
    lines.append(_data(summary(report)))
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
