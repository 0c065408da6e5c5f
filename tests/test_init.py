"""A first spec from a project's own files: one source and one rule a test, on projects written here; the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from gpuimage.errors import PlanError, SpecError
from gpuimage.init import Draft, draft_spec
from gpuimage.init.choices import repository
from gpuimage.init.conda import pip_version
from gpuimage.init.projects import poetry_specifier
from gpuimage.init.yaml_text import written
from gpuimage.reference import ImageReference
from gpuimage.reporters.init import init_json
from gpuimage.spec import Spec, load_spec
from tests.conftest import Command
from tests.readme import blocks, compare, shown

Project = Callable[..., Draft]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a function that writes a project's files and makes a draft of it."""

    def make(files: dict[str, str], name: str = "svc", **options: Path) -> Draft:
        directory = tmp_path / name
        for file, text in files.items():
            path = directory / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return draft_spec(directory, **options)

    return make


def spec(made: Draft) -> Spec:
    return made.file.spec


def left(made: Draft) -> dict[str, str]:
    return {one.what: one.because for one in made.left}


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def places(made: Draft) -> dict[str, str]:
    return {f"{'.'.join(one.key)}={one.value}": one.where for one in made.taken}


def missing(made: Draft) -> str:
    return "\n".join(f"{one.what}: {one.change}" for one in made.missing)


# --- Python's own files ----------------------------------------------------------------------------------------


def test_a_requirements_file_is_named_and_not_copied(project: Project) -> None:
    made = project({"requirements.txt": "torch==2.9.1\nnumpy\n", "main.py": ""})
    assert (spec(made).requirements, spec(made).wheels) == ("requirements.txt", ())
    assert spec(made).app is not None
    assert spec(made).app.command == ("python3", "main.py")  # type: ignore[union-attr]
    assert made.plan is not None
    assert (made.plan.cuda, str(made.plan.base)) == ("12.8", "python:3.12-slim-trixie")


def test_the_index_of_a_requirements_file_is_the_index_of_the_spec(project: Project) -> None:
    text = "--extra-index-url https://download.pytorch.org/whl/cu121\ntorch==2.4.0\n"
    made = project({"requirements.txt": text})
    assert (spec(made).index, places(made)["index=cu121"]) == ("cu121", "requirements.txt:1")
    assert made.plan is not None
    assert made.plan.cuda == "12.1"


@pytest.mark.parametrize(
    ("line", "what", "said"),
    [
        (
            "git+https://github.com/x/y.git@v1#egg=y",
            "git+https://github.com/x/y.git@v1#egg=y",
            "no lock can pin",
        ),
        ("y @ git+https://github.com/x/y", "y @ git+https://github.com/x/y", "no lock can pin"),
        ("https://x.org/y-1.0-py3-none-any.whl", "https://x.org/y-1.0-py3-none-any.whl", "no URLs"),
        ("-e .", ".", "the project itself"),
        ("./ext", "./ext", "a directory of sources"),
        ("y==1.0.dev20250318", "y==1.0.dev20250318", "builds of one night"),
    ],
)
def test_what_no_lock_can_pin_stays_out_and_the_other_lines_are_taken_one_by_one(
    project: Project, line: str, what: str, said: str
) -> None:
    made = project({"requirements.txt": f"numpy==2.1.0  # fast\n{line}\nscipy\n"})
    if "dev" not in line:  # the file is not taken as it is
        assert (spec(made).requirements, spec(made).wheels) == (None, ("numpy==2.1.0", "scipy"))
        assert places(made)["wheels=scipy"] == "requirements.txt:3"
        assert said in left(made)[what]


def test_lines_of_files_that_a_requirements_file_names_are_found(project: Project) -> None:
    made = project(
        {"requirements.txt": "-r sub/base.txt\nscipy\n", "sub/base.txt": "numpy \\\n  ==2.1.0\n\ntqdm\n"}
    )
    assert spec(made).wheels == ("numpy ==2.1.0", "tqdm", "scipy")
    assert places(made)["wheels=tqdm"] == "sub/base.txt:4"


def test_a_project_without_wheels_that_compiles_cuda_code_goes_to_compile_and_asks_for_gpus(
    project: Project,
) -> None:
    made = project({"requirements.txt": "torch==2.8.0\nflash-attn==2.8.3\n"})
    assert [entry.package for entry in spec(made).compile] == ["flash-attn==2.8.3"]
    assert spec(made).wheels == ("torch==2.8.0",)
    assert made.plan is None
    assert isinstance(made.problem, PlanError)
    assert made.problem.hint == 'add gpus: [L4] or arch: "8.9"'


def test_pyproject_gives_name_version_python_packages_and_the_script(project: Project) -> None:
    text = """\
[project]
name = "My.Service"
version = "1.2.0+local"
requires-python = ">=3.9,<3.13"
dependencies = [
  "torch==2.8.0",
  "uvicorn[standard]>=0.30; sys_platform == 'linux'",
]
scripts = {my-service = "my_service.cli:main", other = "my_service.cli:other"}
optional-dependencies = {dev = ["pytest"]}
"""
    made = project({"pyproject.toml": text, "src/my_service/__init__.py": ""})
    # my-service is not the project's name as written, and there are two scripts: nobody is asked to guess.
    assert "my-service, other could be meant" in missing(made)
    assert str(spec(made).image) == "my-service:1.2.0_local"
    assert spec(made).python == "3.12"
    assert spec(made).wheels == ("torch==2.8.0", "uvicorn[standard]>=0.30; sys_platform == 'linux'")
    assert places(made)["wheels=torch==2.8.0"] == "pyproject.toml:6"
    assert spec(made).app.copy == ("src/my_service",)  # type: ignore[union-attr]
    assert spec(made).env == {"PYTHONPATH": "/app/src"}
    assert "extra dev" in left(made)


def test_a_single_script_starts_its_function_without_being_installed(project: Project) -> None:
    text = '[project]\nname = "a"\nscripts = {go = "a.cli:app.run"}\n'
    assert "go could be meant" in missing(project({"pyproject.toml": text}))
    made = project({"pyproject.toml": text.replace("app.run", "run")}, "b")
    assert spec(made).app.command == (  # type: ignore[union-attr]
        "python3", "-c", "import sys; from a.cli import run; sys.exit(run())",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("requires", "torch", "classifiers", "python"),
    [
        (">=3.8,<3.12", "torch==2.8.0", (), "3.11"),  # 2.8.0 has wheels for 3.9 to 3.13
        (">=3.10", "torch==2.8.0", ("3.10", "3.11", "3.13"), "3.13"),
        (">=3.10", "torch==2.8.0", (), "3.12"),
        (">=3.7", "torch==2.0.1", (), "3.11"),  # 2.0.1 has them for 3.8 to 3.11
        ("==3.10.*", "numpy", (), "3.10"),
        (">=3.14", "numpy", (), "3.15"),
    ],
)
def test_the_python_is_one_that_the_project_allows_and_torch_has_wheels_for(
    project: Project, requires: str, torch: str, classifiers: tuple[str, ...], python: str
) -> None:
    named = [f"Programming Language :: Python :: {minor}" for minor in classifiers]
    text = f'[project]\nname = "a"\nrequires-python = "{requires}"\ndependencies = ["{torch}"]\nclassifiers = {named}\n'
    made = project({"pyproject.toml": text})
    assert spec(made).python == python
    assert made.plan is not None


def test_a_python_that_nobody_has_is_told(project: Project) -> None:
    text = '[project]\nname = "a"\nrequires-python = "<3.7"\ndependencies = ["torch==2.8.0"]\n'
    assert "a Python that the project allows" in missing(project({"pyproject.toml": text}))


@pytest.mark.parametrize(
    ("poetry", "good", "bad"),
    [
        ("^1.2.3", "1.9", "2.0"), ("^0.2.3", "0.2.9", "0.3"), ("^0.0.3", "0.0.3", "0.0.4"), ("~1.2.3", "1.2.9", "1.3"),
        ("~1", "1.9", "2"), ("1.2.*", "1.2.7", "1.3"), (">=1,<3", "2.9", "3"), ("1.4.0", "1.4.0", "1.4.1"),
    ],
)  # fmt: skip
def test_poetrys_versions_mean_the_same_to_pip(poetry: str, good: str, bad: str) -> None:
    # By poetry's own documentation of carets, tildes and wildcards.
    specifier = SpecifierSet(poetry_specifier(poetry))
    assert (specifier.contains(good), specifier.contains(bad)) == (True, False)


def test_poetrys_table_is_read_with_extras_and_without_what_is_optional(project: Project) -> None:
    text = """\
[tool.poetry]
name = "p"
version = "0.1"
[tool.poetry.dependencies]
python = "^3.10"
torch = "2.8.0"
uvicorn = {version = "^0.30", extras = ["standard"]}
fork = {git = "https://github.com/x/fork"}
onnx = {version = "*", optional = true}
[tool.poetry.group.dev.dependencies]
pytest = "*"
"""
    made = project({"pyproject.toml": text, "poetry.lock": ""})
    assert spec(made).wheels == ("torch==2.8.0", "uvicorn[standard]>=0.30,<0.31")
    assert "fork, which poetry takes from elsewhere" in missing(made)
    assert "poetry export" in left(made)["poetry.lock"]
    assert "group dev" in left(made)


def test_setup_py_is_read_and_not_run(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = f'open("{mark}", "w")\nNEEDS = ["torch==2.8.0", "numpy"]\nfrom setuptools import setup\nsetup(name="s", install_requires=NEEDS)\n'
    made = project({"setup.py": text})
    assert spec(made).wheels == ("torch==2.8.0", "numpy")
    assert not mark.exists()
    hidden = project(
        {"setup.py": "from setuptools import setup\nsetup(name='s', install_requires=read())\n"}, "t"
    )
    assert "setup.py works out when it runs (setup.py:2)" in missing(hidden)


UV_LOCK = """\
version = 1
requires-python = ">=3.11"

[[package]]
name = "svc"
version = "0.1.0"
source = { virtual = "." }
dependencies = [{ name = "numpy" }]

[package.metadata]
requires-dist = [{ name = "numpy" }]

[[package]]
name = "numpy"
version = "2.3.5"
source = { registry = "https://pypi.org/simple" }
wheels = []
"""


def test_a_lock_is_named_and_stands_for_all_else(project: Project) -> None:
    own = '[project]\nname = "svc"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = ["numpy"]\n'
    made = project({"uv.lock": UV_LOCK, "pyproject.toml": own, "requirements.txt": "scipy\n"})
    assert (spec(made).lock, spec(made).requirements, spec(made).wheels) == ("uv.lock", None, ())
    assert left(made)["requirements.txt"] == "the lock holds what is installed"
    assert made.plan is not None
    assert made.plan.resolution.requirements == ("numpy==2.3.5",)


def test_a_lock_with_a_checkout_is_left_and_the_projects_own_words_are_taken(project: Project) -> None:
    git = UV_LOCK.replace(
        'registry = "https://pypi.org/simple"', 'git = "https://github.com/numpy/numpy?rev=1"'
    )
    own = '[project]\nname = "svc"\nversion = "0.1.0"\ndependencies = ["numpy"]\n'
    made = project({"uv.lock": git, "pyproject.toml": own})
    assert (spec(made).lock, spec(made).wheels) == (None, ("numpy",))
    assert "numpy comes from a repository" in left(made)["uv.lock"]


def test_conda_gives_python_cuda_and_the_packages_that_pypi_has_under_a_sure_name(project: Project) -> None:
    text = """\
name: seg
channels: [pytorch, nvidia]
dependencies:
  - python=3.11
  - pytorch::pytorch=2.5.1
  - pytorch-cuda=12.4
  - numpy>=1.26,<2
  - cudnn=9
  - gdal=3.8
  - pip
  - pip:
      - einops==0.8.0
      - git+https://github.com/x/y
"""
    made = project({"environment.yml": text})
    assert (spec(made).python, spec(made).cuda) == ("3.11", "12.4")
    assert spec(made).wheels == ("torch==2.5.1", "numpy>=1.26,<2", "einops==0.8.0")
    assert places(made)["wheels=torch==2.5.1"] == "environment.yml:5"
    assert "no name of it on PyPI is known for sure" in left(made)["gdal"]
    assert {"cudnn", "pip", "git+https://github.com/x/y"} <= set(left(made))
    assert made.plan is not None
    assert made.plan.variant == "cu124"


@pytest.mark.parametrize(
    ("conda", "pip"),
    [
        ("", ""), ("=1.26", "==1.26.*"), ("=1.26.4", "==1.26.4"), ("==1.26", "==1.26"), ("=1.26.4=py311_0", "==1.26.4"),
        (">=1.26,<2", ">=1.26,<2"), ("=1.26.*", "==1.26.*"), ("=1.2|=1.3", None),
    ],
)  # fmt: skip
def test_condas_versions_mean_the_same_to_pip(conda: str, pip: str | None) -> None:
    assert pip_version(conda) == pip


# --- what is bad, missing, or in the way -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "content", "place"),
    [
        ("pyproject.toml", b"[project]\nname = \n", "pyproject.toml:2:8"),
        ("pyproject.toml", b"\xff\xfe[\x00", "pyproject.toml:1:1"),
        ("uv.lock", b"x = [", "uv.lock"),
        ("environment.yml", b"a: [\n", "environment.yml:2:1"),
        ("environment.yml", b"- 1\n", "environment.yml"),
        ("requirements.txt", b"numpy\n\0", "requirements.txt:2:1"),
        ("requirements.txt", b"numpy\n\xe9\n", "requirements.txt:2:1"),
        ("Dockerfile", b"hello\n", "Dockerfile:1:1"),
        ("Dockerfile", b"", "Dockerfile:1:1"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_error_with_its_place(
    tmp_path: Path, file: str, content: bytes, place: str
) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(SpecError) as caught:
        draft_spec(tmp_path)
    assert str(caught.value.where).startswith(f"{tmp_path}/{place}")


def test_a_directory_with_nothing_to_go_by_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n")
    with pytest.raises(SpecError, match="nothing here to make a spec from"):
        draft_spec(tmp_path)
    for path in (tmp_path / "none", tmp_path / "pyproject.toml"):
        with pytest.raises(SpecError, match="no directory"):
            draft_spec(path)


def test_links_in_a_circle_and_missing_files_do_no_harm(project: Project, tmp_path: Path) -> None:
    (tmp_path / "svc").mkdir()
    (tmp_path / "svc" / "loop").symlink_to("loop")
    made = project(
        {"Dockerfile": "FROM python:3.12-slim\nCOPY loop gone.py ./\nRUN pip install -r gone.txt numpy\n"}
    )
    assert left(made)["COPY gone.py"] == "there is no such file here"
    assert "gone.txt, which pip reads (Dockerfile:3), is not among the files here" in missing(made)
    assert spec(made).wheels == ("numpy",)


# --- text ------------------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)


@given(
    st.recursive(
        TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=8,
    )
)
@settings(max_examples=200, deadline=None)
def test_what_is_written_reads_back_as_itself_for_yaml(value: object) -> None:
    assert yaml.safe_load(written({"key": value})) == {"key": value}


@given(
    st.lists(TEXT, min_size=1, max_size=5),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=30),
)
@settings(max_examples=40, deadline=None)
def test_a_hostile_dockerfile_gives_a_spec_that_loads(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], name: str
) -> None:
    directory = tmp_path_factory.mktemp("hostile")
    text = f"FROM python:3.12-slim\nENV A={words[0]!r} {name}=x\nLABEL b={words[-1]!r}\nUSER {name}\nWORKDIR /{name}\n"
    (directory / "Dockerfile").write_text(
        f"{text}CMD {json.dumps(words)}\nRUN pip install {words[0]}\n", "utf-8"
    )
    made = draft_spec(directory)
    made.write()
    loaded = load_spec(made.path).spec
    assert loaded == spec(made)
    if loaded.app is not None and loaded.app.command:
        assert loaded.app.command[-len(words) :] == tuple(words) or loaded.app.command[:2] == (
            "python3",
            "-c",
        )


@given(st.text(max_size=200))
def test_any_name_becomes_the_name_of_an_image(name: str) -> None:
    assert str(ImageReference.parse(repository(name))) == repository(name)


# --- the command -----------------------------------------------------------------------------------------------


@pytest.fixture
def run(command: Command) -> Command:
    return partial(command, "init")


def test_the_command_writes_once_and_never_over_a_file(work: Path, run: Command) -> None:
    (work / "requirements.txt").write_text("torch==2.9.1\n")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert "spec.yaml, from requirements.txt" in out
    first = (work / "spec.yaml").read_text()
    (work / "spec.yaml").write_text("mine\n")
    code, out, err = run()
    assert (code, out, (work / "spec.yaml").read_text()) == (2, "", "mine\n")
    assert "--force" in err
    assert run("--force")[0] == 0
    assert (work / "spec.yaml").read_text() == first
    (work / "link.yaml").symlink_to("nowhere")
    assert run("--output", "link.yaml")[0] == 2
    assert names(work) == ["link.yaml", "requirements.txt", "spec.yaml"]


def test_a_spec_that_does_not_plan_is_written_with_exit_code_1(work: Path, run: Command) -> None:
    (work / "requirements.txt").write_text("flash-attn==2.8.3\ntorch==2.8.0\n")
    code, out, _ = run("--format", "json")
    document = json.loads(out)
    assert (code, document["plans"], document["path"]) == (1, False, "spec.yaml")
    assert document["problem"]["try"] == 'add gpus: [L4] or arch: "8.9"'
    assert load_spec(work / "spec.yaml").spec.compile[0].package == "flash-attn==2.8.3"


def test_a_dash_shows_the_spec_and_gives_the_account_on_standard_error(work: Path, run: Command) -> None:
    (work / "requirements.txt").write_text("numpy\n")
    code, out, err = run("-o", "-")
    assert (code, names(work)) == (0, ["requirements.txt"])
    assert yaml.safe_load(out)["requirements"] == "requirements.txt"
    assert "it plans: base python:3.12-slim-trixie, CUDA none" in err


def test_paths_begin_where_the_spec_stands(project: Project, tmp_path: Path) -> None:
    made = project({"requirements.txt": "numpy\n", "main.py": ""}, output=tmp_path / "spec.yaml")
    assert (spec(made).requirements, spec(made).app.copy) == ("svc/requirements.txt", ("svc/main.py",))  # type: ignore[union-attr]
    aside = project({}, output=tmp_path / "other" / "spec.yaml")
    assert (spec(aside).requirements, spec(aside).wheels) == (None, ("numpy",))


@pytest.mark.parametrize(
    "arguments", [["--from", "none"], ["none"], ["--from", "."], ["--output", "no/such/spec.yaml"]]
)
def test_bad_arguments_are_one_clear_error(work: Path, run: Command, arguments: list[str]) -> None:
    (work / "requirements.txt").write_text("numpy\n")
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert names(work) == ["requirements.txt"]


def test_the_account_as_json_is_the_whole_account(project: Project) -> None:
    made = project({"requirements.txt": "torch==2.8.0\ngit+https://github.com/x/y\n"})
    document = json.loads(init_json(made, written=True))
    assert document["sources"] == ["requirements.txt"]
    assert {
        "key": "wheels",
        "value": "torch==2.8.0",
        "where": "requirements.txt:1",
        "because": "",
    } in document["taken"]
    assert any("no lock can pin" in one["because"] for one in document["left"])
    assert document["won"] is None


def test_the_readme_shows_what_init_writes_and_says(
    tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "answers"
    work.mkdir()
    monkeypatch.chdir(work)
    (work / "Dockerfile").write_text(blocks("### init", "dockerfile")[0])
    (work / "requirements.txt").write_text("transformers==4.57.1\n")
    (work / "serve.py").write_text("")
    (example,) = shown("### init")
    code, account, err = run(*example.arguments[1:])
    assert (code, err) == (0, "")
    compare(example, account)
    assert (work / "spec.yaml").read_text() == blocks("### init", "yaml")[0]
