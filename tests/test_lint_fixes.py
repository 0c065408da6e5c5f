"""Fixes: what they write, what they leave alone, and that a real engine finds the result no worse."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuimage.dockerfile import Source, Span, parse
from gpuimage.engine import Engine
from gpuimage.finding import Edit, Fix
from gpuimage.lint.fixes import apply
from gpuimage.lint.run import fixed, lint_bytes
from gpuimage.verify import verify
from tests.bench.dockerfiles import dockerfile
from tests.lab import Lab
from tests.test_rules import CASES, cases

TEXTS = [case.text for path in sorted(CASES.glob("GI*.txt")) for case in cases(path)]


def written(text: bytes, *, unsafe: bool) -> bytes:
    return fixed(text, Path("Dockerfile"), unsafe=unsafe).after


def fixes(text: bytes, *, unsafe: bool) -> Iterator[Fix]:
    for _, one in lint_bytes(text, Path("Dockerfile")).findings:
        if one.hit.fix and (unsafe or one.hit.fix.safe):
            yield one.hit.fix


def check(text: str, *, unsafe: bool) -> bytes:
    """Fix a text, and hold what comes out against what every fix promises."""
    data = text.encode()
    once = written(data, unsafe=unsafe)
    assert written(once, unsafe=unsafe) == once, "a second run changes nothing"
    before, after = parse(Source.decode(data)), parse(Source.decode(once))
    assert [stage.name for stage in before.stages] == [stage.name for stage in after.stages]
    assert len(list(after.problems)) <= len(list(before.problems))
    comments = [line for line in data.splitlines() if line.lstrip().startswith(b"#")]
    assert [line for line in once.splitlines() if line.lstrip().startswith(b"#")] == comments
    return once


@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_fixes_of_all_cases_hold_what_they_promise(unsafe: bool) -> None:
    changed = 0
    for text in TEXTS:
        changed += check(text, unsafe=unsafe) != text.encode()
    assert changed > 40


@given(st.integers(0, 10_000), st.booleans())
def test_fixes_of_generated_files_hold_what_they_promise(seed: int, unsafe: bool) -> None:
    text = dockerfile(random.Random(seed))
    once = check(text, unsafe=unsafe)
    left = list(fixes(once, unsafe=unsafe))
    assert not left, [one.says for one in left]


@given(st.integers(0, 10_000), st.booleans())
def test_line_ends_and_a_byte_order_mark_change_nothing_but_themselves(seed: int, unsafe: bool) -> None:
    text = dockerfile(random.Random(seed))
    plain = written(text.encode(), unsafe=unsafe)
    assert written(text.replace("\n", "\r\n").encode(), unsafe=unsafe) == plain.replace(b"\n", b"\r\n")
    assert written(b"\xef\xbb\xbf" + text.encode(), unsafe=unsafe) == b"\xef\xbb\xbf" + plain


def test_bytes_that_are_no_utf_8_stay_as_they_are() -> None:
    text = b"# caf\xe9 \xff\nFROM python:3.12-slim\nRUN pip install torch==2.9.1\n"
    assert written(text, unsafe=False) == text.replace(b"pip install", b"pip install --no-cache-dir")


def test_a_fix_that_does_not_help_is_not_written() -> None:
    text = b'FROM condaforge/miniforge3:24.11.3-2\nRUN mamba install -y -n a"-f pytorch\n'
    assert list(fixes(text, unsafe=False))
    assert written(text, unsafe=False) == text  # all that is put behind the quote belongs to it


def test_one_of_two_fixes_that_overlap_waits() -> None:
    source = Source.of("abcdef\n")
    first, second, third = (
        Fix(name, (Edit(Span(a, b), new),))
        for name, a, b, new in (("x", 1, 3, "X"), ("y", 2, 4, "Y"), ("z", 5, 5, "Z"))
    )
    text, taken = apply(source, [first, second, third])
    assert text == "aXdeZf\n"
    assert taken == [first, third]


def test_a_fix_that_is_only_suggested_waits_for_unsafe() -> None:
    text = b"FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y git && rm -rf /var/lib/apt/lists/*\n"
    assert written(text, unsafe=False) == text
    assert b"--no-install-recommends" in written(text, unsafe=True)


BASE = "debian:bookworm-slim"
BEFORE = "FROM {base}\nRUN apt-get --version\nENV NVIDIA_DRIVER_CAPABILITIES=compute,utilty\n"


def test_verify_builds_both_and_takes_what_is_no_worse(
    docker_engine: Engine, lab: Lab, tmp_path: Path
) -> None:
    before = BEFORE.format(base=lab.base(BASE))
    path = tmp_path / "Dockerfile"
    proof = verify(path, before.encode(), before.replace("utilty", "utility").encode(), docker_engine)
    assert proof.holds, proof.text
    assert "both build" in proof.text


def test_verify_refuses_what_does_not_build_or_grows(docker_engine: Engine, lab: Lab, tmp_path: Path) -> None:
    before = BEFORE.format(base=lab.base(BASE))
    path = tmp_path / "Dockerfile"
    broken = verify(path, before.encode(), before.encode() + b"RUN false\n", docker_engine)
    assert not broken.holds
    assert "does not build" in broken.text
    larger = verify(
        path, before.encode(), before.encode() + b"RUN head -c 9000000 /dev/urandom > /x\n", docker_engine
    )
    assert not larger.holds
    assert "would grow" in larger.text
    refused = verify(path, b"FROM scratch\nRUN true\n", before.encode(), docker_engine)
    assert not refused.holds
    assert "does not build as it is" in refused.text


def test_the_command_writes_a_fix_that_was_verified_and_no_other(
    docker_engine: Engine, lab: Lab, tmp_path: Path
) -> None:
    path = tmp_path / "Dockerfile"
    options = ["--fix", "--verify", "--engine", "docker", "--host", lab.docker_host, "--fail-on", "never"]

    def run(text: str) -> str:
        path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "gpuimage", "lint", *options, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    before = BEFORE.format(base=lab.base(BASE))
    assert "verified" in run(before)
    assert path.read_text(encoding="utf-8") == before.replace("utilty", "utility")
    broken = before.replace("apt-get --version", "false")
    assert "does not build as it is" in run(broken)
    assert path.read_text(encoding="utf-8") == broken
