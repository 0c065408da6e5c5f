"""GPU names as people, shops and nvidia-smi write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuimage import tables
from gpuimage.tables import Gpu, Unknown
from gpuimage.tables.products import index


def card(name: str) -> Gpu:
    found = tables.gpu(name)
    assert not isinstance(found, Unknown), found
    return found


@pytest.mark.parametrize(
    ("name", "is_called", "capability", "data_center"),
    [
        ("A10G", "A10G", "8.6", True),
        ("a10g", "A10G", "8.6", True),
        ("RTX 4090", "GeForce RTX 4090", "8.9", False),
        ("rtx4090", "GeForce RTX 4090", "8.9", False),
        ("4090", "GeForce RTX 4090", "8.9", False),
        ("RTX 4080", "GeForce RTX 4080", "8.9", False),
        ("NVIDIA GeForce RTX 4080 SUPER", "GeForce RTX 4080 SUPER", "8.9", False),
        ("NVIDIA L4", "L4", "8.9", True),
        ("Tesla T4", "T4", "7.5", True),
        ("P40", "Tesla P40", "6.1", True),
        ("Tesla V100-SXM2-16GB", "Tesla V100 SXM2 16 GB", "7.0", True),
        ("NVIDIA H100 80GB HBM3", "H100", "9.0", True),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", "8.9", False),
        ("Quadro RTX 6000", "Quadro RTX 6000", "7.5", False),
        ("AWS g5", "A10G", "8.6", True),
        ("DGX Spark", "GB10 (DGX Spark)", "12.1", True),
        ("B200", "B200", "10.0", True),
    ],
)
def test_a_card_is_found_by_its_usual_names(
    name: str, is_called: str, capability: str, data_center: bool
) -> None:
    found = card(name)
    assert (found.name, found.capability.dotted, found.data_center) == (is_called, capability, data_center)
    assert found.source


@settings(deadline=None)  # the first example reads the data
@given(st.sampled_from(tables.gpus()), st.sampled_from([str.upper, str.lower, str.title]), st.booleans())
def test_every_card_is_found_by_name_and_alias_in_any_case(gpu: Gpu, case: object, vendor: bool) -> None:
    assert callable(case)
    for name in (gpu.name, *gpu.aliases):
        spelled = case(f"NVIDIA {name}" if vendor else name)
        assert card(spelled).capability == gpu.capability


@settings(deadline=None)  # the first example reads the data
@given(st.sampled_from(tables.gpus()))
def test_an_exact_name_finds_that_very_card(gpu: Gpu) -> None:
    found = card(gpu.name)
    assert found == gpu or gpu.name in found.aliases


def test_a_name_that_is_no_whole_name_is_not_guessed() -> None:
    # Quadro RTX 6000 is 7.5, RTX 6000 Ada is 8.9
    answer = tables.gpu("RTX 6000")
    assert isinstance(answer, Unknown)


def test_a_key_that_fits_two_capabilities_fits_none() -> None:
    old, new = card("T4"), replace(card("L4"), name="NVIDIA T4", aliases=())
    assert index((old,))["t4"] == old
    assert "t4" not in index((old, new))


@pytest.mark.parametrize(
    ("slip", "meant"), [("A10X", "A10"), ("RTX 409", "RTX 4090"), ("H10O", "H100"), ("tesla-t44", "Tesla T4")]
)
def test_a_slip_gets_a_did_you_mean(slip: str, meant: str) -> None:
    answer = tables.gpu(slip)
    assert isinstance(answer, Unknown)
    assert f"did you mean {meant}" in answer.reason or f"or {meant}" in answer.reason
    assert repr(slip) in answer.reason


@pytest.mark.parametrize("name", ["", "   ", "NVIDIA", "Tesla", "GeForce", "MI300X", "\x00", "x" * 500])
def test_what_is_no_card_is_unknown(name: str) -> None:
    assert isinstance(tables.gpu(name), Unknown)


def test_jetson_boards_are_neither_data_centre_nor_not() -> None:
    assert card("Jetson AGX Orin").data_center is None


def test_an_inferred_card_is_not_verified() -> None:
    assert not card("RTX Spark (N1X)").verified
    assert "inferred" in card("RTX Spark (N1X)").source


def test_every_card_but_the_kepler_ones_of_old_has_a_compiler() -> None:
    for gpu in tables.gpus():
        assert tables.cuda_range_for(gpu.capability), gpu
