"""GPU code in files: what is read of its headers, which GPUs it serves, and damage of every kind."""

from __future__ import annotations

import io
import random
import struct
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.arch import ComputeCapability
from gpuimage.inspect import Coverage, GpuFile, InspectError, coverage, driver_needs, read_gpu_code
from gpuimage.inspect.gpu import look
from gpuimage.inspect.source import CHUNK, InMemory, Passing
from tests.fatbins import archive, container, entry, library, sections


def caps(text: str) -> tuple[ComputeCapability, ...]:
    return tuple(map(ComputeCapability.parse, text.split()))


def read(data: bytes, path: str = "/lib/libk.so", *, every: bool = False) -> tuple[GpuFile | None, list[str]]:
    """Read a file, once mapped and once as it passes by, and hold that both say the same."""
    told: list[str] = []
    found = look(InMemory(data), path, told.append, every_section=every).gpu
    told_passing: list[str] = []
    passing = Passing(io.BytesIO(data), len(data), [])
    again = look(passing, path, told_passing.append, every_section=every).gpu
    if not told:
        assert (again, told_passing) == (found, [])
    return found, told


def kinds(found: GpuFile | None) -> Counter[str]:
    assert found is not None
    return Counter(f"{code.kind} {code.capability}" for one in found.containers for code in one.code)


# --- what is read ----------------------------------------------------------------------------------------------


def test_each_entry_is_counted_with_kind_capability_isa_compression_and_bytes() -> None:
    data = library(
        container(entry("cubin", "8.0"), entry("cubin", "9.0a", compression="lz4", size=512)),
        container(
            entry("ptx", "12.0f", isa="9.0", compression="zstd", size=80), entry("cubin", "10.0", debug=True)
        ),
        container(entry("lto-ir", "7.5")),
    )
    found, problems = read(data)
    assert problems == []
    assert found is not None
    assert [len(one.code) for one in found.containers] == [2, 2, 1]
    assert [
        (code.kind, str(code.capability), code.bytes, code.isa, code.compression, code.debug)
        for one in found.containers
        for code in one.code
    ] == [
        ("cubin", "8.0", 4160, None, "none", False),
        ("cubin", "9.0a", 576, None, "lz4", False),
        ("ptx", "12.0f", 144, "9.0", "zstd", False),
        ("cubin", "10.0", 4160, None, "none", True),
        ("lto-ir", "7.5", 4160, None, "none", False),
    ]
    assert found.code_bytes == 4160 * 3 + 576 + 144


def test_relocatable_code_is_counted_and_is_not_loadable() -> None:
    found, _ = read(
        sections(
            {".nv_fatbin": container(entry("cubin", "8.0")), "__nv_relfatbin": container(entry("ptx", "8.0"))}
        )
    )
    assert found is not None
    assert [(one.section, one.loadable) for one in found.containers] == [
        (".nv_fatbin", True),
        ("__nv_relfatbin", False),
    ]


def test_other_sections_are_read_on_request_and_where_the_tables_name_them() -> None:
    data = sections(
        {
            ".rodata": b"x" * 40 + container(entry("cubin", "8.0")) + b"y" * 9,
            ".ldata": container(entry("ptx", "5.0")),
        }
    )
    assert read(data)[0] is None
    assert kinds(read(data, every=True)[0]) == {"cubin 8.0": 1, "ptx 5.0": 1}
    assert kinds(read(data, "/nvidia/cufft/lib/libcufft.so.11")[0]) == {"ptx 5.0": 1}
    assert kinds(read(data, "/nvidia/cusparse/lib/libcusparse.so.12")[0]) == {"cubin 8.0": 1}


def test_padding_between_containers_is_no_problem_and_what_nvprune_leaves_is_a_container() -> None:
    found, problems = read(library(container(entry("cubin", "8.0")), bytes(64), container()))
    assert problems == []
    assert found is not None
    assert [len(one.code) for one in found.containers] == [1, 0]


def test_the_stub_that_nvcc_links_into_every_library_is_no_code_to_run() -> None:
    found, _ = read(library(container(entry("cubin", "5.2", size=872))))
    assert found is not None
    assert coverage([found], caps("9.0")) == ()


def test_a_static_library_gives_the_code_of_all_members_wherever_they_stand() -> None:
    first, second = library(container(entry("cubin", "8.0"))), library(container(entry("cubin", "9.0")))
    found, problems = read(archive({"a.o": first, "notes": b"odd", "b.o": second}), "/usr/lib/libk.a")
    assert problems == []
    assert found is not None
    assert (found.kind, kinds(found)) == ("archive", {"cubin 8.0": 1, "cubin 9.0": 1})


def test_a_bare_fatbin_and_a_bare_cubin_are_read_too() -> None:
    found, _ = read(container(entry("cubin", "8.0"), entry("ptx", "8.0")), "/k.fatbin")
    assert found is not None
    assert (found.kind, kinds(found)) == ("fatbin", {"cubin 8.0": 1, "ptx 8.0": 1})
    old = sections({".text.k": b"x"}, machine=190, flags=0x00500550, abi=0x33)
    new = sections({".text.k": b"x"}, machine=190, flags=0x06006402, abi=0x41)
    assert kinds(read(old, "/k.cubin")[0]) == {"cubin 8.0": 1}
    assert kinds(read(new, "/k.cubin")[0]) == {"cubin 10.0": 1}


def test_a_file_without_section_headers_is_searched_whole() -> None:
    data = bytearray(library(container(entry("cubin", "8.0"))))
    data[40:48] = bytes(8)  # e_shoff
    data[58:64] = bytes(6)
    assert kinds(read(bytes(data))[0]) == {"cubin 8.0": 1}


@pytest.mark.parametrize("filler", [0, CHUNK - 200, CHUNK - 90, CHUNK - 82, CHUNK - 70, 3 * CHUNK + 5])
def test_where_chunks_end_makes_no_difference(filler: int) -> None:
    data = library(
        container(entry("cubin", "8.0", size=3 * CHUNK)), container(entry("ptx", "8.0")), filler=filler
    )
    found, problems = read(data)
    assert problems == []
    assert kinds(found) == {"cubin 8.0": 1, "ptx 8.0": 1}


def test_a_file_larger_than_what_is_kept_of_it_is_read_the_same_as_it_passes_by() -> None:
    parts = [container(entry("cubin", "8.0", size=30 << 20), entry("ptx", "8.0")) for _ in range(5)]
    found, problems = read(
        sections({".text": b"x" * 4096, ".nv_fatbin": b"".join(parts), ".data": bytes(1 << 20)})
    )
    assert problems == []
    assert kinds(found) == {"cubin 8.0": 5, "ptx 8.0": 5}


def test_tables_that_lie_too_far_apart_leave_a_partial_answer_and_the_librarys_name() -> None:
    """The names of the sections pass by long before their headers, as no linker has written it yet."""
    made = bytearray(library(container(entry("cubin", "8.0")), filler=200 << 20))
    names = b"\0.text\0.nv_fatbin\0.shstrtab\0"
    made[60 << 20 : (60 << 20) + len(names)] = names
    row = len(made) - 64
    struct.pack_into("<Q", made, row + 24, 60 << 20)
    assert look(InMemory(bytes(made)), "/libk.so", pytest.fail).gpu is not None
    told: list[str] = []
    found = look(Passing(io.BytesIO(bytes(made)), len(made), []), "/libk.so", told.append)
    assert "too far apart" in told[0]
    assert found.library is not None
    assert (found.library.name, kinds(found.gpu)) == ("libk.so", {"cubin 8.0": 1})


# --- which GPUs it serves ---------------------------------------------------------------------------------------


def served(path: str, targets: str, *containers: bytes, driver: str | None = None) -> list[Coverage]:
    found, _ = read(library(*containers), path)
    assert found is not None
    return list(coverage([found], caps(targets), driver))


@pytest.mark.parametrize(
    ("made_for", "target", "state"),
    [
        ("cubin 8.0", "8.0", "native"),
        ("cubin 8.0", "8.9", "native"),  # an equal or higher minor of the same major
        ("cubin 8.9", "8.6", "none"),
        ("cubin 8.0", "9.0", "none"),
        ("cubin 9.0a", "9.0", "native"),
        ("cubin 10.0a", "10.3", "none"),  # exactly its own
        ("cubin 10.0f", "10.3", "native"),  # its family
        ("cubin 10.0f", "11.0", "none"),
        ("cubin 12.0", "12.1", "native"),
        ("ptx 8.0", "12.0", "jit"),  # its own and every later one
        ("ptx 8.6", "8.0", "none"),
        ("ptx 9.0a", "10.0", "none"),
        ("ptx 10.0f", "10.3", "jit"),
        ("ptx 12.0f", "13.0", "none"),
        ("lto-ir 8.0", "8.0", "none"),  # only for linking
    ],
)
def test_what_runs_where(made_for: str, target: str, state: str) -> None:
    kind, arch = made_for.split()
    [answer] = served("/lib/libk.so", target, container(entry(kind, arch)))
    assert answer.state == state
    assert answer.severity == {"native": None, "jit": "warning", "none": "error"}[state]


def test_a_container_without_code_makes_a_library_partial_though_the_union_has_it() -> None:
    both = container(entry("cubin", "8.0"), entry("cubin", "9.0"))
    [answer] = served("/lib/libk.so", "9.0", both, container(entry("cubin", "8.0")))
    assert (answer.state, answer.native, answer.nothing, answer.severity) == ("partial", 1, 1, "warning")
    assert "1 of 2 containers have nothing for 9.0" in answer.because


@pytest.mark.parametrize("path", ["/x/libcublasLt.so.12", "/x/libcudnn_ops.so.9", "/usr/lib/libnccl.so.2"])
def test_libraries_that_choose_among_their_kernels_are_judged_as_a_whole(path: str) -> None:
    eight, nine = container(entry("cubin", "8.0")), container(entry("cubin", "9.0"))
    assert [(one.state, one.severity) for one in served(path, "8.6 9.0", eight, nine)] == [
        ("native", None)
    ] * 2
    [lost] = served(path, "12.0", eight, nine)
    assert (lost.state, lost.severity) == ("none", "error")


def test_a_library_for_some_gpus_only_gets_a_note_elsewhere() -> None:
    path = "/site-packages/vllm/_flashmla_C.abi3.so"
    answers = served(path, "8.0 9.0", container(entry("cubin", "9.0a")))
    assert [(one.state, one.severity) for one in answers] == [("none", "note"), ("native", None)]


def test_of_files_of_which_one_is_loaded_the_best_counts() -> None:
    folder = "/site-packages/bitsandbytes"
    files = []
    for name, arch in (("118", "8.0"), ("128", "12.0")):
        found, _ = read(library(container(entry("cubin", arch))), f"{folder}/libbitsandbytes_cuda{name}.so")
        assert found is not None
        files.append(found)
    severities = {
        (one.path[-6:-3], str(one.target)): one.severity for one in coverage(files, caps("7.0 8.0 12.0"))
    }
    assert severities == {
        ("118", "7.0"): "error", ("118", "8.0"): None, ("118", "12.0"): "note",
        ("128", "7.0"): "error", ("128", "8.0"): "note", ("128", "12.0"): None,
    }  # fmt: skip


def test_a_driver_that_does_not_know_the_ptx_has_nothing_to_run() -> None:
    code = container(entry("ptx", "8.0", isa="9.0"))
    [told] = served("/lib/libk.so", "8.0", code)
    assert (told.cuda, told.driver, told.severity) == ("13.0", "580.65.06", "warning")
    [new] = served("/lib/libk.so", "8.0", code, driver="580")
    assert (new.state, new.severity) == ("jit", "warning")
    [old] = served("/lib/libk.so", "8.0", code, driver="570")
    assert (old.state, old.severity) == ("none", "error")
    assert "needs driver 580.65.06 or newer (CUDA 13.0)" in old.because


def test_zstd_needs_the_driver_of_cuda_12_4_and_lz4_none() -> None:
    packed = container(entry("cubin", "8.0", compression="zstd"))
    assert served("/lib/libk.so", "8.0", packed, driver="550")[0].severity is None
    assert served("/lib/libk.so", "8.0", packed, driver="535")[0].severity == "error"
    assert served("/lib/libk.so", "8.0", packed)[0].driver == "550.54.14"
    old = container(entry("cubin", "8.0", compression="lz4"))
    assert served("/lib/libk.so", "8.0", old, driver="535")[0].severity is None
    found, _ = read(library(packed, container(entry("ptx", "8.0", isa="8.7"))))
    assert found is not None
    assert [(need.why, need.cuda, need.driver) for need in driver_needs(found)] == [
        ("zstd", "12.4", "550.54.14"),
        ("PTX ISA 8.7", "12.8", "570.26"),
    ]


# --- damage -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (library(container(entry("cubin", "8.0")), b"\x01" * 64), "no container at offset"),
        (library(container(entry("cubin", "8.0"), entry("ptx", "8.0"))[:-64]), "reaches past the end"),
        (library(container(entry("cubin", "8.0"), b"\xff" * 64)), "is damaged"),
        (library(container(entry("cubin", "8.0"), b"\0" * 8)), "is cut short"),
        (archive({"a.o": library(container(entry("cubin", "8.0")))}) + b"x" * 60, "is damaged"),
    ],
)
def test_damage_is_told_and_the_rest_still_counts(data: bytes, said: str) -> None:
    found, problems = read(data)
    assert any(said in problem for problem in problems)
    assert kinds(found) == {"cubin 8.0": 1}


def test_a_damaged_file_that_is_asked_for_by_name_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "libk.so"
    path.write_bytes(library(container(entry("cubin", "8.0")), b"\x01" * 64))
    with pytest.raises(InspectError, match="this file is damaged"):
        read_gpu_code(path)


def test_a_flood_of_entries_is_cut_off() -> None:
    tiny = entry("cubin", "8.0", size=0)
    found, problems = read(library(container(*[tiny] * 300_100)))
    assert any("the rest was not read" in problem for problem in problems)
    assert found is not None
    assert sum(len(one.code) for one in found.containers) == 300_000


SOUND = archive(
    {
        "a.o": library(container(entry("cubin", "8.0", size=64), entry("ptx", "9.0a", size=24)), container()),
        "b.o": sections({"__nv_relfatbin": container(entry("lto-ir", "7.5", size=8)), ".rodata": b"x" * 9}),
    }
)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_no_damage_raises_or_hangs(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["archive", "library", "fatbin", "cubin"]))
    sound = {
        "archive": SOUND,
        "library": SOUND[68:-1],
        "fatbin": container(entry("cubin", "8.0", size=64), entry("ptx", "9.0", size=8)),
        "cubin": sections({".text": b"x"}, machine=190, flags=0x550),
    }[kind]
    broken = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(broken) - 1))
        match data.draw(st.sampled_from(["byte", "ones", "cut", "repeat"])):
            case "byte":
                broken[at] = data.draw(st.integers(0, 255))
            case "ones":
                broken[at : at + 8] = b"\xff" * 8
            case "cut":
                del broken[at : at + data.draw(st.integers(1, 64))]
            case "repeat":
                broken[at:at] = broken[at : at + 48]
        if not broken:
            broken += b"\0"
    for source in (InMemory(bytes(broken)), Passing(io.BytesIO(bytes(broken)), len(broken), [])):
        found = look(source, "/x", lambda _: None, every_section=data.draw(st.booleans())).gpu
        if found:
            coverage([found], caps("8.0 12.0"))


def test_random_bytes_behind_each_magic_are_no_trouble() -> None:
    noise = random.Random(4)
    for magic in (b"\x7fELF\x02\x01\x01", b"!<arch>\n", container()[:8], b"\x7fELF\x01\x02\x01"):
        for _ in range(200):
            data = magic + noise.randbytes(noise.randrange(4000))
            look(InMemory(data), "/x", lambda _: None, every_section=True)
            look(Passing(io.BytesIO(data), len(data), []), "/x", lambda _: None)
