"""What was found in an image, wheel or file, as one page to look at."""

from __future__ import annotations

from gpuimage.examine import Examination
from gpuimage.reporters.inspect_json import document
from gpuimage.reporters.page import page


def inspect_html(found: Examination) -> str:
    """The whole as one HTML page, which holds the JSON document of `inspect_json`."""
    return page("inspect", document(found))
