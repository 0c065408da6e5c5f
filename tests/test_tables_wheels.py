"""How wheels come to their CUDA libraries, and NVIDIA's own wheels."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage import tables
from gpuimage.tables import Unknown, WheelFacts
from tests.test_tables_cuda import download

DATA = Path(tables.__file__).parent.parent / "data"
NEEDS = json.loads((DATA / "wheel_needs.json").read_text())["wheels"]
PROJECTS = json.loads((DATA / "other_wheels.json").read_text())["wheels"]
FAMILIES = {row["family"] for row in json.loads((DATA / "flavor_libraries.json").read_text())["families"]}
NOT_JUDGED = {"paddlepaddle-gpu", "tensorrt-llm"}  # the facts do not say how these come to CUDA


def facts(name: str, version: str | None = None, *extras: str) -> WheelFacts:
    found = tables.wheel(name, version, frozenset(extras))
    assert not isinstance(found, Unknown), found
    return found


@pytest.mark.parametrize(
    ("name", "version", "extras", "cuda", "major"),
    [
        ("onnxruntime-gpu", None, (), "system", 13),
        ("onnxruntime-gpu", "1.27.0", (), "system", 13),
        ("onnxruntime-gpu", "1.26.0", (), "system", 12),
        ("onnxruntime-gpu", "1.19.0", (), "system", 12),
        ("onnxruntime-gpu", "1.18.1", (), "system", 11),
        ("onnxruntime-gpu", "1.31.1", ("cuda", "cudnn"), "wheels", 13),
        ("onnxruntime-gpu", "1.23.2", ("cuda", "cudnn"), "wheels", 12),
        ("ONNXRuntime_GPU", "1.23.2", (), "system", 12),
        ("cupy-cuda12x", None, (), "system", 12),
        ("cupy-cuda12x", None, ("ctk",), "wheels", 12),
        ("cupy-cuda12x", "13.6.0", ("ctk",), "system", 12),
        ("cupy-cuda13x", None, ("CTK",), "wheels", 13),
        ("jax", None, (), "none", None),
        ("jax", None, ("cuda12",), "wheels", 12),
        ("jax", None, ("cuda13",), "wheels", 13),
        ("jax", None, ("cuda12-local",), "system", 12),
        ("jax", None, ("cuda12_local",), "system", 12),
        ("tensorflow", None, (), "system", 12),
        ("tensorflow", None, ("and-cuda",), "wheels", 12),
        ("torch", "2.9.1", (), "wheels", 12),
        ("torch", "2.11.0", (), "wheels", 13),
        ("torch", "2.9.1+cu130", (), "wheels", 13),
        ("torch", "2.9.1+cpu", (), "none", None),
        ("torch", "1.13.0", (), "wheels", 11),
        ("torch", "1.12.1", (), "bundled", 10),
        ("bitsandbytes", None, (), "framework", None),
        ("xgboost", None, (), "wheels", 13),
        ("mxnet-cu112", None, (), "bundled", 11),
        ("nvidia-cublas-cu12", None, (), "bundled", 12),
        ("opencv-python", None, (), "none", None),
    ],
)
def test_where_a_wheel_gets_cuda_from(
    name: str, version: str | None, extras: tuple[str, ...], cuda: str, major: int | None
) -> None:
    found = facts(name, version, *extras)
    assert (found.cuda, found.cuda_major) == (cuda, major)
    assert found.source
    assert bool(found.system_libraries) == (cuda == "system")


def test_onnxruntime_needs_these_libraries_from_the_system() -> None:
    for version in ("1.23.2", "1.31.1"):
        found = facts("onnxruntime-gpu", version)
        assert found.system_libraries == ("libcublas", "libcudart", "libcudnn", "libcufft", "libcurand")
        assert found.needs_cudnn
        assert found.verified
        assert "DT_NEEDED" in found.source


def test_the_cuda_extra_of_onnxruntime_alone_still_lacks_libraries() -> None:
    found = facts("onnxruntime-gpu", None, "cuda")
    assert (found.cuda, found.system_libraries) == ("system", ("libcublas", "libcudnn"))
    assert "add [cudnn]" in found.note


@pytest.mark.parametrize(
    ("name", "nvcc"),
    [
        ("flash-attn", "build"),
        ("mamba-ssm", "build"),
        ("flashinfer-python", "run"),
        ("deepspeed", "run"),
        ("torch", "no"),
        ("triton", "no"),
    ],
)
def test_when_a_wheel_needs_nvcc(name: str, nvcc: str) -> None:
    assert facts(name).needs_nvcc == nvcc


def test_flash_attn_is_an_sdist_only() -> None:
    assert facts("flash-attn").sdist_only
    assert not facts("onnxruntime-gpu").sdist_only


@pytest.mark.parametrize("row", PROJECTS, ids=lambda row: str(row["name"]))
def test_the_judgments_agree_with_the_facts(row: dict[str, object]) -> None:
    found = tables.wheel(str(row["name"]))
    if row["name"] in NOT_JUDGED:
        assert isinstance(found, Unknown)
        assert str(row["needs"]) in found.reason
        return
    assert not isinstance(found, Unknown)
    if row["needs_nvcc"] and found.cuda != "none":
        assert found.needs_nvcc != "no"
    if not row["needs_nvcc"]:
        assert found.needs_nvcc == "no"
    if row["newest_cuda_major"] is not None and found.cuda != "none":
        assert found.cuda_major in {row["newest_cuda_major"], None}
    assert found.version == row["newest"]
    assert found.wheel_bytes == row.get("wheel_bytes_linux_x86_64")


@pytest.mark.parametrize("row", NEEDS, ids=lambda row: f"{row['name']}-{row['versions']}-{row['extras']}")
def test_every_need_names_known_families_and_a_known_project(row: dict[str, Any]) -> None:
    assert set(row["libraries"]) <= FAMILIES
    assert row["libraries"] == sorted(row["libraries"])
    known = {project["name"] for project in PROJECTS} | {"torchvision", "torchaudio"}
    assert row["name"] in known or tables.nvidia_wheel(str(row["name"]))
    if row["cuda"] == "system":
        assert row["libraries"]


@settings(deadline=None)  # the first example reads the data
@given(st.sampled_from(NEEDS), st.sets(st.text("abcdef", min_size=1, max_size=6)))
def test_extras_that_a_wheel_does_not_have_change_nothing(row: dict[str, str], extras: set[str]) -> None:
    strange = {f"no-such-{extra}" for extra in extras}
    assert tables.wheel(row["name"], None, frozenset(strange)) == tables.wheel(row["name"])


def test_sizes_are_those_of_the_newest_version_only() -> None:
    assert (
        facts("onnxruntime-gpu").wheel_bytes == facts("onnxruntime-gpu", "1.31.1").wheel_bytes == 255_574_229
    )
    assert facts("onnxruntime-gpu", "1.23.2").wheel_bytes is None
    assert facts("torch", "2.9.1").wheel_bytes == 899_821_446
    assert facts("torch", "2.9.1+cu130").wheel_bytes is None


@pytest.mark.parametrize(
    ("name", "version", "says"),
    [
        ("onnxruntime_gp", None, "did you mean onnxruntime-gpu"),
        ("requests", None, "not in the tables"),
        ("torch", "9.9", "torch 9.9"),
        ("torch", "x", "no version"),
        ("jax", "not a version", "no version"),
        ("faiss-gpu", "1.7.2", "1.7.2"),
        ("tensorrt-llm", None, "not looked up"),
    ],
)
def test_an_unknown_wheel_says_why(name: str, version: str | None, says: str) -> None:
    answer = tables.wheel(name, version)
    assert isinstance(answer, Unknown)
    assert says in answer.reason


def test_cupy_links_to_what_the_table_says(tmp_path: Path) -> None:
    wheel = download("cupy-cuda13x==14.2.0", tmp_path)
    needed: set[str] = set()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".so"):
                dynamic: Any = ELFFile(io.BytesIO(archive.read(name))).get_section_by_name(".dynamic")
                needed |= {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    families = {family for name in needed if (family := tables.library_family(name))}
    optional = {"libnccl", "libcutensor"}
    assert families - optional == set(facts("cupy-cuda13x", "14.2.0").system_libraries)
    assert optional <= families


# NVIDIA's own wheels.


def test_a_version_that_torch_pins_was_unpacked() -> None:
    wheel = tables.nvidia_wheel("nvidia-cublas-cu12", "12.8.4.1")
    assert wheel
    assert (wheel.wheel_bytes, wheel.unpacked_bytes) == (594_346_921, 869_571_101)
    assert "libcublasLt.so.12" in wheel.libraries
    assert (wheel.libraries_verified, wheel.newest, wheel.cuda_major) == (True, False, 12)


def test_the_newest_version_is_the_default_and_its_libraries_follow_a_rule() -> None:
    wheel = tables.nvidia_wheel("nvidia_cublas")
    assert wheel
    assert (wheel.version, wheel.newest, wheel.unpacked_bytes) == ("13.10.0.20", True, None)
    assert not wheel.libraries_verified


def test_an_unknown_nvidia_wheel_says_what_is_known() -> None:
    version = tables.nvidia_wheel("nvidia-cublas", "1.0")
    assert isinstance(version, Unknown)
    assert "13.10.0.20" in version.reason
    name = tables.nvidia_wheel("nvidia-cublas-cu99")
    assert isinstance(name, Unknown)
    assert "did you mean" in name.reason


@pytest.mark.parametrize(
    ("file", "family"),
    [
        ("libcudnn_ops.so.9", "libcudnn"),
        ("/usr/lib/libcublasLt.so.12", "libcublas"),
        ("libcusparseLt.so.0", "libcusparseLt"),
        ("libcusparse.so.12", "libcusparse"),
        ("libnppif.so.12", "libnpp"),
        ("libnvrtc-builtins.so.12.8", "libnvrtc"),
        ("libcufftw.so.11", "libcufft"),
        ("libcuda.so.1", None),
        ("libc.so.6", None),
        ("", None),
    ],
)
def test_a_file_belongs_to_a_family(file: str, family: str | None) -> None:
    assert tables.library_family(file) == family


def test_every_library_of_an_unpacked_wheel_belongs_to_a_family() -> None:
    rows = json.loads((DATA / "nvidia_wheels.json").read_text())["wheels"]
    for row in rows:
        for file in row.get("libraries", []):
            if row["libraries_source"] == "file listing of the wheel" and not file.startswith(
                "nvshmem_"
            ):  # plugins of nvshmem, named without lib
                assert tables.library_family(file), file
