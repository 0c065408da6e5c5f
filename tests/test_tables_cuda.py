"""What nvcc of each toolkit takes, against the events of the table and against a real ptxas."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage import tables
from gpuimage.arch import ComputeCapability
from gpuimage.tables import NvccSupport, Unknown

DATA = Path(tables.__file__).parent.parent / "data"
EVENTS = json.loads((DATA / "cuda_releases.json").read_text())["arch_events"]
REMOVED_IN = [event["cuda"] for event in EVENTS if "removed" in event["event"]]
OFFLINE = re.compile(r"NewConnectionError|ConnectTimeoutError|NameResolutionError|ProxyError|Max retries")


def support(minor: str) -> NvccSupport:
    answer = tables.nvcc_capabilities(minor)
    assert not isinstance(answer, Unknown)
    return answer


def download(requirement: str, into: Path) -> Path:
    """Fetch one wheel for Linux x86_64 with pip; skip only where the index does not answer."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--retries",
        "1",
    ]
    command += ["--python-version", "3.12", "--dest", str(into), requirement]
    for tag in ("manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64"):
        command += ["--platform", tag]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode and OFFLINE.search(done.stderr):
        pytest.skip("the package index does not answer")
    assert done.returncode == 0, done.stderr
    return next(into.glob("*.whl"))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the ptxas of the wheel is for x86_64")
@pytest.mark.skipif(sys.platform != "linux", reason="the ptxas of the wheel is for Linux")
def test_the_real_ptxas_of_13_0_takes_what_the_table_says(tmp_path: Path) -> None:
    wheel = download("nvidia-cuda-nvcc==13.0.88", tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        ptxas = Path(archive.extract("nvidia/cu13/bin/ptxas", tmp_path))
    ptxas.chmod(0o755)
    text = subprocess.run([ptxas, "--help"], capture_output=True, text=True, check=True).stdout
    allowed = text[text.index("--gpu-name") :].split("Default value", 1)[0]
    real = frozenset(map(ComputeCapability.parse, re.findall(r"'(sm_\w+)'", allowed)))
    virtual = frozenset(map(ComputeCapability.parse, re.findall(r"'(compute_\w+)'", allowed)))
    assert len(real) > 10
    assert (support("13.0").real, support("13.0").virtual) == (real, virtual)


def test_a_newer_minor_keeps_every_capability_unless_an_event_says_that_some_went() -> None:
    for old, new in pairwise(tables.cuda_minors()):
        gone = support(old).real - support(new).real
        assert bool(gone) == (new in REMOVED_IN), f"{new} dropped {gone}"


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event["event"]))
def test_the_compilers_agree_with_the_events(event: dict[str, str]) -> None:
    minors = tables.cuda_minors()
    at = minors.index(event["cuda"])
    before = support(minors[at - 1]).real if at else frozenset[ComputeCapability]()
    after = support(event["cuda"]).real
    for name in re.findall(r"sm_\d+[af]?", event["event"]):
        capability = ComputeCapability.parse(name)
        if "removed" in event["event"]:
            assert capability not in after
        elif "added" in event["event"] and "renamed" not in event["event"]:
            assert capability in after
            assert at == 0 or capability not in before


@settings(deadline=None)  # the first example reads the data
@given(st.sampled_from(json.loads((DATA / "cuda_releases.json").read_text())["releases"]))
def test_point_releases_of_a_minor_take_the_same(release: dict[str, str]) -> None:
    assert tables.nvcc_capabilities(release["cuda"]) == tables.nvcc_capabilities(release["minor"])


@settings(deadline=None)  # the first example reads the data
@given(st.sampled_from(tables.cuda_minors()), st.data())
def test_the_range_of_a_capability_is_where_the_compilers_take_it(minor: str, data: st.DataObject) -> None:
    everything = sorted(set().union(*(support(m).real for m in tables.cuda_minors())))
    capability = data.draw(st.sampled_from(everything))
    span = tables.cuda_range_for(capability)
    assert not isinstance(span, Unknown)
    minors = tables.cuda_minors()
    last = span.last or minors[-1]
    inside = minors.index(span.first) <= minors.index(minor) <= minors.index(last)
    assert inside == (capability in support(minor).real)


@pytest.mark.parametrize(
    ("capability", "first", "last", "from_the_start"),
    [
        ("7.0", "10.0", "12.9", True),
        ("7.5", "10.0", None, True),
        ("8.0", "11.0", None, False),
        ("8.6", "11.1", None, False),
        ("8.9", "11.8", None, False),
        ("9.0a", "12.0", None, False),
        ("10.1", "12.8", "12.9", False),
        ("10.0f", "12.9", None, False),
        ("12.0", "12.8", None, False),
        ("11.0", "13.0", None, False),
    ],
)
def test_known_ranges(capability: str, first: str, last: str | None, from_the_start: bool) -> None:
    span = tables.cuda_range_for(ComputeCapability.parse(capability))
    assert not isinstance(span, Unknown)
    assert (span.first, span.last, span.first_is_oldest_known) == (first, last, from_the_start)
    assert span.verified
    assert span.source


def test_a_capability_that_no_compiler_takes_is_unknown() -> None:
    answer = tables.cuda_range_for(ComputeCapability(9, 9))
    assert isinstance(answer, Unknown)
    assert "sm_99" in answer.reason


def test_a_minor_stands_for_its_newest_point_release() -> None:
    newest, exact = tables.cuda_release("12.8"), tables.cuda_release("12.8.0")
    assert newest
    assert exact
    assert (newest.version, newest.minor, newest.full_driver) == ("12.8.1", "12.8", "570.124.06")
    assert (exact.version, exact.full_driver) == ("12.8.0", "570.26")


def test_an_unknown_point_release_names_those_there_are() -> None:
    answer = tables.cuda_release("12.4.7")
    assert isinstance(answer, Unknown)
    assert "12.4.0, 12.4.1" in answer.reason


def test_host_compilers_carry_their_own_verified() -> None:
    assert support("12.8").host_gcc_max == 14
    assert support("12.8").host_gcc_verified
    assert not support("11.0").host_gcc_verified
    assert support("13.5").ptx_isa is None


def test_unknown_is_false() -> None:
    assert not Unknown("because")
