"""The linter's formats: valid for those who read them, whatever stands in a Dockerfile, and never a secret."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import sarif_pydantic

from gpuimage.dockerfile import Source
from gpuimage.finding import FileReport, Report
from gpuimage.lint.run import lint_bytes
from gpuimage.reporters.lint import LINT_REPORTERS

SECRET = "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"
HOSTILE = (
    "FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04\n"
    "RUN pip install torch==2.9.1 # ]]> <b>&amp; | `x` %0A ::error::x \x1b[31m \u202e\n"
    'ENV NVIDIA_DRIVER_CAPABILITIES="utilty|<script>\x1b[2J"\n'
    "RUNN ]]>&<x> | [link](http://x) ::set-output name=a::b\n"
    f"ENV HF_TOKEN={SECRET}\n"
)
NAME = "a, b:c/Dockerfile %\n<&\"'|"


@pytest.fixture(scope="module")
def hostile() -> Report:
    """A report with every kind of trouble: names, findings, a file that could not be read."""
    report = lint_bytes(HOSTILE.encode(), Path(NAME))
    unread = FileReport("missing/<&\n", Source(""), failure="no such file ]]> \x1b[1m")
    return Report((*report.files, unread), 0)


@pytest.mark.parametrize("form", LINT_REPORTERS)
def test_no_format_repeats_a_secret(form: str, hostile: Report) -> None:
    shown = LINT_REPORTERS[form](hostile)
    assert "GI801" in shown
    assert SECRET not in shown


@pytest.mark.parametrize("form", LINT_REPORTERS)
def test_no_format_passes_on_what_steers_a_terminal(form: str, hostile: Report) -> None:
    shown = LINT_REPORTERS[form](hostile)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", shown)
    assert shown.endswith("\n")


def test_sarif_holds_what_the_model_of_its_specification_knows_and_nothing_else(hostile: Report) -> None:
    log = json.loads(LINT_REPORTERS["sarif"](hostile))
    model = sarif_pydantic.Sarif.model_validate(log)
    back = json.loads(model.model_dump_json(by_alias=True, exclude_none=True))
    assert back["runs"][0]["results"] == log["runs"][0]["results"]
    assert back["runs"][0]["tool"]["driver"]["rules"] == log["runs"][0]["tool"]["driver"]["rules"]
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    prints = [one["partialFingerprints"]["gpuimage/v1"] for one in run["results"]]
    assert len(set(prints)) == len(prints)
    assert not run["invocations"][0]["executionSuccessful"]


def test_sarif_places_hold_the_text_that_is_meant(hostile: Report) -> None:
    lines = HOSTILE.split("\n")
    for one in json.loads(LINT_REPORTERS["sarif"](hostile))["runs"][0]["results"]:
        region = one["locations"][0]["physicalLocation"]["region"]
        assert region["endLine"] >= region["startLine"] >= 1
        if one["ruleId"] == "GI503":
            assert region["startLine"] == region["endLine"] == 3
            assert lines[2][region["startColumn"] - 1 : region["endColumn"] - 1].startswith("utilty")


def test_a_fingerprint_outlives_lines_that_come_in_above() -> None:
    def prints(text: str) -> set[str]:
        return {one.fingerprint for _, one in lint_bytes(text.encode(), Path("Dockerfile")).findings}

    text = "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN pip install torch==2.9.1\nRUN pip install torch==2.9.1\n"
    above = "# a comment\n\n" + text.replace("FROM", "ARG A=b\nFROM", 1)
    assert prints(text)
    assert prints(text) == prints(above)
    assert len(prints(text)) == len(list(lint_bytes(text.encode(), Path("Dockerfile")).findings))


def test_github_commands_are_one_line_each_and_hold_only_what_was_meant(hostile: Report) -> None:
    *commands, last = LINT_REPORTERS["github"](hostile).splitlines()
    findings = list(hostile.findings)
    assert len(commands) == len(findings) + 2  # what can go in the file, and the file that could not be read
    for line in commands:
        match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert match, line
        properties = dict(one.split("=", 1) for one in match[2].split(","))
        assert set(properties) <= {"file", "line", "endLine", "col", "endColumn", "title"}
        assert "\n" not in match[3]
    assert not last.startswith("::")


def test_checkstyle_and_junit_are_xml_that_counts_right(hostile: Report) -> None:
    root = ElementTree.fromstring(LINT_REPORTERS["checkstyle"](hostile))
    assert [file.get("name") for file in root] == [NAME, "missing/<&\n"]
    assert len(root.findall("file/error")) == len(list(hostile.findings)) + 1
    assert {one.get("severity") for one in root.iter("error")} <= {"error", "warning", "info"}
    suites = ElementTree.fromstring(LINT_REPORTERS["junit"](hostile))
    suite = suites if suites.tag == "testsuite" else suites.findall("testsuite")[0]
    failed = len(list(suites.iter("failure")))
    assert sum(int(one.get("failures", "0")) for one in suites.iter("testsuite")) == failed
    assert failed >= len([one for _, one in hostile.findings if one.severity == "error"])
    assert suite.get("name")


def test_gitlab_issues_have_each_a_fingerprint_and_a_known_severity(hostile: Report) -> None:
    issues = json.loads(LINT_REPORTERS["gitlab"](hostile))
    assert len(issues) == len(list(hostile.findings)) + 1
    assert len({one["fingerprint"] for one in issues}) == len(issues)
    for one in issues:
        assert one["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert one["location"]["lines"]["begin"] >= 1
        assert {"description", "check_name", "fingerprint", "severity", "location"} == set(one)


def test_markdown_tables_keep_their_columns(hostile: Report) -> None:
    rows = [line for line in LINT_REPORTERS["markdown"](hostile).splitlines() if line.startswith("|")]
    assert len(rows) == len(list(hostile.findings)) + 2
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert not any("<script>" in row for row in rows)


def test_json_says_what_its_module_documents(hostile: Report) -> None:
    shown = json.loads(LINT_REPORTERS["json"](hostile))
    assert set(shown) == {"version", "files", "summary"}
    file, unread = shown["files"]
    assert unread["failure"]
    assert file["waste"]["high"] >= file["waste"]["low"] > 0
    assert shown["summary"]["files"] == 2
    counts = dict.fromkeys(("error", "warning", "note"), 0)
    for one in file["findings"]:
        counts[one["severity"]] += 1
        assert set(one) == {
            "rule", "name", "severity", "message", "help", "line", "column", "end_line", "end_column", "cost", "fix",
            "fingerprint",
        }  # fmt: skip
    assert {name: shown["summary"][name] for name in counts} == counts


def test_text_points_at_the_words_also_in_a_long_line_and_among_wide_letters() -> None:
    long = "RUN true " + "x" * 300 + " && pip install torch==2.9.1 " + "y" * 300
    wide = "RUN echo 漢字 && pip install torch==2.9.1"
    for line in (long, wide):
        shown = LINT_REPORTERS["text"](
            lint_bytes(f"FROM python:3.12-slim\n{line}\n".encode(), Path("Dockerfile"))
        ).splitlines()
        at = next(i for i, one in enumerate(shown) if "GI701" in one)
        source, carets = shown[at + 1], shown[at + 2]
        assert len(source) < 140
        start = carets.index("^")
        seen = source.replace("漢字", "漢_字_")  # each takes two columns
        assert seen[start:].startswith("pip install torch==2.9.1")
