"""Reports of builds and smoke tests: complete, well-formed whatever an image prints, and nothing guessed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from gpuimage.build import BuildResult
from gpuimage.engine import ImageInfo, LayerInfo
from gpuimage.inspect import WheelInfo
from gpuimage.lock import lock_beside
from gpuimage.plan import plan
from gpuimage.report import BuildReport
from gpuimage.reporters.results import BUILD_REPORTERS, SMOKE_REPORTERS
from gpuimage.smoke import SmokeReport, Verdict
from gpuimage.spec import load_spec
from gpuimage.units import size, span

SPEC = Path(__file__).parent.parent / "examples" / "quickstart" / "spec.yaml"
NASTY = "\x1b[31mred\x1b[0m\x00 \ud800 <b>&amp;</b> ]]> | a `b` \\ *c*"
VERDICTS = (
    Verdict("elf-closure", "T0", "passed", "813 libraries find all they need", 0.25, ("a note",)),
    Verdict(
        "import torch", "T1", "failed", f"ImportError: {NASTY}", 1.5, ("Traceback", NASTY, "```", "last")
    ),
    Verdict("gpu", "T2", "skipped", "there is no GPU here (no /dev/nvidia*)"),
    Verdict("sh -c 'echo \"hi\"\n exit 3'", "T3", "failed", "ended with status 3", 0.1, ("hi",)),
)
REPORT = SmokeReport("example.com/x:1", "docker", VERDICTS, "Torch Version: 2.9.1, Is CUDA Available: False")

texts = st.text(st.characters(codec="utf-8"), max_size=60)
verdicts = st.builds(
    Verdict,
    probe=texts,
    tier=st.sampled_from(["T0", "T1", "T2", "T3"]),
    status=st.sampled_from(["passed", "failed", "skipped"]),
    reason=texts,
    seconds=st.floats(0, 1e4),
    evidence=st.lists(texts, max_size=3).map(tuple),
)
reports = st.builds(SmokeReport, texts, texts, st.lists(verdicts, max_size=6).map(tuple), st.none() | texts)


def result(report: SmokeReport | None = REPORT) -> BuildResult:
    """A finished build of the quickstart, as an engine would describe it."""
    file = load_spec(SPEC)
    layers = (
        LayerInfo("RUN |1 A=b /bin/sh -c apt-get update # buildkit", 100_000_000),
        LayerInfo("/bin/sh -c #(nop) COPY file:1 in /x", 700),
        LayerInfo("", 5),
    )
    image = ImageInfo("sha256:" + "0" * 64, 2_150_000_000, layers)
    made = plan(file, lock_beside(file))
    return BuildResult(made, image, "docker", ("a/b:1", "a/b:2"), report)


def build_report(made: BuildResult) -> BuildReport:
    return BuildReport(
        made.plan.spec, "docker", datetime(2026, 12, 1, tzinfo=UTC), plan=made.plan, result=made
    )


def test_text_has_a_line_a_verdict_the_evidence_of_failures_and_a_last_sentence() -> None:
    lines = SMOKE_REPORTERS["text"](REPORT).splitlines()
    assert [line.split()[:2] for line in lines if line[:2] in ("T0", "T1", "T2", "T3")] == [
        ["T0", "ok"], ["T1", "FAILED"], ["T2", "skipped"], ["T3", "FAILED"],
    ]  # fmt: skip
    assert "      Traceback" in lines
    assert "      last" in lines
    assert not any("a note" in line for line in lines)  # what passed needs no evidence
    assert "Torch Version: 2.9.1, Is CUDA Available: False" in lines
    assert lines[-1].startswith("FAILED: 2 of 3 probes: import torch, sh -c")
    assert lines[-1].endswith("1 skipped")


def test_a_report_without_failures_says_passed_and_counts_the_skipped() -> None:
    report = SmokeReport("x", "podman", (VERDICTS[0], VERDICTS[2]))
    assert SMOKE_REPORTERS["text"](report).splitlines()[-1] == "passed: 1 probe, 1 skipped"


def test_a_long_reason_is_wrapped_and_loses_no_word() -> None:
    words = [f"library{i}.so.{i}" for i in range(60)]
    text = SMOKE_REPORTERS["text"](
        SmokeReport("x", "docker", (Verdict("p", "T0", "failed", " ".join(words)),))
    )
    assert [word for word in text.split() if word in words] == words
    assert max(len(line) for line in text.splitlines()) <= 110


@given(reports)
def test_json_says_everything(report: SmokeReport) -> None:
    read = json.loads(SMOKE_REPORTERS["json"](report))
    assert read["passed"] == report.passed
    assert sum(read["counts"].values()) == len(report.verdicts)
    for row, verdict in zip(read["verdicts"], report.verdicts, strict=True):
        assert row["evidence"] == list(verdict.evidence)
        assert (row["probe"], row["tier"], row["status"], row["reason"]) == (
            verdict.probe, verdict.tier, verdict.status, verdict.reason,
        )  # fmt: skip


@given(reports)
def test_junit_is_xml_whose_counts_are_those_of_its_cases(report: SmokeReport) -> None:
    [suite] = ElementTree.fromstring(SMOKE_REPORTERS["junit"](report))
    cases = suite.findall("testcase")
    assert int(suite.attrib["tests"]) == len(cases) == len(report.verdicts)
    for attribute, tag in (("failures", "failure"), ("skipped", "skipped")):
        assert int(suite.attrib[attribute]) == sum(case.find(tag) is not None for case in cases)
    assert all(case.find("failure") is None or "message" in case.find("failure").attrib for case in cases)  # type: ignore[union-attr]


def test_junit_survives_control_characters_and_keeps_the_rest() -> None:
    [suite] = ElementTree.fromstring(SMOKE_REPORTERS["junit"](REPORT).encode())
    failure = suite.findall("testcase")[1].find("failure")
    assert failure is not None
    assert failure.text is not None
    assert "<b>&amp;</b> ]]> | a `b`" in failure.text
    assert failure.text.splitlines()[-1] == "last"


def tables(text: str) -> list[list[list[str]]]:
    """The cells of each table, as an independent parser of GitHub's Markdown reads them."""
    found: list[list[list[str]]] = []
    inside = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in ("table_open", "table_close"):
            inside = token.type == "table_open"
            found += [[]] if inside else []
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and inside:
            found[-1][-1].append("".join(child.content for child in token.children or ()))
        assert token.type != "html_block"
        assert all(child.type != "html_inline" for child in token.children or ())
    return found


@given(verdicts, verdicts)
def test_markdown_has_a_row_of_four_cells_for_each_verdict(first: Verdict, second: Verdict) -> None:
    text = SMOKE_REPORTERS["markdown"](SmokeReport("x", "docker", (first, second)))
    rows = tables(text)[0]
    assert len(rows) == 3
    assert all(row[0] in ("tier", "T0", "T1", "T2", "T3") for row in rows)
    assert all(len(row) == 4 for row in rows)


def test_markdown_keeps_evidence_in_fences_that_it_cannot_close() -> None:
    tokens = MarkdownIt("commonmark").parse(SMOKE_REPORTERS["markdown"](REPORT).replace("\ud800", "?"))
    fences = [token.content for token in tokens if token.type == "fence"]
    assert len(fences) == 2
    assert fences[0].splitlines()[-2:] == ["```", "last"]


def test_a_build_shows_its_size_against_prediction_and_budget() -> None:
    made = result()
    predicted = made.plan.predicted_bytes
    assert predicted is not None
    text = BUILD_REPORTERS["text"](build_report(made))
    assert f"2.15 GB (predicted {span(*predicted)}, budget 3.00 GB)" in text
    assert "a/b:1, a/b:2" in text
    assert "100 MB  RUN apt-get update\n" in text
    assert "700 B  COPY file:1 in /x\n" in text
    assert "(no instruction is recorded)" in text


def test_wheels_stand_beside_what_the_lock_predicted_and_unknown_is_said() -> None:
    lock = result().plan.lock
    assert lock is not None
    known = next(package for package in lock.packages if package.installed_bytes)
    wheels = (
        WheelInfo(known.name, known.version, 123_000_000, "/site"),
        WheelInfo("stranger", "1.0", 50_000_000, "/site"),
        WheelInfo("without-a-record", "1.0", 0, "/dist"),
        *(WheelInfo(f"small{i}", "1", 1000, "/site") for i in range(20)),
    )
    made = result(SmokeReport("a/b:1", "docker", (), wheels=wheels))
    text = BUILD_REPORTERS["text"](build_report(made))
    assert f"123 MB  ({size(known.installed_bytes or 0)})  {known.name} {known.version}\n" in text
    assert "50 MB  (not known)  stranger 1.0\n" in text
    assert "without-a-record" not in text
    assert "10 kB  (not known)  10 smaller wheels\n" in text
    read = json.loads(BUILD_REPORTERS["json"](build_report(made)))
    assert read["smoke"]["wheels"][0] == {"name": known.name, "version": known.version, "bytes": 123_000_000}


@pytest.mark.parametrize("form", sorted(BUILD_REPORTERS))
def test_a_build_without_a_smoke_test_is_no_passed_smoke_test(form: str) -> None:
    text = BUILD_REPORTERS[form](build_report(result(report=None)))
    assert "passed: " not in text
    assert "ok" not in text.split()
    if form == "text":
        assert text.endswith("built, not smoke-tested\n")
    if form == "json":
        assert json.loads(text)["smoke"] is None
    if form == "junit":
        assert [suite.attrib["name"] for suite in ElementTree.fromstring(text)] == ["gpuimage build a/b:1"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_500_000, "2 MB"),
        (2_150_000_000, "2.15 GB"),
        (10**13, "10000.00 GB"),
    ],
)
def test_bytes_are_written_in_decimal_units(value: int, text: str) -> None:
    assert size(value) == text
