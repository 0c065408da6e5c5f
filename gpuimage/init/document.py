"""The draft as a commented spec: every value with the place it was taken from, and what stays out below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from gpuimage.init.notes import Left, Notes, plain
from gpuimage.init.yaml_text import written
from gpuimage.spec import Spec
from gpuimage.tables import edition

_WIDTH = 100
_ASKED = (
    ("gpus", "# gpus: [L4, A10G]", "which GPUs it must run on, by product; or arch: \"8.6;8.9\""),
    ("driver", "# driver: \"550\"", "the oldest host driver to serve; the plan refuses what it cannot run"),
)  # fmt: skip


def document(notes: Notes, sources: Sequence[str]) -> str:
    """The text of the spec."""
    lines = [f"# Written by gpuimage init from {plain(', '.join(sources))}; tables of {edition()}."]
    lines += ["# Change it as you like: `gpuimage plan` shows what follows from it.", ""]
    lines += written(_ordered(notes.values), _comments(notes)).splitlines()
    lines += [
        f"{line:<40}# {why}"
        for key, line, why in _ASKED
        if notes.get((key,)) is None and not (key == "gpus" and notes.get(("arch",)))
    ]
    if notes.missing:
        lines += ["", "# Missing:"]
        for one in notes.missing:
            lines += _comment(f"{one.what}: {one.change}")
    if notes.left:
        lines += ["", "# Left out:"]
        for names, because in grouped(notes.left):
            lines += _comment(f"{names}: {because}")
    return "\n".join(lines) + "\n"


def _ordered(values: Mapping[str, object]) -> dict[str, object]:
    """The keys in the order of the spec's own description."""
    return {
        field.encode_name: values[field.encode_name]
        for field in msgspec.structs.fields(Spec)
        if field.encode_name in values
    }


def _comments(notes: Notes) -> dict[tuple[str, ...], str]:
    """Where each value is from: behind its key, or behind its entry where the entries are from several places."""
    places: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for one in notes.taken:
        says = ": ".join(part for part in (one.where, one.because) if part)
        places.setdefault(one.key, []).append((one.value, plain(says)))
    found: dict[tuple[str, ...], str] = {}
    for key, entries in places.items():
        value = notes.get(key)
        if (
            not isinstance(value, list)
            or len({says for _, says in entries}) == 1
            or key == ("app", "command")
        ):
            found[key] = entries[0][1]
        else:
            found |= {
                (*key, text if key != ("compile",) else text.split(" ")[0].partition("=")[2]): says
                for text, says in entries
            }
    return found


def grouped(left: Sequence[Left]) -> Iterator[tuple[str, str]]:
    """What stays out, an entry for each reason: `libcudnn8, cuda-toolkit-12-4 (Dockerfile:7)`, and the reason."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for one in left:
        places = reasons.setdefault(one.because, {}).setdefault(one.what, [])
        places += [one.where] if one.where not in places else []
    for because, whats in reasons.items():
        together: dict[str, list[str]] = {}
        for what, places in whats.items():
            together.setdefault(_places(what, places), []).append(what)
        yield "; ".join(", ".join(names) + place for place, names in together.items()), because


def _places(what: str, places: Sequence[str]) -> str:
    """` (Dockerfile:7, 12)`; nothing for a file that is named already."""
    files: dict[str, list[str]] = {}
    for place in places:
        file, _, line = place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "")
        files.setdefault(file, []).append(line)
    shown = [f"{file}:{', '.join(lines)}" if any(lines) else file for file, lines in files.items() if file]
    return f" ({'; '.join(shown)})" if shown and shown != [what] else ""


def _comment(text: str) -> list[str]:
    import textwrap  # noqa: PLC0415

    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="#   ",
        subsequent_indent="#     ",
        break_long_words=False,
        break_on_hyphens=False,
    )
