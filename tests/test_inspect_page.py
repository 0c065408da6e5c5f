"""The page of `gpuimage inspect --html`, in a real Chromium: what it says, what it asks for, how it is used."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from gpuimage.arch import ComputeCapability
from gpuimage.examine import Examination, inspect
from gpuimage.reporters.inspect_html import inspect_html
from gpuimage.reporters.inspect_json import document
from gpuimage.smoke import Expectation
from gpuimage.units import size
from tests.elves import elf
from tests.fatbins import container, entry, library
from tests.images import Files, saved, tar
from tests.pages import CONTRAST, ShowPage

SITE = "usr/lib/python3/site-packages"
TARGETS = (ComputeCapability(8, 6), ComputeCapability(12, 0))

Show = Callable[..., Page]


# --- a browser, and things to look at --------------------------------------------------------------------------


@pytest.fixture
def show(show_page: ShowPage) -> Show:
    return lambda found, **options: show_page(inspect_html(found), **options)


def wheel(name: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files of an installed wheel, with METADATA and RECORD."""
    inside = {f"{SITE}/{path}": data for path, data in files.items()}
    info = f"{SITE}/{name}-1.0.dist-info"
    record = "".join(f"{path},,\n" for path in files)
    return {
        **inside,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\n".encode(),
        f"{info}/RECORD": record.encode(),
    }


def kernels(*archs: str, payload: int = 150_000) -> bytes:
    return library(*(container(entry("cubin", arch, size=payload)) for arch in archs), filler=40_000)


COPIES = elf(soname="libsame.so", size=30_000)
LAYERS: list[Files] = [
    wheel(
        "alpha",
        {
            "alpha/libfull.so": kernels("8.0", "8.6", "9.0a", "12.0"),
            "alpha/libold.so": kernels("7.0", "8.0", payload=400_000),
            "alpha/text.py": b"x" * 5000,
        },
    ),
    {
        **wheel("beta", {"beta/libptx.so": library(container(entry("ptx", "8.0", size=300_000)))}),
        "opt/a/libsame.so": COPIES,
        "opt/b/libsame.so": COPIES,
        "opt/deleted": b"d" * 700_000,
        "opt/include/some.h": b"h" * 1234,
        "opt/one-byte": b"1",
    },
    {"opt/.wh.deleted": b"", "etc/hostname": b"host\n"},
]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Examination:
    path = tmp_path_factory.mktemp("image") / "image.tar"
    path.write_bytes(tar(saved(LAYERS)))
    return inspect(str(path), targets=TARGETS)


def write(root: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def cells(page: Page) -> Locator:
    return page.locator(".cell")


def amounts(found: Locator) -> list[int]:
    return [int(value) for value in found.evaluate_all("(all) => all.map((one) => one.dataset.bytes)")]


def path_in_map(page: Page) -> list[str]:
    return page.locator(".crumbs li").all_inner_texts()


def column(page: Page, section: str, number: int) -> list[str]:
    return page.locator(f"#{section} tbody td:nth-child({number})").all_inner_texts()


# --- what it says ------------------------------------------------------------------------------------------------


def test_it_says_what_the_document_says_in_words_and_numbers(show: Show, image: Examination) -> None:
    told: Any = document(image)
    page = show(image)
    assert page.title() == "image.tar – gpuimage inspect"
    assert page.inner_text("h1") == image.target
    worst = Counter(one.severity for one in image.coverage)
    states = Counter(one.status for one in image.verdicts)
    assert page.inner_text("#verdict").split("\n")[-1] == (
        f"Failed: {worst['error']} error, {worst['warning'] + states['failed']} warnings, "
        f"{worst['note'] + states['skipped']} notes"
    )
    unneeded = sum(one["bytes"] for one in told["architectures"] if one["needed"] is False)
    shown = dict(
        zip(page.locator("dt").all_inner_texts(), page.locator("dt + dd").all_inner_texts(), strict=True)
    )
    assert shown == {
        "Total": size(told["bytes"]),
        "Hidden": size(told["hidden_bytes"]),
        "Duplicates": size(told["duplicate_bytes"]),
        "GPU code": size(sum(one["bytes"] for one in told["architectures"])),
        "GPU code not needed": size(unneeded),
    }
    assert told["hidden_bytes"] == 700_000
    assert unneeded > 0
    assert page.locator("section").evaluate_all("(all) => all.map((one) => one.id)") == [
        "findings", "map", "layers", "wheels", "libraries", "architectures", "categories", "duplicates", "hidden",
    ]  # fmt: skip
    assert column(page, "layers", 2) == ["RUN step 0", "RUN step 1", "RUN step 2"]
    assert column(page, "hidden", 3) == ["deleted in 3"]
    libraries = page.locator("#libraries tbody tr").all_inner_texts()
    assert len(libraries) == len(told["libraries"])
    assert "7.0 8.0" in libraries[0]
    assert "8.6 in part" in libraries[0]
    assert "12.0 nothing" in libraries[0]


def test_findings_are_told_worst_first_and_filtered_by_kind(show: Show, image: Examination) -> None:
    page = show(image)
    words = page.locator("#findings .word")
    every = words.all_inner_texts()
    assert every[0] == "error"
    assert "libold.so" in page.locator(".finding").first.inner_text()
    assert "no code for 12.0" in page.locator(".finding").first.inner_text()
    assert "only PTX for 8.6 12.0:" in page.locator(".finding", has_text="libptx.so").inner_text()
    page.get_by_role("button", name="Passed").click()
    assert words.count() > len(every)
    for name in ("Errors", "Notes", "Passed"):
        page.get_by_role("button", name=name).click()
    assert set(words.all_inner_texts()) == {"warning"}
    page.get_by_role("button", name="Warnings").click()
    assert page.get_by_text("Nothing to show").is_visible()


def test_a_broken_promise_is_an_error_and_a_failed_check_without_promise_a_warning(
    show: Show, tmp_path: Path
) -> None:
    root = write(tmp_path / "root", {"usr/bin/tool": elf(needed=["libgone.so"]), "etc/hostname": b"x"})
    free, promised = inspect(str(root)), inspect(str(root), expectation=Expectation(flavor="runtime"))
    assert (free.passed, promised.passed) == (True, False)
    page = show(free)
    assert "Nothing was asked of it" in page.inner_text("#verdict")
    assert page.locator(".finding.warning").count() == 1
    page = show(promised)
    assert "Failed: 1 error" in page.inner_text("#verdict")
    assert "libgone.so" in page.locator(".finding.error").inner_text()


def test_what_could_not_be_read_stands_before_everything_else(show: Show, tmp_path: Path) -> None:
    code = container(entry("cubin", "8.0"))
    files = {"lib/libcut.so": library(code[:-8]), "lib/libwhole.so": library(code)}
    root = write(tmp_path / "root", files)
    found = inspect(str(root), targets=TARGETS)
    assert found.inspection.problems
    page = show(found)
    first = page.locator("section").first
    assert first.get_attribute("id") == "problems"
    assert "Partial answer" in first.inner_text()
    assert "libcut.so" in first.inner_text()


def test_a_wheel_without_gpu_code_has_a_page(show: Show, tmp_path: Path) -> None:
    path = tmp_path / "plain-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("plain/__init__.py", "x = 1\n")
    page = show(inspect(str(path)))
    assert page.locator("section").evaluate_all("(all) => all.map((one) => one.id)") == ["map"]
    assert "Nothing was asked of it" in page.inner_text("#verdict")
    page = show(inspect(str(path), targets=TARGETS))
    assert "Failed: there is no GPU code at all" in page.inner_text("#verdict")


def test_an_empty_directory_has_a_page(show: Show, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    page = show(inspect(str(tmp_path / "nothing")))
    assert page.locator("section").count() == 0
    assert page.locator("dt + dd").first.inner_text() == "0 B"


# --- the map -----------------------------------------------------------------------------------------------------


def test_the_parts_of_every_node_sum_up_to_it_and_take_the_area_of_their_bytes(
    show: Show, image: Examination
) -> None:
    told: Any = document(image)
    page = show(image)
    area = page.locator(".map").evaluate("(map) => map.clientWidth * map.clientHeight")
    seen = 0

    def walk(whole: int) -> None:
        nonlocal seen
        found = cells(page)
        parts = amounts(found)
        assert sum(parts) == whole
        assert sum(amounts(page.locator(".legend button"))) == whole
        boxes = found.evaluate_all(
            "(all) => all.map((one) => parseFloat(one.style.width) * parseFloat(one.style.height))"
        )
        assert boxes == pytest.approx([area * part / whole for part in parts], rel=0.01, abs=1)
        for number, part in enumerate(parts):
            seen += 1
            if found.nth(number).get_attribute("data-leaf") is None:
                found.nth(number).press("Enter")  # a cell may be smaller than a mouse can hit
                walk(part)
                page.keyboard.press("Escape")
        assert amounts(cells(page)) == parts

    walk(told["bytes"] + told["hidden_bytes"])

    def count(node: dict[str, Any]) -> int:
        return 1 + sum(count(child) for child in node.get("children", []) if child["bytes"])

    assert seen == count(told["tree"]) - 1


def test_it_zooms_by_click_and_by_key_and_back(show: Show, image: Examination) -> None:
    page = show(image)
    assert path_in_map(page) == ["image.tar"]
    cells(page).first.click(position={"x": 30, "y": 10})
    cells(page).first.click(position={"x": 30, "y": 10})
    assert path_in_map(page) == ["image.tar", "1 RUN step 0", "alpha 1.0"]
    page.locator(".crumbs button").first.click()
    assert path_in_map(page) == ["image.tar"]

    page.get_by_role("radio", name="Kind").focus()
    focused = page.locator(".cell:focus")
    while not focused.count():  # the map is one stop on the way of the Tab key
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert path_in_map(page) == ["image.tar", "1 RUN step 0", "alpha 1.0"]
    first = focused.get_attribute("aria-label") or ""
    assert first.startswith("/usr/lib/python3/site-packages/alpha/libold.so: ")
    assert "of the whole" in first
    assert page.locator(".tip").is_visible()
    page.keyboard.press("End")
    last = focused.get_attribute("aria-label")
    page.keyboard.press("ArrowLeft")
    assert focused.get_attribute("aria-label") not in (None, last)
    page.keyboard.press("Home")
    assert focused.get_attribute("aria-label") == first
    page.keyboard.press("Backspace")
    assert path_in_map(page) == ["image.tar", "1 RUN step 0"]
    assert (focused.get_attribute("aria-label") or "").startswith("alpha 1.0")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert path_in_map(page) == ["image.tar"]


def test_a_pointer_over_the_map_reads_what_lies_deepest(show: Show, image: Examination) -> None:
    page = show(image)
    page.locator(".map").hover(position={"x": 200, "y": 200})
    tip = page.locator("#tip")
    assert "alpha 1.0" in tip.inner_text()
    assert "bytes)" in tip.inner_text()
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_more_parts_than_a_page_can_hold_are_one_part_with_parts(show: Show, tmp_path: Path) -> None:
    root = tmp_path / "many"
    root.mkdir()
    for number in range(1500):  # all holes: they take no room on the disk
        with (root / f"{number}.bin").open("wb") as file:
            file.truncate(300_000 + number)
    found = inspect(str(root))
    page = show(found)
    assert cells(page).count() == 1000
    assert sum(amounts(cells(page))) == found.inspection.bytes
    page.get_by_role("button", name="501 smaller").press("Enter")
    assert cells(page).count() == 501


def test_the_legend_shows_one_kind_alone_and_the_colours_are_a_choice(show: Show, image: Examination) -> None:
    page = show(image)
    legend = page.locator(".legend button")
    assert [text.split("\n")[0] for text in legend.all_inner_texts()][:2] == [
        "GPU code a target may load",
        "GPU code no target needs",
    ]
    page.get_by_role("radio", name="Architecture").check()
    assert [text.split("\n")[0] for text in legend.all_inner_texts()][:4] == ["7.x", "8.x", "9.x", "12.x"]
    before = page.locator(".map").screenshot()
    legend.nth(1).click()
    assert legend.nth(1).get_attribute("aria-pressed") == "true"
    assert page.locator(".map").screenshot() != before
    legend.nth(1).click()
    assert legend.nth(1).get_attribute("aria-pressed") == "false"


# --- tables ------------------------------------------------------------------------------------------------------


def test_a_click_on_a_heading_sorts_by_bytes_not_by_their_text(show: Show, image: Examination) -> None:
    told: Any = document(image)
    page = show(image)
    heading = page.locator("#libraries th", has_text="Bytes")
    names = [one["path"].rsplit("/", 1)[1] for one in sorted(told["libraries"], key=lambda one: -one["bytes"])]  # fmt: skip
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert [text.split("\n")[0] for text in column(page, "libraries", 1)] == names
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    sizes = [one["bytes"] for one in sorted(told["libraries"], key=lambda one: one["bytes"])]
    assert column(page, "libraries", 3) == [size(value) for value in sizes]
    page.locator("#architectures th", has_text="Capability").get_by_role("button").click()
    assert column(page, "architectures", 2) == ["7.0", "8.0", "8.0", "8.6", "9.0a", "12.0"]
    assert page.locator("[aria-sort]").count() == 2


def test_libraries_are_filtered_by_any_words_of_name_wheel_or_architecture(
    show: Show, image: Examination
) -> None:
    page = show(image)
    names = page.locator("#libraries tbody td:first-child .name:first-child")
    for words, left in (
        ("ALPHA old", ["libold.so"]),
        ("beta", ["libptx.so"]),
        ("9.0a", ["libfull.so"]),
        ("nosuch", []),
    ):
        page.get_by_label("Filter libraries").fill(words)
        assert names.all_inner_texts() == left
        assert page.locator("#libraries h2 [role=status]").inner_text() == f"{len(left)} of 5"


# --- hostile, and many -------------------------------------------------------------------------------------------

EVIL = (
    "<!--<script>window.owned=1",
    "</script><img src=x onerror=window.owned=2>.so",
    "'\"><svg onload=window.owned=3>",
    "\u202egnp.\u2066so\u200f",
    "line\u2028break\u2029\n",
    "__DOCUMENT__",
    "${window.owned=4}&lt;b&gt;",
)


def test_names_that_are_markup_are_text_and_nothing_of_them_runs(show: Show, tmp_path: Path) -> None:
    code = kernels("7.0", payload=150_000)
    path = tmp_path / "evil.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for number, name in enumerate(EVIL):
            archive.writestr(f"pkg{number}/{name}", code + bytes(number))
            archive.writestr(
                f"p{number}.dist-info/METADATA", f"Name: {name.split(chr(10))[0]}\nVersion: {name[:9]!r}\n\n"
            )
        for number in range(3000):
            archive.writestr(f"many/lib{number}.so", library(container(entry("cubin", "7.0", size=2048))))
    found = inspect(str(path), targets=TARGETS)
    page_text = inspect_html(found)
    data = page_text.split('id="document">')[1].split("</script>")[0]
    assert not set("<>&\u2028\u2029") & set(data)
    assert data.isascii()
    page = show(found)
    assert page.locator("#libraries tbody tr").count() == 100
    page.get_by_role("button", name="Show all 3,007 libraries").click()
    assert page.locator("#libraries tbody tr").count() == 3007
    shown = page.inner_text("#libraries")
    for name in (EVIL[0], EVIL[2], "script><img src=x onerror=window.owned=2>.so", EVIL[5], EVIL[6]):
        assert name in shown
    assert "\\u202egnp.\\u2066so\\u200f" in shown
    assert "line\\u2028break\\u2029\\u000a" in shown
    assert not set("\u202e\u2066\u200f\u2028") & set(page.inner_text("body"))
    for cell in cells(page).all()[:8]:
        cell.focus()
    assert page.evaluate("window.owned") is None
    assert page.evaluate("document.images.length + document.querySelectorAll('svg').length") == 0
    assert page.evaluate("document.scripts.length") == 2
    page.locator("#findings summary").first.click()
    page.get_by_role("button", name="Show all 3,007 lines").click()
    assert page.locator("#findings details li").count() == 3007


def test_a_name_that_is_no_unicode_text_can_be_written_and_shown(show: Show, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / os.fsdecode(b"lib\xff.so")).write_bytes(kernels("8.0"))
    page = show(inspect(str(root)))
    assert "lib\\xff.so" in page.inner_text("#libraries")


def test_even_a_script_on_the_page_could_ask_for_nothing(
    browser: Browser, image: Examination, tmp_path: Path
) -> None:
    file = tmp_path / "page.html"
    file.write_text(inspect_html(image), encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    refused = page.evaluate(
        """async () => {
          const refused = [];
          document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
          await fetch("http://127.0.0.1:9/").catch(() => {});
          new Image().src = "http://127.0.0.1:9/x.png";
          document.head.append(Object.assign(document.createElement("script"), {src: "http://127.0.0.1:9/x.js"}));
          await new Promise((done) => setTimeout(done, 200));
          return refused.sort();
        }"""
    )
    assert refused == ["connect-src", "img-src", "script-src-elem"]
    page.close()


# --- for everybody -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast_in_both_themes_and_the_button_changes_them(
    show: Show, image: Examination, scheme: str
) -> None:
    page = show(image, color_scheme=scheme)
    page.get_by_role("button", name="Passed").click()
    backgrounds = []
    for _ in range(2):
        ratio, text, seen = page.evaluate(CONTRAST)
        assert seen > 150
        assert ratio >= 4.5, text
        backgrounds.append(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
        page.get_by_role("button", name="theme").click()
    first, second = (sum(map(int, one[4:-1].split(","))) for one in backgrounds)
    assert (first > second) == (scheme == "light")


def test_a_telephone_scrolls_one_way_only(show: Show, image: Examination) -> None:
    page = show(image, viewport={"width": 360, "height": 740})
    width = "document.scrollingElement.scrollWidth"
    assert page.evaluate(width) == 360
    cells(page).first.click(position={"x": 30, "y": 10})
    cells(page).first.click(position={"x": 30, "y": 10})
    page.locator("#duplicates summary").first.click()
    assert page.evaluate(width) == 360
    assert page.locator(".map").bounding_box()["width"] > 300  # type: ignore[index]


def test_the_keyboard_reaches_everything_and_landmarks_name_it(show: Show, image: Examination) -> None:
    page = show(image)
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.locator("header, nav, main, footer").count() >= 4
    assert page.locator("h1").count() == 1
    unnamed = page.locator("button, input, [role=group], section").evaluate_all(
        """(all) => all.filter((one) => !one.ariaLabel && !one.getAttribute("aria-labelledby") && !one.innerText?.trim()
             && !one.labels?.length && one.checkVisibility()).map((one) => one.outerHTML)"""
    )
    assert unnamed == []
    page.keyboard.press("Tab")
    skip = page.locator(":focus")
    assert skip.inner_text() == "Skip to the results"
    assert (skip.bounding_box() or {"y": -1})["y"] >= 0
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
