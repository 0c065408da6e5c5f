"""Sentences that several formats of the linter's report share."""

from __future__ import annotations

from gpuimage.finding import FileReport, Finding, Fix, Report
from gpuimage.units import size, span


def cost_words(finding: Finding) -> str:
    """`2.00 GB to 3.00 GB`, `not known`; empty for a finding that is not about bytes."""
    cost = finding.hit.cost
    if cost is not None:
        return span(cost.low, cost.high)
    return "not known" if finding.rule.about_size else ""


def cost_sentence(finding: Finding) -> str:
    """The same with its basis: `2.00 GB to 3.00 GB (basis)`."""
    cost = finding.hit.cost
    return cost_words(finding) + (f" ({cost.basis})" if cost is not None else "")


def fix_sentence(fix: Fix) -> str:
    """What a fix does, and what it takes to apply it."""
    return f"{fix.says} ({'--fix' if fix.safe else '--fix --unsafe'})"


def message(finding: Finding) -> str:
    """The message with its help and its cost, on one line."""
    hit = finding.hit
    parts = [hit.message]
    if hit.help:
        parts.append(f"help: {hit.help}")
    if hit.cost:
        parts.append(f"cost: {span(hit.cost.low, hit.cost.high)}")
    return "; ".join(parts)


def waste_sentence(file: FileReport) -> str:
    """`about 5.1 GB of an estimated 9.3 GB can go`; empty where nothing can."""
    waste = file.waste
    if not waste.high:
        return ""
    if waste.image_low is None or waste.image_high is None:
        return f"about {span(waste.low, waste.high)} can go; the size of the whole image is not known"
    return f"about {span(waste.low, waste.high)} of an estimated {span(waste.image_low, waste.image_high)} can go"


def summary(report: Report) -> str:
    """`3 errors, 2 warnings and 1 note in 4 files`, and what --fix would do."""
    counts = [
        f"{n} {word if n == 1 else word + 's'}"
        for word in ("error", "warning", "note")
        if (n := report.count(word))
    ]
    files = f"{len(report.files)} file{'' if len(report.files) == 1 else 's'}"
    head = (
        (", ".join(counts[:-1]) + " and " + counts[-1] if len(counts) > 1 else counts[0])
        if counts
        else "no findings"
    )
    safe = sum(one.hit.fix is not None and one.hit.fix.safe for _, one in report.findings)
    more = f"; {safe} can be fixed with --fix" if safe else ""
    done = f"; {report.fixed} fixed" if report.fixed else ""
    failed = sum(file.failure is not None for file in report.files)
    broken = f"; {failed} could not be read" if failed else ""
    total = sum(file.waste.high for file in report.files)
    wasted = f"; up to {size(total)} can go in all" if total and len(report.files) > 1 else ""
    return f"{head} in {files}{more}{done}{broken}{wasted}"
