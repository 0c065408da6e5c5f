"""What commands install: requirements as packaging and pip read them, paths as the file system has them."""

from __future__ import annotations

import glob
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pip._internal.network.session import PipSession
from pip._internal.req.req_file import parse_requirements

from gpuimage.dockerfile import Source, Span, parse
from gpuimage.facts import FileFacts, PythonInstall
from gpuimage.facts.conda import CondaInstall
from gpuimage.facts.paths import covers
from gpuimage.facts.requirements import Requirements, requirement

NOWHERE = Span(0, 1)
NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)
VERSIONS = st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,2}){0,3}((a|b|rc)[0-9]|\.post[0-9])?", fullmatch=True)
EXACT = st.builds(lambda v, local: f"=={v}{local}", VERSIONS, st.sampled_from(["", "+cu128", "+cpu"]))
RANGES = st.builds(lambda op, v: f"{op}{v}", st.sampled_from([">=", "<=", "<", ">", "~=", "!="]), VERSIONS)


@st.composite
def requirements(draw: st.DrawFn) -> str:
    name = draw(NAMES)
    extras = draw(st.sampled_from(["", "[all]", "[a,B-c]", " [ x ]"]))
    spec = draw(st.one_of(st.just(""), EXACT, RANGES, st.builds(lambda a, b: f"{a},{b}", RANGES, RANGES)))
    marker = draw(st.sampled_from(["", '; python_version < "3.12"', " ; sys_platform == 'linux'"]))
    url = draw(st.sampled_from(["", " @ https://example.com/a-1.0-py3-none-any.whl"])) if not spec else ""
    gap = draw(st.sampled_from(["", " "]))
    return f"{name}{extras}{gap}{spec}{url}{marker if not url else ''}"


@given(requirements())
def test_a_requirement_is_read_as_packaging_reads_it(text: str) -> None:
    try:
        expected = Requirement(text)
    except ValueError:
        return  # `~=1` and its like
    found = requirement(text, text, NOWHERE)
    assert found is not None
    assert found.name == canonicalize_name(expected.name)
    assert found.extras == {canonicalize_name(extra) for extra in expected.extras}
    exact = [one.version for one in expected.specifier if one.operator == "=="]
    if expected.url:
        assert (found.source, found.version) == (expected.url, "1.0")
    else:
        assert found.version == (exact[0] if len(expected.specifier) == 1 and exact else None)
        assert found.specifier is not None
        parts = {part.strip() for part in found.specifier.split(",")} - {""}
        assert parts == {str(one) for one in expected.specifier}


@pytest.mark.parametrize(
    ("text", "name", "version", "source"),
    [
        ("torch-2.8.0+cu128-cp312-cp312-linux_x86_64.whl", "torch", "2.8.0+cu128", True),
        ("https://example.com/flash_attn-2.8.3%2Bcu12torch2.8-cp312-cp312-linux_x86_64.whl", "flash-attn", "2.8.3+cu12torch2.8", True),
        ("git+https://github.com/NVIDIA/apex.git@abc#egg=apex", "apex", None, True),
        ("git+https://github.com/facebookresearch/pytorch3d.git", "pytorch3d", None, True),
        ("./local/dir", "", None, True),
        (".[dev]", "", None, True),
        ("Torch_Vision", "torch-vision", None, False),
    ],
)  # fmt: skip
def test_paths_and_urls_are_no_names(text: str, name: str, version: str | None, source: bool) -> None:
    found = requirement(text, text, NOWHERE)
    assert found is not None
    assert (found.name, found.version, bool(found.source)) == (name, version, source)


FILE = """\
# a comment
--index-url https://download.pytorch.org/whl/cu128
torch==2.8.0  # why
numpy>=2,<3 ; python_version >= "3.10"
transformers[torch] \\
    ==4.57.1
-e ./local
git+https://github.com/NVIDIA/apex.git#egg=apex
--extra-index-url=https://example.com/simple
-r more.txt
pillow==11.0.0 --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000
"""


def test_a_requirements_file_holds_what_pip_finds_in_it(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(FILE)
    (tmp_path / "more.txt").write_text("scipy==1.16.0\n-f https://example.com/links\n")
    theirs = [one.requirement for one in parse_requirements(str(tmp_path / "requirements.txt"), PipSession())]

    def read(path: str) -> tuple[str, str] | None:
        file = tmp_path / Path(path).name
        return (file.read_text(), file.name) if file.exists() else None

    ours = Requirements("requirements.txt", NOWHERE)
    ours.read(FILE, read, "/app")
    assert len(ours.wanted) == len(theirs)
    assert ours.index == "https://download.pytorch.org/whl/cu128"
    assert ours.extra == ["https://example.com/simple", "https://example.com/links"]
    assert ours.complete
    for mine, line in zip(ours.wanted, theirs, strict=True):
        if mine.source:
            assert mine.source in line or line.endswith(mine.source.lstrip("./"))
        else:
            assert mine.name == canonicalize_name(Requirement(line.partition(" --hash")[0]).name)


def installs(
    run: str, *, files: dict[str, str] | None = None, folder: Path | None = None
) -> list[PythonInstall]:
    for name, text in (files or {}).items():
        assert folder is not None
        (folder / name).write_text(text)
    file = FileFacts(
        parse(Source.of(f"FROM python:3.12-slim\nWORKDIR /app\nCOPY . .\nRUN {run}\n")), directory=folder
    )
    return list(file.python_of(file.stages[-1]))


@pytest.mark.parametrize(
    ("command", "names", "index"),
    [
        (
            "pip install torch torchvision --index-url https://x/whl/cu128",
            "torch torchvision",
            "https://x/whl/cu128",
        ),
        ("pip install -i https://x/s -U 'torch>=2' -t /opt numpy", "torch numpy", "https://x/s"),
        ("python3 -m pip install --no-cache-dir torch==2.8.0", "torch", None),
        ("uv pip install --system --torch-backend=cu128 torch", "torch", None),
        ("PIP_INDEX_URL=https://x/s pip3.12 install torch", "torch", "https://x/s"),
        ("conda run -n a pip install torch", "torch", None),
        ("bash -c 'pip install torch'", "torch", None),
        ("pip download torch", "torch", None),
        ("pip list && pip --version", "", None),
        ("pip uninstall torch", "", None),
        ("echo pip install torch", "", None),
    ],
)
def test_commands_install_what_they_name(command: str, names: str, index: str | None) -> None:
    found = installs(command)
    assert " ".join(one.name for install in found for one in install.wanted) == names
    assert [install.index for install in found][:1] == ([index] if names else [])


def test_what_only_the_build_knows_makes_an_install_incomplete() -> None:
    (known,) = installs("pip install torch==$V")
    assert known.wanted[0].specifier is None
    assert known.complete  # the name is known, its version is not
    assert not installs("pip install $PACKAGES")[0].complete
    assert not installs("pip install -r requirements.txt")[0].complete


def test_files_beside_the_dockerfile_are_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    found = installs(
        "pip install -r requirements.txt", files={"requirements.txt": "torch==2.8.0\n"}, folder=tmp_path
    )
    assert [(one.name, one.version, one.file) for one in found[0].wanted] == [
        ("torch", "2.8.0", "requirements.txt")
    ]
    lock = 'version = 1\n[[package]]\nname = "torch"\nversion = "2.8.0"\nsource = { registry = "https://x/whl/cu128" }\n'
    found = installs(
        "uv sync --frozen", files={"uv.lock": lock, "pyproject.toml": "[project]\n"}, folder=tmp_path
    )
    assert [(one.name, one.version, one.locked, one.index) for one in found[0].wanted] == [
        ("torch", "2.8.0", True, "https://x/whl/cu128")
    ]
    project = '[project]\nname = "a"\ndependencies = ["torch==2.8.0", "numpy"]\n'
    other = tmp_path / "other"
    other.mkdir()
    found = installs("pip install .", files={"pyproject.toml": project}, folder=other)
    assert [one.name for one in found[0].wanted] == ["", "torch", "numpy"]


def test_conda_installs_are_read_with_channels_and_pip(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "environment.yml").write_text(
        "name: gpu\nchannels: [pytorch, nvidia]\ndependencies:\n- pytorch::pytorch=2.5.1\n- pytorch-cuda=12.4\n"
        "- pip\n- pip:\n  - transformers==4.57.1\n"
    )

    def conda(run: str) -> CondaInstall:
        text = f"FROM continuumio/miniconda3\nWORKDIR /app\nCOPY . .\nRUN {run}\n"
        file = FileFacts(parse(Source.of(text)), directory=tmp_path)
        (found,) = file.conda_of(file.stages[-1])
        return found

    one = conda("conda env create -f environment.yml")
    assert [(p.name, p.version, p.channel) for p in one.packages] == [
        ("pytorch", "2.5.1", "pytorch"), ("pytorch-cuda", "12.4", None), ("pip", None, None),
    ]  # fmt: skip
    assert one.channels == ("pytorch", "nvidia")
    assert [p.name for p in one.pip] == ["transformers"]
    assert one.environment == "gpu"
    two = conda("conda install -y -n base -c conda-forge 'cuda-toolkit>=12' python=3.12")
    assert [(p.name, p.version) for p in two.packages] == [("cuda-toolkit", "12"), ("python", "3.12")]
    assert (two.channels, two.environment, two.complete) == (("conda-forge",), "base", True)


PATHS = ("a/x.whl", "a/b/x.whl", "a/b/y.txt", "c/d", "ab")


@given(st.sampled_from(["a", "a/*", "a/*.whl", "*", "a/?/x.whl", "*/b", "c/d", "a/b/", "ab", "?b", "z*"]))
def test_a_pattern_covers_what_the_file_system_finds_by_it(
    tmp_path_factory: pytest.TempPathFactory, pattern: str
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for name in PATHS:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    for name in PATHS:
        matched = [Path(one) for one in glob.glob(str(root / pattern))]  # noqa: PTH207  # the oracle
        expected = any(root / name == one or one in (root / name).parents for one in matched)
        assert covers(f"/{pattern}", f"/{name}") == expected, (pattern, name)
