"""What a first spec takes of an old Dockerfile, and what it leaves: each rule on a small file written here."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuimage.errors import PlanError
from gpuimage.init import Draft, draft_spec
from tests.test_init import UV_LOCK, left, missing, places, spec

TORCH = "RUN pip install torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128\n"


def made(tmp_path: Path, text: str, **files: str) -> Draft:
    (tmp_path / "Dockerfile").write_text(text, encoding="utf-8")
    for name, content in files.items():
        path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return draft_spec(tmp_path)


WHOLE = """\
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build
ENV TORCH_CUDA_ARCH_LIST="8.0 8.6+PTX" MAX_JOBS=4
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124 \\
 && pip wheel --no-build-isolation --no-deps -w /wheels flash-attn==2.7.4.post1

FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04
ENV DEBIAN_FRONTEND=noninteractive NVIDIA_VISIBLE_DEVICES=all LD_LIBRARY_PATH=/usr/local/cuda/lib64 \\
    HF_HOME=/models HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345 PYTHONUNBUFFERED=1
RUN apt-get update && apt-get install -y python3 python3-pip libcudnn9-cuda-12 cuda-toolkit-12-4 libgl1-mesa-glx=1.2 git
COPY requirements.txt /tmp/
RUN pip install --upgrade pip && pip install -r /tmp/requirements.txt \\
 && pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124
COPY --from=build /wheels /wheels
RUN pip install --no-deps /wheels/*.whl && python3 -m fetch_weights
WORKDIR /srv
COPY serve.py /srv/
COPY pkg /srv/pkg
EXPOSE 8000
USER 1000:1000
ENTRYPOINT ["python3", "serve.py"]
CMD ["--port", "8000"]
"""


def test_a_file_with_two_stages_becomes_the_spec_that_a_person_would_write(tmp_path: Path) -> None:
    files = {"requirements_dot_txt": "numpy==2.1.0\n", "serve_dot_py": "", "pkg__a_dot_py": ""}
    found = made(tmp_path, WHOLE, **files)
    one = spec(found)
    assert (one.python, str(one.arch), one.index) == ("3.10", "8.0;8.6+PTX", "cu124")
    assert (one.wheels, one.requirements) == (("torch==2.6.0",), "requirements.txt")
    assert [(entry.package, entry.env) for entry in one.compile] == [
        ("flash-attn==2.7.4.post1", {"MAX_JOBS": "4"})
    ]
    assert (one.apt, one.env, one.cuda) == (("libgl1",), {"HF_HOME": "/models"}, None)
    assert one.app is not None
    assert (one.app.copy, one.app.workdir, one.app.user) == (("serve.py", "pkg"), "/srv", "1000:1000")
    assert one.app.command == ("python3", "serve.py", "--port", "8000")
    assert found.plan is not None
    assert (found.plan.cuda, str(found.plan.base)) == ("12.4", "python:3.10-slim-trixie")
    where = places(found)
    assert (where["arch=8.0;8.6+PTX"], where["wheels=torch==2.6.0"], where["apt=libgl1"]) == (
        "Dockerfile:2", "Dockerfile:13", "Dockerfile:10",
    )  # fmt: skip
    told = left(found)
    assert "bring their CUDA along" in told["nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04"]
    assert {"python3", "libcudnn9-cuda-12", "cuda-toolkit-12-4", "git", "pip", "EXPOSE 8000"} <= set(told)
    assert {"NVIDIA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "HF_TOKEN", "PYTHONUNBUFFERED"} <= set(told)
    assert any("fetch_weights" in what for what in told)


def test_a_secret_is_in_neither_the_spec_nor_the_account(tmp_path: Path) -> None:
    text = (
        "FROM python:3.12-slim\nARG TOKEN=hunter2-hunter2\nENV DB_PASSWORD=k3-vorn-82 KEY=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345\n"
        "LABEL built=https://me:pa55word@x.org/y\nRUN pip install --index-url https://u:s3cr3t99@pypi.x.org/simple numpy\n"
        "RUN git clone https://bob:t0ps3cret@github.com/x/y\n"
        'CMD ["serve", "--api-key", "abcdef123456"]\n'
    )
    found = made(tmp_path, text)
    shown = found.text + repr(found.left) + repr(found.missing) + repr(found.taken)
    for secret in ("hunter2", "k3-vorn-82", "hf_AbC", "pa55word", "s3cr3t99", "t0ps3cret", "abcdef123456"):
        assert secret not in shown
    assert spec(found).app is None
    assert {"DB_PASSWORD", "KEY", "built", "the command"} <= set(left(found))


@pytest.mark.parametrize(
    ("base", "wheels", "index", "python"),
    [
        ("pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime", ("torch==2.4.0", "einops"), "cu121", "3.12"),
        ("python:3.11.9-slim", ("einops",), "auto", "3.11"),
        ("ubuntu:24.04", ("einops",), "auto", "3.12"),
    ],
)
def test_a_base_gives_its_python_and_its_torch(
    tmp_path: Path, base: str, wheels: tuple[str, ...], index: str, python: str
) -> None:
    found = made(tmp_path, f"FROM {base}\nRUN apt-get install -y python3-pip && pip install einops\n")
    assert (set(spec(found).wheels), spec(found).index, spec(found).python) == (set(wheels), index, python)


@pytest.mark.parametrize(
    ("run", "python"),
    [
        ("apt-get install -y python3.11 python3.11-dev", "3.11"),
        ("uv venv --python 3.13 /opt/v", "3.13"),
        ("conda install -y python=3.9", "3.9"),
        ("apt-get install -y python3", "3.10"),
    ],
)
def test_the_python_of_a_package_or_tool_counts_before_that_of_the_distribution(
    tmp_path: Path, run: str, python: str
) -> None:
    assert spec(made(tmp_path, f"FROM nvidia/cuda:12.6.3-base-ubuntu22.04\nRUN {run}\n")).python == python


@pytest.mark.parametrize(
    "base", ["nvcr.io/nvidia/pytorch:24.05-py3", "registry.local/ours:1", "rocm/pytorch:6"]
)
def test_a_base_that_nobody_knows_is_told_as_missing(tmp_path: Path, base: str) -> None:
    assert base in missing(made(tmp_path, f"FROM {base}\n"))


def test_the_cuda_of_the_base_counts_where_the_wheels_link_to_it(tmp_path: Path) -> None:
    found = made(tmp_path, "FROM nvidia/cuda:12.6.3-devel-ubuntu24.04\nRUN pip install ctranslate2==4.5.0\n")
    assert (spec(found).cuda, places(found)["cuda=12.6"]) == ("12.6", "Dockerfile:1")
    assert found.plan is not None
    assert str(found.plan.base).startswith("nvidia/cuda:12.6")


@pytest.mark.parametrize(
    ("line", "arch"),
    [
        ('ENV TORCH_CUDA_ARCH_LIST="7.5;8.6+PTX"', "7.5;8.6+PTX"),
        ("ENV CUDAARCHS=80;90a", "8.0;9.0a"),
        ("RUN cmake -DCMAKE_CUDA_ARCHITECTURES='86;89-virtual' .", "8.6;8.9+PTX"),
        ('ENV TORCH_CUDA_ARCH_LIST="8.0,8.6"', None),
    ],
)
def test_architectures_are_taken_in_the_grammar_of_torch(tmp_path: Path, line: str, arch: str | None) -> None:
    found = made(tmp_path, f"FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\n{line}\n{TORCH}")
    assert str(spec(found).arch or None) == str(arch)
    if arch is None:
        assert 'write "8.0;8.6"' in left(found)["TORCH_CUDA_ARCH_LIST=8.0,8.6"]


def test_a_list_with_what_the_wheel_has_no_code_for_is_written_and_does_not_plan(tmp_path: Path) -> None:
    found = made(
        tmp_path, f'FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nENV TORCH_CUDA_ARCH_LIST="3.5;8.0"\n{TORCH}'
    )
    assert found.plan is None
    assert isinstance(found.problem, PlanError)
    assert "3.5" in found.problem.what


@pytest.mark.parametrize(
    ("lines", "command"),
    [
        ('CMD ["uv", "run", "--no-sync", "main.py", "-v"]', ("python3", "main.py", "-v")),
        ("CMD exec python main.py --port 1", ("python", "main.py", "--port", "1")),
        ("CMD python main.py --port $PORT", ("/bin/sh", "-c", "python main.py --port $PORT")),
        ('CMD ["conda", "run", "-n", "x", "python", "main.py"]', ("python", "main.py")),
        ('CMD ["/opt/venv/bin/python", "main.py"]', ("python", "main.py")),
        ('CMD ["a"]\nENTRYPOINT ["b"]', ("b",)),
        ('ENTRYPOINT b c\nCMD ["a"]', ("b", "c")),
    ],
)
def test_the_command_is_what_docker_would_run_without_tools_that_are_gone(
    tmp_path: Path, lines: str, command: tuple[str, ...]
) -> None:
    # ENTRYPOINT forgets only a CMD of the stages below it: here both stand in one stage.
    expected = (*command, "a") if lines.startswith('CMD ["a"]') else command
    app = spec(made(tmp_path, f"FROM python:3.12-slim\nRUN pip install numpy\n{lines}\n")).app
    assert app is not None
    assert app.command == expected


def test_an_entrypoint_forgets_the_cmd_of_the_stage_below(tmp_path: Path) -> None:
    text = 'FROM python:3.12-slim AS base\nCMD ["a"]\nFROM base\nENTRYPOINT ["b"]\n'
    assert spec(made(tmp_path, text)).app.command == ("b",)  # type: ignore[union-attr]


def test_a_directory_that_is_copied_whole_is_named_without_what_does_not_run(tmp_path: Path) -> None:
    text = "FROM python:3.12-slim\nWORKDIR /srv/x\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\nCOPY . .\n"
    files = {
        "requirements_dot_txt": "numpy\n", "main_dot_py": "", "src__a_dot_py": "", "README_dot_md": "", "big_dot_bin": "",
        "tests__t_dot_py": "", "_dot_dockerignore": "*.bin\n", "_dot_git__x": "",
    }  # fmt: skip
    found = made(tmp_path, text, **files)
    app = spec(found).app
    assert app is not None
    assert (app.copy, app.workdir) == (("main.py", "src"), "/srv/x")


def test_files_that_land_elsewhere_are_told(tmp_path: Path) -> None:
    text = "FROM python:3.12-slim\nWORKDIR /app\nCOPY src/ /app/\nRUN pip install numpy\nCMD python main.py\n"
    found = made(tmp_path, text, src__main_dot_py="")
    assert spec(found).app.copy == ("src",)  # type: ignore[union-attr]
    assert "the place of src: /app in the old image (Dockerfile:3)" in missing(found)


def test_roots_home_is_no_place_for_another_user(tmp_path: Path) -> None:
    found = made(
        tmp_path, "FROM python:3.12-slim\nWORKDIR /root\nCOPY m.py .\nRUN pip install numpy\n", m_dot_py=""
    )
    assert spec(found).app.workdir == "/app"  # type: ignore[union-attr]
    assert "root's home" in left(found)["the directory /root"]
    assert "root" in left(found)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ('if [ -n "$GPU" ]; then pip install torch==2.8.0; fi', "what holds of a condition (Dockerfile:2)"),
        (
            "git clone https://github.com/x/app /srv && pip install numpy\nWORKDIR /srv",
            "it was cloned from https://github.com/x/app",
        ),
    ],
)
def test_what_only_the_user_knows_is_asked_for(tmp_path: Path, run: str, said: str) -> None:
    assert said in missing(made(tmp_path, f"FROM python:3.12-slim\nRUN {run}\n"))


def test_a_clone_of_something_else_is_no_wheel(tmp_path: Path) -> None:
    text = "FROM python:3.12-slim\nRUN git clone https://github.com/NVIDIA/apex && cd apex && pip install -v .\nRUN pip install numpy\n"
    found = made(tmp_path, text)
    assert spec(found).wheels == ("numpy",)
    assert "no lock can pin" in left(found)["apex"]


def test_an_installed_project_brings_what_its_pyproject_asks_for_with_the_extras(tmp_path: Path) -> None:
    project = (
        '[project]\nname = "p"\ndependencies = ["numpy"]\nscripts = {serve = "p.web:main"}\n'
        '[project.optional-dependencies]\ngpu = ["torch==2.8.0"]\ndocs = ["sphinx"]\n'
    )
    text = 'FROM python:3.12-slim\nWORKDIR /app\nCOPY . .\nRUN pip install ".[gpu]"\nCMD ["serve", "-v"]\n'
    found = made(tmp_path, text, pyproject_dot_toml=project, src__p__web_dot_py="")
    assert spec(found).wheels == ("numpy", "torch==2.8.0")
    assert spec(found).env == {"PYTHONPATH": "/app/src"}
    assert spec(found).app.command == (  # type: ignore[union-attr]
        "python3", "-c", "import sys; from p.web import main; sys.exit(main())", "-v",
    )  # fmt: skip
    assert "extra docs" in left(found)


def test_files_that_the_dockerfile_does_not_name_are_told(tmp_path: Path) -> None:
    found = made(tmp_path, "FROM python:3.12-slim\nRUN pip install numpy\n", requirements_dot_txt="scipy\n")
    assert (spec(found).wheels, spec(found).requirements) == (("numpy",), None)
    assert "the Dockerfile does not name it" in left(found)["requirements.txt"]
    bare = made(tmp_path, "FROM python:3.12-slim\n")
    assert spec(bare).requirements == "requirements.txt"


@pytest.mark.parametrize(
    ("given", "taken"),
    [("compute,utility", None), ("all", "all"), ("compute,video,utility", "compute,video,utility")],
)
def test_driver_capabilities_beyond_the_usual_stay(tmp_path: Path, given: str, taken: str | None) -> None:
    found = made(
        tmp_path, f"FROM python:3.12-slim\nENV NVIDIA_DRIVER_CAPABILITIES={given}\nRUN pip install numpy\n"
    )
    assert spec(found).env.get("NVIDIA_DRIVER_CAPABILITIES") == taken


def test_a_lock_and_a_requirements_file_are_never_both_named(tmp_path: Path) -> None:
    text = "FROM python:3.12-slim\nWORKDIR /app\nCOPY . .\nRUN uv sync --frozen && pip install -c c.txt -r requirements.txt\n"
    own = '[project]\nname = "svc"\nversion = "0.1.0"\nrequires-python = ">=3.11"\ndependencies = ["numpy"]\n'
    files = {"requirements_dot_txt": "scipy==1.14.0\n", "uv_dot_lock": UV_LOCK, "pyproject_dot_toml": own}
    found = made(tmp_path, text, **files)
    assert (spec(found).lock, spec(found).requirements, spec(found).wheels) == (
        "uv.lock",
        None,
        ("scipy==1.14.0",),
    )
    assert "no options of pip" in left(found)["constraints c.txt"]


# --- the size to be won ------------------------------------------------------------------------------------------


def test_the_old_image_is_held_against_the_plan_where_both_are_known(tmp_path: Path) -> None:
    # torch 2.9.1+cu128 and the bases are measured or quoted in the tables: the base is all that can be won.
    text = "FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nRUN pip install --no-cache-dir torch==2.9.1\n"
    found = made(tmp_path, text)
    assert found.won is not None
    old, new = found.won.old_bytes, found.won.new
    assert old is not None
    assert new is not None
    assert (found.won.least, found.won.most) == (old[0] - new[1], old[1] - new[0])
    assert found.won.least is not None
    assert 1_000_000_000 < found.won.least < 3_000_000_000


@pytest.mark.parametrize(
    "text",
    [
        "FROM unknown/base:1\nRUN pip install torch==2.9.1\n",
        "FROM python:3.12-slim\nRUN pip install torch==2.3.0\n",  # its size was not measured
        # The linter does not see what poetry installs into an environment that is copied.
        "FROM python:3.12-slim AS b\nWORKDIR /app\nCOPY pyproject.toml .\nRUN poetry install\nFROM python:3.12-slim\nCOPY --from=b /app/.venv /app/.venv\n",
    ],
)
def test_a_difference_that_nobody_knows_is_not_told(tmp_path: Path, text: str) -> None:
    project = '[project]\nname = "p"\ndependencies = ["torch==2.9.1"]\n'
    found = made(tmp_path, text, pyproject_dot_toml=project)
    assert found.won is not None
    assert found.plan is not None
    assert found.plan.cuda is not None
    assert (found.won.least, found.won.most) == (None, None)


def test_the_same_torch_installed_twice_counts_once(tmp_path: Path) -> None:
    line = "RUN pip install --no-cache-dir torch==2.9.1\n"
    once, twice = (made(tmp_path, f"FROM python:3.12-slim\n{line * n}").won for n in (1, 2))
    assert once is not None
    assert twice is not None
    assert once.old == twice.old
