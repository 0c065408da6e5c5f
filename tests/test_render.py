"""The Dockerfile: stable, readable, and free of the mistakes the tool exists to prevent."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dockerfile  # BuildKit's own parser, from PyPI
import pytest

from gpuimage.lint.run import lint_bytes
from gpuimage.lock import lock_beside
from gpuimage.plan import plan
from gpuimage.render import Rendered, render
from gpuimage.spec import load_spec

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/spec.yaml"))
HADOLINT = Path(sys.executable).with_name("hadolint")


def rendered(path: Path, **options: object) -> Rendered:
    file = load_spec(path)
    return render(plan(file, lock_beside(file)), **options)  # type: ignore[arg-type]


def make(tmp_path: Path, text: str, **options: object) -> Rendered:
    path = tmp_path / "spec.yaml"
    path.write_text("image: example.com/team/x:1\n" + text, encoding="utf-8")
    return rendered(path, **options)


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_files_of_an_example_are_what_it_renders(name: str) -> None:
    made = rendered(EXAMPLES / name / "spec.yaml")
    assert (EXAMPLES / name / "Dockerfile").read_text(encoding="utf-8") == made.dockerfile
    assert (EXAMPLES / name / ".dockerignore").read_text(encoding="utf-8") == made.dockerignore


@pytest.mark.parametrize("name", NAMES)
def test_an_example_renders_the_same_bytes_in_another_process(name: str) -> None:
    command = [sys.executable, "-m", "gpuimage", "render", str(EXAMPLES / name / "spec.yaml")]
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    first, second = (
        subprocess.run(command, capture_output=True, env=env, check=True).stdout for env in seeds
    )
    assert first == second == rendered(EXAMPLES / name / "spec.yaml").dockerfile.encode()


@pytest.mark.parametrize("name", NAMES)
def test_hadolint_is_silent_on_an_example(name: str) -> None:
    config = Path(__file__).parent / "hadolint.yaml"
    done = subprocess.run(
        [str(HADOLINT), "--no-color", "-c", str(config), str(EXAMPLES / name / "Dockerfile")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("", 0)


def test_hadolint_would_speak_up(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM debian:latest\nRUN cd /tmp && pip install numpy\n")
    done = subprocess.run(
        [str(HADOLINT), str(tmp_path / "Dockerfile")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_none_of_the_known_faults(name: str) -> None:
    text = rendered(EXAMPLES / name / "spec.yaml").dockerfile
    assert "# syntax=" not in text
    assert not re.search(r"chown\s+-R|chmod\s+-R", text)
    assert not re.search(r"^COPY .*\.whl", text, re.MULTILINE)
    assert re.search(r"^USER \d+:\d+$", text, re.MULTILINE)
    for block in re.findall(r"^RUN .*?apt-get install.*?(?<!\\)$", text, re.MULTILINE | re.DOTALL):
        assert "--no-install-recommends" in block
        assert "rm -rf /var/lib/apt/lists/*" in block
    command = re.search(r"^CMD (.*)$", text, re.MULTILINE)
    assert command
    assert isinstance(json.loads(command[1]), list)


@pytest.mark.parametrize("name", NAMES)
def test_every_decision_that_makes_a_step_stands_as_a_comment_above_it(name: str) -> None:
    text = rendered(EXAMPLES / name / "spec.yaml").dockerfile
    for paragraph in text.split("\n\n"):
        assert paragraph.startswith("# "), paragraph


SPECS = {
    "torch": 'python: "3.13"\ngpus: [A10G, L4]\nwheels: [torch==2.13.0, torchvision]\n',
    "torch of an index": "wheels: [torch==2.8.0]\nindex: cu128\n",
    "no GPU": "wheels: [fastapi]\n",
    "torch for the CPU": "wheels: [torch==2.9.1]\nindex: cpu\n",
    "system CUDA": 'wheels: [onnxruntime-gpu==1.31.1]\ncuda: "13.0"\n',
    "a compiler of CUDA at run time": 'wheels: [torch==2.13.0]\narch: "9.0"\njit: nvcc\n',
    "a compiler of CUDA 12 at run time": 'cuda: "12.9"\narch: "9.0"\njit: nvcc\n',
    "a compiler of CUDA alone": 'cuda: "13.0"\narch: "9.0"\njit: nvcc\n',
    "a C compiler at run time": 'wheels: [torch==2.13.0, triton]\narch: "9.0"\njit: triton\n',
    "an extension": 'wheels: [torch==2.9.1]\ncuda: "13.0"\narch: "8.0;9.0+PTX"\ncompile: [{package: flash-attn==2.8.3}]\n',
    "a workbench": 'flavor: devel\ncuda: "13.0"\narch: "8.9"\nwheels: [torch==2.9.1]\napt: [git]\n',
    "packages and a cache of its own": "wheels: [torch==2.9.1]\napt: [libgl1]\nbuild: {cache: none}\n",
    "an app as root": "wheels: [torch==2.9.1]\napp: {command: [python3, -m, http.server], user: root}\n",
    "another base": "base: python:3.12-slim-bookworm\nwheels: [torch==2.9.1]\n",
}


@pytest.mark.parametrize("text", SPECS.values(), ids=SPECS)
def test_our_own_linter_finds_nothing_in_what_is_rendered(tmp_path: Path, text: str) -> None:
    made = make(tmp_path, text)
    (report,) = lint_bytes(made.dockerfile.encode(), tmp_path / "Dockerfile").files
    found = [f"{one.rule.code}:{one.line} {one.hit.message}" for one in report.findings]
    root = [one for one in found if one.startswith("GI802")]
    assert found == (root if "user: root" in text else [])


@pytest.mark.parametrize("name", NAMES)
def test_our_own_linter_finds_nothing_in_an_example(name: str) -> None:
    path = EXAMPLES / name / "Dockerfile"
    (report,) = lint_bytes(path.read_bytes(), path).files
    assert [one.hit.message for one in report.findings] == []


def test_the_header_names_spec_tool_and_data(tmp_path: Path) -> None:
    made = make(tmp_path, "wheels: [numpy]\n")
    digest = load_spec(tmp_path / "spec.yaml").digest
    assert f"spec sha256:{digest}" in made.dockerfile
    assert "data of 2026-12-01" in made.dockerfile


def test_mirrors_replace_the_registry_and_the_rest_stays(tmp_path: Path) -> None:
    text = 'python: "3.13"\ncuda: "13.0"\narch: "8.0"\nwheels: []\ncompile: [{package: ./k}]\n'
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "pyproject.toml").write_text('[build-system]\nrequires = ["setuptools"]\n')
    plain = make(tmp_path, text).dockerfile
    mirrored = make(tmp_path, text, mirrors={"docker.io": "127.0.0.1:5000"}).dockerfile
    assert "FROM 127.0.0.1:5000/library/python:3.13-slim-trixie" in mirrored
    assert "COPY --from=127.0.0.1:5000/library/python:3.13-slim-bookworm" in mirrored
    assert "FROM 127.0.0.1:5000/nvidia/cuda:" in mirrored
    assert mirrored.replace("127.0.0.1:5000/library/", "").replace("127.0.0.1:5000/", "") == plain


def test_a_company_ca_is_mounted_for_every_download_and_copied_nowhere(tmp_path: Path) -> None:
    (tmp_path / "company.pem").write_text("x")
    made = make(tmp_path, "wheels: [numpy]\napt: [libgl1]\nbuild: {ca: company.pem}\n")
    assert made.dockerfile.count("--mount=type=bind,source=company.pem,target=/tmp/ca.pem") == 2
    assert "PIP_CERT=/tmp/ca.pem" in made.dockerfile
    assert "Acquire::https::CAInfo=/tmp/ca.pem" in made.dockerfile
    assert not re.search(r"^(COPY|ADD|ENV).*pem", made.dockerfile, re.MULTILINE)
    assert "!company.pem" in made.dockerignore


def test_cache_none_uses_no_cache_mount_and_leaves_no_cache(tmp_path: Path) -> None:
    made = make(tmp_path, "wheels: [numpy]\napt: [libgl1]\nbuild: {cache: none}\n")
    assert "type=cache" not in made.dockerfile
    assert "--no-cache-dir" in made.dockerfile
    assert "apt-get clean" in made.dockerfile


def test_secrets_are_mounted_for_the_downloads_only(tmp_path: Path) -> None:
    made = make(tmp_path, 'wheels: [numpy]\nbuild: {secrets: ["id=netrc,env=NETRC_TEXT"]}\n')
    assert "--mount=type=secret,id=netrc" in made.dockerfile
    assert "NETRC=/run/secrets/netrc pip install" in made.dockerfile
    assert "NETRC_TEXT" not in made.dockerfile


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("plain", "A=plain"),
        ("two words", 'A="two words"'),
        ('say "hi"', 'A="say \\"hi\\""'),
        ("back\\slash", 'A="back\\\\slash"'),
        ("$HOME", 'A="\\$HOME"'),
        ("", 'A=""'),
        ("a=b", "A=a=b"),
        ("#hash", 'A="#hash"'),
    ],
)
def test_environment_values_reach_the_container_as_written(tmp_path: Path, value: str, line: str) -> None:
    made = make(tmp_path, f"wheels: [numpy]\nenv: {{A: {json.dumps(value)}}}\n")
    assert line in made.dockerfile


def test_buildkits_own_parser_reads_those_values_back(tmp_path: Path) -> None:
    wanted = {"A": 'say "hi" $HOME \\ done', "B": "two  words", "C": "plain"}
    made = make(tmp_path, f"wheels: [numpy]\nenv: {json.dumps(wanted)}\n")
    commands = dockerfile.parse_string(made.dockerfile)
    pairs: dict[str, str] = {}
    for command in commands:
        if command.cmd.upper() == "ENV":
            pairs |= dict(zip(command.value[::2], command.value[1::2], strict=True))
    unquoted = {k: re.sub(r"\\(.)", r"\1", v.strip('"')) for k, v in pairs.items()}
    assert {k: unquoted[k] for k in wanted} == wanted


def test_the_ignore_file_lets_in_only_what_the_build_takes(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("")
    (tmp_path / "secret.key").write_text("")
    made = make(tmp_path, "wheels: [numpy]\napp: {copy: [run.py], command: [python, run.py]}\n")
    lines = made.dockerignore.splitlines()
    assert lines[1] == "*"
    assert {line for line in lines if line.startswith("!")} == {"!spec.lock", "!run.py"}


def test_the_key_of_a_step_is_known_by_its_line(tmp_path: Path) -> None:
    made = make(tmp_path, "wheels: [numpy]\napt: [libgl1]\n")
    lines = made.dockerfile.splitlines()
    apt = next(i for i, line in enumerate(lines, 1) if "apt-get install" in line)
    pip = next(i for i, line in enumerate(lines, 1) if "pip install" in line)
    assert (made.key_at(apt), made.key_at(pip), made.key_at(1)) == ("apt", "wheels", None)


def test_render_writes_both_files_and_check_notices_a_change(tmp_path: Path) -> None:
    for name in ("spec.yaml", "saxpy.py", "spec.lock"):
        shutil.copy(EXAMPLES / "quickstart" / name, tmp_path / name)
    gpuimage = [sys.executable, "-m", "gpuimage", "render", str(tmp_path / "spec.yaml")]
    subprocess.run([*gpuimage, "-o", str(tmp_path)], check=True, capture_output=True)
    assert subprocess.run([*gpuimage, "--check"], check=False, capture_output=True).returncode == 0
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    done = subprocess.run([*gpuimage, "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Dockerfile: differs" in done.stdout
