"""A smoke report for people: one line a verdict, all that is known of a failure, one last sentence."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuimage.smoke import SmokeReport, Verdict

SIGNS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}
_WIDTH = 110


def smoke_text(report: SmokeReport) -> str:
    """The report as text, ending in a line break."""
    lines = [f"{report.image}  ({report.engine})", "", *verdict_lines(report)]
    return "\n".join(lines) + "\n"


def verdict_lines(report: SmokeReport) -> list[str]:
    """The verdicts, the familiar line where there is torch, and the sentence that sums all up."""
    width = max((len(_name(verdict)) for verdict in report.verdicts), default=0)
    lines: list[str] = []
    for verdict in report.verdicts:
        head = f"{verdict.tier}  {SIGNS[verdict.status]:<7}  {_name(verdict):<{width}}  "
        lines += _wrapped(head, verdict.reason)
        if verdict.status == "failed":
            lines += [f"      {line}" for line in verdict.evidence]
    lines.append("")
    if report.line:
        lines += [report.line, ""]
    return [*lines, sentence(report)]


def sentence(report: SmokeReport) -> str:
    """One sentence with the outcome: `passed: 17 probes, 3 skipped` or `FAILED: 2 of 20 probes: …`."""
    count = Counter(verdict.status for verdict in report.verdicts)
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    if report.passed:
        return f"passed: {_probes(count['passed'])}{skipped}"
    names = ", ".join(_name(verdict) for verdict in report.verdicts if verdict.status == "failed")
    return f"FAILED: {count['failed']} of {_probes(count['failed'] + count['passed'])}: {names}{skipped}"


def _probes(number: int) -> str:
    return f"{number} probe{'' if number == 1 else 's'}"


def _name(verdict: Verdict) -> str:
    """A user's command may be long; the reason and the json hold all of it."""
    line = " ".join(verdict.probe.split())
    return line if len(line) <= 40 else line[:39] + "…"


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        " ".join(text.split()),
        max(_WIDTH, len(head) + 40),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    ) or [head.rstrip()]
