"""PyTorch releases: variants, compiled architectures, sizes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gpuimage import tables
from gpuimage.tables import TorchRelease, Unknown

VERSIONS = tables.torch_versions()


def release(version: str) -> TorchRelease:
    found = tables.torch_release(version)
    assert not isinstance(found, Unknown)
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_default_variant_is_one_of_the_variants(version: str) -> None:
    torch = release(version)
    if torch.variants_verified:
        assert torch.default_variant in torch.variants


@pytest.mark.parametrize("version", VERSIONS)
def test_every_arch_list_is_read_or_said_to_be_unknown(version: str) -> None:
    torch = release(version)
    for variant in torch.variants:
        archs = torch.archs(variant)
        if isinstance(archs, Unknown):
            assert "not in the tables" in archs.reason
            assert not torch.archs_verified(variant)
        else:
            assert archs.entries
            assert torch.archs_source(variant)


@settings(deadline=None)  # the first example reads the data
@given(st.sampled_from(VERSIONS), st.data())
def test_the_compiler_of_a_variant_takes_its_architectures(version: str, data: st.DataObject) -> None:
    torch = release(version)
    variant = data.draw(st.sampled_from(torch.variants))
    minor = tables.cuda_of_variant(variant)
    archs = torch.archs(variant)
    if isinstance(minor, Unknown) or isinstance(archs, Unknown) or minor not in tables.cuda_minors():
        return
    support = tables.nvcc_capabilities(minor)
    assert support
    assert {entry.capability for entry in archs.entries} <= support.real


@pytest.mark.parametrize("version", VERSIONS)
def test_the_python_tags_fit_requires_python(version: str) -> None:
    torch = release(version)
    if torch.requires_python is None:
        return
    allowed = SpecifierSet(torch.requires_python)
    for tag in torch.python_tags:
        digits = tag.removeprefix("cp").removesuffix("t")
        assert f"{digits[0]}.{digits[1:]}.0" in allowed


def test_2_9_1_as_measured() -> None:
    torch = release("2.9.1")
    assert (torch.default_variant, torch.variants) == ("cu128", ("cu126", "cu128", "cu129", "cu130"))
    assert str(torch.archs("cu128")) == "7.0;7.5;8.0;8.6;9.0;10.0;12.0"
    assert torch.archs_verified("cu128")
    assert (torch.torchvision, torch.torchaudio) == ("0.24.1", "2.9.1")
    assert "nvidia-cudnn-cu12==9.10.2.21" in " ".join(torch.requires)
    assert torch.wheel_bytes == 899_821_446


def test_ptx_of_another_entry_than_the_last_keeps_its_place() -> None:
    torch = release("2.7.1")
    assert str(torch.archs("cu118")) == "3.7+PTX;5.0;6.0;6.1;7.0;7.5;8.0;8.6;9.0"
    assert not torch.archs_verified("cu118")
    assert str(torch.archs("cu128")).endswith("12.0+PTX")


def test_the_newest_release_says_what_is_not_verified() -> None:
    torch = release("2.15.0")
    assert torch.default_variant == "cu132"
    assert torch.archs_verified("cu132")
    assert not torch.archs_verified("cu130")
    assert not torch.variants_verified
    assert isinstance(torch.archs("cu134"), Unknown)


@pytest.mark.parametrize(
    ("text", "version"), [("2.9", "2.9.0"), ("2.9.1+cu128", "2.9.1"), ("2.9.1+cpu", "2.9.1")]
)
def test_versions_compare_as_pip_does(text: str, version: str) -> None:
    assert release(text).version == version


@pytest.mark.parametrize(
    ("version", "says"), [("2.9.9", "2.9.1"), ("99.0", "2.15.0"), ("two", "no version"), ("", "no version")]
)
def test_an_unknown_torch_says_what_is_known(version: str, says: str) -> None:
    answer = tables.torch_release(version)
    assert isinstance(answer, Unknown)
    assert says in answer.reason


def test_an_unknown_variant_says_what_is_known() -> None:
    answer = release("2.9.1").archs("cu118")
    assert isinstance(answer, Unknown)
    assert "cu126, cu128, cu129, cu130" in answer.reason
    assert isinstance(release("2.9.1").archs("cpu"), Unknown)


def test_versions_are_in_order() -> None:
    assert list(VERSIONS) == sorted(VERSIONS, key=Version)


@pytest.mark.parametrize(("variant", "minor"), [("cu128", "12.8"), ("cu92", "9.2"), ("cu130", "13.0")])
def test_a_variant_names_its_toolkit(variant: str, minor: str) -> None:
    assert tables.cuda_of_variant(variant) == minor


@pytest.mark.parametrize("variant", ["cpu", "128", "cu", "cu12", "rocm6.4", "cu1280"])
def test_what_is_no_cuda_variant_is_unknown(variant: str) -> None:
    assert isinstance(tables.cuda_of_variant(variant), Unknown)


# Bytes.


@pytest.mark.parametrize(
    ("version", "variant", "megabytes"),
    [("2.9.1", "cu128", 7001), ("2.13.0", "cu130", 4766), ("2.14.1", "cu130", 5545)],
)
def test_measured_sets_are_exact(version: str, variant: str, megabytes: int) -> None:
    size = tables.torch_set_bytes(version, variant)
    assert size
    assert size.low == size.high == megabytes * 10**6
    assert size.verified
    assert f"torch {version}+{variant}" in size.basis


def test_the_measured_set_holds_at_least_its_nvidia_wheels_and_triton() -> None:
    size = tables.torch_set_bytes("2.9.1", "cu128")
    assert size
    assert size.low > 4_573_871_599 + 619_113_520


@pytest.mark.parametrize(
    ("version", "variant"), [("2.9.1", "cu130"), ("2.15.0", "cu132"), ("2.0.0", "cu117"), ("9", "cu128")]
)
def test_an_unmeasured_set_is_unknown(version: str, variant: str) -> None:
    assert isinstance(tables.torch_set_bytes(version, variant), Unknown)


def test_a_half_measured_set_at_least_tells_the_download() -> None:
    answer = tables.torch_set_bytes("2.15.0", "cu132")
    assert isinstance(answer, Unknown)
    assert "2.7 GB" in answer.reason
