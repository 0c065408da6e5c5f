"""The command line: one clear error, the documented exit code, results on standard output, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gpuimage import cli

BAD = sorted((Path(__file__).parent / "bad_specs").iterdir())
EXAMPLES = Path(__file__).parent.parent / "examples"

PLAN_LEVEL = {
    "torch-without-that-cuda": 'python: "3.12"\ncuda: "12.8"\nwheels: [torch==2.12.0]\n',
    "python-without-wheel": 'python: "3.9"\nwheels: [torch==2.13.0]\n',
    "driver-too-old": 'cuda: "12.8"\ndriver: "450.80.02"\nwheels: [torch==2.9.1]\n',
    "arch-gone-in-that-cuda": 'cuda: "13.0"\narch: "7.0"\nwheels: [torch==2.11.0]\n',
    "cuda-never-released": 'cuda: "12.7"\nwheels: [torch==2.9.1]\n',
    "unknown-gpu": "gpus: [A1OOO]\nwheels: [torch==2.9.1]\n",
    "no-such-version": "wheels: [numpy==99]\n",
    "two-cuda-majors": "wheels: [cupy-cuda12x, onnxruntime-gpu==1.31.1]\n",
    "compile-without-arch": 'cuda: "12.8"\nwheels: [torch==2.9.1]\ncompile: [{package: flash-attn==2.8.3}]\n',
    "source-only-package": "gpus: [A100]\nwheels: [torch==2.9.1, flash-attn==2.8.3]\n",
}


def run(
    *arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["gpuimage", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    out, err = capsys.readouterr()
    code = stopped.value.code
    return code if isinstance(code, int) else 1, out, err


def one_clear_error(code: int, out: str, err: str) -> None:
    assert code == 2
    assert out == ""
    assert "Traceback" not in err
    assert len([line for line in err.splitlines() if line.startswith("error: ")]) == 1


@pytest.mark.parametrize("path", BAD, ids=lambda p: p.name)
def test_a_bad_spec_gives_one_error_with_its_position_and_exit_2(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run("plan", str(path), capsys=capsys, monkeypatch=monkeypatch)
    one_clear_error(code, out, err)
    assert str(path) in err


@pytest.mark.parametrize("name", PLAN_LEVEL)
def test_an_impossible_spec_gives_one_error_with_its_position_and_exit_2(
    name: str, work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "spec.yaml").write_text("image: example.com/x:1\n" + PLAN_LEVEL[name])
    code, out, err = run("plan", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch)
    one_clear_error(code, out, err)
    if name not in ("no-such-version", "source-only-package"):  # the resolver's answer is about all of them
        assert err.startswith("error: spec.yaml:")
    assert "  try: " in err


def test_a_missing_file_and_a_directory_are_said_so(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nowhere.yaml", "."):
        one_clear_error(*run("plan", name, capsys=capsys, monkeypatch=monkeypatch))


def test_a_spec_of_ten_megabytes_is_refused_unread(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "spec.yaml").write_bytes(b"image: a\n" + b"# x\n" * 2_500_000)
    one_clear_error(*run("plan", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch))


def test_plan_as_json_is_one_document_and_the_rest_goes_to_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = str(EXAMPLES / "quickstart" / "spec.yaml")
    code, out, _ = run("plan", "--format", "json", "--offline", spec, capsys=capsys, monkeypatch=monkeypatch)
    document = json.loads(out)
    assert code == 0
    assert document["base"] == "python:3.13-slim-trixie"
    assert {wheel["name"] for wheel in document["wheels"]} >= {"cupy-cuda13x", "nvidia-cublas"}


def test_schema_is_json_schema(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("schema", capsys=capsys, monkeypatch=monkeypatch)
    assert code == 0
    assert json.loads(out)["$schema"].startswith("https://json-schema.org/")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["plan"],
        ["smoke"],
        ["build", "x.yaml", "--engine", "lxc"],
        ["plan", "--format", "xml", "x"],
    ],
)
def test_wrong_usage_is_exit_2_with_usage(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run(*arguments, capsys=capsys, monkeypatch=monkeypatch)
    assert (code, out) == (2, "")
    assert "Usage:" in err


def test_an_engine_that_does_not_answer_is_exit_3_with_a_way_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, work: Path
) -> None:
    spec = str(EXAMPLES / "quickstart" / "spec.yaml")
    code, out, err = run(
        "build",
        spec,
        "--engine",
        "docker",
        "--host",
        f"unix://{work}/nothing.sock",
        capsys=capsys,
        monkeypatch=monkeypatch,
    )
    assert (code, out) == (3, "")
    assert "nothing.sock" in err
    assert "Traceback" not in err


def test_lock_check_tells_a_stale_lock(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = work / "spec.yaml"
    spec.write_text("image: example.com/x:1\nwheels: [six==1.16.0]\n")
    assert run("lock", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch)[0] == 0
    first = (work / "spec.lock").read_text()
    assert run("lock", "--check", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch)[0] == 0
    spec.write_text("image: example.com/x:1\nwheels: [six==1.15.0]\n")
    code, _, err = run("lock", "--check", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch)
    assert code == 2
    assert "stale" in err
    assert (work / "spec.lock").read_text() == first


def test_a_matrix_is_locked_variant_by_variant_and_stays_fresh(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "spec.yaml").write_text(
        'image: a/b:1\nwheels: [six==1.16.0]\nmatrix: {python: ["3.12", "3.13"]}\n'
    )
    assert run("lock", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch)[0] == 0
    assert sorted(path.name for path in work.glob("*.lock")) == ["spec.py312.lock", "spec.py313.lock"]
    assert run("lock", "--check", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch)[0] == 0


def test_what_the_lock_does_not_depend_on_leaves_it_fresh(
    work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = work / "spec.yaml"
    spec.write_text("image: example.com/x:1\nwheels: [six==1.16.0]\n")
    run("lock", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch)
    spec.write_text("image: example.com/x:2\nwheels: [six==1.16.0]\nenv: {A: b}\n")
    assert run("lock", "--check", "spec.yaml", capsys=capsys, monkeypatch=monkeypatch)[0] == 0


def test_a_reader_that_leaves_early_is_no_traceback() -> None:
    command = f"{sys.executable} -m gpuimage schema | head -c 10"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_the_built_wheel_renders_outside_the_checkout(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(root)],
        check=True,
        capture_output=True,
    )
    [wheel] = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "gpuimage/templates/Dockerfile.j2" in names
    assert "gpuimage/data/torch_wheels.json" in names
    assert "gpuimage/smoke/probe.py" in names
    site = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(wheel)],
        check=True,
        capture_output=True,
    )
    code = "import gpuimage, sys; sys.argv = ['gpuimage', 'render', sys.argv[1]]; from gpuimage.cli import main; print(gpuimage.__file__, file=sys.stderr); main()"
    spec = EXAMPLES / "quickstart" / "spec.yaml"
    done = subprocess.run(
        [sys.executable, "-c", code, str(spec)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(site) in done.stderr
    assert done.stdout == (EXAMPLES / "quickstart" / "Dockerfile").read_text()
