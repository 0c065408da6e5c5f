"""Numbers as people read them."""

from __future__ import annotations


def size(value: int) -> str:
    """Bytes in decimal units, as registries and `docker images` write them."""
    for unit, name, digits in ((10**9, "GB", 2), (10**6, "MB", 0), (10**3, "kB", 0)):
        if value >= unit:
            return f"{value / unit:.{digits}f} {name}"
    return f"{value} B"


def span(low: int, high: int) -> str:
    """A range of bytes, or one number where both are the same."""
    return size(low) if low == high else f"{size(low)} to {size(high)}"


def signed(value: int) -> str:
    """A difference of bytes, with its sign: `+12 MB`."""
    return f"{'+' if value >= 0 else '-'}{size(abs(value))}"
