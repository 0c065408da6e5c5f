"""Pages to look at: one HTML file each, with its JSON document in it; no server, no library, no request.

`page.html` is what they share. NAME.css and NAME.js are put into it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files

# Names in a document come from images that nobody vouches for, and in a script element `</` and `<!--` mean something.
# All that is not ASCII is escaped by json.dumps: U+2028 and U+2029, and halves of characters, which no UTF-8 file can hold.
_HARMLESS = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&"})


def page(name: str, document: Mapping[str, object]) -> str:
    """The page of a report; its script finds the document as `found`."""
    folder = files("gpuimage.reporters")
    html, style, script = (
        folder.joinpath(file).read_text(encoding="utf-8")
        for file in ("page.html", f"{name}.css", f"{name}.js")
    )
    for place, text in (("__STYLE__", style), ("__SCRIPT__", script), ("__NAME__", name)):
        html = html.replace(place, text.rstrip())
    # Last, and once: a name in the document may be one of these places.
    data = json.dumps(document, separators=(",", ":"))
    return html.replace("__DOCUMENT__", data.translate(_HARMLESS), 1)
