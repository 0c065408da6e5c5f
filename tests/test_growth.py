"""What grew since a former report: numbers, the gate, and every baseline that is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuimage.engine import ImageInfo, LayerInfo
from gpuimage.errors import BuildError, SpecError
from gpuimage.growth import Baseline, GrowthLimit, growth, read_baseline
from gpuimage.inspect import WheelInfo
from gpuimage.reporters.build_json import build_json
from gpuimage.spec import load_spec, variants
from tests.builds import LAYERS, SPEC, WHEELS, baseline_from, failed, made

NO_LIMIT = GrowthLimit(percent=Decimal(10**6))


def base(layers: tuple[LayerInfo, ...] = (), wheels: tuple[WheelInfo, ...] | None = ()) -> Baseline:
    return Baseline(Path("old.json"), "a/b:1", "", sum(one.bytes for one in layers), layers, wheels)


def image(*layers: LayerInfo) -> ImageInfo:
    return ImageInfo("sha256:1", sum(one.bytes for one in layers), layers)


def changes(before: tuple[LayerInfo, ...], after: tuple[LayerInfo, ...]) -> list[tuple[Any, ...]]:
    found = growth(base(before), image(*after), (), NO_LIMIT)
    return [(one.name, one.before, one.after, one.because) for one in found.layers]


def test_an_image_against_its_own_report_has_not_grown(tmp_path: Path) -> None:
    report = made()
    assert report.result is not None
    found = growth(
        baseline_from(report, tmp_path), report.result.image, report.result.wheels, GrowthLimit.parse("0%")
    )
    assert (found.grown, found.exceeded, found.layers, found.wheels) == (0, False, (), ())


def test_layers_are_paired_by_instruction_whatever_comes_between() -> None:
    debian, pip, copy = LayerInfo("deb", 100), LayerInfo("RUN pip", 1000), LayerInfo("COPY app", 5)
    apt = LayerInfo("RUN apt", 300)
    assert changes((debian, pip, copy), (debian, apt, LayerInfo("RUN pip", 1200), copy)) == [
        ("RUN apt", None, 300, "new"),
        ("RUN pip", 1000, 1200, ""),
    ]
    assert changes((debian, apt, pip), (debian, pip)) == [("RUN apt", 300, None, "gone")]


def test_a_changed_instruction_stands_beside_the_one_in_its_place() -> None:
    before = (LayerInfo("deb", 1), LayerInfo("RUN pip install a", 10), LayerInfo("COPY", 2))
    after = (LayerInfo("deb", 1), LayerInfo("RUN pip install a b", 30), LayerInfo("COPY", 2))
    assert changes(before, after) == [("RUN pip install a b", 10, 30, "was RUN pip install a")]


layer_lists = st.lists(
    st.builds(LayerInfo, st.sampled_from(["a", "b", "c", ""]), st.integers(0, 9)), max_size=6
).map(tuple)


@given(layer_lists, layer_lists)
def test_the_growth_of_the_layers_is_that_of_the_image(
    before: tuple[LayerInfo, ...], after: tuple[LayerInfo, ...]
) -> None:
    found = growth(base(before), image(*after), None, NO_LIMIT)
    assert sum(one.grown for one in found.layers) == found.grown


def test_wheels_are_paired_by_name_and_say_their_versions() -> None:
    before = (
        WheelInfo("numpy", "1.0", 10, ""),
        WheelInfo("same", "1", 4, ""),
        WheelInfo("gone", "3", 7, ""),
    )
    after = (
        WheelInfo("numpy", "1.1", 30, "/x"),
        WheelInfo("same", "1", 4, "/x"),
        WheelInfo("new", "2", 5, "/x"),
        WheelInfo("debian's own", "1", 0, "/x"),
    )
    found = growth(base(wheels=before), image(), after, NO_LIMIT)
    assert [(one.name, one.grown, one.because) for one in found.wheels or ()] == [
        ("numpy", 20, "1.0 to 1.1"),
        ("gone", -7, "3, gone"),
        ("new", 5, "2, new"),
    ]


def test_a_wheel_in_two_environments_counts_with_both() -> None:
    twice = (WheelInfo("six", "1.16", 10, "/a"), WheelInfo("six", "1.17", 12, "/b"))
    found = growth(base(wheels=(twice[0],)), image(), twice, NO_LIMIT)
    [change] = found.wheels or ()
    assert (change.before, change.after, change.because) == (10, 22, "1.16 to 1.16, 1.17")


@pytest.mark.parametrize("side", ["before", "after"])
def test_wheels_that_nobody_measured_are_not_compared(side: str) -> None:
    known = (WheelInfo("numpy", "1.0", 10, ""),)
    found = growth(
        base(wheels=None if side == "before" else known),
        image(),
        None if side == "after" else known,
        NO_LIMIT,
    )
    assert found.wheels is None


@pytest.mark.parametrize(
    ("limit", "before", "after", "exceeded"),
    [
        ("2%", 1000, 1020, False),
        ("2%", 1000, 1021, True),
        ("2.5%", 1000, 1025, False),
        ("2.5 %", 1000, 1026, True),
        ("0%", 1000, 1000, False),
        ("0%", 1000, 1001, True),
        ("1kB", 1000, 2000, False),
        ("1kB", 1000, 2001, True),
        ("50", 1000, 1051, True),
        ("0%", 1000, 1, False),
        ("5%", 0, 1, True),
    ],
)
def test_the_gate_is_how_much_the_image_grew(limit: str, before: int, after: int, exceeded: bool) -> None:
    found = growth(
        base((LayerInfo("x", before),)), image(LayerInfo("x", after)), None, GrowthLimit.parse(limit)
    )
    assert found.exceeded is exceeded


@pytest.mark.parametrize("text", ["", "x", "-5%", "2%%", "1e3%", "5 parsecs", "%", "nan%", "50 %MB", "0MB"])
def test_what_is_no_limit_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ValueError, match="such as 2%"):
        GrowthLimit.parse(text)


# --- baselines ---------------------------------------------------------------------------------------------------


def test_a_report_is_read_again_as_it_was(tmp_path: Path) -> None:
    found = baseline_from(made(), tmp_path)
    assert found.bytes == sum(layer.bytes for layer in LAYERS)
    assert [layer.bytes for layer in found.layers] == [layer.bytes for layer in LAYERS]
    assert [layer.instruction for layer in found.layers] == [layer.instruction for layer in LAYERS]
    wheels = [(wheel.name, wheel.version, wheel.bytes) for wheel in WHEELS if wheel.bytes]
    assert [(wheel.name, wheel.version, wheel.bytes) for wheel in found.wheels or ()] == wheels
    assert baseline_from(made(smoked=False), tmp_path).wheels is None


def test_another_tag_of_the_same_image_is_its_baseline(tmp_path: Path) -> None:
    file = load_spec(SPEC)
    later = replace(
        file, spec=msgspec.structs.replace(file.spec, image=replace_tag(file.spec.image, "9.9.9"))
    )
    (tmp_path / "report.json").write_text(build_json(made()))
    assert read_baseline(tmp_path / "report.json", later).image.endswith("quickstart:1.0.0")


def replace_tag(reference: Any, tag: str) -> Any:
    return msgspec.structs.replace(reference, tag=tag)


def changed(**keys: object) -> Callable[[dict[str, Any]], object]:
    return lambda report: report | keys


BAD: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "another image": (changed(image="example.com/other:1.0.0"), "of another image: example.com/other"),
    "another registry": (changed(image="gpuimage/quickstart:1"), "of another image: docker.io/gpuimage"),
    "another flavor": (changed(flavor="devel"), "of another flavor: devel, and this is runtime"),
    "another variant": (changed(variant="cu126"), "of another variant: cu126, and this is none"),
    "another platform": (changed(platform="linux/arm64"), "of another platform"),
    "a newer format": (changed(format=2), "of format 2, and this gpuimage reads format 1"),
    "a format in words": (changed(format="one"), "no report of a build"),
    "another document": (changed(kind="image"), "but of 'image'"),
    "no format": (lambda report: {k: v for k, v in report.items() if k != "format"}, "no report of a build"),
    "a list": (lambda _: [], "no report of a build"),
    "no layers at all": (changed(bytes=[]), "damaged"),
    "negative bytes": (lambda report: report | {"bytes": report["bytes"] | {"total": -1}}, "damaged"),
    "text for bytes": (lambda report: report | {"bytes": report["bytes"] | {"total": "2 GB"}}, "damaged"),
    "no name": (changed(image="::"), "damaged"),
    "a layer too many": (
        lambda report: report | {"bytes": report["bytes"] | {"layers": [{"created_by": "x", "bytes": 1}] * 1001}},
        "damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_report_that_is_no_baseline_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    change, reason = BAD[name]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(change(json.loads(build_json(made())))))
    with pytest.raises(SpecError) as caught:
        read_baseline(path, load_spec(SPEC))
    assert reason in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    "content",
    [b"", b"\0\xff" * 100, b"[" * 100_000, b'{"format": 1', b"{}", b'{"format": 1, "kind": "build"}', b"\xef\xbb\xbf{}"],
    ids=["empty", "binary", "deep", "cut", "an object", "a head alone", "a mark before"],
)  # fmt: skip
def test_garbage_is_no_baseline(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(SpecError, match="no baseline"):
        read_baseline(path, load_spec(SPEC))


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for path in (tmp_path / "nowhere.json", tmp_path, loop):
        with pytest.raises(SpecError, match="the baseline cannot be read"):
            read_baseline(path, load_spec(SPEC))
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(10**9)
    with pytest.raises(SpecError, match="more than 50 MB"):
        read_baseline(huge, load_spec(SPEC))


def test_the_report_of_a_build_without_an_image_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a build that failed"):
        baseline_from(failed(BuildError("a step failed")), tmp_path)


def test_each_variant_of_a_matrix_has_a_name_that_no_tag_changes(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(
        'image: example.com/x:1\nwheels: [torch]\nmatrix: {cuda: ["12.6", "12.8"], python: ["3.12"]}\n'
    )
    assert [file.variant for file in variants(load_spec(path))] == ["cu126-py312", "cu128-py312"]
    assert [str(file.spec.image) for file in variants(load_spec(path))] == [
        "example.com/x:1-cu126-py312", "example.com/x:1-cu128-py312",
    ]  # fmt: skip
    assert load_spec(SPEC).variant == ""
