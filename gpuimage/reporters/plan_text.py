"""A plan for people: what is chosen and why, what to look at, what was refused, what it will weigh."""

from __future__ import annotations

import textwrap

from gpuimage.plan import Decision, Part, Plan, Refusal
from gpuimage.units import span

_WIDTH = 100


def plan_text(plan: Plan) -> str:
    """The plan as text, ending in a line break."""
    spec = plan.spec.spec
    lines = [f"{spec.image}  ({spec.flavor}, from {plan.spec.path})", ""]
    lines += decision_rows("decided", plan.decisions)
    lines += decision_rows("look at", plan.warnings)
    lines += refusal_rows(plan.refusals)
    lines += _parts(plan)
    return "\n".join(lines).rstrip() + "\n"


def decision_rows(title: str, decisions: tuple[Decision, ...]) -> list[str]:
    """Decisions or warnings under a title, with an empty line behind them; nothing where there are none."""
    if not decisions:
        return []
    lines = [title]
    for decision in decisions:
        source = f" [{decision.source}]" if decision.source else ""
        doubt = " (not verified)" if not decision.verified else ""
        lines += _wrapped(f"  {decision.topic:<15} ", f"{decision.choice}{doubt}")
        lines += _wrapped(" " * 18, decision.because + source)
    return [*lines, ""]


def refusal_rows(refusals: tuple[Refusal, ...]) -> list[str]:
    """What was refused, under its title, as `decision_rows`."""
    if not refusals:
        return []
    lines = [line for one in refusals for line in _wrapped(f"  {one.what}: ", one.because)]
    return ["refused", *lines, ""]


def _wrapped(head: str, text: str) -> list[str]:
    indent = " " * 18 if len(head) >= 18 else " " * len(head)
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _parts(plan: Plan) -> list[str]:
    lines = ["predicted bytes on disk"]
    lines += [f"  {_range(part):>20}  {part.name}  ({part.basis})" for part in plan.parts]
    total = plan.predicted_bytes
    if total:
        unknown = sum(1 for part in plan.parts if part.low is None)
        more = f", and {unknown} part{'s' if unknown > 1 else ''} not known" if unknown else ""
        lines.append(f"  {span(*total):>20}  together{more}")
    return lines


def _range(part: Part) -> str:
    return "not known" if part.low is None or part.high is None else span(part.low, part.high)
