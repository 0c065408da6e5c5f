"""Images as archives and layouts: which layer shows what, what ships unseen, and damage of every kind."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.inspect import InspectError, Inspection, Kind, Node, copies, inspect_path, inspect_stream, tree
from tests.fatbins import container, entry, library
from tests.images import PACKERS, Files, oci, saved, tar

BIG = 5000
LAYERS: list[Files] = [
    {
        "etc/": None,
        "etc/conf": b"old",
        "opt/": None,
        "opt/a": b"a" * BIG,
        "opt/deep/b": b"b" * 70,
        "lib": "usr/lib",
    },
    {"etc/conf": b"newer", "usr/lib/k.so": library(container(entry("cubin", "8.0")))},
    {
        "opt/.wh.a": b"",
        "opt/deep/.wh..wh..opq": b"",
        "opt/deep/c": b"c",
        "usr/lib/copy.so": b"z" * BIG,
        "z": b"z" * BIG,
    },
]


def look(data: bytes, **options: str) -> tuple[Kind, Inspection]:
    return inspect_stream(io.BytesIO(data), **options)  # type: ignore[arg-type]


def archives() -> Mapping[str, bytes]:
    found = {f"docker {name}": tar(saved(LAYERS, packer=name)) for name in PACKERS}
    found |= {f"oci {name}": tar(oci(LAYERS, packer=name)) for name in PACKERS}
    found |= {f"docker, all {name}": PACKERS[name](tar(saved(LAYERS))) for name in ("gzip", "zstd")}
    return found


@pytest.mark.parametrize("name", archives())
def test_an_image_shows_what_its_layers_leave(name: str) -> None:
    kind, found = look(archives()[name])
    assert kind == "image"
    assert found.problems == ()
    assert sorted(found.sizes) == ["/etc/conf", "/opt/deep/c", "/usr/lib/copy.so", "/usr/lib/k.so", "/z"]
    assert found.sizes["/etc/conf"] == 5
    assert found.links == {"/lib": "usr/lib"}
    assert {path: found.layer_of[path] for path in ("/etc/conf", "/opt/deep/c", "/lib")} == {
        "/etc/conf": 1, "/opt/deep/c": 2, "/lib": 0,
    }  # fmt: skip
    assert found.env == ("PATH=/usr/bin",)
    assert [file.path for file in found.gpu] == ["/usr/lib/k.so"]


def test_bytes_that_no_path_shows_are_told_with_who_hides_them() -> None:
    _, found = look(tar(saved(LAYERS)))
    assert [(one.path, one.bytes, one.layer, one.hidden_by, one.deleted) for one in sorted(found.hidden, key=lambda h: h.path)] == [
        ("/etc/conf", 3, 0, 1, False),
        ("/opt/a", BIG, 0, 2, True),
        ("/opt/deep/b", 70, 0, 2, True),
    ]  # fmt: skip
    assert [layer.hidden_bytes for layer in found.layers] == [BIG + 73, 0, 0]
    assert [layer.created_by for layer in found.layers] == ["RUN step 0", "RUN step 1", "RUN step 2"]
    assert all(layer.digest.startswith("sha256:") for layer in found.layers)
    assert sum(layer.bytes for layer in found.layers) == found.bytes + BIG + 73


def test_a_file_in_the_place_of_a_directory_hides_all_below_it() -> None:
    _, found = look(tar(saved([{"a/b/c": b"xx", "ab": b"y"}, {"a": b"z"}])))
    assert dict(found.sizes) == {"/a": 1, "/ab": 1}
    assert [(one.path, one.bytes) for one in found.hidden] == [("/a/b/c", 2)]


def check_sums(node: Node) -> None:
    if node.children:
        assert sum(child.bytes for child in node.children) == node.bytes, node.name
    for child in node.children:
        check_sums(child)


def test_every_part_of_the_tree_is_the_sum_of_its_parts_and_the_whole_is_all_layers() -> None:
    _, found = look(tar(saved(LAYERS)))
    whole = tree(found, "x")
    check_sums(whole)
    assert whole.bytes == sum(layer.bytes for layer in found.layers)


def test_copies_are_found_by_content_across_layers_and_names() -> None:
    _, found = look(tar(saved(LAYERS)))
    assert [(one.paths, one.wasted) for one in copies(found)] == [(("/usr/lib/copy.so", "/z"), BIG)]


def test_the_same_is_found_in_a_layout_on_disk(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(tar(oci(LAYERS)))) as archive:
        archive.extractall(tmp_path, filter="data")
    kind, found = inspect_path(tmp_path)
    _, same = look(tar(oci(LAYERS)))
    assert (kind, found.sizes, found.layers, found.hidden) == ("image", same.sizes, same.layers, same.hidden)


def test_an_archive_on_disk_tells_how_far_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(tar(saved(LAYERS)))
    told: list[tuple[int, int | None]] = []
    inspect_path(path, on_bytes=lambda read, total: told.append((read, total)))
    assert told[-1][1] == path.stat().st_size
    assert [read for read, _ in told] == sorted(read for read, _ in told)


def test_a_platform_is_chosen_from_an_index_and_has_to_be_where_there_are_two() -> None:
    data = tar(oci([{"x": b"1"}], platforms=("linux/amd64", "linux/arm64")))
    with pytest.raises(InspectError, match=r"2 images that fit \(linux/amd64, linux/arm64\)") as error:
        look(data)
    assert "--platform" in str(error.value)
    assert look(data, platform="linux/arm64")[1].sizes["/platform"] == len("linux/arm64")
    with pytest.raises(InspectError, match="0 images"):
        look(data, platform="linux/s390x")


def manifest(entries: Files) -> list[dict[str, list[str]]]:
    text = entries["manifest.json"]
    assert isinstance(text, bytes)
    found: list[dict[str, list[str]]] = json.loads(text)
    return found


def test_an_image_is_chosen_by_name_where_an_archive_holds_several() -> None:
    one, two = saved([{"one": b"1"}], tag="a:1"), saved([{"two": b"2"}], tag="b:2")
    both = [*manifest(one), *manifest(two)]
    data = tar({**one, **two, "manifest.json": json.dumps(both).encode()})
    assert list(look(data, image="b:2")[1].sizes) == ["/two"]
    with pytest.raises(InspectError, match=r"holds 2 images \(a:1, b:2\)"):
        look(data)


def test_a_layer_that_is_a_link_to_another_is_that_layer() -> None:
    entries = saved([{"x": b"1"}, {"y": b"2"}])
    images = manifest(entries)
    again = "f" * 64 + "/layer.tar"
    images[0]["Layers"].append(again)
    entries |= {again: f"../{images[0]['Layers'][0]}", "manifest.json": json.dumps(images).encode()}
    _, found = look(tar(entries))
    assert [layer.files for layer in found.layers] == [1, 1, 1]
    assert sorted(found.sizes) == ["/x", "/y"]


def test_a_directory_in_the_place_of_a_file_hides_it() -> None:
    _, found = look(tar(saved([{"a": b"xx"}, {"a": None, "a/b": b"y"}])))
    assert dict(found.sizes) == {"/a/b": 1}
    assert [(one.path, one.bytes) for one in found.hidden] == [("/a", 2)]


def test_of_two_entries_of_one_name_the_later_one_counts() -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for data in (library(container(entry("cubin", "8.0"))), b"text"):
            info = tarfile.TarInfo("usr/lib/k.so")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    _, found = look(made.getvalue())
    assert (dict(found.sizes), found.gpu) == ({"/usr/lib/k.so": 4}, ())


def test_what_other_tools_write_as_null_is_empty() -> None:
    entries: Files = {
        "manifest.json": b'[{"Config": "c.json", "RepoTags": null, "Layers": null}]',
        "c.json": b'{"config": null, "rootfs": {"diff_ids": null}, "history": null}',
    }
    assert look(tar(entries))[1].sizes == {}


def test_names_that_are_no_utf_8_are_written_out() -> None:
    _, found = look(tar(saved([{"a\udcff.so": b"x"}])))
    assert list(found.sizes) == ["/a\\xff.so"]


def test_a_root_is_told_from_an_image_by_its_content() -> None:
    kind, found = look(tar({"etc/hostname": b"x", "usr/bin/true": b"y"}))
    assert (kind, sorted(found.sizes)) == ("root", ["/etc/hostname", "/usr/bin/true"])


# --- damage -----------------------------------------------------------------------------------------------------


def test_names_that_climb_out_stay_inside() -> None:
    _, found = look(
        tar(saved([{"../../etc/passwd": b"x", "/abs": b"y", "a/../../b": b"z", "l": "/../../../etc"}]))
    )
    assert sorted(found.sizes) == ["/abs", "/b", "/etc/passwd"]
    assert found.resolve("/l/passwd") == "/etc/passwd"


def test_an_archive_that_ends_early_gives_what_was_there_and_says_so() -> None:
    entries = saved(LAYERS)
    whole = tar({"manifest.json": entries.pop("manifest.json"), **entries})
    _, found = look(whole[: len(whole) - 12_000])
    assert any("ends early" in problem or "not in the archive" in problem for problem in found.problems)


def test_a_layer_that_cannot_be_read_leaves_the_others() -> None:
    entries = saved(LAYERS, packer="gzip")
    broken = next(name for name in entries if name.endswith("layer.tar"))
    data = entries[broken]
    assert isinstance(data, bytes)
    entries[broken] = data[:20] + b"\xff" * 40 + data[60:] + bytes(2000)
    _, found = look(tar(entries))
    assert found.problems
    assert found.sizes


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"manifest.json": b"[]"}, "names no image"),
        ({"manifest.json": b"[{]"}, "manifest.json in the image archive is damaged"),
        (
            {"manifest.json": b'[{"Config": "gone.json", "Layers": []}]'},
            "names gone.json, which is not in it",
        ),
        ({"index.json": b'{"manifests": [{"digest": "sha256:abc"}]}'}, "0 images"),
        ({"index.json": b'{"layers": []}'}, "names no configuration"),
        ({"oci-layout": b"{}"}, "neither manifest.json nor index.json"),
    ],
)
def test_an_archive_that_is_no_image_says_what_is_wrong(entries: Files, said: str) -> None:
    with pytest.raises(InspectError, match=said):
        look(tar(entries))


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"\x1f\x8b" + b"x" * 50, b"\x28\xb5\x2f\xfd" + b"x" * 50, b"BZh9" + b"x" * 50]
)
def test_what_is_no_archive_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(InspectError, match="not a tar archive"):
        look(data)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_damage_raises_anything_else(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(archives())))
    broken = bytearray(archives()[name])
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(broken) - 1))
        broken[at : at + data.draw(st.integers(1, 300))] = data.draw(st.binary(max_size=40))
        broken += b"" if broken else b"x"
    with contextlib.suppress(InspectError):
        look(bytes(broken))


def test_extended_headers_of_gigabytes_are_refused_before_they_are_read() -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 8 << 30
    with pytest.raises(InspectError, match="extended header"):
        look(info.tobuf(tarfile.GNU_FORMAT))


def test_a_wheel_is_read_without_unpacking_and_says_what_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "k-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("k/../../../etc/k.so", library(container(entry("cubin", "9.0"))))
        archive.writestr("k-1.dist-info/METADATA", "Name: k\nVersion: 1\n\n")
        archive.writestr("k-1.dist-info/RECORD", "etc/k.so,,\n")
        archive.writestr("k/z", b"z" * 9000)
    kind, found = inspect_path(path)
    assert (kind, [file.path for file in found.gpu]) == ("wheel", ["/etc/k.so"])
    assert [(wheel.name, wheel.version) for wheel in found.wheels] == [("k", "1")]
    data = bytearray(path.read_bytes())
    at = data.index(b"k/z")
    data[at + 4 : at + 9] = b"\xff" * 5
    path.write_bytes(data)
    _, broken = inspect_path(path)
    assert any(problem.startswith("/k/z") for problem in broken.problems)
    path.write_bytes(b"PK\x03\x04 and nothing more")
    with pytest.raises(InspectError, match="not a wheel"):
        inspect_path(path)


CHILD = """
import io, re, sys, tarfile
from pathlib import Path
from gpuimage.inspect import inspect_stream

class Endless:
    '''An archive of one layer with three libraries, made as it is read.'''
    def __init__(self, size):
        self.parts = self.make(size)
        self.rest = b""
    def make(self, size):
        from tests.fatbins import container, entry, library
        head = library(container(entry("cubin", "8.0", size=4096)) * 40)
        total = sum(512 + -(-(len(head) + size) // 512) * 512 for _ in range(3)) + 1024
        yield self.info("manifest.json", 0)[:0]
        yield self.info("a" * 64 + "/layer.tar", total)
        for n in range(3):
            yield self.info(f"lib{n}.so", len(head) + size)
            yield head
            left = size
            while left:
                yield bytes(min(left, 1 << 20)); left -= min(left, 1 << 20)
            yield bytes(-(len(head) + size) % 512)
        yield bytes(1024)
        yield bytes(-total % 512)
        config = b'{}'
        yield self.info("c.json", 2) + config + bytes(510)
        text = b'[{"Config": "c.json", "Layers": ["' + b"a" * 64 + b'/layer.tar"]}]'
        yield self.info("manifest.json", len(text)) + text + bytes(-len(text) % 512) + bytes(1024)
    def info(self, name, size):
        made = tarfile.TarInfo(name); made.size = size
        return made.tobuf(tarfile.GNU_FORMAT)
    def read(self, n):
        while not self.rest:
            try: self.rest = next(self.parts)
            except StopIteration: return b""
        out, self.rest = self.rest[:n], self.rest[n:]
        return out

kind, found = inspect_stream(Endless(int(sys.argv[1])))
print(kind, found.bytes, len(found.gpu), sum(len(f.containers) for f in found.gpu), found.problems,
      re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def test_gigabytes_pass_by_in_three_hundred_megabytes() -> None:
    """Three libraries of 700 MB each, which are never on any disk; what is kept does not depend on their size."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(700_000_000)], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    kind, size, libraries, containers, problems, kilobytes = done.stdout.rsplit(maxsplit=5)
    assert (kind, libraries, containers, problems) == ("image", "3", "120", "()")
    assert int(size) > 2_100_000_000
    assert int(kilobytes) < 300_000
