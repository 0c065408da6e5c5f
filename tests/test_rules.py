"""Each rule on its own cases and on the examples of its page: what it hits, what it leaves alone, what its fixes write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gpuimage import rules
from gpuimage.dockerfile import Source, parse
from gpuimage.facts import FileFacts, Settings
from gpuimage.finding import FAMILIES, Hit, Rule
from gpuimage.lint.fixes import apply
from gpuimage.lint.run import lint_bytes
from gpuimage.rules import all_rules, load

RULES = all_rules()
CASES = Path(__file__).parent / "lint_cases"
_HEAD = re.compile(
    r"### (?P<kind>hit|silent|unknown)(?P<lines>( \d+)*)( \[(?P<options>[^\]]*)\])?: (?P<title>.+)"
)
_PART = re.compile(r"### (file (?P<file>\S+)|(?P<fixed>fixed))")


@dataclass
class Case:
    """A Dockerfile, the files beside it, the lines that must be hit, and what the fixes make of it."""

    title: str
    lines: list[int]
    settings: dict[str, Any]
    text: str = ""
    files: dict[str, str] = field(default_factory=dict)
    fixed: str | None = None


def cases(path: Path) -> Iterator[Case]:
    case: Case | None = None
    into: str | None = ""
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        head, part = _HEAD.fullmatch(line.rstrip("\n")), _PART.fullmatch(line.rstrip("\n"))
        if head:
            if case is not None:
                yield case
            case = Case(
                f"{head['kind']}: {head['title']}",
                [int(n) for n in head["lines"].split()],
                options(head["options"]),
            )
            assert bool(case.lines) == (head["kind"] == "hit"), f"{path.name}: {line}"
            into = None
        elif part and case is not None:
            into = part["file"] or "fixed"
            if into == "fixed":
                case.fixed = ""
            else:
                case.files[into] = ""
        else:
            assert case is not None, f"{path.name}: {line}"
            assert not line.startswith("###"), f"{path.name}: {line}"
            if into is None:
                case.text += line
            elif into == "fixed":
                case.fixed = (case.fixed or "") + line
            else:
                case.files[into] += line
    if case is not None:
        yield case


def options(text: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in (text or "").split():
        name, _, value = part.partition("=")
        found[name] = tuple(value.split(",")) if name in ("archs", "registries") else value
    return found


def hits(rule: Rule, text: str, folder: Path | None = None, **settings: Any) -> list[tuple[int, Hit]]:
    source = Source.decode(text.encode())
    file = FileFacts(parse(source), Settings(**settings), folder)
    # What a comment ignores is only known after all rules ran.
    every = (
        rule.check(file)
        if rule.code != "GI906"
        else (
            one.hit
            for one in lint_bytes(text.encode(), Path("Dockerfile")).files[0].findings
            if one.rule is rule
        )
    )
    found = {(one.span, one.message): one for one in every}
    return sorted(
        ((source.position(one.span.start)[0], one) for one in found.values()), key=lambda pair: pair[0]
    )


def words(text: str, **settings: Any) -> str:
    return FileFacts(parse(Source.of(text)), Settings(**settings)).words


EVERY = [
    pytest.param(rule, case, id=f"{rule.code}-{case.title}")
    for rule in RULES
    for case in (cases(CASES / f"{rule.code}.txt") if (CASES / f"{rule.code}.txt").exists() else ())
]


@pytest.mark.parametrize(("rule", "case"), EVERY)
def test_a_rule_hits_exactly_the_lines_of_its_case(rule: Rule, case: Case, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for name, text in case.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = hits(rule, case.text, tmp_path, **case.settings)
    assert [line for line, _ in found] == case.lines, [hit.message for _, hit in found]
    assert not found or rule in load(words(case.text, **case.settings)), (
        "its words in rules/__init__.py let it sleep here"
    )
    if case.fixed is not None:
        fixes = [hit.fix for _, hit in found if hit.fix]
        source = Source.decode(case.text.encode())
        fixed, _ = apply(source, fixes)
        assert fixed == case.fixed


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_has_cases_of_every_kind(rule: Rule) -> None:
    titles = [case.title for case in cases(CASES / f"{rule.code}.txt")]
    kinds = {title.partition(":")[0] for title in titles}
    assert {"hit", "silent", "unknown"} <= kinds


def blocks(rule: Rule, heading: str) -> list[str]:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", rule.page, re.MULTILINE | re.DOTALL)
    return re.findall(r"```dockerfile\n(.*?)```", section[1], re.DOTALL) if section else []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_examples_of_a_page_are_what_they_say(rule: Rule, tmp_path: Path) -> None:
    settings = re.search(r"^With `(.+?)`", rule.page, re.MULTILINE)
    given = options(settings[1].replace('"', "").replace(" = ", "=")) if settings else {}
    (tmp_path / ".git").mkdir()
    bad, good = blocks(rule, "Bad"), blocks(rule, "Good")
    assert bad
    assert good
    for text in bad:
        assert hits(rule, text, tmp_path, **given), text
        assert rule in load(words(text, **given))
    for text in good:
        assert not hits(rule, text, tmp_path, **given), text


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_page_says_why_what_it_costs_what_instead_and_what_is_not_judged(rule: Rule) -> None:
    headings = re.findall(r"^## (.+)$", rule.page, re.MULTILINE)
    assert headings == ["Why", "Cost", "Instead", "Bad", "Good", "Not judged"]
    assert rule.summary.endswith(".")
    assert len(rule.summary) <= 110


def test_codes_and_names_are_unique_in_order_and_of_a_family() -> None:
    codes = [rule.code for rule in RULES]
    assert {rule.code: rule.name for rule in RULES} == rules.NAMES
    assert codes == sorted(set(codes))
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(re.fullmatch(r"GI\d{3}", code) and code[2] in FAMILIES for code in codes)
    assert all(re.fullmatch(r"[a-z]+(-[a-z0-9]+)+", rule.name) for rule in RULES)


def test_every_file_of_rules_is_in_the_list() -> None:
    assert {rule.code for rule in RULES if rule.optional} == rules.OPTIONAL
    folder = Path(rules.__file__).parent
    assert sorted(path.stem for path in folder.glob("gi*.py")) == sorted(rules.MODULES)
    assert {path.stem for path in CASES.iterdir()} == {rule.code for rule in RULES}
