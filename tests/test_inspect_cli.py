"""`gpuimage inspect` as users call it: a gate with exit codes, text and json, comparison, a page; README's example."""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.elves import elf
from tests.fatbins import archive, container, entry, library, sections
from tests.images import saved, tar
from tests.lab.home import Home
from tests.lab.wheels import download
from tests.readme import compare, shown

EIGHT = library(container(entry("cubin", "8.0"), entry("ptx", "8.0", isa="8.4")))
NINE = library(container(entry("cubin", "8.0"), entry("cubin", "9.0")))


@pytest.fixture
def inspect(command: Command, work: Path) -> Command:
    return partial(command, "inspect")


def wheel(name: str, version: str, files: Mapping[str, bytes]) -> str:
    path = f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            archive.writestr(file, content)
        archive.writestr(f"{info}/METADATA", f"Name: {name}\nVersion: {version}\n\n")
        archive.writestr(f"{info}/RECORD", "".join(f"{file},,\n" for file in files))
    return path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--arch", "8.6"], 0, "passed: code for 8.6 everywhere"),
        (["--arch", "8.6;12.0"], 0, "with 1 warning"),
        (["--arch", "7.5;8.0"], 1, "FAILED: nothing for 7.5 in 1 file"),
        (["--arch", "12.0", "--driver", "535"], 1, "needs driver 550.54.14 or newer (CUDA 12.4)"),
        (["--arch", "12.0", "--driver", "550"], 0, "compiled at first use"),
        (["--gpu", "A10G", "--gpu", "L4"], 0, "passed: code for 8.6 8.9"),
        (["--gpu", "T4"], 1, "FAILED: nothing for 7.5"),
        ([], 0, "name the GPUs to serve"),
    ],
)
def test_a_wheel_is_held_against_gpus(inspect: Command, arguments: list[str], code: int, said: str) -> None:
    name = wheel("k", "1", {"k/_c.so": EIGHT})
    got, out, _ = inspect(name, *arguments)
    assert (got, said in " ".join(out.split())) == (code, True), out


def test_a_wheel_without_gpu_code_fails_where_code_was_asked_for(inspect: Command) -> None:
    name = wheel("k", "1", {"k/__init__.py": b""})
    assert inspect(name)[0] == 0
    code, out, _ = inspect(name, "--arch", "8.0")
    assert (code, out.splitlines()[-1]) == (1, "FAILED: no GPU code at all")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.whl"], "there is no such file"),
        (["./gone"], "there is no such file"),
        (["k.so", "--arch", "sm_80"], "write \"8.0\""),
        (["k.so", "--gpu", "A1OG"], "did you mean"),
        (["k.so", "--driver", "soon"], "is no driver version"),
        (["text"], "not a tar archive"),
        (["broken.so"], "this file is damaged"),
    ],
)  # fmt: skip
def test_what_cannot_be_looked_at_is_one_clear_error(
    inspect: Command, arguments: list[str], said: str
) -> None:
    Path("k.so").write_bytes(EIGHT)
    Path("text").write_bytes(b"hello")
    Path("broken.so").write_bytes(b"\x7fELF\x02\x01\x01" + b"\xff" * 200)
    code, out, err = inspect(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_json_counts_what_each_library_carries(inspect: Command) -> None:
    name = wheel("k", "1", {"k/_c.so": EIGHT, "k/_d.so": elf(soname="_d.so"), "k/readme": b"x" * 500})
    code, out, _ = inspect(name, "--format", "json", "--arch", "8.6;12.0;7.0")
    document = json.loads(out)
    assert (code, document["passed"], document["kind"], document["format"]) == (1, False, "wheel", 1)
    first, second = document["libraries"]
    assert (first["path"], first["cubins"], first["ptx"], first["wheel"]) == ("/k/_c.so", 1, 1, "k 1")
    assert first["code"] == [
        {"kind": "cubin", "arch": "8.0", "count": 1, "bytes": 4160},
        {"kind": "ptx", "arch": "8.0", "count": 1, "bytes": 4160},
    ]
    assert first["containers"]["groups"] == [
        {"section": ".nv_fatbin", "code": ["cubin 8.0", "ptx 8.0"], "count": 1, "bytes": 8320}
    ]
    assert first["driver"] == [{"why": "PTX ISA 8.4", "cuda": "12.4", "driver": "550.54.14"}]
    assert [(one["target"], one["state"], one["severity"]) for one in first["coverage"]] == [
        ("7.0", "none", "error"), ("8.6", "native", None), ("12.0", "jit", "warning"),
    ]  # fmt: skip
    assert (second["path"], second["soname"], second["cubins"], second["code"]) == (
        "/k/_d.so",
        "_d.so",
        0,
        [],
    )
    assert [(one["kind"], one["arch"], one["needed"]) for one in document["architectures"]] == [
        ("cubin", "8.0", True), ("ptx", "8.0", True),
    ]  # fmt: skip
    assert document["tree"]["bytes"] == document["bytes"]


def test_what_no_target_needs_is_told_with_its_bytes(inspect: Command) -> None:
    Path("k.so").write_bytes(
        library(container(entry("cubin", "8.0", size=2_000_000), entry("cubin", "9.0", size=8192)))
    )
    _, out, _ = inspect("k.so", "--arch", "9.0")
    assert "2 MB of it serve none of 9.0" in out
    assert re.search(r"2 MB  cubin  8.0 +1  serves no target", out)


def test_an_image_is_read_from_standard_input_and_its_hidden_bytes_are_told(inspect: Command) -> None:
    layers = [{"usr/lib/k.so": NINE, "opt/big": b"x" * 3_000_000}, {"opt/.wh.big": b"", "etc/a": b"1"}]
    code, out, _ = inspect("-", stdin=tar(saved(layers)))
    assert code == 0
    assert "hidden    3 MB are overwritten or deleted by later layers" in out
    assert "RUN step 0  (3 MB hidden later)" in out
    assert "elf-closure" in out


def test_progress_goes_to_standard_error_and_quiet_shows_none(inspect: Command) -> None:
    Path("image.tar").write_bytes(tar(saved([{"opt/big": b"x" * 3_000_000}])))
    for mode in ("plain", "tty"):
        _, out, err = inspect("image.tar", "--format", "json", "--progress", mode)
        assert json.loads(out)["target"] == "image.tar"
        assert "reading image.tar" in err
    assert "image.tar: 3 MB" in inspect("image.tar", "--progress", "plain")[2]
    assert inspect("image.tar", "--quiet")[2] == ""


def test_a_directory_that_is_no_root_gets_no_verdicts(inspect: Command) -> None:
    folder = Path("site/k")
    folder.mkdir(parents=True)
    (folder / "_c.so").write_bytes(NINE)
    document = json.loads(inspect("site", "--format", "json")[1])
    assert (document["kind"], document["verdicts"]) == ("directory", [])


def test_a_spec_says_what_is_promised(inspect: Command) -> None:
    Path("spec.yaml").write_text('image: example.com/x:1\narch: "9.0"\nbase: python:3.12-slim-bookworm\n')
    layers = {"usr/lib/k.so": EIGHT, "etc/a": b"1", "usr/local/bin/nvcc": b"#!/bin/sh\n"}
    Path("image.tar").write_bytes(tar(saved([layers])))
    code, out, _ = inspect("image.tar", "--spec", "spec.yaml")
    assert code == 1
    assert re.search(r"FAILED +nvcc-as-promised", out)
    assert "only PTX for 9.0" in " ".join(out.split())


def test_what_grew_and_why(inspect: Command) -> None:
    bigger = library(container(entry("cubin", "8.0"), entry("cubin", "9.0", size=5_000_000)))
    old = wheel("k", "1", {"k/_c.so": EIGHT, "k/gone": b"x" * 70_000})
    new = wheel("k", "2", {"k/_c.so": bigger})
    code, out, _ = inspect(new, "--against", old)
    assert code == 0
    assert "+5 MB  k (wheel)  1 to 2; GPU code with cubin 9.0 and without ptx 8.0" in " ".join(
        out.split("\n")
    ).replace("   ", " ")
    document = json.loads(inspect(new, "--against", old, "--format", "json")[1])["against"]
    [change] = [one for one in document["changes"] if one["kind"] == "wheel"]
    assert change["grown"] == change["after"] - change["before"]
    assert sum(one["grown"] for one in document["changes"]) == document["after"] - document["before"]
    assert {one["name"]: one["after"] for one in document["architectures"]}["cubin 9.0"] == 5_000_064
    assert "nothing changed" in inspect(new, "--against", new)[1]
    code, out, _ = inspect(new, "--against", old, "--arch", "7.5")
    assert (code, out.splitlines()[-1]) == (1, "FAILED: nothing for 7.5 in 1 file")


def test_names_from_an_image_cannot_steer_the_terminal(inspect: Command) -> None:
    Path("image.tar").write_bytes(tar(saved([{"usr/lib/\x1b[31mk.so": NINE}])))
    out = inspect("image.tar", "--arch", "7.0")[1]
    assert "\x1b" not in out
    assert "\\x1b[31mk.so" in out


def test_a_static_library_is_held_against_gpus_where_it_is_the_target(inspect: Command) -> None:
    relocatable = sections({"__nv_relfatbin": container(entry("cubin", "8.0"))})
    Path("libk.a").write_bytes(archive({"a.o": EIGHT, "b.o": relocatable}))
    Path("r.o").write_bytes(relocatable)
    for name in ("libk.a", "r.o"):
        assert inspect(name, "--arch", "8.6")[0] == 0
        assert inspect(name, "--arch", "7.5")[0] == 1


def test_a_library_that_is_cut_short_is_an_error_and_in_a_wheel_a_partial_answer(inspect: Command) -> None:
    cut = NINE[: len(NINE) // 2]
    Path("k.so").write_bytes(cut)
    out = inspect("k.so")[1]
    assert "this answer is partial" in out
    assert "cut short" in out
    assert "cut short" in inspect(wheel("k", "1", {"k/_c.so": cut}))[1]


@pytest.mark.parametrize("form", ["text", "json"])
def test_names_on_disk_that_are_no_utf_8_can_be_told(inspect: Command, form: str) -> None:
    Path("site").mkdir()
    Path(os.fsdecode(b"site/k\xff.so")).write_bytes(NINE)
    out = inspect("site", "--format", form)[1]
    assert ("k\\xff.so" if form == "text" else "k\\\\xff.so") in out
    assert inspect("site", "--html", "page.html")[0] == 0


def test_a_page_is_written_whole_beside_the_report(inspect: Command) -> None:
    Path("k.so").write_bytes(NINE)
    code, out, _ = inspect("k.so", "--html", "page.html")
    assert (code, "GPU code by architecture" in out) == (0, True)
    assert Path("page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert inspect("k.so", "--html", "no/such/folder/page.html")[0] == 2


def test_the_readme_shows_what_inspect_says(inspect: Command) -> None:
    (example,) = shown("### inspect")
    path = download(Home.find(), "ctranslate2==4.6.1")
    Path(path.name).symlink_to(path)
    compare(example, inspect(*example.arguments[1:])[1])
