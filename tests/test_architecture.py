"""The shape of the house: imports point one way, and each third-party package has one door."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gpuimage"

# A module may import from the rows above its own, and within its own package.
ROWS = (
    {"errors", "units", "patterns"},
    {"process", "files", "remote"},
    {"arch", "reference"},
    {"tables"},
    {"spec", "dockerfile"},
    {"lock", "facts", "compat", "refresh"},
    {"plan"},
    {"render", "inspect", "finding"},
    {"rules"},
    {"lint", "engine"},
    {"smoke", "growth"},
    {"build", "verify", "examine", "doctor", "init"},
    {"explain", "report"},
    {"reporters"},
    {"cli"},
)
RANK = {name: rank for rank, row in enumerate(ROWS) for name in row}

DOORS = {
    "subprocess": {"process"},
    "docker": {"engine"},
    "dockerfile_parse": {"dockerfile"},
    "jinja2": {"render"},
    "yaml": {"spec", "facts", "doctor"},  # specs, an environment.yml that a Dockerfile names, CDI files
    "pynvml": {"doctor"},
    "uv": {"lock"},
    "elftools": {"inspect"},
    "zstandard": {"inspect"},
    "rich": {"reporters"},
    "click": {"cli"},
}

# What runs alone inside an image: it may import nothing of ours, and starts children there itself.
ALONE = {PACKAGE / "smoke" / "probe.py"}


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path not in ALONE)


def room(path: Path) -> str:
    """The top-level module or package a file belongs to."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            if node.module == "gpuimage":
                yield from (f"gpuimage.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_rows_above_it(path: Path) -> None:
    own = room(path)
    if own in ("__init__", "__main__"):
        return
    assert own in RANK, f"{own} has no place in the order: give it one in ROWS"
    for name in imported(path):
        if name.startswith("gpuimage."):
            other = name.split(".")[1]
            if other in RANK and other != own:
                assert RANK[other] < RANK[own], f"{path.name} imports {other}, which stands below it"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_each_outside_package_is_used_in_one_room_only(path: Path) -> None:
    for name in imported(path):
        rooms = DOORS.get(name.split(".")[0])
        assert rooms is None or room(path) in rooms, f"{path.name} imports {name}; only {rooms} may"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_grows_past_its_size(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 450


def test_the_probe_imports_only_the_standard_library_at_its_top() -> None:
    tree = ast.parse((PACKAGE / "smoke" / "probe.py").read_text(encoding="utf-8"))
    names = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} <= set(sys.stdlib_module_names)


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, gpuimage.cli; print(*[m for m in ('docker','jinja2','rich','yaml','msgspec','elftools','requests') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    "command",
    [["ruff", "check"], ["ruff", "format", "--check"], ["mypy"]],
    ids=["style", "format", "types"],
)
def test_the_code_keeps_the_rules_of_pyproject(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=PACKAGE.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(p)
        for p in PACKAGE.rglob("*.py")
        if not ast.get_docstring(ast.parse(p.read_text(encoding="utf-8")))
    ]
    assert silent == []
