"""Plans, builds and smoke tests: the mappings from `--format` to what prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpuimage.plan import Plan
from gpuimage.report import BuildReport
from gpuimage.reporters.build_json import build_json
from gpuimage.reporters.build_markdown import build_markdown
from gpuimage.reporters.build_text import build_text
from gpuimage.reporters.junit import build_junit, smoke_junit
from gpuimage.reporters.plan_json import plan_json
from gpuimage.reporters.plan_text import plan_text
from gpuimage.reporters.smoke_json import smoke_json
from gpuimage.reporters.smoke_markdown import smoke_markdown
from gpuimage.reporters.smoke_text import smoke_text
from gpuimage.smoke import SmokeReport

PLAN_REPORTERS: Mapping[str, Callable[[Plan], str]] = {"text": plan_text, "json": plan_json}

SMOKE_REPORTERS: Mapping[str, Callable[[SmokeReport], str]] = {
    "text": smoke_text,
    "json": smoke_json,
    "junit": smoke_junit,
    "markdown": smoke_markdown,
}

BUILD_REPORTERS: Mapping[str, Callable[[BuildReport], str]] = {
    "text": build_text,
    "json": build_json,
    "junit": build_junit,
    "markdown": build_markdown,
}

__all__ = ["BUILD_REPORTERS", "PLAN_REPORTERS", "SMOKE_REPORTERS"]
