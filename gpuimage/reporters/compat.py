"""What goes together: text for people, JSON for programs, and the table of drivers and CUDA as markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from gpuimage import __version__
from gpuimage.compat import Compatibility
from gpuimage.reporters.wrapped import wrapped
from gpuimage.tables import DriverVerdict, edition

_WORDS = {
    "runs": "runs",
    "minor-version": "runs in minor-version compatibility",
    "jit": "runs by PTX only",
    "forward": "needs forward compatibility",
    "unknown": "not known",
    "refused": "refused",
}
_CELLS = {"full": "full", "minor-version": "minor", "forward": "forward", "refused": "–", "unknown": "?"}


def compat_text(found: Compatibility) -> str:
    """Every rule with its reason, source and change, and one last line with the worst; ends in a line break."""
    lines: list[str] = []
    for check in found.checks:
        lines.append(f"{check.about}: {_WORDS[check.outcome]}")
        lines += _told("why", check.because)
        if check.change:
            lines += _told("try", check.change)
        lines += _told("source", check.source + ("" if check.verified else " (not verified)"))
        lines.append("")
    unsure = found.outcome == "refused" and not found.refused
    end = "probably refused, by a row that nobody verified" if unsure else _WORDS[found.outcome]
    return "\n".join([*lines, f"together: {end}"]) + "\n"


def compat_json(found: Compatibility) -> str:
    """The same as one JSON document, ending in a line break."""
    document = {
        "gpuimage": __version__,
        "edition": edition(),
        "outcome": found.outcome,
        "refused": found.refused,
        "cuda": found.cuda,
        "checks": [msgspec.structs.asdict(check) for check in found.checks],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def matrix_markdown(table: Mapping[str, Mapping[int, DriverVerdict]]) -> str:
    """The table of driver branches and CUDA minors, with a legend; ends in a line break."""
    branches = list(next(iter(table.values())))
    lines = [
        "| CUDA | " + " | ".join(f"R{branch}" for branch in branches) + " |",
        "| --- |" + " --- |" * len(branches),
    ]
    for cuda, row in table.items():
        cells = (
            _CELLS[verdict.outcome] + ("+compat" if _helped(verdict) else "") for verdict in row.values()
        )
        lines.append(f"| {cuda} | " + " | ".join(cells) + " |")
    legend = (
        "full: everything. minor: machine code, but neither PTX of this toolkit nor its newer features. –: CUDA error 35. "
        "+compat: more with the cuda-compat package in the image, on data-centre cards. ?: no source. A branch is judged "
        f"by its newest driver. Tables of {edition()}."
    )
    return "\n".join([*lines, "", legend]) + "\n"


def matrix_json(table: Mapping[str, Mapping[int, DriverVerdict]]) -> str:
    """The same as one JSON document: CUDA, branch, answer."""
    rows = {
        cuda: {str(branch): msgspec.structs.asdict(verdict) for branch, verdict in row.items()}
        for cuda, row in table.items()
    }
    return json.dumps({"gpuimage": __version__, "edition": edition(), "matrix": rows}, indent=2) + "\n"


def _helped(verdict: DriverVerdict) -> bool:
    return verdict.package is not None and verdict.outcome in ("minor-version", "refused")


def _told(word: str, text: str) -> list[str]:
    head = f"  {word}: "
    return wrapped(head, text, len(head))
