"""The page of `gpuimage build --report`, in a real Chromium: what it says, what it asks for, how it is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from gpuimage.engine import LayerInfo
from gpuimage.errors import BuildError, Location
from gpuimage.growth import GrowthLimit
from gpuimage.inspect import WheelInfo
from gpuimage.report import BuildReport
from gpuimage.reporters.build_html import build_html
from gpuimage.reporters.build_json import document
from gpuimage.smoke import Verdict
from gpuimage.units import size
from tests.builds import LAYERS, VERDICTS, WHEELS, baseline_from, failed, made
from tests.pages import CONTRAST, ShowPage

Show = Callable[..., Page]
STEP = BuildError(
    "the step RUN apt-get failed",
    where=Location(Path("spec.yaml"), 3, 6),
    why="exit code 100",
    hint="look at the log",
    log=("Reading package lists...", "\tE: no such package"),
)
BROKEN = Verdict("import cupy", "T1", "failed", "ImportError: no libnvrtc", 1.5, ("Traceback", "last line"))


@pytest.fixture
def show(show_page: ShowPage) -> Show:
    return lambda report, **options: show_page(build_html(report), **options)


@pytest.fixture
def whole(tmp_path: Path) -> BuildReport:
    """A build with something in every section."""
    layers = (*LAYERS[:1], LayerInfo(LAYERS[1].created_by, 2_300_000_000), *LAYERS[2:])
    base = baseline_from(made(), tmp_path)
    many = [WheelInfo(f"small-{at}", "1.0", 1000 + at, "/site") for at in range(120)]
    return made(
        layers=layers, wheels=(*WHEELS, *many), verdicts=(*VERDICTS, BROKEN), baseline=base,
        limit=GrowthLimit.parse("10%"), failure=STEP,
    )  # fmt: skip


def sections(page: Page) -> list[str]:
    found: list[str] = page.locator("section").evaluate_all("(all) => all.map((one) => one.id)")
    return found


def column(page: Page, section: str, number: int) -> list[str]:
    return page.locator(f"#{section} tbody td:nth-child({number})").all_inner_texts()


def test_it_says_what_the_document_says(show: Show, whole: BuildReport) -> None:
    told: Any = document(whole)
    page = show(whole)
    assert page.inner_text("h1") == told["tags"][0]
    assert page.inner_text("#verdict").split("\n")[-1] == told["says"]
    assert page.locator("#verdict .error").count() == 1
    assert sections(page) == [
        "error", "budgets", "growth", "verdicts", "layers", "wheels", "decisions", "parts", "dockerfile",
    ]  # fmt: skip
    numbers = dict(
        zip(page.locator("#numbers dt").all_inner_texts(), page.locator("#numbers dt + dd").all_inner_texts(), strict=True)
    )  # fmt: skip
    assert numbers == {
        "Image": size(told["bytes"]["total"]), "Growth": "+300 MB", "Largest layer": "2.30 GB",
        "Largest wheel": "597 MB", "Probes": "2",
    }  # fmt: skip
    assert column(page, "layers", 2) == [layer["created_by"] for layer in told["bytes"]["layers"]]
    assert column(page, "decisions", 3)[0].startswith(told["plan"]["decisions"][0]["because"])
    assert page.inner_text("#dockerfile pre").strip() == told["dockerfile"].strip()
    assert "E: no such package" in page.inner_text("#error pre")
    assert column(page, "growth", 6)[0] == "+300 MB"
    assert "import cupy" in page.locator("#verdicts .finding").first.inner_text()
    page.locator("#verdicts summary").first.click()
    assert "last line" in page.inner_text("#verdicts")


def test_bars_are_as_long_as_their_bytes(show: Show, whole: BuildReport) -> None:
    page = show(whole)
    parts = page.locator("#layers .gauge").evaluate_all("(all) => all.map((one) => parseFloat(one.style.getPropertyValue('--part')))")  # fmt: skip
    layers = [layer.bytes for layer in whole.result.image.layers] if whole.result else []
    assert parts == pytest.approx([100 * held / max(layers) for held in layers])


def test_wheels_are_sorted_and_filtered(show: Show, whole: BuildReport) -> None:
    page = show(whole)
    assert column(page, "wheels", 1)[0] == "nvidia-cublas"
    assert len(column(page, "wheels", 1)) == 100
    page.get_by_role("button", name="Show all 123 wheels").click()
    assert len(column(page, "wheels", 1)) == 123
    heading = page.locator("#wheels th", has_text="Bytes")
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    heading.get_by_role("button").press("Enter")
    assert column(page, "wheels", 4)[0] == "1 kB"
    page.get_by_label("Filter wheels").fill("CUPY 14")
    assert column(page, "wheels", 1) == ["cupy-cuda13x"]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (lambda: failed(STEP), ["error", "decisions", "parts", "dockerfile"]),
        (lambda: failed(STEP, planned=False), ["error"]),
        (lambda: made(smoked=False), ["budgets", "verdicts", "layers", "decisions", "parts", "dockerfile"]),
    ],
    ids=["a failed step", "no plan", "no smoke test"],
)
def test_what_there_is_not_has_no_section(
    show: Show, report: Callable[[], BuildReport], expected: list[str]
) -> None:
    page = show(report())
    assert sections(page) == expected
    if "verdicts" in expected:
        assert "not smoke-tested" in page.inner_text("#verdicts")


def test_names_that_are_markup_are_text_and_nothing_of_them_runs(show: Show, tmp_path: Path) -> None:
    evil = ("</script><img src=x onerror=window.owned=1>", "<!--<script>", "\u202egnp", "__DOCUMENT__", "__SCRIPT__", "\ud800")  # fmt: skip
    report = made(
        layers=[LayerInfo(name, 10**9) for name in evil],
        wheels=[WheelInfo(name, name, 10**6, "/x") for name in evil],
        verdicts=[Verdict(name, "T3", "failed", name, 0.0, evil) for name in evil],
        failure=BuildError(evil[0], why=evil[1], log=evil),
    )
    page = show(report)
    for name in evil[:2]:
        assert name in column(page, "layers", 2)
        assert name in column(page, "wheels", 1)
    assert "\\u202egnp" in column(page, "layers", 2)
    for summary in page.locator("#verdicts summary").all():
        summary.click()
    assert page.evaluate("window.owned") is None
    assert page.evaluate("document.images.length") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert not set("\u202e") & set(page.inner_text("body"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast_in_both_themes(show: Show, whole: BuildReport, scheme: str) -> None:
    page = show(whole, color_scheme=scheme)
    for _ in range(2):
        ratio, text, seen = page.evaluate(CONTRAST)
        assert seen > 150
        assert ratio >= 4.5, text
        page.get_by_role("button", name="theme").click()


def test_a_telephone_scrolls_one_way_only(show: Show, whole: BuildReport) -> None:
    long = replace(BROKEN, probe="python3 -c " + "x" * 300, reason="y" * 500)
    page = show(made(verdicts=[long]), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.scrollingElement.scrollWidth") == 360
    page = show(whole, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.scrollingElement.scrollWidth") == 360


def test_the_keyboard_reaches_everything_and_landmarks_name_it(show: Show, whole: BuildReport) -> None:
    page = show(whole)
    assert page.locator("h1").count() == 1
    unnamed = page.locator("button, input, [role=group], section").evaluate_all(
        """(all) => all.filter((one) => !one.ariaLabel && !one.getAttribute("aria-labelledby") && !one.innerText?.trim()
             && !one.labels?.length && one.checkVisibility()).map((one) => one.outerHTML)"""
    )
    assert unnamed == []
    scrolling = page.locator(".scroll").evaluate_all(
        "(all) => all.filter((one) => one.tabIndex !== 0).length"
    )
    assert scrolling == 0
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the results"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
