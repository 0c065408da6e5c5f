"""Reports of a build in every form: what failed, sizes, growth; what an image says never becomes markup; where they go."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gpuimage.cli.report import Outputs, baseline_of
from gpuimage.engine import LayerInfo
from gpuimage.errors import BuildError, Location, PlanError, SpecError
from gpuimage.growth import GrowthLimit
from gpuimage.inspect import WheelInfo
from gpuimage.report import BuildReport
from gpuimage.reporters.build_files import ReportDirectory, StepSummary
from gpuimage.reporters.build_html import build_html
from gpuimage.reporters.build_json import build_json
from gpuimage.reporters.build_markdown import build_markdown
from gpuimage.reporters.build_text import build_text
from gpuimage.reporters.junit import build_junit
from gpuimage.smoke import Verdict
from gpuimage.spec import load_spec, variants
from tests.builds import LAYERS, VERDICTS, WHEELS, baseline_from, budgeted, failed, made
from tests.conftest import Command
from tests.readme import blocks, section

BROKEN = Verdict("import cupy", "T1", "failed", "ImportError: no libnvrtc", 1.5, ("Traceback", "last line"))
STEP = BuildError(
    "the step RUN apt-get install nothing failed",
    where=Location(Path("spec.yaml"), 3, 6, "apt"),
    why="Dockerfile line 12, from `apt`: its command ended with exit code 100",
    hint="look at the log",
    log=("Reading package lists...", "E: Unable to locate package nothing"),
)
GROWN = (*LAYERS[:1], LayerInfo(LAYERS[1].created_by, 2_300_000_000), *LAYERS[2:])
NEWER = (WheelInfo("numpy", "2.6.0", 152_000_000, "/site"), *WHEELS[:2])


def document(report: BuildReport) -> Any:
    return json.loads(build_json(report))


# --- what failed -------------------------------------------------------------------------------------------------

EXAMPLES: dict[str, Callable[[], BuildReport]] = {
    "passed": made,
    "a failed probe": lambda: made(verdicts=(*VERDICTS, BROKEN)),
    "no smoke test": lambda: made(smoked=False),
    "image budget": lambda: made(file=budgeted(image="2GB"), smoked=False),
    "layer budget": lambda: made(file=budgeted(layer="1GB"), smoked=False),
    "wheel budget": lambda: made(file=budgeted(wheel="500MB")),
    "a failed step": lambda: failed(STEP),
    "no plan": lambda: failed(PlanError("driver 570 cannot run CUDA 13.0"), planned=False),
    "a push that failed": lambda: made(failure=SpecError("the registry refused the push")),
}
PASSED = {"passed", "no smoke test"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_form_agrees_on_the_outcome(name: str) -> None:
    report, good = EXAMPLES[name](), name in PASSED
    assert report.passed is good
    told = document(report)
    assert told["passed"] is good
    assert told["says"].startswith("FAILED: ") is not good
    assert ("FAILED" in build_text(report)) is not good
    assert ("FAILED" in build_markdown(report)) is not good
    suites = JUnitXml.fromstring(build_junit(report).encode())
    bad = sum(suite.failures + suite.errors for suite in suites)
    assert (bad == 0) is good


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        ({"image": "2GB"}, "the image budget is 2.00 GB, and the image has 2.10 GB"),
        ({"layer": "1GB"}, "the layer budget is 1.00 GB, and RUN pip install --requirement /tmp/spec.lock has 2.00 GB"),
        ({"layer": "1MB"}, "the layer budget is 1 MB, and RUN pip install --requirement /tmp/spec.lock has 2.00 GB (and 1 more)"),
    ],
)  # fmt: skip
def test_image_and_layer_budgets_hold_without_a_smoke_test(budget: dict[str, str], says: str) -> None:
    report = made(file=budgeted(**budget), smoked=False)
    assert document(report)["says"] == f"FAILED: {says}"
    assert build_text(report).endswith(f"FAILED: {says}\n")


def test_a_wheel_budget_is_held_by_what_the_smoke_test_found_and_else_said_to_be_unmeasured() -> None:
    file = budgeted(wheel="500MB")
    wheel = document(made(file=file))["budgets"][2]
    assert (wheel["status"], wheel["name"], wheel["actual"]) == (
        "failed",
        "nvidia-cublas 13.1.1.3",
        597_000_000,
    )
    assert wheel["over"] == [{"name": "nvidia-cublas 13.1.1.3", "bytes": 597_000_000}]
    unmeasured = made(file=file, smoked=False)
    assert unmeasured.passed
    assert document(unmeasured)["budgets"][2]["status"] == "skipped"
    assert "only a smoke test measures a wheel" in build_junit(unmeasured)


def test_a_failed_step_is_told_with_its_place_reason_and_log() -> None:
    report = failed(STEP)
    told = document(report)["failure"]
    assert (told["where"], told["exit_code"]) == ("spec.yaml:3:6", 4)
    assert told["log"] == list(STEP.log)
    assert document(report)["bytes"]["total"] is None
    assert document(report)["dockerfile"].startswith("# Rendered by gpuimage")
    text = build_markdown(report)
    for line in (STEP.what, "spec.yaml:3:6", "E: Unable to locate package nothing"):
        assert line in text
    [case] = [case for suite in JUnitXml.fromstring(build_junit(report).encode()) for case in suite if case.name == "build"]  # fmt: skip
    assert isinstance(case.result[0], Error)
    assert "E: Unable to locate" in str(case.result[0].text)


def test_what_ended_before_a_plan_has_a_report_all_the_same() -> None:
    report = failed(PlanError("driver 570 cannot run CUDA 13.0"), planned=False)
    told = document(report)
    assert (told["plan"], told["dockerfile"], told["lock"], told["id"]) == (None, None, None, None)
    assert "driver 570 cannot run CUDA 13.0" in build_html(report)


def test_the_document_says_what_was_planned_locked_and_measured() -> None:
    told = document(made())
    assert (told["format"], told["kind"], told["engine"]) == (1, "build", "docker")
    assert told["tags"] == [told["image"]]
    assert told["seconds"] == {"plan": 0.25, "build": 60.0, "smoke": 8.5}
    assert told["started"] == "2026-12-01T08:30:00+00:00"
    assert told["bytes"]["total"] == sum(layer["bytes"] for layer in told["bytes"]["layers"])
    [cublas] = [wheel for wheel in told["wheels"] if wheel["name"] == "nvidia-cublas"]
    [locked] = [wheel for wheel in told["plan"]["wheels"] if wheel["name"] == "nvidia-cublas"]
    assert (cublas["bytes"], cublas["predicted"]) == (597_000_000, locked["installed"])
    assert told["lock"]["file"] == "spec.lock"
    assert "secret" not in json.dumps(
        told
    )  # build arguments stand in an image's history, and not in its report


# --- growth ------------------------------------------------------------------------------------------------------


@pytest.fixture
def grown(tmp_path: Path) -> BuildReport:
    base = baseline_from(made(), tmp_path)
    later = "example.com/gpuimage/quickstart:1.1.0"
    return made(layers=GROWN, wheels=NEWER, baseline=base, limit=GrowthLimit.parse("10%"), tag=later)


def test_growth_is_in_every_form_with_what_grew(grown: BuildReport) -> None:
    told = document(grown)["growth"]
    assert (told["before"], told["after"], told["grown"]) == (2_100_000_700, 2_400_000_700, 300_000_000)
    assert told["limit"] == {"says": "10 %", "bytes": 210_000_070}
    assert [(one["name"], one["grown"]) for one in told["layers"]] == [
        ("RUN pip install --requirement /tmp/spec.lock", 300_000_000)
    ]
    assert [(one["name"], one["because"], one["grown"]) for one in told["wheels"]] == [
        ("numpy", "2.5.5 to 2.6.0", 100_000_000)
    ]
    assert told["exceeded"] is True
    assert not grown.passed
    says = (
        "the image grew too much: +300 MB (+14.3 %) since example.com/gpuimage/quickstart:1.0.0, at most 10 %"
    )
    assert document(grown)["says"] == f"FAILED: {says}"
    text = build_text(grown)
    assert text.endswith(f"FAILED: {says}\n")
    assert "   +300 MB  RUN pip install --requirement /tmp/spec.lock (layer)\n" in text
    assert "   +100 MB  numpy (wheel)  2.5.5 to 2.6.0\n" in text
    assert rows(build_markdown(grown), "growth")[1:] == [
        ["+300 MB", "layer", "RUN pip install --requirement /tmp/spec.lock", ""],
        ["+100 MB", "wheel", "numpy", "2.5.5 to 2.6.0"],
    ]
    [case] = [case for suite in JUnitXml.fromstring(build_junit(grown).encode()) for case in suite if case.name == "growth"]  # fmt: skip
    assert isinstance(case.result[0], Failure)


def test_growth_below_the_limit_passes(tmp_path: Path) -> None:
    base = baseline_from(made(), tmp_path)
    report = made(layers=GROWN, baseline=base, limit=GrowthLimit.parse("300MB"))
    assert report.passed
    assert "FAILED" not in build_text(report)
    assert "growth  +300 MB" in build_text(report)


# --- Markdown ----------------------------------------------------------------------------------------------------


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def content(token: Token) -> str:
    return "".join(child.content for child in token.children or ()).replace("\u200b", "")


def tables(text: str) -> list[list[list[str]]]:
    found: list[list[list[str]]] = []
    inside = False
    for token in parsed(text):
        if token.type in ("table_open", "table_close"):
            inside = token.type == "table_open"
            found += [[]] if inside else []
        elif token.type == "tr_open":
            found[-1].append([])
        elif token.type == "inline" and inside:
            found[-1][-1].append(content(token))
    return found


def rows(text: str, first: str) -> list[list[str]]:
    """The table whose head begins with a word."""
    return next(table for table in tables(text) if table[0][0] == first)


OURS = re.compile(r"<details><summary>[A-Za-z ]+(\(\d+\))?</summary>|</details>")


def assert_only_our_markup(text: str) -> None:
    for token in parsed(text):
        if token.type == "html_block":
            assert OURS.fullmatch(token.content.strip()), token.content
        kinds = {child.type for child in token.children or ()}
        assert not kinds & {"html_inline", "link_open", "image", "em_open", "s_open", "code_inline"}


def test_a_comment_begins_with_the_verdict_the_sizes_and_what_failed() -> None:
    text = build_markdown(made(verdicts=(*VERDICTS, BROKEN)))
    head = [token for token in parsed(text) if token.type == "inline"][:2]
    assert content(head[0]) == "example.com/gpuimage/quickstart:1.0.0"
    assert content(head[1]).startswith("FAILED: 1 of 3 probes: import cupy")
    first, second = tables(text)[:2]
    assert first == [
        ["", "size", "predicted", "budget"],
        ["image", "2.10 GB", "2.20 GB to 2.27 GB", "3.00 GB"],
        ["largest layer", "2.00 GB", "–", "–"],
        ["largest wheel", "597 MB", "–", "–"],
    ]
    assert second == [["tier", "failed probe", "reason"], ["T1", "import cupy", "ImportError: no libnvrtc"]]
    before_details = text[: text.index("<details>")]
    assert "ImportError: no libnvrtc" in before_details
    assert text.count("<details>") == text.count("</details>") > 4


def test_sizes_stand_beside_the_baselines(grown: BuildReport) -> None:
    assert rows(build_markdown(grown), "")[:3] == [
        ["", "size", "predicted", "budget", "before", "growth"],
        ["image", "2.40 GB", "2.20 GB to 2.27 GB", "3.00 GB", "2.10 GB", "+300 MB (+14.3 %)"],
        ["largest layer", "2.30 GB", "–", "–", "2.00 GB", "+300 MB (+15.0 %)"],
    ]


EVIL = (
    "</details><script>alert(1)</script>", "| a | b |", "`code` *x* _y_ ~~z~~ [l](http://x) ![i](http://x)", "&lt;b&gt;",
    "@everyone", "#1", "<!-- x", "\\", "\u202egnp.exe", "\x1b[31m", "\ud800", "a\r\nb", "```\nrm", "- [ ] x", "<details>",
)  # fmt: skip
evil = st.lists(st.one_of(st.sampled_from(EVIL), st.text(max_size=12)), max_size=4).map(" ".join)
probes = st.builds(
    Verdict, probe=evil, tier=st.sampled_from(["T0", "T3"]), status=st.sampled_from(["passed", "failed", "skipped"]),
    reason=evil, seconds=st.just(0.0), evidence=st.lists(evil, max_size=3).map(tuple),
)  # fmt: skip


def hostile(names: Sequence[str], verdicts: Sequence[Verdict] = (), tag: str = "") -> BuildReport:
    layers = [LayerInfo(name, 10**9 + at) for at, name in enumerate(names)]
    wheels = [WheelInfo(name, name, 10**6 + at, "/x") for at, name in enumerate(names)]
    failure = BuildError(" ".join(names) or "x", why=names[0] if names else None, log=tuple(names))
    return made(layers=layers, wheels=wheels, verdicts=verdicts, failure=failure, tag=tag)


@settings(max_examples=40, deadline=None)
@given(st.lists(evil, max_size=4), st.lists(probes, max_size=3))
def test_what_an_image_says_is_text_in_markdown(names: list[str], verdicts: list[Verdict]) -> None:
    report = hostile(names, verdicts, "a/b:1")
    text = build_markdown(report)
    assert_only_our_markup(text)
    if verdicts:
        assert [len(row) for row in rows(text, "tier")] == [len(rows(text, "tier")[0])] * len(
            rows(text, "tier")
        )
    if names:
        assert [len(row) for row in rows(text, "bytes")] == [2] * (len(names) + 1)
        assert len(rows(text, "on disk")) == len(names) + 1
    for prose in (content(token) for token in parsed(text) if token.type == "inline"):
        assert not re.search("[\u202e\x1b]", prose)


def test_nobody_is_written_to_by_a_name_behind_an_at() -> None:
    text = build_markdown(made(verdicts=(replace(BROKEN, reason="ask @someone, not a@b or x@sha256:1"),)))
    assert "@someone" not in text
    assert "a@b or x@sha256:1" in text
    assert (
        rows(text, "tier")[1][2] == "ask @someone, not a@b or x@sha256:1"
    )  # an empty space stands behind the @


@pytest.mark.parametrize("several", [1, 7, 100])
def test_a_comment_is_never_longer_than_github_takes(several: int) -> None:
    verdicts = [
        Verdict(f"probe {at} " + "p" * 3000, "T3", "failed", "ü" * 9000, 0.0, ("e" * 5000,) * 200)
        for at in range(60)
    ]
    layers = [LayerInfo(f"RUN {at} " + "€" * 4000, 10**9) for at in range(120)]
    report = made(verdicts=verdicts, layers=layers)
    text = build_markdown(*[report] * several)
    assert len(text.encode()) < 65_536
    assert several > 7 or "Left out, because it is too long for a comment: " in text
    assert text.count("<details>") == text.count("</details>")
    assert_only_our_markup(text)


def test_several_variants_begin_with_a_table_of_all() -> None:
    text = build_markdown(
        made(tag="a/b:1-cu126"),
        made(tag="a/b:1-cu128", verdicts=(BROKEN,)),
        unbuilt=["a/b:1-cu130"],
    )
    assert text.startswith("## 1 of 3 images passed\n")
    assert tables(text)[0] == [
        ["image", "verdict", "size", "growth"],
        ["a/b:1-cu126", "passed", "2.10 GB", "–"],
        ["a/b:1-cu128", "FAILED", "2.10 GB", "–"],
        ["a/b:1-cu130", "not built", "–", "–"],
    ]
    assert text.count("\n## ") == 2


# --- JUnit -------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.lists(evil, max_size=3), st.lists(probes, max_size=4))
def test_junit_is_read_by_another_parser_with_every_case_and_outcome(
    names: list[str], verdicts: list[Verdict]
) -> None:
    text = build_junit(hostile(names, verdicts, "a/b:1"))
    built, smoke = JUnitXml.fromstring(text.encode())
    assert [case.name for case in built] == ["build", "image", "layer", "wheel"]
    kinds = {Failure: "failed", Skipped: "skipped", Error: "error"}
    told = [kinds[type(case.result[0])] if case.result else "passed" for case in smoke]
    assert told == [one.status for one in verdicts]
    for suite in (built, smoke):
        outcomes = [type(case.result[0]) if case.result else None for case in suite]
        assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
            len(outcomes), outcomes.count(Failure), outcomes.count(Error), outcomes.count(Skipped),
        )  # fmt: skip


def test_junit_has_the_order_and_the_attributes_that_readers_ask_for() -> None:
    order = ["properties", "testcase", "system-out", "system-err"]
    text = build_junit(made(verdicts=(*VERDICTS, BROKEN)), failed(STEP))
    for suite in ElementTree.fromstring(text):
        assert {"name", "tests", "failures", "errors", "skipped", "time"} == set(suite.attrib)
        places = [order.index(child.tag) for child in suite]
        assert places == sorted(places)
        for case in suite.findall("testcase"):
            assert {"name", "classname", "time"} == set(case.attrib)
            assert len(case) == 1
            assert case[0].tag in ("failure", "error", "skipped", "system-out")
            assert case[0].tag == "system-out" or case[0].attrib["message"]


# --- the directory -----------------------------------------------------------------------------------------------

ALWAYS = {"report.json", "report.md", "report.html", "junit.xml"}
PLANNED = ALWAYS | {"plan.json", "Dockerfile", "Dockerfile.dockerignore", "spec.lock"}


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_directory_holds_every_form_of_one_build(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "report"
    report = made()
    ReportDirectory.prepare(folder).write([report])
    assert names(folder) == PLANNED
    assert report.plan is not None
    assert report.plan.lock is not None
    assert (folder / "report.json").read_text() == build_json(report)
    assert (folder / "report.md").read_text() == build_markdown(report)
    assert (folder / "spec.lock").read_text() == report.plan.lock.text()
    assert json.loads((folder / "plan.json").read_text()) == document(report)["plan"]
    assert (folder / "Dockerfile").read_text() == document(report)["dockerfile"]
    assert (folder / "Dockerfile.dockerignore").read_text().splitlines()[1] == "*"


def test_a_later_report_replaces_a_former_one_and_what_it_has_not_is_gone(tmp_path: Path) -> None:
    ReportDirectory.prepare(tmp_path / "r").write([made()])
    (tmp_path / "r" / "mine.txt").write_text("kept")
    ReportDirectory.prepare(tmp_path / "r").write([failed(PlanError("no"), planned=False)])
    assert names(tmp_path / "r") == ALWAYS | {"mine.txt"}


def test_each_variant_has_a_directory_and_all_have_one_comment_and_one_junit(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text('image: a/b:1\nmatrix: {python: ["3.12", "3.13"]}\n')
    first, second = (made(file=file) for file in variants(load_spec(path)))
    folder = tmp_path / "r"
    ReportDirectory.prepare(folder).write([first, second])
    ReportDirectory.prepare(folder).write([first, replace(second, failure=STEP)], ["a/b:1-py314"])
    assert {"report.md", "junit.xml", "py312/report.json", "py313/report.html"} <= names(folder)
    assert "not built" in (folder / "report.md").read_text()


def test_a_directory_of_other_files_is_refused_and_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM mine\n")
    with pytest.raises(SpecError, match="holds other files"):
        ReportDirectory.prepare(tmp_path)
    assert names(tmp_path) == {"Dockerfile"}


def test_a_report_that_cannot_be_written_half_way_is_an_error_of_ours(tmp_path: Path) -> None:
    directory = ReportDirectory.prepare(tmp_path / "r")
    (tmp_path / "r" / "plan.json").mkdir(parents=True)
    with pytest.raises(SpecError, match=r"plan.json"):
        directory.write([made()])
    with pytest.raises(SpecError, match="cannot be written"):
        directory.write([failed(PlanError("x"), planned=False)])


def test_a_report_that_cannot_be_written_hides_no_failure_of_the_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = Outputs(tmp_path / "r", summary=False)
    (tmp_path / "r" / "plan.json").mkdir(parents=True)
    with pytest.raises(BuildError) as caught:
        outputs.write([failed(STEP)], [])
    assert caught.value is STEP
    assert "plan.json" in capsys.readouterr().err
    with pytest.raises(SpecError):
        outputs.write([made()], [])


# --- the summary -------------------------------------------------------------------------------------------------


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_the_summary_is_appended_behind_what_other_steps_wrote(summary: Path) -> None:
    summary.write_text("## tests\n")
    assert StepSummary.prepare().append([made()]) is None
    assert summary.read_text() == "## tests\n\n" + build_markdown(made())


def test_a_summary_without_room_stays_as_it_is_and_that_is_said(summary: Path) -> None:
    summary.write_bytes(b"x" * (1024 * 1024 - 100))
    said = StepSummary.prepare().append([made()])
    assert said is not None
    assert "1 MiB" in said
    assert summary.stat().st_size == 1024 * 1024 - 100


# --- the command -------------------------------------------------------------------------------------------------

SPEC = "image: example.com/gpuimage/quickstart:2\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--report", "spec.yaml/x"], "no report can be written"),
        (["--report", "spec.yaml"], "is a file"),
        (["--report", "loop"], "no report can be written"),
        (["--report", "."], "holds other files"),
        (["--report", "r" * 300], "no report can be written"),
        (["--summary"], "GITHUB_STEP_SUMMARY is not set"),
        (["--baseline", "nowhere.json"], "the baseline cannot be read"),
        (["--baseline", "spec.yaml"], "this is no baseline"),
        (["--baseline", "."], "the baseline cannot be read"),
        (["--max-growth", "5%"], "give one"),
        (["--baseline", "good.json", "--max-growth", "much"], "'much' is no size"),
        (["--baseline", "other.json"], "of another image"),
    ],
)
def test_what_cannot_be_reported_is_refused_before_anything_is_built(
    arguments: list[str], says: str, work: Path, command: Command
) -> None:
    (work / "spec.yaml").write_text(SPEC)
    (work / "loop").symlink_to("loop")
    (work / "good.json").write_text(build_json(made()))
    (work / "other.json").write_text(build_json(made()).replace("gpuimage/quickstart", "gpuimage/other"))
    before = sorted(path.name for path in work.iterdir())
    code, out, err = command("build", "spec.yaml", "--host", "unix:///nowhere.sock", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
    assert sorted(path.name for path in work.iterdir()) == before


def test_each_variant_finds_its_baseline_in_the_directory_and_a_new_one_is_said_to_have_none(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (work / "spec.yaml").write_text('image: a/b:1\nmatrix: {python: ["3.12", "3.13"]}\n')
    old, new = variants(load_spec(work / "spec.yaml"))
    ReportDirectory.prepare(work / "r").write([made(file=old)])
    found = baseline_of(work / "r", old)
    assert found is not None
    assert found.path == work / "r" / "py312" / "report.json"
    assert baseline_of(work / "r", new) is None
    assert "a/b:1-py313 has no baseline" in capsys.readouterr().err
    with pytest.raises(SpecError, match="of another variant: py312, and this is py313"):
        baseline_of(found.path, new)


@pytest.mark.parametrize("place", ["a directory", "no parent"])
def test_a_summary_that_is_no_file_is_refused(
    place: str, work: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "spec.yaml").write_text(SPEC)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(work if place == "a directory" else work / "no" / "x.md"))
    code, out, err = command("build", "spec.yaml", "--summary")
    assert (code, out) == (2, "")
    assert "error: " in err


def test_the_readme_shows_the_markdown_of_a_report(grown: BuildReport) -> None:
    [example] = blocks("### build", "markdown")
    assert example.endswith("\n…\n")
    assert build_markdown(grown).startswith(example.removesuffix("…\n"))
    assert "<details>" in example


def test_the_readme_names_every_key_of_the_document(grown: BuildReport) -> None:
    text = section("### build")
    table = text[text.index("`report.json`, which") :].split("\n\n")[1]
    firsts = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert re.findall(r"`(\w+)", " ".join(firsts)) == list(document(grown))
