"""What was found in an image, wheel or file, as one page to look at: no server, no library, no request."""

from __future__ import annotations

import json
from importlib.resources import files

from gpuimage.examine import Examination
from gpuimage.reporters.inspect_json import document

_PLACE = "__DOCUMENT__"
# File names come from images that nobody vouches for, and in a script element `</` and `<!--` mean something. All that
# is not ASCII is escaped by json.dumps: U+2028 and U+2029, and halves of characters, which no UTF-8 file can hold.
_HARMLESS = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&"})


def inspect_html(found: Examination) -> str:
    """The whole as one HTML page, which holds the JSON document of `inspect_json`."""
    page = files("gpuimage.reporters").joinpath("inspect.html").read_text(encoding="utf-8")
    data = json.dumps(document(found), separators=(",", ":"))
    return page.replace(_PLACE, data.translate(_HARMLESS), 1)
