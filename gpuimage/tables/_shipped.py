"""The data files of this installation."""

from __future__ import annotations

from pathlib import Path

from gpuimage.tables._answers import DataError

DATA = Path(__file__).resolve().parent.parent / "data"


def shipped(name: str) -> bytes:
    """Return the bytes of a data file."""
    try:
        return (DATA / name).read_bytes()
    except OSError as error:
        hint = "install gpuimage again"
        raise DataError(f"data file {name} cannot be read", why=str(error), hint=hint) from error
