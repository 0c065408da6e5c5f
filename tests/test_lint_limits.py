"""Files of a size that nobody writes: they are linted within bounds, and what is left out is said."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuimage.lint.run import lint_bytes
from gpuimage.reporters.lint import LINT_REPORTERS

LINES = 100_000
BYTES = 10_000_000
MEMORY = 1 << 30
PATIENCE = 120  # seconds; a quadratic step takes hours here


def lint(text: str, folder: Path) -> list[dict[str, Any]]:
    """The findings of a child that may use no more than MEMORY."""
    (folder / "Dockerfile").write_text(text, encoding="utf-8")

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    done = subprocess.run(
        [sys.executable, "-m", "gpuimage", "lint", "--fail-on", "never", "--format", "json", "Dockerfile"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        preexec_fn=bound,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    findings: list[dict[str, Any]] = json.loads(done.stdout)["files"][0]["findings"]
    return findings


def many(line: Callable[[int], str]) -> str:
    return "FROM debian:12\n" + "".join(f"{line(i)}\n" for i in range(LINES))


FILES = {
    "installs": many(lambda i: f"RUN apt-get install -y a{i} && pip install b{i}"),
    "variables": many(lambda i: f"ENV A{i}=$A{i - 1}"),
    "copies": many(lambda i: f"COPY a{i}.whl /b{i}"),
    "stages": many(lambda i: f"FROM s{i - 1} AS s{i}"),
    "one RUN of many lines": "FROM a\nRUN true \\\n" + " && pip install a \\\n" * LINES + " && true\n",
    "a long heredoc": "FROM a\nRUN <<EOF\n" + "pip install torch\n" * LINES + "EOF\n",
    "a long word": f"FROM a\nRUN echo {'x' * BYTES}\n",
    "many packages": f"FROM a\nRUN pip install {'torch==2.8.0 ' * (BYTES // 13)}\n",
    "open substitutions": f"FROM a\nRUN echo {'$(' * (BYTES // 2)}\n",
    "open quotes": "FROM a\nRUN echo " + '"$(' * (BYTES // 3) + "\n",
    "an array": 'FROM a\nRUN ["' + 'a","' * (BYTES // 4) + '"]\n',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_a_huge_file_is_linted_in_bounded_time_and_memory(text: str, tmp_path: Path) -> None:
    lint(text, tmp_path)


def test_what_is_too_long_to_be_judged_is_said(tmp_path: Path) -> None:
    found = lint(FILES["copies"], tmp_path)
    assert [one["message"] for one in found if one["rule"] == "GI901"] == [
        "only the first 2,000 instructions are judged, 98,001 more are not"
    ]
    found = lint(FILES["one RUN of many lines"], tmp_path)
    assert [one["message"] for one in found if one["rule"] == "GI901"] == [
        "only the first 200,000 characters of this RUN are judged"
    ]
    found = lint("FROM a\nRUN true" + " && a" * 6000 + "\n", tmp_path)
    assert [one["message"] for one in found if one["rule"] == "GI901"] == [
        "only the first 5,000 commands of this RUN are judged"
    ]


def test_a_line_that_buildkit_refuses_is_an_error_of_its_own(tmp_path: Path) -> None:
    dockerfile = pytest.importorskip("dockerfile")
    line = "RUN pip install torch==2.8.0 #"
    longest = line + "x" * (65_535 - len(line))
    assert len(dockerfile.parse_string(f"FROM a\n{longest}\n")) == 2
    with pytest.raises(dockerfile.GoParseError, match="65535"):
        dockerfile.parse_string(f"FROM a\n{longest}x\n")
    assert "GI901" not in {one["rule"] for one in lint(f"FROM a\n{longest}\n", tmp_path)}
    codes = {one["rule"] for one in lint(f"FROM a\n{longest}x\n", tmp_path)}
    assert {"GI901", "GI701"} <= codes  # and the rest of it is judged


PIECES = (
    "FROM a AS b\n", "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n", "FROM b\n", "RUN ", "RUN <<EOF\n", "EOF\n", "COPY --from=b ", "ENV A=$B",
    "ARG ", "\\\n", "\n", "&& ", "|| ", "$(", ")", "`", "'", '"', "${A:-", "}", "pip install torch", " -r requirements.txt", "apt-get install -y cuda",
    "conda install pytorch", "[", ']', "#", " # gpuimage: ignore=GI301\n", "--mount=type=cache,target=/x ", "if ", "fi", "case x in ", "rm -rf /x ",
    "git clone https://x/y ", "TORCH_CUDA_ARCH_LIST=8.0 ", "flash-attn", "cd /x ", "\r\n", "\t", "\x00", "é", "ONBUILD ", "USER root", "bash -c ",
)  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=40))
def test_no_text_makes_the_linter_fail(pieces: list[str]) -> None:
    text = "".join(pieces)
    data = text.encode("utf-8", "surrogatepass")
    report = lint_bytes(data, Path("Dockerfile")).files[0]
    assert report.failure is None
    for one in report.findings:
        assert 0 <= one.hit.span.start <= one.hit.span.end <= len(report.source.text)
    for reporter in LINT_REPORTERS.values():
        reporter(lint_bytes(data, Path("Dockerfile")))
