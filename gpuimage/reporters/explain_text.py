"""What is behind known errors, for people."""

from __future__ import annotations

from collections.abc import Sequence

from gpuimage.explain import Diagnosis
from gpuimage.reporters.visible import visible
from gpuimage.reporters.wrapped import wrapped

_STAGES = {
    "build": "while the image is built",
    "start": "when the container starts",
    "run": "when the program runs",
}


def explain_text(found: Sequence[Diagnosis]) -> str:
    """Every error with its place, cause, check and cure; ends in a line break."""
    blocks = []
    for one in found:
        times = f", {one.count} times" if one.count > 1 else ""
        lines = _wrapped(f"line {one.line}{times}: ", one.text)
        lines += _wrapped(f"  {one.error.id}, {_STAGES[one.error.stage]}: ", one.error.cause)
        for fact in one.facts:
            lines += _wrapped("  here: ", fact)
        lines += _wrapped("  check: ", one.error.check)
        lines += _wrapped("  try: ", one.error.fix)
        lines += _wrapped("  source: ", one.error.source + ("" if one.error.verified else " (not verified)"))
        blocks.append("\n".join(lines))
    if len(found) > 1:
        blocks.append("The first one is the likeliest cause of those behind it.")
    return "\n\n".join(blocks) + "\n"


def _wrapped(head: str, text: str) -> list[str]:
    return wrapped(head, visible(text), 4)
