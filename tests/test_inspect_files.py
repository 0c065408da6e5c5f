"""Reading an image's files: libraries against readelf and ldd, archives and directories, damage of every kind."""

from __future__ import annotations

import dataclasses
import io
import os
import re
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.inspect import Closure, InspectError, Inspection, closure, inspect_directory, inspect_tar
from tests.elves import elf

LIB = "usr/lib/x86_64-linux-gnu"


def write(root: Path, files: Mapping[str, bytes | str]) -> Inspection:
    """Write a root (bytes: a file, a str: a link to it) and look at it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            path.chmod(0o755)
    return inspect_directory(root)


def missing(made: Closure) -> set[str]:
    return {f"{one.library} {one.needed}" for one in made.missing}


# --- against the system's own tools ---------------------------------------------------------------------------


def programs() -> list[Path]:
    found = [
        Path(str(shutil.which(name)))
        for name in ("cp", "tar", "apt-get", "openssl", "perl", "git")
        if shutil.which(name)
    ]
    return [path.resolve() for path in found]


def needs(path: Path) -> list[Path]:
    """Every file that the system's loader maps for a program."""
    out = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=True).stdout
    return [Path(name) for name in re.findall(r"(?:=> )?(/\S+) \(0x", out)]


@pytest.mark.skipif(not shutil.which("ldd"), reason="there is no ldd here")
@pytest.mark.parametrize("program", programs(), ids=lambda path: str(path.name))
def test_what_ldd_lists_is_all_a_program_needs_and_none_of_it_can_go(program: Path, tmp_path: Path) -> None:
    wanted = needs(program)
    for path in [program, *wanted]:
        target = tmp_path / str(path).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.copytree("/etc/ld.so.conf.d", tmp_path / "etc/ld.so.conf.d")
    shutil.copy("/etc/ld.so.conf", tmp_path / "etc/ld.so.conf")
    for folder in ("lib", "lib64", "bin", "sbin"):  # merged into /usr, as on every current system
        if Path(f"/{folder}").is_symlink() and not (tmp_path / folder).exists():
            (tmp_path / folder).symlink_to(f"usr/{folder}")
    assert closure(inspect_directory(tmp_path)).missing == ()
    for path in wanted:
        if "ld-linux" in path.name:
            continue
        gone = tmp_path / str(path).lstrip("/")
        kept = gone.read_bytes()
        gone.unlink()
        lost = {one.needed for one in closure(inspect_directory(tmp_path)).missing}
        assert path.name in lost
        gone.write_bytes(kept)


@pytest.mark.skipif(not shutil.which("readelf"), reason="there is no readelf here")
def test_the_dynamic_section_is_what_readelf_prints() -> None:
    paths = sorted({path for program in programs() for path in [program, *needs(program)]})
    for path in paths:
        out = subprocess.run(
            ["readelf", "--dynamic", "--wide", str(path)], capture_output=True, text=True, check=True
        ).stdout
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            info = tarfile.TarInfo("x.so")
            info.size = path.stat().st_size
            tar.addfile(info, io.BytesIO(path.read_bytes()))
        archive.seek(0)
        [library] = inspect_tar(archive).libraries
        assert list(library.needed) == re.findall(r"\(NEEDED\).*\[(.*)\]", out)
        assert [library.soname] == (re.findall(r"\(SONAME\).*\[(.*)\]", out) or [None])


# --- the loader's rules ----------------------------------------------------------------------------------------


def test_rpath_is_inherited_and_runpath_is_not(tmp_path: Path) -> None:
    deep = {
        "opt/x/libb.so": elf(soname="libb.so", needed=["libc1.so"]),
        "opt/x/libc1.so": elf(soname="libc1.so"),
    }
    inherited = write(tmp_path / "a", {"usr/bin/a": elf(needed=["libb.so"], rpath="/opt/x"), **deep})
    assert missing(closure(inherited)) == set()
    own = write(tmp_path / "b", {"usr/bin/a": elf(needed=["libb.so"], runpath="/opt/x"), **deep})
    assert [one.needed for one in closure(own).off_path] == ["libc1.so"]


def test_origin_is_the_directory_of_the_library(tmp_path: Path) -> None:
    site = "usr/local/lib/python3.13/site-packages"
    made = write(
        tmp_path,
        {
            f"{site}/torch/lib/libtorch.so": elf(needed=["libcudart.so.13"], rpath="$ORIGIN/../../nvidia/cu13/lib:${ORIGIN}"),
            f"{site}/nvidia/cu13/lib/libcudart.so.13": elf(soname="libcudart.so.13"),
            f"{site}/torch/_C.cpython-313-x86_64-linux-gnu.so": elf(needed=["libtorch.so"], rpath="$ORIGIN/lib"),
        },
    )  # fmt: skip
    assert missing(closure(made)) == set()


@pytest.mark.parametrize(
    ("env", "conf", "found"),
    [
        ({"LD_LIBRARY_PATH": "/opt/x"}, None, True),
        ({"LD_LIBRARY_PATH": "/nowhere:/opt/x:"}, None, True),
        ({}, b"# comment\n/opt/x  # why\n", True),
        ({}, b"include /etc/ld.so.conf.d/*.conf\n", True),
        ({}, b"/opt\n", False),
        ({}, None, False),
    ],
)
def test_the_search_path_is_that_of_the_environment_and_of_ld_so_conf(
    tmp_path: Path, env: dict[str, str], conf: bytes | None, *, found: bool
) -> None:
    files: dict[str, bytes | str] = {
        "usr/bin/a": elf(needed=["libx.so"]),
        "opt/x/libx.so": elf(soname="libx.so"),
    }
    files["etc/ld.so.conf.d/x.conf"] = b"/opt/x\n"
    if conf is not None:
        files["etc/ld.so.conf"] = conf
    made = closure(write(tmp_path, files), env=env)
    assert (made.off_path == ()) is found


def test_a_library_of_another_machine_or_width_does_not_count(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "usr/bin/a": elf(needed=["libx.so", "liby.so"]),
        f"{LIB}/libx.so": elf(soname="libx.so", machine="aarch64"),
        f"{LIB}/liby.so": elf(soname="liby.so", machine="i386", bits=32),
    }
    assert missing(closure(write(tmp_path, files))) == {"/usr/bin/a libx.so", "/usr/bin/a liby.so"}


def test_a_name_that_is_loaded_already_is_not_searched_again(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {
        "usr/bin/a": elf(needed=["liba.so", "libb.so"], runpath="/opt/x"),
        "opt/x/liba.so": elf(soname="liba.so"),
        "opt/x/libb.so": elf(soname="libb.so", needed=["liba.so"]),
    }
    made = closure(write(tmp_path, files))
    assert [one for one in made.off_path if one.library == "/usr/bin/a"] == []


# --- directories and archives ----------------------------------------------------------------------------------

TREE: dict[str, bytes | str] = {
    "usr/bin/tool": elf(needed=["liba.so.1"]),
    f"{LIB}/liba.so.1.2": elf(soname="liba.so.1"),
    f"{LIB}/liba.so.1": "liba.so.1.2",
    "lib": "usr/lib",
    "etc/ld.so.conf": b"include ld.so.conf.d/*.conf\n",
    "etc/ld.so.conf.d/a.conf": b"/opt/a\n",
    "site/pkg-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n\nText\n",
    "site/pkg-1.0.dist-info/RECORD": b'pkg/__init__.py,sha256=x,3\n../bin/pkg,,\n"odd, name.py",,\npkg/gone.py,,\n',
    "site/pkg/__init__.py": b"abc",
    "site/odd, name.py": b"12345",
    "bin/pkg": b"#!/bin/sh\n",
    "loop/a": "b",
    "loop/b": "a",
    "out": "../../../../etc/ld.so.conf",
}


def pack(root: Path, form: int = tarfile.PAX_FORMAT) -> io.BytesIO:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=form) as tar:
        tar.add(root, arcname=".")
    archive.seek(0)
    return archive


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_an_archive_says_what_its_directory_says(tmp_path: Path, form: int) -> None:
    directory = write(tmp_path, TREE)
    archive = inspect_tar(pack(tmp_path, form))
    for name in ("sizes", "links", "executables", "libraries", "wheels", "ld_so_conf", "problems"):
        assert getattr(archive, name) == getattr(directory, name), name


def test_links_are_followed_inside_the_root_and_loops_end(tmp_path: Path) -> None:
    made = write(tmp_path, TREE)
    assert made.resolve("/lib/x86_64-linux-gnu/liba.so.1") == f"/{LIB}/liba.so.1.2"
    assert made.resolve("/out") == "/etc/ld.so.conf"
    assert made.resolve("/loop/a") is None
    assert made.library("/lib/x86_64-linux-gnu/liba.so.1") is not None
    assert missing(closure(made)) == set()


def test_a_wheel_has_the_bytes_of_the_files_of_its_record_that_are_there(tmp_path: Path) -> None:
    [wheel] = write(tmp_path, TREE).wheels
    assert (wheel.name, wheel.version, wheel.location) == ("pkg", "1.0", "/site")
    assert wheel.bytes == len(b"abc") + len(b"12345") + len(b"#!/bin/sh\n")


def test_a_hard_link_has_its_file_but_no_second_bytes() -> None:
    archive = io.BytesIO()
    data = elf(soname="liba.so.1")
    with tarfile.open(fileobj=archive, mode="w") as tar:
        info = tarfile.TarInfo(f"./{LIB}/liba.so.1")
        info.size = len(data)
        tar.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo(f"./{LIB}/libalias.so")
        link.type, link.linkname = tarfile.LNKTYPE, f"./{LIB}/liba.so.1"
        tar.addfile(link)
    archive.seek(0)
    made = inspect_tar(archive)
    assert made.bytes == len(data)
    assert made.library(f"/{LIB}/libalias.so") is not None


def test_what_cannot_be_read_is_told_and_a_partial_answer_shows(tmp_path: Path) -> None:
    write(tmp_path, TREE)
    whole = pack(tmp_path).getvalue()
    cut = inspect_tar(io.BytesIO(whole[: len(whole) // 2]))
    assert cut.problems
    assert 0 < cut.files < len(TREE)
    for nothing in (b"", b"no archive at all" * 100):
        with pytest.raises(InspectError):
            inspect_tar(io.BytesIO(nothing))
    with pytest.raises(InspectError):
        inspect_directory(tmp_path / "nowhere")


@given(st.integers(0, 2000), st.binary(min_size=1, max_size=8), st.integers(1, 2000))
@settings(deadline=None)
def test_a_damaged_library_is_a_problem_and_never_an_error(at: int, garbage: bytes, length: int) -> None:
    data = bytearray(elf(needed=["liba.so.1"], soname="libx.so", rpath="$ORIGIN", size=1000))
    data[at : at + len(garbage)] = garbage
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        info = tarfile.TarInfo("libx.so")
        info.size = len(data[:length])
        tar.addfile(info, io.BytesIO(bytes(data[:length])))
    archive.seek(0)
    made = inspect_tar(archive)
    closure(made)
    assert len(made.libraries) + len(made.problems) <= 1
    assert made.files == 1


def pack_bytes(damage: bytes) -> bytes:
    """A small archive with its first bytes overwritten."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        info = tarfile.TarInfo("a.so")
        info.size = 64
        tar.addfile(info, io.BytesIO(bytes(64)))
    data = archive.getvalue()
    return damage + data[len(damage) :]


@given(st.binary(max_size=3000) | st.binary(max_size=600).map(pack_bytes))
@settings(deadline=None)
def test_any_bytes_are_an_archive_or_a_clear_error(data: bytes) -> None:
    try:
        closure(inspect_tar(io.BytesIO(data)))
    except InspectError as error:
        assert error.exit_code == 2  # noqa: PT017  # that nothing else is raised is the point


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_a_problem(tmp_path: Path) -> None:
    made = write(tmp_path, {"usr/bin/secret": b"x"})
    assert made.problems == ()
    (tmp_path / "usr/bin/secret").chmod(stat.S_IWUSR)
    assert "secret" in inspect_directory(tmp_path).problems[0]


@pytest.mark.skipif(not shutil.which("readelf"), reason="there is no readelf here")
def test_symbol_versions_are_what_readelf_prints(tmp_path: Path) -> None:
    paths = sorted({path for program in programs() for path in [program, *needs(program)]})
    for path in paths:
        text = subprocess.run(
            ["readelf", "--version-info", "--wide", str(path)], capture_output=True, text=True, check=True
        ).stdout
        own, _, wanted = text.partition("Version needs section")
        (tmp_path / path.name).write_bytes(path.read_bytes())
        library = inspect_directory(tmp_path).library(f"/{path.name}")
        assert library is not None
        assert sorted(version for _, version in library.wants) == sorted(
            re.findall(r"Name: (\S+)  Flags", wanted)
        )
        assert set(library.defines) == set(re.findall(r"Cnt: \d+  Name: (\S+)", own))
        (tmp_path / path.name).unlink()


@pytest.mark.skipif(not shutil.which("ldd"), reason="there is no ldd here")
def test_a_version_that_the_library_found_does_not_have_is_missing_as_for_the_loader(tmp_path: Path) -> None:
    program = programs()[0]
    for path in [program, *needs(program)]:
        target = tmp_path / str(path).lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    whole = inspect_directory(tmp_path)
    assert closure(whole).versions == ()
    old = [
        dataclasses.replace(one, defines=("GLIBC_2.2.5",)) if one.name == "libc.so.6" else one
        for one in whole.libraries
    ]
    lost = closure(
        dataclasses.replace(whole, libraries=tuple(old), _by_path={one.path: one for one in old})
    ).versions
    wanted = {
        version
        for one in whole.libraries
        if one.path == f"/{str(program).lstrip('/')}"
        for needed, version in one.wants
        if needed == "libc.so.6"
    }
    assert {one.version for one in lost if one.library.endswith(program.name)} == wanted - {"GLIBC_2.2.5"}


def test_one_soname_in_two_files_is_told_with_who_takes_which(tmp_path: Path) -> None:
    site = "usr/lib/python3/dist-packages"
    made = write(
        tmp_path,
        {
            f"{LIB}/libx.so.1": elf(soname="libx.so.1"),
            f"{site}/p.libs/libx.so.1": elf(soname="libx.so.1"),
            f"{site}/p/_c.cpython-313-x86_64-linux-gnu.so": elf(
                needed=["libx.so.1"], rpath="$ORIGIN/../p.libs"
            ),
            "usr/bin/tool": elf(needed=["libx.so.1"]),
        },
    )
    [twice] = closure(made).twice
    assert (twice.soname, dict(twice.taken_by)) == (
        "libx.so.1",
        {
            f"/{LIB}/libx.so.1": ("/usr/bin/tool",),
            f"/{site}/p.libs/libx.so.1": (f"/{site}/p/_c.cpython-313-x86_64-linux-gnu.so",),
        },
    )
