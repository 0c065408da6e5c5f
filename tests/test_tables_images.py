"""Tags, flavors, start checks and sizes of the nvidia/cuda images."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage import tables
from gpuimage.reference import CudaTag, ImageReference
from gpuimage.tables import CudaImage, Unknown

DATA = Path(tables.__file__).parent.parent / "data"
IMAGES = json.loads((DATA / "base_images.json").read_text())["nvidia_cuda"]["releases"]
SEEN = json.loads((DATA / "cuda_tags_seen.json").read_text())["tags"]
LISTED = {
    f"{row['cuda']}-{key}-{os}" for row in IMAGES for os, keys in row["os_flavours"].items() for key in keys
} | {f"{row['cuda']}-{key}-{row['os']}" for row in SEEN for key in row["flavours"]}
CUDA = sorted({row["cuda"] for row in (*IMAGES, *SEEN)} | set(tables.cuda_minors()))
OS = sorted({os for row in IMAGES for os in row["os_flavours"]})


def image(cuda: str, flavor: str, *, cudnn: bool = False, os: str | None = None) -> CudaImage:
    found = tables.cuda_tag(cuda, flavor, cudnn=cudnn, os=os)
    assert not isinstance(found, Unknown), found
    return found


@settings(deadline=None)  # the first example reads the data
@given(
    st.sampled_from(CUDA),
    st.sampled_from(["base", "runtime", "devel"]),
    st.booleans(),
    st.sampled_from([None, *OS]),
)
def test_only_listed_tags_are_answered(cuda: str, flavor: str, cudnn: bool, os: str | None) -> None:
    answer = tables.cuda_tag(cuda, flavor, cudnn=cudnn, os=os)
    if isinstance(answer, Unknown):
        assert flavor in answer.reason
        return
    reference = ImageReference.parse(answer.reference)
    assert reference.repository == "nvidia/cuda"
    assert reference.tag in LISTED
    tag = CudaTag.parse(str(reference.tag))
    assert (tag.version, tag.flavor, bool(tag.cudnn), tag.os) == (answer.version, flavor, cudnn, answer.os)
    assert tag.version == cuda or tag.version.startswith(cuda + ".")
    assert os in {None, tag.os}


def test_every_listed_tag_is_found() -> None:
    for tag in sorted(LISTED):
        parsed = CudaTag.parse(tag)
        if parsed.tensorrt:
            continue
        found = image(parsed.version, parsed.flavor, cudnn=bool(parsed.cudnn), os=parsed.os)
        # 10.1 has cudnn7 and cudnn8: the newer one answers
        assert found.reference in {f"nvidia/cuda:{tag}", f"nvidia/cuda:{tag.replace('cudnn7', 'cudnn8')}"}


@pytest.mark.parametrize(
    ("cuda", "flavor", "cudnn", "reference"),
    [
        ("12.8", "base", False, "nvidia/cuda:12.8.1-base-ubuntu24.04"),
        ("12.8", "runtime", True, "nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04"),
        ("12.8.0", "devel", False, "nvidia/cuda:12.8.0-devel-ubuntu24.04"),
        ("12.2", "runtime", True, "nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04"),
        ("12.3", "devel", True, "nvidia/cuda:12.3.2-cudnn9-devel-ubuntu22.04"),
        ("12.5", "runtime", True, "nvidia/cuda:12.5.1-cudnn-runtime-ubuntu22.04"),  # none on 24.04
        ("12.4", "runtime", False, "nvidia/cuda:12.4.1-runtime-ubuntu22.04"),
        ("12.9", "runtime", False, "nvidia/cuda:12.9.1-runtime-ubuntu24.04"),  # 12.9.2: only cudnn-devel seen
        ("12.9", "devel", True, "nvidia/cuda:12.9.2-cudnn-devel-ubuntu24.04"),
        ("13.0", "devel", True, "nvidia/cuda:13.0.3-cudnn-devel-ubuntu24.04"),
        ("13.0", "runtime", True, "nvidia/cuda:13.0.0-cudnn-runtime-ubuntu24.04"),
        ("13.2", "base", False, "nvidia/cuda:13.2.1-base-ubuntu24.04"),
        ("10.2", "devel", False, "nvidia/cuda:10.2-devel-ubuntu18.04"),
    ],
)
def test_a_minor_gets_the_newest_release_that_has_the_combination(
    cuda: str, flavor: str, cudnn: bool, reference: str
) -> None:
    found = image(cuda, flavor, cudnn=cudnn)
    assert found.reference == reference
    assert found.verified
    assert found.source


@pytest.mark.parametrize(
    ("cuda", "flavor", "cudnn", "os"),
    [
        ("12.4.0", "runtime", True, None),  # 12.4.0 had no cudnn images
        ("12.5.1", "runtime", True, "ubuntu24.04"),
        ("13.0", "runtime", False, "ubuntu20.04"),
        ("13.2", "runtime", False, None),
        ("13.5", "devel", False, None),
        ("12.8", "base", True, None),
        ("12.8", "slim", False, None),
        ("12.8", "runtime", False, "ubuntu99.04"),
    ],
)
def test_a_combination_that_nobody_lists_is_unknown(
    cuda: str, flavor: str, cudnn: bool, os: str | None
) -> None:
    answer = tables.cuda_tag(cuda, flavor, cudnn=cudnn, os=os)
    assert isinstance(answer, Unknown)
    assert len(answer.reason) > 30


@pytest.mark.parametrize(
    ("cuda", "flavor", "ended", "because"),
    [
        ("12.0.1", "runtime", True, "end-of-life folder"),
        ("12.8.0", "runtime", True, "12.8.1"),
        ("13.0.0", "runtime", True, "13.0.3"),
        ("12.8.1", "runtime", True, "R570"),
        ("12.4.1", "runtime", True, "R550"),
        ("13.2.1", "base", False, "R595"),
        ("12.6.3", "runtime", None, "R560"),
    ],
)
def test_end_of_life_follows_the_support_policy(
    cuda: str, flavor: str, ended: bool | None, because: str
) -> None:
    found = image(cuda, flavor)
    assert found.end_of_life is ended
    assert because in found.end_of_life_because


# Flavors.


def test_each_flavor_holds_what_the_smaller_one_does() -> None:
    chain = [("base", False), ("runtime", False), ("runtime", True)]
    for small, large in pairwise(chain):
        assert tables.flavor_libraries(*small) < tables.flavor_libraries(*large)
    assert tables.flavor_libraries("runtime", False) < tables.flavor_libraries("devel", False)
    assert tables.flavor_libraries("runtime", True) < tables.flavor_libraries("devel", True)


def test_what_the_flavors_hold() -> None:
    assert tables.flavor_libraries("base", False) == {"libcudart"}
    runtime = tables.flavor_libraries("runtime", False)
    assert {
        "libcublas",
        "libcufft",
        "libcurand",
        "libcusolver",
        "libcusparse",
        "libnvrtc",
        "libnccl",
    } <= runtime
    assert "libcudnn" not in runtime
    assert "libcudnn" in tables.flavor_libraries("runtime", True)
    assert tables.flavor_libraries("base", True) == {"libcudart"}  # base never carries cuDNN
    assert tables.flavor_libraries("slim", False) == frozenset()


@pytest.mark.parametrize(
    ("libraries", "flavor", "cudnn"),
    [
        ({"libcudart"}, "base", False),
        (set(), "base", False),
        ({"libcudart", "libcublas"}, "runtime", False),
        ({"libcudnn"}, "runtime", True),
        ({"libcupti"}, "devel", False),
    ],
)
def test_the_smallest_flavor_that_holds_everything(libraries: set[str], flavor: str, cudnn: bool) -> None:
    assert tables.smallest_flavor(frozenset(libraries)) == (flavor, cudnn)


def test_onnxruntime_gets_the_cudnn_runtime() -> None:
    wheel = tables.wheel("onnxruntime-gpu", "1.23.2")
    assert wheel
    assert tables.smallest_flavor(frozenset(wheel.system_libraries)) == ("runtime", True)


def test_what_no_flavor_holds_is_named() -> None:
    answer = tables.smallest_flavor(frozenset({"libcudart", "libnvinfer"}))
    assert isinstance(answer, Unknown)
    assert "libnvinfer" in answer.reason
    assert "libcudart" not in answer.reason


# NVIDIA_REQUIRE_CUDA.


def test_12_4_1_writes_alternatives_and_conditions() -> None:
    need = tables.require_cuda("12.4")
    assert need
    assert (need.cuda, need.branches, need.verified) == ("12.4.1", (470, 525, 535), True)
    first, *older = need.text.split(" ")
    assert first == "cuda>=12.4"
    assert len(older) == len(need.branches) * len(need.brands)
    assert "brand=geforce,driver>=535,driver<536" in older
    assert "brand=tesla,driver>=470,driver<471" in older


@pytest.mark.parametrize("row", IMAGES, ids=lambda row: str(row["cuda"]))
def test_the_text_parses_back_to_the_lists(row: dict[str, Any]) -> None:
    need = tables.require_cuda(str(row["cuda"]))
    assert need
    first, *older = need.text.split(" ")
    assert first == row["require_cuda_first"]
    pairs = set()
    for alternative in older:
        brand, low, high = alternative.split(",")
        branch = int(low.removeprefix("driver>="))
        assert int(high.removeprefix("driver<")) == branch + 1
        pairs.add((brand.removeprefix("brand="), branch))
    branches = [int(branch) for branch in row["require_driver_branches_allowed"]]
    assert pairs == {(brand, branch) for brand in row["require_brands"] for branch in branches}
    assert len(pairs) == len(older)


def test_geforce_is_a_brand_up_to_12_4_only() -> None:
    for row in IMAGES:
        need = tables.require_cuda(row["cuda"])
        assert need
        version = tuple(int(part) for part in row["cuda"].split("."))
        if (11, 5) <= version < (12, 5):
            assert "geforce" in need.brands
        if version >= (12, 5):
            assert "geforce" not in need.brands


def test_without_cuda_compat_no_branch_below_the_floor_is_let_pass() -> None:
    need = tables.require_cuda("12.8", compat=False)
    assert need
    assert need.branches == (535, 550, 560, 565)
    assert "driver>=470" not in need.text
    at_the_floor = tables.require_cuda("12.1", compat=False)
    assert at_the_floor
    assert at_the_floor.branches == (525,)
    thirteen = tables.require_cuda("13.0", compat=False)
    assert thirteen
    assert (thirteen.text, thirteen.branches, thirteen.brands) == ("cuda>=13.0", (), ())


@settings(deadline=None)  # the first example reads the data
@given(st.sampled_from(CUDA))
def test_what_is_let_pass_without_cuda_compat_does_run(cuda: str) -> None:
    need = tables.require_cuda(cuda, compat=False)
    if isinstance(need, Unknown):
        return
    for branch in need.branches:
        assert tables.driver_verdict(cuda, str(branch)).outcome in {"full", "minor-version"}


@pytest.mark.parametrize("cuda", ["13.2", "13.4.1", "13.5", "12.9.2", "12.2.1"])
def test_a_release_without_a_row_asks_for_its_cuda_alone(cuda: str) -> None:
    need = tables.require_cuda(cuda)
    assert need
    assert need.text == "cuda>=" + ".".join(cuda.split(".")[:2])
    assert not need.verified
    assert cuda in need.because


def test_a_host_that_speaks_the_cuda_starts_every_image() -> None:
    for cuda in tables.cuda_minors():
        need = tables.driver_need(cuda)
        assert need
        if need.full:
            assert tables.start_verdict(cuda, need.full).outcome == "accepted"


def test_an_image_whose_list_is_not_known_does_not_refuse() -> None:
    assert tables.start_verdict("13.2", "570").outcome == "unknown"
    assert tables.start_verdict("13.2", "595").outcome == "accepted"


# Pythons and bytes.


@pytest.mark.parametrize(
    ("os", "python"), [("ubuntu22.04", "3.10"), ("ubuntu24.04", "3.12"), ("debian12", "3.11")]
)
def test_the_python_of_a_distribution(os: str, python: str) -> None:
    assert tables.os_python(os) == python


def test_an_unknown_distribution_says_what_is_known() -> None:
    answer = tables.os_python("rockylinux9")
    assert isinstance(answer, Unknown)
    assert "ubuntu24.04" in answer.reason


@pytest.mark.parametrize(
    ("flavor", "cuda", "low", "high"),
    [
        ("base", "12.8", 230, 450),
        ("base", "13.0.1", 230, 450),
        ("runtime", "12.1", 2000, 3000),
        ("devel", "11.8", 7000, 7600),
        ("devel", "12.8.1", 7000, 10000),
        ("runtime", "12", 2000, 3000),
        ("devel", "12", 7000, 10000),
        ("cudnn-devel", "12.8", 9500, 12000),
    ],
)
def test_quoted_sizes_are_ranges_with_a_basis(flavor: str, cuda: str, low: int, high: int) -> None:
    size = tables.base_size(flavor, cuda)
    assert size
    assert (size.low, size.high) == (low * 10**6, high * 10**6)
    assert size.basis
    assert not size.verified


def test_a_slim_python_is_known_by_its_stand_in() -> None:
    size = tables.base_size("python-slim")
    assert size
    assert (size.low, size.high, size.verified) == (180 * 10**6, 248 * 10**6, False)
    assert "measured" in size.basis


@pytest.mark.parametrize(
    ("flavor", "cuda"),
    [
        ("runtime", "13.0"),
        ("devel", "13.0"),
        ("devel", "11.7"),
        ("cudnn-runtime", "12.8"),
        ("base", ""),
        ("base", "x"),
        ("", ""),
    ],
)
def test_a_size_that_nobody_measured_is_unknown(flavor: str, cuda: str) -> None:
    assert isinstance(tables.base_size(flavor, cuda), Unknown)
