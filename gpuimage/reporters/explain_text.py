"""What is behind known errors, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpuimage.explain import Cause, Diagnosis
from gpuimage.reporters.visible import visible
from gpuimage.reporters.wrapped import wrapped

_STAGES = {
    "build": "while the image is built",
    "start": "when the container starts",
    "run": "when the program runs",
}


def explain_text(found: Sequence[Diagnosis]) -> str:
    """Every error with its place, cause, check and cure, the first cause first; ends in a line break."""
    lines = {one.error.id: one.line for one in found}
    blocks = ["\n".join(_block(one, lines)) for one in found]
    if len(found) > 1:
        blocks.append("The first one is the likeliest cause of those behind it.")
    return "\n\n".join(blocks) + "\n"


def _block(one: Diagnosis, lines: Mapping[str, int]) -> list[str]:
    times = f", {one.count} times" if one.count > 1 else ""
    said = _wrapped(f"line {one.line}{times}: ", one.text)
    said += _wrapped(f"  {one.error.id}, {_STAGES[one.error.stage]}: ", one.error.cause)
    if one.follows:
        said.append(f"  follows from: line {lines[one.follows]}, {one.follows}")
    for fact in one.facts:
        said += _wrapped("  here: ", fact)
    for cause in one.spec:
        said += _cause("in the spec", cause)
    for cause in one.image:
        said += _cause("in the image", cause)
    said += _wrapped("  check: ", one.error.check)
    said += _wrapped("  try: ", one.error.fix)
    return said + _wrapped("  source: ", one.error.source + ("" if one.error.verified else " (not verified)"))


def _cause(place: str, cause: Cause) -> list[str]:
    head = f"  {place}: "
    if cause.verdict == "unknown":
        head += "not known: "
    if cause.key is not None:
        value = "is not given" if cause.value is None else f"= {cause.value}"
        default = (
            " (the default)" if cause.value is not None and cause.where and cause.where.line is None else ""
        )
        head += f"{cause.where}: {cause.key} {value}{default}: "
    lines = _wrapped(head, cause.because)
    return lines + (_wrapped("    change: ", cause.change) if cause.change else [])


def _wrapped(head: str, text: str) -> list[str]:
    first = head[: len(head) - len(head.lstrip())]
    return wrapped(first, visible(head.lstrip() + text), 4)
