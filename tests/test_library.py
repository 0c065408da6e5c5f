"""The library: what `gpuimage` exports, that its examples run, and that the command line uses nothing else."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpuimage
from tests.readme import blocks

ROOT = Path(__file__).parent.parent
VERBS = ("load_spec", "plan", "render", "lint", "build", "smoke", "inspect", "compat")
EXAMPLES = [name for name in gpuimage.__all__ if ">>>" in (inspect.getdoc(getattr(gpuimage, name)) or "")]
NEED_ENGINE = {"build", "smoke"}  # tests/test_build.py runs these


@pytest.mark.parametrize("name", gpuimage.__all__)
def test_every_exported_name_is_there_and_says_what_it_is(name: str) -> None:
    found = getattr(gpuimage, name)
    if callable(found) and name != "LockPolicy":
        assert inspect.getdoc(found), name


def test_what_is_exported_is_declared_for_type_checkers_and_loaded_from_the_same_place() -> None:
    tree = ast.parse((ROOT / "gpuimage" / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        alias.name: node.module
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module != "gpuimage"
    }
    assert declared == {name: f"gpuimage.{place}" for name, place in gpuimage._PLACES.items()}
    assert set(gpuimage.__all__) == {*declared, "tables", "__version__"}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_its_function_whatever_was_imported_before(name: str) -> None:
    place = gpuimage._PLACES[name]
    imports = [
        f"import gpuimage.{place}",
        f"from gpuimage import {name}",
        f"from gpuimage.{place} import {name} as own",
    ]
    for order in itertools.permutations(imports):
        code = "\n".join([*order, f"assert {name} is own and callable({name}), {name}"])
        subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_is_not_exported_is_an_error_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Plna'"):
        _ = gpuimage.Plna  # type: ignore[attr-defined]


def test_importing_the_package_loads_none_of_its_modules() -> None:
    code = "import sys, gpuimage; print(*[name for name in sys.modules if name.startswith('gpuimage.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", ["", *(name for name in EXAMPLES if name not in NEED_ENGINE)])
def test_the_examples_in_the_docstrings_give_what_they_show(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    run_examples(getattr(gpuimage, name) if name else gpuimage)


def test_the_examples_of_the_readme_give_what_they_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (shown,) = blocks("## From a program", "pycon")
    run_examples(shown)


def run_examples(thing: object) -> None:
    """Run the examples of one docstring, or of a text."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    text = thing if isinstance(thing, str) else inspect.getdoc(thing)
    said: list[str] = []
    test = parser.get_doctest(text or "", {}, "examples", None, 0)
    assert test.examples
    runner.run(test, out=said.append)
    assert said == []


def test_every_verb_has_an_example() -> None:
    assert set(VERBS) <= set(EXAMPLES)


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    """What a module of the command line imports of ours: module and name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gpuimage":
            yield from ((str(node.module), alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("gpuimage."))


@pytest.mark.parametrize("path", sorted((ROOT / "gpuimage" / "cli").glob("*.py")), ids=lambda path: path.name)
def test_the_command_line_uses_what_every_program_can_use(path: Path) -> None:
    for module, name in imports_of(path):
        if module.startswith(("gpuimage.cli", "gpuimage.reporters")):
            continue
        assert module == "gpuimage", f"{path.name} imports {module}"
        assert name in gpuimage.__all__, f"{path.name} imports {name}, which is not exported"


def test_every_module_of_the_library_can_be_loaded_by_itself() -> None:
    for path in sorted((ROOT / "gpuimage").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        importlib.import_module(".".join(part for part in parts if part != "__init__"))
