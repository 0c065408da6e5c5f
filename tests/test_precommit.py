"""The hooks as pre-commit runs them, in a git repository made here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gpuimage.lint.discover import EXCLUDE, FILES

CHECKOUT = Path(__file__).parent.parent
HOOKS = CHECKOUT / ".pre-commit-hooks.yaml"
BAD = "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nENV NVIDIA_DRIVER_CAPABILITIES=compute,utilty\nUSER 10001\n"


def test_the_hooks_take_the_files_that_a_search_takes() -> None:
    for hook in yaml.safe_load(HOOKS.read_text(encoding="utf-8")):
        assert hook["files"] == FILES
        assert hook["exclude"] == EXCLUDE


def git(folder: Path, *arguments: str) -> None:
    named = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.com",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "commit.gpgsign=false",
    ]
    subprocess.run(["git", *named, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that holds what this checkout holds now, committed or not."""
    folder = tmp_path_factory.mktemp("hooks")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((CHECKOUT / name).read_bytes())
    git(folder, "init")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-m", "all")
    return folder


def test_pre_commit_lints_and_fixes_what_is_committed(hooks: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init")
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=hooks, capture_output=True, text=True, check=True
    ).stdout.strip()
    (project / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks: [{{id: gpuimage-lint}}, {{id: gpuimage-fix}}]\n"
    )
    (project / "Dockerfile-gpu").write_text(BAD)
    (project / "README.md").write_text("FROM nvidia/cuda\n")
    git(project, "add", "-A")
    env = os.environ | {"PRE_COMMIT_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "pre_commit", "run", "--color", "never"]
    first = subprocess.run(
        [*command, "gpuimage-lint"], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert first.returncode == 1, first.stdout + first.stderr
    assert "Dockerfile-gpu:2" in first.stdout
    assert "GI503" in first.stdout
    assert "README" not in first.stdout
    fixed = subprocess.run(
        [*command, "gpuimage-fix"], cwd=project, env=env, capture_output=True, text=True, check=False
    )
    assert fixed.returncode == 1, fixed.stdout  # pre-commit fails a hook that changed files
    assert (project / "Dockerfile-gpu").read_text() == BAD.replace("utilty", "utility")
    git(project, "add", "-A")
    again = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout
