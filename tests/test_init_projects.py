"""Real projects from their source archives: the spec loads, and plans or says exactly what is missing.

The archives are pinned by hash and not copied; what is expected of each was read by hand in its own files.
"""

from __future__ import annotations

import email
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gpuimage.init import draft_spec
from gpuimage.plan import plan
from gpuimage.spec import Spec, load_spec
from tests.lab import sdists
from tests.lab.home import Home


class Case(NamedTuple):
    """An archive, and what its files say: the Python, the requirements, the command's last word, CUDA's index."""

    project: str
    file: str
    sha256: str
    python: str = "3.12"
    requirements: str | None = None
    command: str = ""
    build: str = "auto"
    missing: tuple[str, ...] = ()


NO_COMMAND = ("the command that starts the service",)
CASES = (
    Case("openai-whisper", "openai_whisper-20250625.tar.gz", "37a91a3921809d9f44748ffc73c0a55c9f366c85a3ef5c2ae0cc09540432eb96",
         "3.13", "requirements.txt", "import sys; from whisper.transcribe import cli; sys.exit(cli())"),
    Case("basicsr", "basicsr-1.4.2.tar.gz", "b89b595a87ef964cda9913b4d99380ddb6554c965577c0c10cb7b78e31301e87",
         requirements="requirements.txt", missing=NO_COMMAND),
    Case("gfpgan", "gfpgan-1.3.8.tar.gz", "21618b06ce8ea6230448cb526b012004f23a9ab956b55c833f69b9fc8a60c4f9",
         requirements="requirements.txt", missing=NO_COMMAND),
    Case("realesrgan", "realesrgan-0.3.0.tar.gz", "0d36da96ab9f447071606e91f502ccdfb08f80cc82ee4f8caf720c7745ccec7e",
         requirements="requirements.txt", missing=NO_COMMAND),
    Case("tts", "TTS-0.9.0.tar.gz", "feb4798e2a62558a38a86905a2bff4340824974fbe380f69c8cdfcbcc54a94cf",
         "3.10", "requirements.txt", missing=("tts, tts-server could be meant",)),
    Case("faster-whisper", "faster-whisper-1.2.0.tar.gz", "56b20d616a575049a79f33b04f02db0868ce38c5d057a0b816d36ca59a6d2598",
         "3.11", "requirements.txt", missing=NO_COMMAND),
    Case("nerfstudio", "nerfstudio-1.1.5.tar.gz", "c3d8fd27208565e2031e4b0c89f82eb78199207d5194755f5b6c8f41e02f4cf9",
         missing=("ns-train",)),
    Case("rembg", "rembg-2.0.86.tar.gz", "9c409038acbd52cc2f5e0183c9d0c155aa3798d0707e0f82f71dcdb6937e2dbf",
         "3.13", command="import sys; from rembg.cli import main; sys.exit(main())"),
    Case("open-clip-torch", "open_clip_torch-3.3.0.tar.gz", "904b1a9f909df8281bb3de60ab95491cd2994a509177ea4f9d6292a84fe24d6d",
         missing=NO_COMMAND),
    Case("demucs", "demucs-4.1.0.tar.gz", "d94c4f7dac886595b66af405c0fd1756fa00c297183f1cf021fd2eeedeeb67b2",
         "3.11", command="import sys; from demucs.separate import main; sys.exit(main())"),
    Case("segment-anything", "segment_anything-1.0.tar.gz", "ed0c9f6fb07bbef9c6238a7028a13c8272f1ba6b6305ca73e3e064266503736b",
         missing=("nothing here names a package",)),
    Case("nemo-toolkit", "nemo_toolkit-3.0.0.tar.gz", "d4cf6d3fc3c3bf28b29efbdeb3d2a32ea2564a642269effd56d9b7a6fe087d91",
         build="cu126", missing=NO_COMMAND),
    Case("vllm", "vllm-0.9.2.tar.gz", "6b0d855ea8ba18d76364c9b82ea94bfcaa9c9e724055438b5733e4716ed104e1",
         requirements="requirements/build.txt", command="vllm.entrypoints.openai.api_server",
         missing=("of which the old image builds a wheel", "what holds of a condition")),
)  # fmt: skip


def promised(directory: Path) -> set[str]:
    """The dependencies by the project's own build: its metadata, else what setuptools wrote beside it."""
    told = email.message_from_string((directory / "PKG-INFO").read_text(encoding="utf-8")).get_all(
        "Requires-Dist", []
    )
    if not told:
        for file in directory.glob("**/*.egg-info/requires.txt"):
            told = file.read_text(encoding="utf-8").split("\n[")[0].split()
    lines = [Requirement(line) for line in told]
    return {
        canonicalize_name(one.name) for one in lines if one.marker is None or "extra" not in str(one.marker)
    }


def asked_for(spec: Spec, directory: Path) -> set[str]:
    file = (directory / spec.requirements).read_text(encoding="utf-8") if spec.requirements else ""
    lines = [line for line in file.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return {canonicalize_name(Requirement(line).name) for line in (*spec.wheels, *lines)}


@pytest.fixture(params=CASES, ids=[case.project for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def test_a_real_project_gets_a_spec_that_loads_and_plans_or_says_what_is_missing(
    case: Case,
) -> None:
    directory = sdists.unpacked(Home.find(), case.project, case.file, case.sha256)
    made = draft_spec(directory)
    spec = made.file.spec
    assert spec.image.repository.endswith(case.project)
    assert (spec.python, spec.requirements, spec.index) == (case.python, case.requirements, case.build)
    if case.project != "vllm":  # there the Dockerfile says what is installed
        assert promised(directory) <= asked_for(spec, directory)
    assert spec.app is not None
    assert (spec.app.command[-1] if spec.app.command else "") == case.command
    asked = "\n".join(one.what for one in made.missing)
    assert all(words in asked for words in case.missing)
    assert bool(case.missing) == bool(asked)
    if case.project == "vllm":
        # Its build dependencies pin torch 2.7.0, and its list is for newer GPUs too than those wheels have code for.
        assert made.plan is None
        assert made.problem is not None
        assert made.problem.hint
    else:
        assert made.plan is not None
    # What was checked in memory holds for the file too: written, read and planned again.
    path = directory / "gpuimage-spec.yaml"
    again = draft_spec(directory, output=path)
    try:
        again.write()
        assert load_spec(path).spec == spec
        if made.plan is not None:
            assert plan(load_spec(path)).base == made.plan.base
    finally:
        path.unlink(missing_ok=True)
