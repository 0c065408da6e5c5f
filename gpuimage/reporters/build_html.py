"""A build as one page to look at."""

from __future__ import annotations

from gpuimage.report import BuildReport
from gpuimage.reporters.build_json import document
from gpuimage.reporters.page import page


def build_html(report: BuildReport) -> str:
    """The whole as one HTML page, which holds the JSON document of `build_json`."""
    return page("build", document(report))
