"""XML that any reader takes."""

from __future__ import annotations

import re
from xml.etree import ElementTree

# Characters that no XML may hold, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """Text without what XML may not hold."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def document(root: ElementTree.Element) -> str:
    """A whole document, indented."""
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"
