"""Reading GPU code out of what nvcc makes, against NVIDIA's own cuobjdump and what nvcc was told."""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpuimage.inspect import Code, GpuFile, read_gpu_code
from tests.lab import LabError, cuobjdump, nvcc
from tests.lab.home import Home
from tests.lab.shell import run

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="PyPI has cuobjdump for x86_64 machines only"
)

# Unrolled, so that it is worth compressing.
KERNEL = """
extern "C" __global__ void NAME(float *x) {
  float v = x[threadIdx.x];
#pragma unroll
  for (int i = 0; i < 256; i++) v = v * 1.5f + __sinf(v + i);
  x[threadIdx.x] = v;
}
"""


def gencode(*codes: str) -> tuple[str, ...]:
    """nvcc's flags for `sm_90a`, `compute_120` and `lto_80`."""
    return tuple(f"-gencode=arch=compute_{code.split('_')[1]},code={code}" for code in codes)


MIXED = gencode("sm_75", "sm_80", "sm_90a", "sm_100f", "compute_90a", "compute_120f")
EVERYTHING = (*gencode("sm_75", "sm_100f", "compute_100f"), "-Xfatbin=-compress-all")
PIC = "-Xcompiler=-fPIC"  # for code that goes into a shared library

# What nvcc is told to make of one unit.
COMPILED = {
    "sm_75.o": ("-c", *gencode("sm_75")),
    "sm_80.o": ("-c", *gencode("sm_80")),
    "sm_90a.o": ("-c", *gencode("sm_90a")),
    "sm_100a.o": ("-c", *gencode("sm_100a")),
    "sm_100f.o": ("-c", *gencode("sm_100f")),
    "compute_120.o": ("-c", *gencode("compute_120")),
    "mixed.o": ("-c", *MIXED),
    "default.o": ("-c", *gencode("sm_75", "compute_75")),
    "none.o": ("-c", "--compress-mode=none", *EVERYTHING),
    "speed.o": ("-c", "--compress-mode=speed", *EVERYTHING),
    "balance.o": ("-c", "--compress-mode=balance", *EVERYTHING),
    "size.o": ("-c", "--compress-mode=size", *EVERYTHING),
    "debug.o": ("-c", "-G", *gencode("sm_75", "sm_100f", "compute_75")),
    "lineinfo.o": ("-c", "-lineinfo", *gencode("sm_75", "sm_100f", "compute_75")),
    "rdc.o": ("-dc", *MIXED),
    "lto.o": ("-dc", *gencode("sm_75", "lto_80", "lto_90a")),
    "dlto.o": ("-dc", "-dlto", "-arch=sm_80"),
    "code.fatbin": ("-fatbin", *MIXED),
    "code.cubin": ("-cubin", *gencode("sm_80")),
}
LINKED = ("units.so", "nvcc.so", "rdc.so", "rdc", "static.a")
OBJECTS = (*COMPILED, *LINKED)

# Containers by section, where that is not one container of loadable code: one for each unit and each link by nvcc.
CONTAINERS = {
    "rdc.o": {"__nv_relfatbin": 1},
    "lto.o": {"__nv_relfatbin": 1},
    "dlto.o": {"__nv_relfatbin": 1},
    "code.fatbin": {"": 1},
    "code.cubin": {"": 1},
    "units.so": {".nv_fatbin": 3},
    "nvcc.so": {".nv_fatbin": 3 + 1},
    "rdc.so": {".nv_fatbin": 1, "__nv_relfatbin": 3},
    "rdc": {".nv_fatbin": 1, "__nv_relfatbin": 3},
    "static.a": {".nv_fatbin": 3},
}
COMPRESSION = {"none.o": "none", "speed.o": "lz4", "balance.o": "zstd", "size.o": "zstd"}


@pytest.fixture(scope="session")
def toolkit() -> nvcc.Toolkit:
    try:
        return nvcc.ensure(Home.find())
    except LabError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no nvcc: {error}")


@pytest.fixture(scope="session")
def objects(toolkit: nvcc.Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with every object of this file, and `host.o`, which has no GPU code."""
    made = tmp_path_factory.mktemp("nvcc")
    names = ("first", "second", "third")
    for name in names:
        (made / f"{name}.cu").write_text(KERNEL.replace("NAME", name))
    (made / "host.cpp").write_text("int main() { return 0; }\n")
    units, parts = ([f"{made}/{name}.{suffix}" for name in names] for suffix in ("cu", "o"))
    host = f"{made}/host.cpp"
    commands = [
        *((*flags, units[0], "-o", f"{made}/{name}") for name, flags in COMPILED.items()),
        *(("-c", PIC, *MIXED, unit, "-o", part) for unit, part in zip(units, parts, strict=True)),
        ("-c", host, "-o", f"{made}/host.o"),
        ("-ptx", "-arch=compute_90a", units[0], "-o", f"{made}/first.ptx"),
        ("-rdc=true", *MIXED, *units, host, "-o", f"{made}/rdc"),
        ("-rdc=true", "-shared", PIC, *MIXED, *units, "-o", f"{made}/rdc.so"),
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(
            pool.map(lambda command: toolkit.nvcc(*command), commands)
        )  # a list, so that a failure is raised
    run(["g++", "-shared", "-o", f"{made}/units.so", *parts])
    toolkit.nvcc("-shared", *MIXED, *parts, "-o", f"{made}/nvcc.so")
    run(["ar", "rcs", f"{made}/static.a", *parts, f"{made}/host.o"])
    return made


@pytest.fixture(params=OBJECTS)
def path(request: pytest.FixtureRequest, objects: Path) -> Path:
    return objects / str(request.param)


def read(path: Path) -> GpuFile:
    found = read_gpu_code(path)
    assert found is not None
    return found


def codes(found: GpuFile) -> Iterator[Code]:
    for container in found.containers:
        yield from container.code


def test_the_code_is_what_cuobjdump_lists(path: Path) -> None:
    mine = Counter((code.kind, str(code.capability)) for code in codes(read(path)))
    assert mine == cuobjdump.listed(path)
    assert mine


def test_each_entry_says_of_itself_what_cuobjdump_says(path: Path) -> None:
    if path.suffix == ".cubin":
        pytest.skip("cuobjdump shows no entry where there is no fatbin")
    mine = Counter(
        (code.kind, str(code.capability), code.isa, code.compression != "none", code.debug)
        for code in codes(read(path))
    )
    assert mine == Counter(
        (
            entry.kind,
            entry.arch,
            entry.version if entry.kind == "ptx" else None,
            entry.compressed,
            entry.debug,
        )
        for entry in cuobjdump.entries(path)
    )


def test_there_is_one_container_for_each_unit_and_each_link(path: Path) -> None:
    mine = Counter(container.section for container in read(path).containers)
    assert mine == CONTAINERS.get(path.name, {".nv_fatbin": 1})


def test_the_code_accounts_for_every_byte_of_its_sections(path: Path) -> None:
    if path.suffix in (".fatbin", ".cubin"):
        mine = sum(code.bytes for code in codes(read(path)))
        assert mine == path.stat().st_size - (16 if path.suffix == ".fatbin" else 0)
        return
    shown = run(["readelf", "-SW", str(path)], env={"LC_ALL": "C"})
    sections: Counter[str] = Counter()
    for name, size in re.findall(r"\] (\.nv_fatbin|__nv_relfatbin) +PROGBITS +\w+ \w+ (\w+)", shown):
        sections[name] += int(size, 16)
    read_bytes: Counter[str] = Counter()
    for container in read(path).containers:
        read_bytes[container.section] += 16 + sum(code.bytes for code in container.code)
    assert read_bytes == sections
    assert sections


@pytest.mark.parametrize("name", COMPRESSION)
def test_the_compression_is_the_one_nvcc_was_told(objects: Path, name: str) -> None:
    found = list(codes(read(objects / name)))
    assert {code.compression for code in found} == {COMPRESSION[name]}
    assert {code.kind for code in found} == {"cubin", "ptx"}


def test_compression_makes_the_code_smaller(objects: Path) -> None:
    none, speed, size = (read(objects / f"{name}.o").code_bytes for name in ("none", "speed", "size"))
    assert none > speed > size


def test_nvcc_alone_compresses_ptx_and_leaves_a_cubin_as_it_is(objects: Path) -> None:
    mine = {code.kind: code.compression for code in codes(read(objects / "default.o"))}
    assert mine == {"cubin": "none", "ptx": "zstd"}


def test_only_the_debug_build_is_one(path: Path) -> None:
    assert {code.debug for code in codes(read(path))} == {path.name == "debug.o"}


def test_the_isa_is_the_version_the_ptx_itself_says(path: Path, objects: Path) -> None:
    version = re.search(r"^\.version (\S+)$", (objects / "first.ptx").read_text(), re.MULTILINE)
    assert version
    for code in codes(read(path)):
        assert code.isa == (version[1] if code.kind == "ptx" else None)


def test_an_object_without_gpu_code_has_none(objects: Path) -> None:
    assert read_gpu_code(objects / "host.o") is None
    assert cuobjdump.listed(objects / "host.o") == Counter()


def test_a_failing_cuobjdump_is_not_taken_for_a_file_without_code(objects: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.fatbin"
    damaged.write_bytes((objects / "code.fatbin").read_bytes()[:3000])
    with pytest.raises(cuobjdump.CuobjdumpError, match="Invalid fatbin header"):
        cuobjdump.listed(damaged)
