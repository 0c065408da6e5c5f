"""Text that comes from files and programs, as it may be shown."""

from __future__ import annotations

from gpuimage.patterns import pattern

_CONTROL = pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Text with control characters written out: they must not reach a terminal or a log as they are."""
    if text.isprintable():
        return text
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
