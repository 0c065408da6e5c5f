"""The README's examples of the verbs that need no engine say what the verbs say; the other verbs' tests hold theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuimage import cli
from tests.conftest import Command
from tests.readme import README, Shown, compare, section, shown

TORCH = README.parent / "examples" / "torch-inference"


@pytest.mark.parametrize(
    "example",
    [
        *shown("### plan")[:1],
        *shown("### lock"),
        *shown("### render"),
        *shown("### schema"),
        *shown("### rules"),
    ],
    ids=lambda example: example.command,
)
def test_the_readme_shows_what_a_verb_says_of_an_example(
    example: Shown, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(TORCH)
    code, out, err = command(*example.arguments)
    assert (code, err) == (0, "")
    compare(example, out)


def test_the_readme_shows_how_a_plan_is_refused(command: Command, work: Path) -> None:
    (work / "spec.yaml").write_text(
        'image: a/b:1\npython: "3.13"\ncuda: "13.0"\ngpus: [GeForce RTX 4090]\ndriver: "570"\nwheels: [torch==2.13.0]\n'
    )
    example = shown("### plan")[1]
    code, _, err = command(*example.arguments)
    assert code == 2
    compare(example, err)
    text = (work / "spec.yaml").read_text().replace('cuda: "13.0"\n', "")
    (work / "spec.yaml").write_text(text)
    code, out, _ = command("plan", "--offline", "--format", "json", "spec.yaml")
    assert (code, json.loads(out)["variant"]) == (0, "cu129")


def test_the_spec_of_the_readme_is_one(command: Command, work: Path) -> None:
    text = section("## A spec").split("```yaml\n")[1].split("```")[0]
    (work / "spec.yaml").write_text(text)
    (work / "inference.py").touch()
    code, out, _ = command("plan", "--offline", "spec.yaml")
    assert code == 0
    assert "registry.example.com/team/infer:1.4.0" in out


def test_every_verb_has_a_section_with_an_example() -> None:
    for verb in cli.cli.list_commands(None):  # type: ignore[arg-type]
        assert any(example.arguments[:1] == [verb] and example.lines for example in shown(f"### {verb}")), (
            f"the README does not show {verb}"
        )
