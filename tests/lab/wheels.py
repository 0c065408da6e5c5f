"""Real wheels from PyPI, kept in the lab's home, and single files taken out of them."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.home import Home
from tests.lab.shell import run

# What the numbers in shared facts and in the tests were read from: Python 3.11's wheels where a wheel is for one Python.
_PYTHON = "3.11"
_PLATFORMS = (
    "manylinux_2_28_x86_64",
    "manylinux_2_27_x86_64",
    "manylinux_2_24_x86_64",
    "manylinux2014_x86_64",
)


def download(home: Home, requirement: str) -> Path:
    """Return the wheel of an exact requirement ("torch==2.9.1"), downloaded once."""
    folder = home.root / "wheels" / requirement.replace("==", "-")
    with home.locked("wheels"):
        found = sorted(folder.glob("*.whl"))
        if not found:
            platforms = [word for platform in _PLATFORMS for word in ("--platform", platform)]
            run([
                sys.executable, "-m", "pip", "download", "--quiet", "--no-cache-dir", "--no-deps",
                "--only-binary=:all:", "--python-version", _PYTHON, *platforms, "--dest", str(folder), requirement,
            ])  # fmt: skip
            found = sorted(folder.glob("*.whl"))
    return found[0]


@contextmanager
def taken_out(wheel: Path, name: str, folder: Path) -> Iterator[Path]:
    """One file of a wheel on disk, for as long as it is needed: some have a gigabyte."""
    target = folder / Path(name).name
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(name) as content, target.open("wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
        yield target
    finally:
        target.unlink(missing_ok=True)
