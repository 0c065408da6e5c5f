"""Thirty-one planted GPU mistakes: each is found by the rule that is about it, and its corrected twin is silent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuimage.finding import Finding
from gpuimage.lint.run import lint_bytes

PLANTED = Path(__file__).parent / "lint_planted.txt"


def sections() -> Iterator[tuple[str, str]]:
    parts = re.split(r"^### (.+)\n", PLANTED.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return zip(parts[::2], parts[1::2], strict=True)


FOUND = [(head.split(), text) for head, text in sections() if head.startswith("planted")]
NAMES = [head[1] for head, _ in FOUND]
TWINS = [text for head, text in sections() if head == "twin"]
CONTROL = [text for head, text in sections() if head.startswith("control")]


def findings(text: str, folder: Path) -> tuple[Finding, ...]:
    return lint_bytes(text.encode(), folder / "Dockerfile").files[0].findings


def test_there_are_thirty_one_of_them_and_a_control() -> None:
    assert (len(FOUND), len(TWINS), len(CONTROL)) == (31, 31, 1)


@pytest.mark.parametrize(("head", "text"), FOUND, ids=NAMES)
def test_a_planted_mistake_is_found_by_its_rule_on_its_line(
    head: list[str], text: str, tmp_path: Path
) -> None:
    _, _, code, line = head
    assert (code, int(line)) in {(one.rule.code, one.line) for one in findings(text, tmp_path)}


@pytest.mark.parametrize("text", TWINS, ids=NAMES)
def test_the_corrected_twin_has_no_finding_of_weight(text: str, tmp_path: Path) -> None:
    assert [one for one in findings(text, tmp_path) if one.severity != "note"] == []


def test_the_control_is_silent(tmp_path: Path) -> None:
    assert findings(CONTROL[0], tmp_path) == ()
