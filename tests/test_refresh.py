"""What is derived from a package index: against the real PyPI, and against one on the loopback that fails in every way."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from gpuimage import remote, tables
from gpuimage.errors import SpecError, UnavailableError
from gpuimage.refresh import PARTS, Index, Part, derive, keep_rows, nvcc, package_index, refresh
from gpuimage.refresh.index import File, Project
from gpuimage.remote import PYPI
from tests.conftest import Command
from tests.index import JSON, Fault, LocalIndex, answer, hang, serving, trickle, wheel
from tests.own import forget, row_of, shipped

DAY = "2026-12-24"
TORCH: tuple[Part, ...] = ("torch",)
NVIDIA: tuple[Part, ...] = ("nvidia",)
COMPILERS: tuple[Part, ...] = ("nvcc",)
LINUX = "manylinux_2_28_x86_64"
MINE = f"manylinux_2_28_{platform.machine()}"


# Against PyPI: the tables were gathered by other hands, so each side checks the other.


@pytest.fixture(scope="module")
def pypi() -> Index:
    try:
        remote.read(f"{PYPI}/pip/", timeout=20)
    except UnavailableError:
        pytest.skip("PyPI does not answer")
    return Index(PYPI)


def project(index: Index, name: str) -> Project:
    found = index.project(name)
    assert found is not None
    return found


def test_torch_on_pypi_is_what_the_table_says(pypi: Index) -> None:
    torch = project(pypi, "torch")
    for version in ("2.0.1", "2.9.1", "2.13.0"):
        found = derive.torch(pypi, torch, Version(version), None, DAY)
        assert found is not None
        row = row_of("torch_wheels", "releases", torch=version)
        for field in ("default_cuda", "python_tags", "platform_tags", "wheel_bytes", "uploaded"):
            assert found.row["pypi_linux_x86_64"][field] == row["pypi_linux_x86_64"][field], (version, field)
        assert (found.row["triton"], found.row["requires_python"]) == (row["triton"], row["requires_python"])
        pins = {Requirement(line) for line in found.row["requires_dist_nvidia"]}
        assert pins == {Requirement(line) for line in row["requires_dist_nvidia"]}


def test_a_torch_before_the_nvidia_wheels_keeps_the_cuda_that_the_table_knows(pypi: Index) -> None:
    torch, row = project(pypi, "torch"), row_of("torch_wheels", "releases", torch="1.12.1")
    found = derive.torch(pypi, torch, Version("1.12.1"), row, DAY)
    assert found is not None
    assert found.row["pypi_linux_x86_64"]["default_cuda"] == "cu102"
    with pytest.raises(UnavailableError, match="do not tell which CUDA"):
        derive.torch(pypi, torch, Version("1.12.1"), None, DAY)


@pytest.mark.parametrize(
    ("name", "version"),
    [("nvidia-cublas-cu12", "12.8.4.1"), ("nvidia-cudnn-cu12", "9.10.2.21"), ("nvidia-nvtx-cu12", "12.8.90")],
)
def test_a_wheel_read_by_range_has_the_libraries_and_bytes_of_the_unpacked_one(
    pypi: Index, name: str, version: str
) -> None:
    row = row_of("nvidia_wheels", "wheels", name=name, version=version)
    older = {**row, "version": "1.0"}
    whole = project(pypi, name)
    only = Project(name, {Version(version): whole.releases[Version(version)]})
    [found] = derive.nvidia(pypi, only, [older], DAY)
    for field in ("wheel", "wheel_bytes", "unpacked_bytes", "cuda_major", "uploaded", "libraries"):
        assert found.row[field] == row[field], field


def test_the_folder_of_a_wheel_tells_its_cuda(pypi: Index) -> None:
    """cuFFT counts its own versions: 12.5 is of CUDA 13."""
    whole = project(pypi, "nvidia-cufft")
    only = Project("nvidia-cufft", {(version := Version("12.5.0.14")): whole.releases[version]})
    [found] = derive.nvidia(pypi, only, [{"name": "nvidia-cufft", "version": "1.0", "cuda_major": 1}], DAY)
    assert (found.row["cuda_major"], found.row["verified"]) == (13, True)
    assert found.row["libraries"] == ["libcufft.so.12", "libcufftw.so.12"]


@pytest.mark.skipif(sys.platform != "linux", reason="the ptxas of the wheel is for Linux")
def test_the_real_ptxas_and_header_of_13_0_say_what_the_table_says(pypi: Index) -> None:
    found, release = nvcc.compiler(pypi, "13.0", {}, [], DAY)
    row = row_of("cuda_releases", "minors", cuda="13.0")
    for field in (
        "real_archs",
        "virtual_archs",
        "host_gcc_max_major",
        "host_clang_max_major",
        "host_gcc_source",
    ):
        assert found.row[field] == row[field], field
    assert found.row["arch_source"] == f"ptxas --help of PyPI nvidia-cuda-nvcc 13.0.88, run {DAY}"
    assert (release.row["cuda"][:5], release.row["verified"]) == ("13.0.", False)


def test_the_command_asks_pypi_for_compilers_in_seconds(pypi: Index, command: Command) -> None:
    code, out, err = command("data", "refresh", "--only", "nvcc", "--format", "json")
    assert (code, json.loads(out)["asked"]) == (0, 3)
    assert "asking" in err


# Against an index of our own.


@pytest.fixture
def local() -> Iterator[LocalIndex]:
    with serving() as index:
        yield index


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("GPUIMAGE_DATA", str(folder))
    monkeypatch.setenv("GPUIMAGE_TODAY", DAY)
    forget()
    yield folder
    forget()


@pytest.fixture
def run(command: Command, local: LocalIndex) -> Command:
    return partial(command, "data", "refresh", "--index", local.url, "--timeout", "2")


PINS = (
    'cuda-toolkit[cublas,cudart]==13.4.2; platform_system == "Linux"',
    'nvidia-cudnn-cu13==9.99.0.1; platform_system == "Linux"',
    'triton==3.12.0; platform_system == "Linux"',
    "sympy>=1.13",
)


def new_torch(
    index: LocalIndex, version: str = "2.16.0", pins: tuple[str, ...] = PINS, **entry: object
) -> None:
    metadata = "\n".join(
        [
            "Metadata-Version: 2.1",
            "Name: torch",
            f"Version: {version}",
            *(f"Requires-Dist: {p}" for p in pins),
        ]
    )
    for tag, size in (("cp312-cp312", 500), ("cp313-cp313", 700), ("cp313-cp313t", 600)):
        index.add("torch", f"torch-{version}-{tag}-{LINUX}.whl", size, metadata=metadata, **entry)
    index.add("torch", f"torch-{version}-cp312-cp312-macosx_11_0_arm64.whl", 9000, metadata=metadata)


def test_a_new_torch_is_shown_and_only_kept_when_asked(run: Command, local: LocalIndex, own: Path) -> None:
    new_torch(local)
    code, out, err = run("--only", "torch")
    assert code == 0
    assert out.startswith("torch 2.16.0: new  (torch_wheels.json)\n")
    assert "  pypi_linux_x86_64.wheel_bytes: 700\n" in out
    assert "nothing was written" in out
    assert f"asking {local.url} about 1 projects" in err
    assert list(own.iterdir()) == []
    assert isinstance(tables.torch_release("2.16.0"), tables.Unknown)
    code, out, _ = run("--only", "torch", "--write", "--format", "json")
    assert (code, json.loads(out)["written"]) == (0, [str(own / "torch_wheels.json")])
    assert [path.name for path in own.iterdir()] == ["torch_wheels.json"]
    forget()
    found = tables.torch_release("2.16")
    assert found
    assert (found.default_variant, found.python_tags, found.wheel_bytes) == (
        "cu134",
        ("cp312", "cp313", "cp313t"),
        700,
    )
    assert (found.requires, found.triton) == (PINS[:3], "triton==3.12.0")
    assert found.source == f"PyPI project torch 2.16.0, read {DAY} (user's torch_wheels.json)"


def test_what_the_index_does_not_tell_stays_unknown_and_unverified(
    run: Command, local: LocalIndex, own: Path
) -> None:
    new_torch(local)
    run("--only", "torch", "--write")
    forget()
    found = tables.torch_release("2.16.0")
    assert found
    assert isinstance(found.archs("cu134"), tables.Unknown)
    assert (found.archs_verified("cu134"), found.variants_verified) == (False, False)
    assert (found.torchvision, found.torchaudio) == (None, None)


def test_refreshing_again_finds_no_difference_and_keeps_what_the_user_wrote(
    run: Command, local: LocalIndex, own: Path
) -> None:
    mine = {
        **row_of("torch_wheels", "releases", torch="2.15.0"),
        "torch": "2.15.7",
        "requires_python": "mine",
    }
    (own / "torch_wheels.json").write_text(json.dumps({"schema": "ours", "releases": [mine]}))
    forget()
    new_torch(local)
    assert run("--only", "torch", "--write")[0] == 0
    kept = json.loads((own / "torch_wheels.json").read_text())
    assert (kept["schema"], kept["releases"][0]) == ("ours", mine)
    assert kept["releases"][1]["pypi_linux_x86_64"]["source"] == f"PyPI project torch 2.16.0, read {DAY}"
    forget()
    before = (own / "torch_wheels.json").read_bytes()
    code, out, _ = run("--only", "torch", "--write", "--check")
    assert (code, "no difference" in out) == (0, True)
    assert (own / "torch_wheels.json").read_bytes() == before
    local.pages["torch"][1]["size"] = 800
    code, out, _ = run("--only", "torch", "--check")
    assert code == 1
    assert "torch 2.16.0: changed" in out
    assert "pypi_linux_x86_64.wheel_bytes: 700 -> 800" in out


def test_previews_withdrawn_files_and_old_releases_are_left_alone(
    run: Command, local: LocalIndex, own: Path
) -> None:
    new_torch(local, "2.17.0rc1")
    new_torch(local, "2.18.0", yanked="broken")
    new_torch(local, "1.5.0")
    new_torch(local, "2.10.0")
    local.add("torch", "torch-2.19.0.tar.gz")
    local.add("torch", "torch-3.0-py2.7.egg")
    assert "no difference" in run("--only", "torch")[1]
    assert "torch 2.10.0: changed" in run("--only", "torch", "--since", "1.0")[1]
    assert "torch 1.5.0" not in run("--only", "torch", "--since", "1.0")[1]


def test_metadata_that_lies_nowhere_beside_is_read_out_of_the_wheel(
    run: Command, local: LocalIndex, own: Path
) -> None:
    vendored = {
        "torch/_vendor/other-1.dist-info/METADATA": "Name: other\nRequires-Dist: nvidia-cuda-runtime-cu12==12.6.1\n"
    }
    data = wheel("torch", "2.16.0", {**vendored, "torch/big.bin": os.urandom(600_000)}, PINS)
    local.add("torch", f"torch-2.16.0-cp313-cp313-{LINUX}.whl", data)
    assert "cu134" in run("--only", "torch")[1]
    taken = [path for method, path, _ in local.asked if method == "GET" and path.endswith(".whl")]
    assert len(taken) > 1  # in parts


def test_a_wheel_that_is_damaged_changes_nothing(run: Command, local: LocalIndex, own: Path) -> None:
    data = bytearray(wheel("torch", "2.16.0", {}, tuple(f"{word}>=1" for word in range(400))))
    data[80:200] = bytes(120)  # inside of the packed metadata
    local.add("torch", f"torch-2.16.0-cp313-cp313-{LINUX}.whl", bytes(data))
    code, out, err = run("--only", "torch", "--write")
    assert (code, out, list(own.iterdir())) == (3, "", [])
    assert "cannot be read in parts" in err


def nvidia_projects(index: LocalIndex) -> None:
    files = {"nvidia/cu14/lib/libcublas.so.14": "x" * 70, "nvidia/cu14/lib/libcublasLt.so.14": "y" * 30}
    index.add(
        "nvidia-cublas",
        f"nvidia_cublas-14.0.1.2-py3-none-{LINUX}.whl",
        wheel("nvidia-cublas", "14.0.1.2", files),
    )
    index.add(
        "cuda-pathfinder",
        "cuda_pathfinder-9.9-py3-none-any.whl",
        wheel("cuda-pathfinder", "9.9", {"a.py": ""}),
    )
    index.add("cuda-toolkit", "cuda_toolkit-14.0.0-py2.py3-none-any.whl", wheel("cuda-toolkit", "14.0.0", {}))


def test_newer_wheels_of_nvidia_are_looked_into(run: Command, local: LocalIndex, own: Path) -> None:
    nvidia_projects(local)
    code, out, _ = run("--only", "nvidia", "--write")
    assert code == 0
    assert out.count(": new  (nvidia_wheels.json)") == 3
    assert "not on this index: cuda-bindings, nvidia-cublas-cu11" in out
    forget()
    found, old = tables.nvidia_wheel("nvidia-cublas"), tables.nvidia_wheel("nvidia-cublas", "13.10.0.20")
    assert found
    assert old
    assert (found.version, found.cuda_major, found.verified) == ("14.0.1.2", 14, True)
    assert found.libraries == ("libcublas.so.14", "libcublasLt.so.14")
    assert (found.unpacked_bytes or 0) > 100
    toolkit, finder = tables.nvidia_wheel("cuda-toolkit"), tables.nvidia_wheel("cuda-pathfinder")
    assert toolkit
    assert finder
    assert (toolkit.cuda_major, toolkit.verified) == (14, True)  # it counts by CUDA
    assert (finder.cuda_major, finder.verified) == (13, False)  # it does not: nobody has looked


def test_a_newer_version_of_another_project_keeps_the_judgments_as_not_verified(
    run: Command, local: LocalIndex, own: Path
) -> None:
    metadata = "Name: x\nRequires-Dist: nvidia-nccl-cu14\nRequires-Dist: numpy\n"
    local.add("vllm", f"vllm-9.0-cp38-abi3-{LINUX}.whl", 77, metadata=metadata)
    local.add("cupy-cuda12x", f"cupy_cuda12x-15.0-cp312-cp312-{LINUX}.whl", 55, metadata="Name: y\n")
    run("--only", "wheels", "--write")
    rows = {row["name"]: row for row in json.loads((own / "other_wheels.json").read_text())["wheels"]}
    assert set(rows) == {"vllm", "cupy-cuda12x"}
    old = row_of("other_wheels", "wheels", name="vllm")
    new = rows["vllm"]
    assert (new["newest"], new["wheel_bytes_linux_x86_64"], new["verified"]) == ("9.0", 77, False)
    assert (new["requires_dist_cuda"], new["kind"]) == (["nvidia-nccl-cu14"], old["kind"])
    assert rows["cupy-cuda12x"]["verified"] is True  # its name tells its CUDA
    forget()
    assert tables.wheel("vllm")


# Compilers.


def fake_compiler(index: LocalIndex, minor: str, script: str, **entry: Any) -> None:
    """A wheel whose ptxas is a shell script: what runs is a real program, only a smaller one."""
    files = {"nvidia/cu14/bin/ptxas": script, "nvidia/cu14/include/crt/host_config.h": HEADER}
    data = wheel("nvidia-cuda-nvcc", f"{minor}.7", files)
    index.add("nvidia-cuda-nvcc", f"nvidia_cuda_nvcc-{minor}.7-py3-none-{MINE}.whl", data, **entry)
    index.add("cuda-toolkit", f"cuda_toolkit-{minor}.0-py2.py3-none-any.whl")


HEADER = "#if __GNUC__ > 17\n#error clang version must be less than 25 and greater than 3.2\n"
HELP = "--gpu-name <gpu>\n Allowed values: {}.\n Default value: 'sm_75'.\n --other 'sm_1'\n"


def script_of(archs: list[str]) -> str:
    names = [f"'{name}'" for arch in archs for name in (arch, arch.replace("sm", "compute"))]
    return f"#!/bin/sh\ncat <<'EOF'\n{HELP.format(','.join(names))}EOF\n"


def test_a_compiler_that_the_tables_lack_is_named_and_run_only_when_asked(
    run: Command, local: LocalIndex, own: Path, tmp_path: Path
) -> None:
    archs = [*row_of("cuda_releases", "minors", cuda="13.5")["real_archs"], "sm_130"]
    marker = tmp_path / "ran"
    fake_compiler(local, "14.0", f"{script_of(archs)}touch {marker}\n")
    code, out, _ = run("--only", "nvcc")
    assert code == 0
    assert "CUDA 14.0 has a compiler that the tables do not know: --nvcc 14.0" in out
    assert not marker.exists()
    code, out, err = run("--nvcc", "14.0", "--write")
    assert code == 0, err
    assert marker.exists()
    forget()
    support, release = tables.nvcc_capabilities("14.0"), tables.cuda_release("14.0")
    assert support
    assert release
    assert {one.sm for one in support.real} == set(archs)
    assert (support.host_gcc_max, support.host_clang_max, support.verified) == (17, 24, True)
    assert (release.version, release.full_driver, release.verified) == ("14.0.0", None, False)


def test_a_compiler_whose_hash_is_another_is_never_run(
    run: Command, local: LocalIndex, own: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "ran"
    fake_compiler(local, "14.0", f"#!/bin/sh\ntouch {marker}\n", hashes={"sha256": "0" * 64})
    code, out, err = run("--nvcc", "14.0", "--write")
    assert (code, out, marker.exists(), list(own.iterdir())) == (3, "", False, [])
    assert "is not the file that the index names" in err


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("#!/bin/sh\nexit 3\n", "ended with status 3"),
        ("#!/bin/sh\necho nothing\n", "lists no architectures"),
        ("\x7fELF no program", "does not run|cannot run"),
        (script_of(["sm_90", "sm_50"]), "does not fit the tables"),  # sm_50 would come back
    ],
)
def test_a_compiler_that_answers_nonsense_changes_nothing(
    run: Command, local: LocalIndex, own: Path, script: str, says: str
) -> None:
    fake_compiler(local, "14.0", script)
    code, out, err = run("--nvcc", "14.0", "--write")
    assert (code, out, list(own.iterdir())) == (3, "", [])
    assert re.search(says, err), err


@pytest.mark.parametrize("minor", ["14", "14.0.1", "new", "12.7", "99.9"])
def test_a_minor_that_is_none_is_a_usage_error(
    run: Command, local: LocalIndex, own: Path, minor: str
) -> None:
    code, out, err = run("--nvcc", minor)
    assert (code, out) == (2, "")
    assert "no minor of CUDA" in err or "has no nvcc" in err


# An index that fails.


def cut_off(handler: Any) -> None:
    answer(handler, b'{"name": "torch", "files": [', kind=JSON, length=5000)


def hang_up(handler: Any) -> None:
    handler.connection.close()


def wide(handler: Any) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(70):
        handler.wfile.write(b" " * (1 << 20))


def redirects(handler: Any) -> None:
    handler.send_response(302)
    handler.send_header("Location", handler.path)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def says(body: bytes, status: int = 200, kind: str = JSON) -> Fault:
    return lambda handler: answer(handler, body, status, kind=kind)


FAULTS: dict[str, tuple[Fault, str]] = {
    "down for maintenance": (says(b"", 503), "answers 503"),
    "not allowed": (says(b"", 403), "answers 403"),
    "no such project": (says(b"", 404), "has no torch"),
    "cut off": (cut_off, "cut off|IncompleteRead"),
    "hangs up": (hang_up, "does not answer"),
    "silent": (hang, "timed out"),
    "trickles": (trickle, "too slow"),
    "endless": (wide, "more than"),
    "goes in circles": (redirects, "answers 302|infinite loop|does not answer"),
    "empty": (says(b""), "does not answer as a package index"),
    "a page for people": (says(b"<html><body><a href=x>torch</a>", kind="text/html"), "PEP 691"),
    "binary": (says(bytes(range(256))), "does not answer as a package index"),
    "half a document": (says(b'{"name": "torch", "files": ['), "does not answer as a package index"),
    "another document": (says(b'{"error": "no"}'), "missing required field"),
    "wrong types": (says(b'{"name": "torch", "files": [{"filename": 7}]}'), "Expected `str`"),
    "nested deeply": (says(b'{"name": "torch", "x": ' + b"[" * 200_000), "does not answer as a package index"),
    "another project": (says(b'{"name": "pip", "files": []}'), "another project"),
    "no sizes": (says(b'{"name": "torch", "files": [{"filename": "torch-2.16.0.tar.gz", "url": "x"}]}'), "PEP 700"),
    "no addresses": (says(b'{"name": "torch", "files": [{"filename": "torch-2.16.0-cp312-cp312-manylinux_2_28_x86_64.whl", "url": "http://[", "size": 5}]}'), "by no address"),
    "addresses of this machine": (says(b'{"name": "torch", "files": [{"filename": "torch-2.16.0-cp312-cp312-manylinux_2_28_x86_64.whl", "url": "file:///etc/passwd", "size": 5, "core-metadata": true}]}'), "no address of http"),
}  # fmt: skip


@pytest.mark.parametrize(("fault", "words"), FAULTS.values(), ids=FAULTS)
def test_an_index_that_fails_changes_nothing(
    run: Command, local: LocalIndex, own: Path, fault: Fault, words: str
) -> None:
    kept = json.dumps({"releases": [row_of("torch_wheels", "releases", torch="2.15.0")]})
    (own / "torch_wheels.json").write_text(kept)
    local.faults["/simple/torch/"] = fault
    code, out, err = run("--only", "torch", "--write", "--timeout", "0.3")
    assert (code, out) == (3, "")
    assert re.search(words, err.partition("\n")[2]), err
    assert [path.name for path in own.iterdir()] == ["torch_wheels.json"]
    assert (own / "torch_wheels.json").read_text() == kept


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        (says(b"", 500), "answers 500"),
        (says(b"\xff\x00 nothing"), "no metadata"),
        (says(b"Name: torch\nRequires-Dist: sympy\n"), "do not tell which CUDA"),
        (
            says(b"Name: torch\nRequires-Dist: nvidia-cuda-runtime-cu12==999.999.1\n"),
            "does not fit the tables",
        ),
        (hang, "timed out"),
    ],
)
def test_metadata_that_is_none_changes_nothing(
    run: Command, local: LocalIndex, own: Path, metadata: Fault, words: str
) -> None:
    new_torch(local)
    local.faults[f"/files/torch-2.16.0-cp313-cp313-{LINUX}.whl.metadata"] = metadata
    code, out, err = run("--only", "torch", "--write", "--timeout", "0.3")
    assert (code, out, list(own.iterdir())) == (3, "", [])
    assert re.search(words, err), err


@pytest.mark.parametrize(
    "fault",
    [
        says(b"", 404),
        says(b"all of it"),
        says(b"PK nonsense", 206),
        lambda handler: answer(handler, b"x", 206, length=90),
    ],
)
def test_a_wheel_that_cannot_be_read_in_parts_changes_nothing(
    run: Command, local: LocalIndex, own: Path, fault: Fault
) -> None:
    nvidia_projects(local)
    local.faults[f"/files/nvidia_cublas-14.0.1.2-py3-none-{LINUX}.whl"] = fault
    code, out, err = run("--only", "nvidia", "--write")
    assert (code, out, list(own.iterdir())) == (3, "", [])
    assert "cannot be read in parts" in err


def test_one_failure_among_many_projects_changes_nothing(run: Command, local: LocalIndex, own: Path) -> None:
    new_torch(local)
    nvidia_projects(local)
    local.faults["/simple/nvidia-nvtx/"] = says(b"", 500)
    code, out, _ = run("--write")
    assert (code, out, list(own.iterdir())) == (3, "", [])


def test_a_server_that_stumbles_once_is_asked_again(run: Command, local: LocalIndex, own: Path) -> None:
    new_torch(local)

    def once(handler: Any) -> None:
        del local.faults["/simple/torch/"]
        answer(handler, b"", 503)

    local.faults["/simple/torch/"] = once
    assert run("--only", "torch")[0] == 0


def test_no_server_at_all_is_said_with_what_to_check(command: Command, own: Path) -> None:
    code, out, err = command(
        "data", "refresh", "--only", "torch", "--index", "http://127.0.0.1:9/simple", "-q"
    )
    assert (code, out) == (3, "")
    assert err.startswith("error: http://127.0.0.1:9/simple/torch/ does not answer\n")
    assert "HTTPS_PROXY" in err


def test_ctrl_c_ends_it_at_once_and_leaves_nothing(local: LocalIndex, own: Path) -> None:
    new_torch(local)
    local.faults["*"] = hang
    done = subprocess.Popen(
        [sys.executable, "-m", "gpuimage", "data", "refresh", "--write", "--index", local.url],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not local.asked and time.monotonic() < deadline:
        time.sleep(0.02)
    asked = time.monotonic()
    done.send_signal(signal.SIGINT)
    out, err = done.communicate(timeout=20)
    assert (done.returncode, out) == (130, "")
    assert "nothing was left behind" in err
    assert time.monotonic() - asked < 15  # the server would have been waited for 30 seconds
    assert list(own.iterdir()) == []


def test_an_own_directory_that_cannot_be_written_is_an_error(
    run: Command, local: LocalIndex, own: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    new_torch(local)
    monkeypatch.setenv("GPUIMAGE_DATA", "")
    forget()
    code, out, err = run("--only", "torch", "--write")
    assert (code, out) == (2, "")
    assert "GPUIMAGE_DATA is empty" in err
    monkeypatch.delenv("GPUIMAGE_DATA")
    (tmp_path / "config").write_text("a file in the way")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    forget()
    assert run("--only", "torch", "--write")[0] == 2


# Which index, and how it is asked.


def test_the_index_is_the_one_given_or_the_environments_as_for_uv_and_pip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    assert package_index().url == PYPI
    for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"):
        monkeypatch.setenv(name, f"https://mirror/{name}")
        assert package_index().url == f"https://mirror/{name}"
    assert package_index("https://given").url == "https://given"


def test_a_password_goes_to_its_host_and_into_no_message(local: LocalIndex, own: Path) -> None:
    new_torch(local)
    secret = local.url.replace("http://", "http://us%40er:pass%3Aword@")
    found = refresh(Index(secret, timeout=5), only=TORCH)
    assert {header for _, _, header in local.asked} == {"Basic dXNAZXI6cGFzczp3b3Jk"}
    assert len(local.asked) == 2  # the page and the metadata
    assert "word" not in found.index
    local.faults["*"] = says(b"", 401)
    with pytest.raises(UnavailableError) as raised:
        refresh(Index(secret), only=TORCH)
    assert "word" not in str(raised.value)
    with pytest.raises(SpecError) as wrong:
        Index("ftp://user:word@mirror/simple")
    with pytest.raises(SpecError) as broken:
        Index("http://user:word@[mirror/simple")
    assert "word" not in f"{wrong.value} {broken.value}"


def test_a_password_of_netrc_counts(
    local: LocalIndex, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    new_torch(local)
    refresh(Index(local.url), only=TORCH)
    assert {header for _, _, header in local.asked} == {"Basic bWU6c2VjcmV0"}


def test_a_password_is_not_carried_to_another_host(local: LocalIndex, own: Path) -> None:
    with serving() as other:
        new_torch(other)
        there = other.host.replace("127.0.0.1", "localhost")

        def sent_away(handler: Any) -> None:
            handler.send_response(302)
            handler.send_header("Location", f"{there}/simple/torch/")
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        local.faults["/simple/torch/"] = sent_away
        refresh(Index(local.url.replace("http://", "http://me:secret@")), only=TORCH)
        assert {header for _, _, header in other.asked} == {None}


@pytest.mark.parametrize("url", ["", "pypi", "ftp://x/simple", "file:///x", "http://", "http://[x"])
def test_an_address_that_is_none_is_a_usage_error(url: str) -> None:
    with pytest.raises(SpecError, match="no address of a package index"):
        Index(url)


@pytest.mark.parametrize("since", ["new", "2.x"])
def test_a_version_that_is_none_is_a_usage_error(run: Command, own: Path, since: str) -> None:
    assert run("--since", since)[0] == 2


def test_requests_are_made_side_by_side_and_bounded(local: LocalIndex, own: Path) -> None:
    busy: list[int] = [0, 0]

    def slow(handler: Any) -> None:
        busy[0] += 1
        busy[1] = max(busy)
        time.sleep(0.02)
        busy[0] -= 1
        answer(handler, b"", 404)

    local.faults["*"] = slow
    found = refresh(Index(local.url), only=NVIDIA)
    assert (
        len(found.missing) == found.asked == len({row["name"] for row in shipped("nvidia_wheels")["wheels"]})
    )
    assert 1 < busy[1] <= 8


def test_results_come_in_order_and_the_first_error_is_raised() -> None:
    assert remote.every(lambda n: n * n, range(50), workers=4) == tuple(n * n for n in range(50))
    assert remote.every(str, ()) == ()

    def fail(number: int) -> int:
        if number == 7:
            raise UnavailableError("seven")
        return number

    with pytest.raises(UnavailableError, match="seven"):
        remote.every(fail, range(50))


def test_a_library_call_writes_where_it_is_told(local: LocalIndex, own: Path, tmp_path: Path) -> None:
    new_torch(local)
    found = refresh(Index(local.url), only=TORCH)
    target = tmp_path / "new" / "place"
    assert keep_rows(found, target) == (target / "torch_wheels.json",)
    assert json.loads((target / "torch_wheels.json").read_text())["releases"][0]["torch"] == "2.16.0"
    nothing = tmp_path / "nothing"
    assert keep_rows(refresh(Index(local.url), only=COMPILERS), nothing) == ()
    assert not nothing.exists()
    assert set(PARTS) == {"torch", "nvidia", "wheels", "nvcc"}


def test_a_file_says_for_which_machine_it_is() -> None:
    release = (
        "torch-2.9.1-cp312-cp312-manylinux_2_28_x86_64.whl", "torch-2.9.1-cp312-cp312-manylinux_2_28_aarch64.whl",
        "torch-2.9.1-cp312-none-macosx_11_0_arm64.whl", "torch-2.9.1-py3-none-any.whl",
    )  # fmt: skip
    from packaging.utils import parse_wheel_filename  # noqa: PLC0415

    files = [File(name, "", 1, "", None, "", False, parse_wheel_filename(name)[3]) for name in release]
    assert [file.for_linux("x86_64") for file in files] == [True, False, False, False]
    assert [file.for_any for file in files] == [False, False, False, True]
