"""What a machine has and lacks: text for people, JSON for programs."""

from __future__ import annotations

import json

import msgspec

from gpuimage import __version__
from gpuimage.doctor import Checkup, Line
from gpuimage.reporters.visible import visible
from gpuimage.reporters.wrapped import wrapped
from gpuimage.tables import edition

_AREAS = {"engine": "engine", "gpu": "GPU", "network": "network"}
_INDENT = 11


def doctor_text(found: Checkup) -> str:
    """The lines by area, each with its reason and the commands that mend it, and a last one; ends in a line break."""
    lines: list[str] = []
    for area, title in _AREAS.items():
        of_area = [line for line in found.lines if line.area == area]
        width = max((len(line.name) for line in of_area), default=0)
        lines += [title, *(text for line in of_area for text in _told(line, width)), ""]
    return "\n".join([*lines, *_sentences(found)]) + "\n"


def doctor_json(found: Checkup) -> str:
    """The same as one JSON document, ending in a line break."""
    document = {
        "gpuimage": __version__,
        "edition": edition(),
        "root": found.root,
        "engine": found.engine,
        "passed": found.passed,
        "can_build": found.can_build,
        "can_use_gpu": found.can_use_gpu,
        "lines": [msgspec.structs.asdict(line) for line in found.lines],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _told(line: Line, width: int) -> list[str]:
    head = f"  {line.status:<7}  {line.name:<{width}}  "
    told = wrapped(head, visible(line.seen), len(head))
    if line.why:
        told += wrapped(f"{'':<{_INDENT}}why: ", visible(line.why), _INDENT + 5)
    # A command stays in one piece, to be copied.
    told += [f"{'':<{_INDENT}}$ {visible(command)}" for command in line.mend]
    return told


def _sentences(found: Checkup) -> list[str]:
    possible = f"possible, by {found.engine}" if found.engine else "not judged, no engine was asked"
    return [
        f"building images: {_because(found.stopped('build')) or possible}",
        f"a GPU in containers: {_because(found.stopped('gpu')) or 'possible'}",
    ]


def _because(names: tuple[str, ...]) -> str:
    return f"not possible ({', '.join(dict.fromkeys(names))})" if names else ""
