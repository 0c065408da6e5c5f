"""What of a plan follows from one key: text for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from gpuimage import __version__
from gpuimage.explain import KeyAnswer
from gpuimage.reporters.plan_text import decision_rows, refusal_rows
from gpuimage.reporters.visible import visible
from gpuimage.tables import edition


def key_text(answers: Sequence[KeyAnswer]) -> str:
    """Each image's answer under the key, its value and place; ends in a line break."""
    blocks = []
    for answer in answers:
        lines = [visible(_head(answer, len(answers) > 1)), ""]
        if answer.stopped is not None:
            about = (
                "this key stops the plan"
                if answer.about_key
                else "the plan stops before it says anything of this key"
            )
            lines += [f"{about}:", *(f"  {line}" for line in str(answer.stopped).splitlines()), ""]
        lines += decision_rows("decided", answer.decisions)
        lines += decision_rows("look at", answer.warnings)
        lines += refusal_rows(answer.refusals)
        if answer.written:
            lines += [
                "in the Dockerfile",
                *(f"  line {one.line}: {visible(one.text)}" for one in answer.written),
                "",
            ]
        if answer.silent:
            lines += [
                "decided nothing: no decision, warning, refusal or instruction of this plan follows from it",
                "",
            ]
        blocks.append("\n".join(lines).rstrip())
    return "\n\n".join(blocks) + "\n"


def _head(answer: KeyAnswer, several: bool) -> str:
    image = f"{answer.image}: " if several else ""
    if not answer.is_key:
        return f"{image}{answer.path}: {answer.key}, a topic of the plan"
    value = "left out" if answer.value is None else answer.value
    default = f"; the default is {answer.default}" if answer.default is not None and answer.where else ""
    given = f"{answer.where}" if answer.where else f"{answer.path}, not given: this is the default"
    return f"{image}{answer.key}: {value}  ({given}{default})"


def key_json(answers: Sequence[KeyAnswer]) -> str:
    """One document with an answer for each image; ends in a line break."""
    document = {"gpuimage": __version__, "edition": edition(), "answers": [_answer(one) for one in answers]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _answer(answer: KeyAnswer) -> dict[str, object]:
    stopped, where = answer.stopped, answer.where
    return {
        "spec": str(answer.path), "image": answer.image, "key": answer.key, "is_key": answer.is_key,
        "value": answer.value, "default": answer.default,
        "line": where.line if where else None, "column": where.column if where else None,
        "decisions": [asdict(one) for one in answer.decisions],
        "warnings": [asdict(one) for one in answer.warnings],
        "refusals": [asdict(one) for one in answer.refusals],
        "dockerfile": [{"line": one.line, "text": one.text} for one in answer.written],
        "stopped": None if stopped is None else {
            "what": stopped.what, "why": stopped.why, "hint": stopped.hint, "about_key": answer.about_key,
            "line": stopped.where.line if stopped.where else None,
        },
    }  # fmt: skip
