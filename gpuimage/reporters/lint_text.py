"""Findings for people: the place, the line with a caret, help, cost and fix."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from gpuimage.dockerfile import Source
from gpuimage.finding import FileReport, Finding, Report
from gpuimage.reporters.lint_words import cost_sentence, fix_sentence, summary, waste_sentence
from gpuimage.reporters.visible import visible

_WIDE = 110  # columns of a source line that are shown
_COLOURS = {"error": "31", "warning": "33", "note": "36"}


def lint_text(report: Report, *, colour: bool = False) -> str:
    """Every finding with its line, what can go in each file, and a summary."""
    out: list[str] = []
    for file in report.files:
        out += _file(file, colour)
    out.append(summary(report))
    return "\n".join(out) + "\n"


def _file(file: FileReport, colour: bool) -> Iterator[str]:
    path = visible(file.path)
    if file.failure is not None:
        yield f"{path}: {_paint('error', 'error', colour)}: {visible(file.failure)}"
        yield ""
        return
    source = _masked(file)
    for finding in file.findings:
        yield from _finding(path, source, finding, colour)
    sentence = waste_sentence(file)
    if sentence:
        yield f"{path}: {sentence}"
        yield ""


def _masked(file: FileReport) -> Source:
    """The source as it may be shown: a report ends up in logs that more people read than the file."""
    secrets = [one.hit.span for one in file.findings if one.hit.secret]
    if not secrets:
        return file.source
    letters = list(file.source.text)
    for span in secrets:
        letters[span.start : span.end] = re.sub(r"[^\n]", "*", file.source[span])
    return replace(file.source, text="".join(letters))


def _finding(path: str, source: Source, finding: Finding, colour: bool) -> Iterator[str]:
    hit, rule = finding.hit, finding.rule
    severity = _paint(finding.severity, finding.severity, colour)
    yield f"{path}:{finding.line}:{finding.column}: {severity} {rule.code} {rule.name}: {visible(hit.message)}"
    text, caret = _line(source, finding)
    gutter = " " * len(str(finding.line))
    yield f"  {finding.line} | {text}"
    yield f"  {gutter} | {_paint(caret, finding.severity, colour)}"
    if hit.help:
        yield f"  {gutter} = help: {visible(hit.help)}"
    cost = cost_sentence(finding)
    if cost:
        yield f"  {gutter} = cost: {visible(cost)}"
    if hit.fix:
        yield f"  {gutter} = fix: {visible(fix_sentence(hit.fix))}"
    yield ""


def _line(source: Source, finding: Finding) -> tuple[str, str]:
    """The first line of a finding, cut to what a terminal shows, and the carets under it."""
    raw = source.line(finding.line - 1).rstrip("\r\n") if finding.line <= len(source.starts) else ""
    start = finding.column - 1
    end = finding.end_column - 1 if finding.end_line == finding.line else len(raw)
    end = max(min(end, len(raw)), start + 1)
    left = max(min(start - 20, len(raw) - _WIDE), 0)
    right = min(left + _WIDE, len(raw))
    shown = ("…" if left else "") + _plain(raw[left:right]) + ("…" if right < len(raw) else "")
    before = _width(("…" if left else "") + _plain(raw[left:start]))
    under = max(_width(_plain(raw[start : min(end, right)])), 1)
    return shown, " " * before + "^" * under


def _plain(text: str) -> str:
    return visible(text.replace("\t", "    "))


def _width(text: str) -> int:
    """Columns of a text on a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata  # noqa: PLC0415

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def _paint(text: str, severity: str, colour: bool) -> str:
    return f"\x1b[1;{_COLOURS[severity]}m{text}\x1b[0m" if colour else text
