"""`gpuimage lint` as users call it: exit codes, formats, fixes, standard input; a broken file never hides the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml

from gpuimage.reporters.rules import RULES_REPORTERS
from gpuimage.rules import all_rules
from tests.conftest import Command
from tests.readme import README, blocks, compare, shown

BAD = "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nENV NVIDIA_DRIVER_CAPABILITIES=compute,utilty\n"
CLEAN = "FROM python:3.12.8-slim-bookworm\nUSER 10001\n"
CACHE = "FROM python:3.12-slim\nRUN uv pip install --system torch==2.9.1\nUSER 10001\n"


@pytest.fixture
def lint(command: Command, work: Path):  # type: ignore[no-untyped-def]
    (work / ".git").mkdir()
    return partial(command, "lint")


def write(path: str, text: str) -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def test_a_clean_file_is_0_a_finding_is_1_nothing_to_lint_is_3(lint) -> None:  # type: ignore[no-untyped-def]
    write("clean/Dockerfile", CLEAN)
    write("bad/Dockerfile", BAD)
    Path("empty").mkdir()
    assert lint("clean")[0] == 0
    assert lint("bad")[0] == 1
    assert lint("clean", "bad")[0] == 1
    code, out, err = lint("empty")
    assert (code, out) == (3, "")
    assert "nothing to lint" in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["nowhere/Dockerfile"], 2),
        (["--select", "GI999", "."], 2),
        (["--max-waste", "much", "."], 2),
        (["--unsafe", "."], 2),
        (["--fix", "--diff", "."], 2),
        (["--output", "html=x", "."], 2),
        (["-", "."], 2),
        (["--stdin-filename", "x", "."], 2),
        (["--archs", "sm_80", "."], 2),
        (["--driver", "new", "."], 2),
    ],
)
def test_wrong_usage_is_2_with_one_clear_message(lint, arguments: list[str], code: int) -> None:  # type: ignore[no-untyped-def]
    write("Dockerfile", BAD)
    found, out, err = lint(*arguments)
    assert (found, out) == (code, "")
    assert "rror" in err
    assert "Traceback" not in err


def test_a_file_that_cannot_be_read_is_2_and_the_others_are_reported(lint) -> None:  # type: ignore[no-untyped-def]
    write("a/Dockerfile", BAD)
    Path("b").mkdir()
    Path("b/Dockerfile").symlink_to("nowhere")
    code, out, _ = lint("--format", "json", "a/Dockerfile", "b/Dockerfile")
    files = {file["path"]: file for file in json.loads(out)["files"]}
    assert code == 2
    assert files["a/Dockerfile"]["findings"]
    assert files["b/Dockerfile"]["failure"]


def test_an_instruction_that_cannot_be_read_is_a_finding_and_the_rest_is_linted(lint) -> None:  # type: ignore[no-untyped-def]
    write("Dockerfile", BAD + "FRUM x\nENV CUDA_VISIBLE_DEVICES=0\n")
    _, out, _ = lint("--format", "json", "Dockerfile")
    lines = {(one["rule"], one["line"]) for one in json.loads(out)["files"][0]["findings"]}
    assert {("GI503", 2), ("GI901", 3), ("GI504", 4)} <= lines


@pytest.mark.parametrize(("level", "code"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)])
def test_fail_on_says_which_severity_is_1(lint, level: str, code: int) -> None:  # type: ignore[no-untyped-def]
    write("Dockerfile", CACHE)
    assert lint("--fail-on", level, "Dockerfile")[0] == code


def test_max_waste_is_a_gate_of_its_own(lint) -> None:  # type: ignore[no-untyped-def]
    write("Dockerfile", CACHE)
    code, _, err = lint("--fail-on", "never", "--max-waste", "500MB", "Dockerfile")
    assert code == 1
    assert "500 MB" in err
    assert lint("--fail-on", "never", "--max-waste", "90GB", "Dockerfile")[0] == 0


def test_several_reports_are_written_at_once(lint) -> None:  # type: ignore[no-untyped-def]
    write("Dockerfile", BAD)
    _, out, _ = lint("--format", "github", "-o", "json=lint.json", "-o", "sarif=lint.sarif", "Dockerfile")
    assert "::error file=Dockerfile,line=2," in out
    assert json.loads(Path("lint.json").read_text())["files"]
    assert json.loads(Path("lint.sarif").read_text())["version"] == "2.1.0"


def test_fix_writes_safe_fixes_keeps_line_ends_and_then_has_nothing_to_do(lint) -> None:  # type: ignore[no-untyped-def]
    text = "\ufeff# service\r\n" + BAD.replace("\n", "\r\n") + "USER 10001"
    file = write("Dockerfile", text)
    code, _, err = lint("--fix", "Dockerfile")
    assert file.read_bytes().decode() == text.replace("utilty", "utility")
    assert code == 0
    assert "fixed Dockerfile" in err
    before = file.stat().st_mtime_ns
    assert lint("--fix", "Dockerfile")[0] == 0
    assert file.stat().st_mtime_ns == before


def test_diff_shows_what_fix_would_write_and_patch_applies_it(lint) -> None:  # type: ignore[no-untyped-def]
    file = write("Dockerfile", BAD)
    code, out, _ = lint("--diff", "Dockerfile")
    assert file.read_text() == BAD
    assert code == 0
    subprocess.run(["git", "apply", "-p1"], input=out.encode(), check=True)
    assert file.read_text() == BAD.replace("utilty", "utility")


def test_standard_input_is_linted_fixed_and_named(lint) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = lint("--format", "json", "--stdin-filename", "docker/Dockerfile", "-", stdin=BAD.encode())
    assert code == 1
    assert json.loads(out)["files"][0]["path"] == "docker/Dockerfile"
    code, out, _ = lint("--fix", "-", stdin=BAD.encode())
    assert (code, out) == (0, BAD.replace("utilty", "utility"))


def test_many_files_give_the_same_answer_in_several_processes(lint) -> None:  # type: ignore[no-untyped-def]
    for number in range(60):
        write(f"s{number:02}/Dockerfile", BAD if number % 2 else CACHE)
    one = lint("--format", "json", "--jobs", "1", ".")
    two = lint("--format", "json", "--jobs", "2", ".")
    assert one == two
    assert len(json.loads(one[1])["files"]) == 60


def test_the_nearest_config_counts_for_each_file(lint) -> None:  # type: ignore[no-untyped-def]
    write("Dockerfile", BAD)
    write("team/Dockerfile", BAD)
    write("team/gpuimage.toml", 'ignore = ["GI503"]\n')
    _, out, _ = lint("--format", "json", ".")
    found = {file["path"]: [one["rule"] for one in file["findings"]] for file in json.loads(out)["files"]}
    assert "GI503" in found["Dockerfile"]
    assert "GI503" not in found["team/Dockerfile"]


def test_rules_and_explain_show_every_page(command: Command) -> None:
    rules = json.loads(command("rules", "--format", "json")[1])["rules"]
    assert len(rules) >= 48
    for rule in rules:
        code, out, _ = command("explain", rule["code"])
        assert code == 0
        assert rule["summary"] in out
    assert command("explain", rules[0]["name"])[1] == command("explain", rules[0]["code"].lower())[1]
    code, out, err = command("explain", "GI30x")
    assert (code, out) == (2, "")
    assert "error: there is no rule GI30x" in err


def test_lint_loads_nothing_that_only_builds_need(tmp_path: Path) -> None:
    file = tmp_path / "Dockerfile"
    file.write_text(CACHE)
    code = (
        "import sys; from gpuimage import cli; sys.argv = ['gpuimage', 'lint', sys.argv[1]]\n"
        "try: cli.main()\nexcept SystemExit: pass\n"
        "print(*[m for m in ('docker', 'jinja2', 'rich', 'yaml', 'elftools', 'requests', 'uv') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stderr.split() == []


def test_the_readme_shows_what_lint_says(lint) -> None:  # type: ignore[no-untyped-def]
    write("Dockerfile", blocks("### lint", "dockerfile")[0])
    for example in shown("### lint"):
        compare(example, lint(*example.arguments[1:])[1])


def test_the_readme_shows_a_config_that_is_one(lint) -> None:  # type: ignore[no-untyped-def]
    write("pyproject.toml", blocks("### lint", "toml")[0])
    write("Dockerfile", CLEAN)
    assert lint()[0] == 0


def test_rules_md_is_what_the_rules_say() -> None:
    written = (README.parent / "RULES.md").read_text(encoding="utf-8")
    assert written == RULES_REPORTERS["markdown"](all_rules())
    assert f"{len(all_rules())} rules" in README.read_text(encoding="utf-8")


def test_the_github_action_runs_its_own_script(work: Path) -> None:
    steps = yaml.safe_load((README.parent / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    script = next(step["run"] for step in steps if step["name"] == "Lint")
    program = work / "runner" / "gpuimage" / "bin" / "gpuimage"
    program.parent.mkdir(parents=True)
    program.symlink_to(Path(sys.executable).with_name("gpuimage"))
    write("docker/Dockerfile", BAD)
    summary = work / "summary.md"

    def run(paths: str, fail_on: str) -> subprocess.CompletedProcess[str]:
        env = os.environ | {
            "RUNNER_TEMP": str(work / "runner"), "GITHUB_STEP_SUMMARY": str(summary), "PATHS": paths, "FAIL_ON": fail_on,
            "MAX_WASTE": "", "SARIF": "lint.sarif",
        }  # fmt: skip
        return subprocess.run(
            ["bash", "-c", script], cwd=work, env=env, capture_output=True, text=True, check=False
        )

    done = run("docker", "warning")
    assert done.returncode == 1, done.stderr
    assert "::error file=docker/Dockerfile,line=2" in done.stdout
    assert "GI503" in summary.read_text(encoding="utf-8")
    assert json.loads((work / "lint.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert run("docker/D*", "never").returncode == 0
