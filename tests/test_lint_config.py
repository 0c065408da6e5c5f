"""What a project says about linting, which files a search takes, and the comments that silence findings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpuimage.errors import SpecError
from gpuimage.finding import Finding
from gpuimage.lint import config
from gpuimage.lint.config import parse_size
from gpuimage.lint.discover import find, is_dockerfile
from gpuimage.lint.run import LintOptions, lint, lint_bytes

BAKED = "FROM python:3.12.8-slim-bookworm\nENV CUDA_VISIBLE_DEVICES=0\n"


@pytest.fixture
def project(work: Path) -> Callable[[str, str], Path]:
    (work / ".git").mkdir()

    def write(name: str, text: str) -> Path:
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def findings(path: Path, **overrides: object) -> list[Finding]:
    return list(lint([path], LintOptions(**overrides)).files[0].findings)  # type: ignore[arg-type]


def codes(path: Path, **overrides: object) -> list[str]:
    return [one.rule.code for one in findings(path, **overrides)]


@pytest.mark.parametrize("name", ["gpuimage.toml", "pyproject.toml"])
def test_a_config_turns_rules_off_and_changes_their_weight(
    project: Callable[[str, str], Path], name: str
) -> None:
    head = "[tool.gpuimage]\n" if name == "pyproject.toml" else ""
    path = project("Dockerfile", BAKED)
    assert codes(path) == ["GI504"]
    project(name, f'{head}severity = {{ visible-devices-baked = "error" }}\n')
    assert [one.severity for one in fresh(findings, path)] == ["error"]
    project(name, f'{head}severity = {{ GI504 = "off" }}\n')
    assert fresh(codes, path) == []
    project(name, f'{head}ignore = ["GI5"]\n')
    assert fresh(codes, path) == []
    project(name, f'{head}select = ["GI1"]\n')
    assert fresh(codes, path) == []


def fresh(call: Callable[..., list], *arguments: object) -> list:  # type: ignore[type-arg]
    """Ask again after a config changed; a run keeps what it has read."""
    config._nearest.cache_clear()
    return call(*arguments)


def test_the_nearest_config_counts_up_to_the_repository_and_no_further(
    project: Callable[[str, str], Path],
) -> None:
    path = project("a/b/Dockerfile", BAKED)
    project("gpuimage.toml", 'ignore = ["GI504"]\n')
    assert codes(path) == []
    project("a/pyproject.toml", "[project]\nname = 'x'\n")  # says nothing about linting
    assert fresh(codes, path) == []
    project("a/gpuimage.toml", "ignore = []\n")
    assert fresh(codes, path) == ["GI504"]
    (path.parent / ".git").mkdir()
    project("a/gpuimage.toml", 'ignore = ["GI504"]\n')
    assert fresh(codes, path) == ["GI504"]


def test_a_path_has_ignores_and_severities_of_its_own(project: Callable[[str, str], Path]) -> None:
    project(
        "gpuimage.toml",
        '[per-path."dev/*"]\nignore = ["GI504"]\n[per-path."lab/*"]\nseverity = { GI504 = "note" }\n',
    )
    assert codes(project("dev/Dockerfile", BAKED)) == []
    assert [one.severity for one in findings(project("lab/Dockerfile", BAKED))] == ["note"]
    assert [one.severity for one in findings(project("Dockerfile", BAKED))] == ["warning"]


def test_the_command_line_stands_above_the_config(project: Callable[[str, str], Path]) -> None:
    project("gpuimage.toml", 'select = ["GI1"]\n')
    path = project("Dockerfile", BAKED)
    assert codes(path) == []
    assert codes(path, select=("GI504",)) == ["GI504"]
    assert codes(path, select=("GI504",), ignore=("visible-devices-*",)) == []


def test_a_rule_that_is_off_by_itself_runs_where_it_is_named(project: Callable[[str, str], Path]) -> None:
    path = project("Dockerfile", "FROM python:3.12.8-slim-bookworm\nCMD sleep 1\n")
    assert codes(path) == []
    assert codes(path, select=("GI8",)) == []
    assert codes(path, select=("GI803",)) == ["GI803"]


def test_settings_of_the_config_reach_the_rules(project: Callable[[str, str], Path]) -> None:
    path = project(
        "Dockerfile", "FROM python:3.12.8-slim-bookworm\nRUN pip install --no-cache-dir torch==2.9.1\n"
    )
    assert "GI309" not in codes(path)
    project("gpuimage.toml", 'driver = "470.82.01"\n')
    assert "GI309" in fresh(codes, path)
    project("gpuimage.toml", 'registries = ["registry.example.com"]\n')
    assert "GI107" in fresh(codes, path)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('ignor = ["GI504"]\n', 1, "did you mean ignore?"),
        ('\nignore = ["GI999"]\n', 2, "there is no rule 'GI999'"),
        ('ignore = "GI504"\n', 1, "this is not a list of texts"),
        ('severity = { GI504 = "fatal" }\n', 1, "'fatal' is no severity"),
        ('driver = "new"\n', 1, "is no driver version"),
        ('archs = ["9.9z"]\n', 1, "archs"),
        ('deploy = "prod"\n', 1, "none of inference, training, dev"),
        ('max-waste = "lots"\n', 1, "is no size"),
        ("fail-on = 3\n", 1, "is none of"),
        ("require-reason = 1\n", 1, "neither true nor false"),
        ('[per-path."x"]\nignored = []\n', 1, "not a table of `ignore` and `severity`"),
        ("ignore = [\n", None, "this is no TOML"),
    ],
)
def test_a_wrong_config_is_an_error_with_its_place(
    project: Callable[[str, str], Path], text: str, line: int | None, told: str
) -> None:
    written = project("gpuimage.toml", text)
    with pytest.raises(SpecError) as caught:
        codes(project("Dockerfile", BAKED))
    assert told in str(caught.value)
    assert str(written) in str(caught.value)
    if line is not None:
        assert f"{written}:{line}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500_000_000),
        ("1.5 GB", 1_500_000_000),
        ("2GiB", 2 << 30),
        ("1000", 1000),
        ("0", 0),
        ("7kB", 7000),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "5 parsecs", "-1MB", "1,5GB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(SpecError):
        parse_size(text)


DOCKERFILES = (
    "Dockerfile dockerfile Dockerfile.gpu Dockerfile-gpu Dockerfile_gpu app.Dockerfile app.dockerfile Containerfile "
    "Containerfile.cuda docker/Dockerfile.cu128 a.Containerfile Dockerfile.rocm.ci"
).split()
OTHERS = (
    "Dockerfile.md Dockerfile.j2 Dockerfile.dockerignore .dockerignore Dockerfile.tmpl Dockerfile.in README.md "
    "MyDockerfileTool docker-compose.yml Dockerfile.py Dockerfile.orig Dockerfile~ Dockerfiles/README Dockerfile.erb "
    "notadockerfile.txt"
).split()


def test_a_search_takes_dockerfiles_and_nothing_that_only_sounds_like_one(work: Path) -> None:
    for name in (*DOCKERFILES, *OTHERS, ".git/Dockerfile", "node_modules/x/Dockerfile", ".venv/Dockerfile"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text("FROM scratch\n")
    assert sorted(map(str, find(["."]))) == sorted(DOCKERFILES)
    assert all(map(is_dockerfile, DOCKERFILES))
    assert not any(map(is_dockerfile, OTHERS))


def test_a_file_that_is_named_is_taken_whatever_its_name_and_only_once(work: Path) -> None:
    (work / "a.txt").write_text("FROM scratch\n")
    (work / "link").symlink_to("a.txt")
    (work / "sub").mkdir()
    (work / "sub/Dockerfile").write_text("FROM scratch\n")
    assert list(map(str, find(["a.txt", "./a.txt", "link"]))) == ["a.txt"]
    assert list(map(str, find(["*.txt", "**/Dockerfile"]))) == ["a.txt", "sub/Dockerfile"]
    assert list(find(["."], exclude=["sub/*"])) == []
    with pytest.raises(SpecError, match=r"did you mean a\.txt"):
        list(find(["a.tx"]))


def messages(text: str) -> list[tuple[str, int]]:
    found = lint_bytes(text.encode(), Path("Dockerfile")).files[0].findings
    return [(one.rule.code, one.line) for one in found]


ENV = "ENV CUDA_VISIBLE_DEVICES=0\n"
FROM = "FROM python:3.12.8-slim-bookworm\n"


def test_a_comment_counts_for_the_instruction_below_it_and_no_other() -> None:
    ignore = "# gpuimage: ignore=GI504 one card in this machine\n"
    assert messages(FROM + ignore + ENV + "ENV NVIDIA_VISIBLE_DEVICES=0\n") == [("GI504", 4)]
    assert messages(FROM + ignore + "\n# and a comment\n" + ENV) == []
    assert messages(FROM + "# GPUIMAGE: IGNORE = visible-devices-baked, GI801 two\n" + ENV) == [("GI906", 2)]
    inside = "ENV A=b \\\n# gpuimage: ignore=GI504 inside\n    CUDA_VISIBLE_DEVICES=0\n"
    assert messages(FROM + inside) == []


def test_a_comment_counts_for_a_stage_or_for_the_file() -> None:
    two = FROM.replace("\n", " AS a\n") + ENV + FROM.replace("\n", " AS b\n") + ENV
    assert [code for code, _ in messages(two)] == ["GI504", "GI504"]
    assert messages("# gpuimage: ignore-stage=GI504 a's card\n" + two) == [("GI504", 5)]
    assert messages("# gpuimage: ignore-file=GI504 all have one card\n" + two) == []


def test_a_heredoc_is_no_place_for_such_comments() -> None:
    text = (
        FROM
        + "RUN <<EOF\nset -e\n# gpuimage: ignore=GI701 no comment of the Dockerfile\npip install torch==2.9.1\nEOF\n"
    )
    assert ("GI701", 5) in messages(text)


def test_comments_of_hadolint_count_for_the_rules_that_are_the_same() -> None:
    run = "RUN pip install torch==2.9.1\n"
    assert "GI701" in [code for code, _ in messages(FROM + run)]
    assert "GI701" not in [code for code, _ in messages(FROM + "# hadolint ignore=DL3042\n" + run)]
    assert "GI701" not in [code for code, _ in messages("# hadolint global ignore=DL3042\n" + FROM + run)]


def test_a_comment_without_a_reason_is_told_of_where_the_config_wants_one(
    project: Callable[[str, str], Path],
) -> None:
    path = project("Dockerfile", FROM + "# gpuimage: ignore=GI504\n" + ENV)
    assert codes(path) == []
    project("gpuimage.toml", "require-reason = true\n")
    assert fresh(codes, path) == ["GI906"]
