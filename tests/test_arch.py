"""TORCH_CUDA_ARCH_LIST and what runs where."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.arch import NAMED, ArchEntry, ArchError, ArchList, ComputeCapability

CC = ComputeCapability.parse

# What `_get_cuda_arch_flags` of torch answers, derived from its source in the wheels of 2.13.0 and 2.14.1 (no
# torch is imported here). When this table was made, the function itself was run beside ArchList on 300 000
# random lists: they agreed on all but "Blackwell+Tegraa", which torch takes for 11.0a by an accident of text
# replacement. None: torch raises "Unknown CUDA arch … or GPU not supported".
TORCH: list[tuple[str, tuple[str, ...] | None]] = [
    ("8.0", ("-gencode=arch=compute_80,code=sm_80",)),
    (
        "8.0;8.6+PTX",
        (
            "-gencode=arch=compute_80,code=sm_80",
            "-gencode=arch=compute_86,code=compute_86",
            "-gencode=arch=compute_86,code=sm_86",
        ),
    ),
    ("8.0 8.6", ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_86,code=sm_86")),
    ("8.6;8.0", ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_86,code=sm_86")),
    # sorted as text: 100 comes before 80
    ("8.0;10.0", ("-gencode=arch=compute_100,code=sm_100", "-gencode=arch=compute_80,code=sm_80")),
    ("9.0a", ("-gencode=arch=compute_90a,code=sm_90a",)),
    (
        "12.0a+PTX",
        ("-gencode=arch=compute_120a,code=compute_120a", "-gencode=arch=compute_120a,code=sm_120a"),
    ),
    ("8.0;8.0", ("-gencode=arch=compute_80,code=sm_80",)),
    ("8.0;8.0+PTX", ("-gencode=arch=compute_80,code=compute_80", "-gencode=arch=compute_80,code=sm_80")),
    ("Volta", ("-gencode=arch=compute_70,code=compute_70", "-gencode=arch=compute_70,code=sm_70")),
    ("Volta+Tegra", ("-gencode=arch=compute_72,code=sm_72",)),
    (
        "Maxwell+Tegra+PTX",
        ("-gencode=arch=compute_53,code=compute_53", "-gencode=arch=compute_53,code=sm_53"),
    ),
    (
        "Ampere Hopper",
        (
            "-gencode=arch=compute_80,code=sm_80",
            "-gencode=arch=compute_86,code=compute_86",
            "-gencode=arch=compute_86,code=sm_86",
            "-gencode=arch=compute_90,code=compute_90",
            "-gencode=arch=compute_90,code=sm_90",
        ),
    ),
    (
        "Blackwell",
        (
            "-gencode=arch=compute_100,code=sm_100",
            "-gencode=arch=compute_103,code=sm_103",
            "-gencode=arch=compute_120,code=sm_120",
            "-gencode=arch=compute_121,code=compute_121",
            "-gencode=arch=compute_121,code=sm_121",
        ),
    ),
    ("Rubin", ("-gencode=arch=compute_107,code=compute_107", "-gencode=arch=compute_107,code=sm_107")),
    ("8.0,8.6", None),
    ("sm_80", None),
    ("compute_80", None),
    ("80", None),
    ("8", None),
    ("8.1", None),
    ("13.0", None),
    ("8.0a", None),
    ("9.0f", None),
    ("8.0;", None),
    (";8.0", None),
    ("8.0  8.6", None),
    ("8.0; 8.6", None),
    ("8.0\t8.6", None),
    ("8.0\n", None),
    ("8.0+ptx", None),
    ("8.0PTX", None),
    ("8.0+PTX+PTX", None),
    ("+PTX", None),
    ("Ampere+PTX", None),
    ("ampere", None),
    ("All", None),
    ("all", None),
    ("Common", None),
    ("Native", None),
]


@pytest.mark.parametrize(("text", "flags"), TORCH)
def test_a_list_gives_the_flags_of_torchs_extension_builder_or_is_refused_as_there(
    text: str, flags: tuple[str, ...] | None
) -> None:
    if flags is None:
        with pytest.raises(ArchError):
            ArchList.parse(text)
    else:
        archs = ArchList.parse(text)
        assert archs.gencode() == flags
        assert archs.refused_by_torch() == ()


def test_names_stand_for_the_capabilities_torch_gives_them() -> None:
    written_out = {name: str(ArchList.parse(name)) for name in NAMED}
    assert written_out == NAMED
    assert written_out["Ampere"] == "8.0;8.6+PTX"


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("8.0,8.6", "commas", 'write "8.0;8.6"'),
        ("8.0, 8.6+PTX", "commas", 'write "8.0;8.6+PTX"'),
        ("sm_80", "nvcc's name", 'write "8.0"'),
        ("compute_90", "nvcc's name", 'write "9.0+PTX"'),
        ("80;90a", "no dot", 'write "8.0;9.0a"'),
        ("80-real;86-virtual", "no compute capability", 'write "8.0;8.6+PTX"'),
        ("ampere", "no compute capability", 'write "Ampere"'),
        ("Amper", "no compute capability", "did you mean Ampere"),
        ("Ampere+PTX", "PTX twice", 'write "Ampere"'),
        ("8.6+ptx", "no compute capability", 'write "8.6+PTX"'),
        ("8.6 +PTX", "no compute capability", 'write "8.6+PTX"'),
        ("8.0;;8.6", "empty entry", 'write "8.0;8.6"'),
        (" 8.0", "empty entry", 'write "8.0"'),
        ("", "empty", 'write at least one capability, such as "8.0"'),
        ("  ", "empty", 'write at least one capability, such as "8.0"'),
        ("native", "GPU of the building machine", "gpus"),
        ("Native", "GPU of the building machine", "gpus"),
        ("all", "knows no such word", "8.0;8.6"),
        ("8.1", "no compute capability 8.1", "8.0 and 8.6"),
        ("8.6a", "begins with 9.0", "write 8.6"),
        ("9.0f", "begins with 10.0", "write 9.0"),
        ("13.0", "newer than every capability known", "12.1"),
        ("8.0;" * 200, "characters long", "once"),
    ],
)
def test_a_refused_list_gives_the_reason_and_the_smallest_change(text: str, reason: str, hint: str) -> None:
    with pytest.raises(ArchError) as caught:
        ArchList.parse(text)
    assert reason in caught.value.reason + (caught.value.hint or "")
    assert hint in (caught.value.hint or "")


def test_what_only_cmake_and_nvcc_take_is_read_but_named_as_refused_by_torch() -> None:
    archs = ArchList.parse("8.0;8.8;10.0f+PTX")
    assert [str(entry) for entry in archs.refused_by_torch()] == ["8.8", "10.0f+PTX"]


def test_a_capability_has_the_names_its_tools_use() -> None:
    capability = CC("9.0a")
    assert (capability.dotted, capability.number, capability.sm, capability.compute) == (
        "9.0a",
        "90a",
        "sm_90a",
        "compute_90a",
    )
    assert CC("sm_90a") == CC("compute_90a") == capability
    assert CC("sm_103") == ComputeCapability(10, 3)
    assert sorted(map(CC, ["12.0", "9.0a", "9.0", "10.0"])) == [CC("9.0"), CC("9.0a"), CC("10.0"), CC("12.0")]


@pytest.mark.parametrize(
    "text", ["", "8", "80", "8.", ".6", "8.60", "08.6", "8.6b", "sm_8", "sm-80", "8,6", "٨.٠", "8.6 "]
)
def test_what_is_no_capability_is_refused(text: str) -> None:
    with pytest.raises(ArchError):
        CC(text)


# gpuimage's rules of what runs where: (code, GPU, machine code runs, PTX runs); facts, cuda_releases.json
RUNS = [
    ("8.0", "8.6", True, True),
    ("8.6", "8.0", False, False),
    ("8.6", "8.9", True, True),
    ("8.0", "9.0", False, True),
    ("9.0", "8.9", False, False),
    ("9.0a", "9.0", True, True),
    ("9.0a", "10.0", False, False),
    ("10.0a", "10.3", False, False),
    ("10.0", "10.3", True, True),
    ("10.0f", "10.3", True, True),
    ("10.3f", "10.0", False, False),
    ("10.0f", "12.0", False, False),
    ("10.0", "12.0", False, True),
    ("12.0f", "12.1", True, True),
]


@pytest.mark.parametrize(("code", "gpu", "cubin", "ptx"), RUNS)
def test_machine_code_and_ptx_run_where_their_rules_say(code: str, gpu: str, cubin: bool, ptx: bool) -> None:
    assert CC(code).cubin_runs_on(CC(gpu)) is cubin
    assert CC(code).ptx_runs_on(CC(gpu)) is ptx


@pytest.mark.parametrize(
    ("archs", "gpu", "finds"),
    [
        ("8.0;8.6", "8.9", "native"),
        ("8.0;8.6", "9.0", "none"),
        ("8.0;8.6+PTX", "9.0", "jit"),
        ("8.0;8.6+PTX", "7.5", "none"),
        ("9.0a+PTX", "10.0", "none"),
        ("8.0;12.0", "8.0", "native"),
    ],
)
def test_a_gpu_finds_machine_code_ptx_or_nothing(archs: str, gpu: str, finds: str) -> None:
    assert ArchList.parse(archs).code_for(CC(gpu)) == finds


def test_cmake_gets_real_and_virtual_architectures() -> None:
    assert ArchList.parse("8.6+PTX;8.0;9.0a;10.0f").cmake() == "80-real;86-real;86-virtual;90a-real;100f-real"


@pytest.mark.parametrize(
    ("archs", "value", "left_out"),
    [
        ("8.0", "80", ()),
        ("8.6;8.9", "80", ()),
        ("8.0;9.0a;10.3;12.1+PTX", "80;90;100;120", ()),
        ("11.0", "110", ()),
        ("7.5;8.6", "80", ("7.5",)),
    ],
)
def test_flash_attn_gets_one_number_a_major_version(
    archs: str, value: str, left_out: tuple[str, ...]
) -> None:
    parsed = ArchList.parse(archs)
    assert parsed.flash_attn() == value
    assert tuple(map(str, parsed.flash_attn_leaves_out())) == left_out


def test_flash_attn_refuses_a_list_it_has_no_kernels_for() -> None:
    with pytest.raises(ArchError, match=r"no kernels for 7\.5"):
        ArchList.parse("7.5").flash_attn()


# ------------------------------------------------------------------------------------------- properties

KNOWN = [
    "7.0",
    "7.5",
    "8.0",
    "8.6",
    "8.7",
    "8.9",
    "9.0",
    "9.0a",
    "10.0",
    "10.0a",
    "10.0f",
    "10.3",
    "11.0",
    "12.0",
    "12.1f",
]
capabilities = st.sampled_from(KNOWN).map(CC)
plain = st.builds(ComputeCapability, st.integers(3, 20), st.integers(0, 9))
entries = st.builds(ArchEntry, capabilities, st.booleans())
lists = st.lists(entries, min_size=1, max_size=8).map(lambda e: ArchList(tuple(e)))
written = st.lists(st.sampled_from(KNOWN), min_size=1, max_size=5).flatmap(
    lambda names: st.tuples(
        *(st.sampled_from([name, f"{name}+PTX"]) for name in names), st.sampled_from([";", " "])
    ).map(lambda parts: str(parts[-1]).join(map(str, parts[:-1])))
)


@settings(deadline=None)
@given(written)
def test_the_canonical_text_parses_back_to_the_same_list(text: str) -> None:
    archs = ArchList.parse(text)
    assert ArchList.parse(str(archs)) == archs
    assert str(ArchList.parse(str(archs))) == str(archs)


@settings(deadline=None)
@given(st.text(alphabet="0123456789.af+PTX; ,sm_Ampere\t\n", max_size=30))
def test_any_text_is_a_list_that_round_trips_or_an_arch_error(text: str) -> None:
    try:
        archs = ArchList.parse(text)
    except ArchError:
        return
    assert ArchList.parse(str(archs)) == archs


@settings(deadline=None)
@given(st.text(alphabet="0123456789.af+PTX;, sm_realvirtu-", max_size=20))
def test_what_a_hint_says_to_write_is_itself_a_list(text: str) -> None:
    try:
        ArchList.parse(text)
    except ArchError as error:
        hint = error.hint or ""
        if hint.startswith('write "'):
            ArchList.parse(hint.removeprefix('write "').removesuffix('"'))


@settings(deadline=None)
@given(st.lists(entries, min_size=1, max_size=4), plain)
def test_the_order_of_entries_changes_nothing(items: list[ArchEntry], gpu: ComputeCapability) -> None:
    orders = {ArchList(tuple(order)) for order in permutations(items)}
    assert len(orders) == 1
    assert len({archs.code_for(gpu) for archs in orders}) == 1


@settings(deadline=None)
@given(lists, entries, plain)
def test_one_more_entry_never_takes_code_from_a_gpu(
    archs: ArchList, more: ArchEntry, gpu: ComputeCapability
) -> None:
    rank = ["none", "jit", "native"]
    assert rank.index(ArchList((*archs.entries, more)).code_for(gpu)) >= rank.index(archs.code_for(gpu))


@settings(deadline=None)
@given(plain, plain, plain)
def test_a_newer_gpu_never_loses_plain_ptx(
    code: ComputeCapability, gpu: ComputeCapability, newer: ComputeCapability
) -> None:
    if gpu <= newer and code.ptx_runs_on(gpu):
        assert code.ptx_runs_on(newer)


@settings(deadline=None)
@given(plain, st.sampled_from(["", "a", "f"]), plain)
def test_machine_code_runs_only_where_the_ptx_of_the_same_kind_would(
    base: ComputeCapability, suffix: str, gpu: ComputeCapability
) -> None:
    code = ComputeCapability(base.major, base.minor, suffix)
    if code.cubin_runs_on(gpu):
        assert code.ptx_runs_on(gpu)
        assert code.major == gpu.major


@settings(deadline=None)
@given(plain, plain)
def test_a_suffix_only_narrows_where_code_runs(base: ComputeCapability, gpu: ComputeCapability) -> None:
    exact, family = (ComputeCapability(base.major, base.minor, s) for s in "af")
    assert not exact.cubin_runs_on(gpu) or family.cubin_runs_on(gpu)
    assert not family.cubin_runs_on(gpu) or base.cubin_runs_on(gpu)
    assert not family.ptx_runs_on(gpu) or base.ptx_runs_on(gpu)


@settings(deadline=None)
@given(lists)
def test_every_conversion_names_exactly_the_entries(archs: ArchList) -> None:
    real = {f"{c.number}-real" for c in archs.capabilities}
    virtual = {f"{e.capability.number}-virtual" for e in archs.entries if e.ptx}
    assert set(archs.cmake().split(";")) == real | virtual
    assert len(archs.gencode()) == len(real) + len(virtual)
    assert all(
        code.rpartition("=")[2] in {f"sm_{r[:-5]}" for r in real} | {f"compute_{v[:-8]}" for v in virtual}
        for code in archs.gencode()
    )


@settings(deadline=None)
@given(plain.filter(lambda c: c.major < 13))
def test_a_list_covers_the_capabilities_it_names(gpu: ComputeCapability) -> None:
    assert ArchList.of([gpu]).code_for(gpu) == "native"
    assert ArchList.of([gpu], ptx=True).code_for(ComputeCapability(gpu.major + 1, 0)) == "jit"
    assert ArchList.of([gpu]).code_for(ComputeCapability(gpu.major + 1, 0)) == "none"
