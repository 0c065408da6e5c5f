"""A working nvcc in the lab's home, from the wheels NVIDIA publishes on PyPI."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.lab import packages
from tests.lab.cuda import COMPONENTS
from tests.lab.home import Home
from tests.lab.shell import run, say

RELEASE = "13.0.2"  # nvcc 13.0.88; the wheels of 13.0.0 are not complete, see tests/lab/cuda.py


@dataclass(frozen=True, slots=True)
class Toolkit:
    """An installed toolkit; `root` is what CUDA_HOME would name."""

    root: Path

    def nvcc(self, *args: str) -> None:
        """Run nvcc; LabError with its last lines when it fails."""
        # What a developer's shell adds for builds of their own would change what is made here.
        env = {"NVCC_PREPEND_FLAGS": "", "NVCC_APPEND_FLAGS": ""}
        run([str(self.root / "bin/nvcc"), *args], env=env)


def ensure(home: Home) -> Toolkit:
    """Return the toolkit, installed on first use (some 270 MB); LabError when that is not possible."""
    packages.ensure(packages.NVCC_TOOLS)
    directory = home.root / "nvcc" / RELEASE
    toolkit = Toolkit(directory / f"nvidia/cu{RELEASE.split('.', maxsplit=1)[0]}")
    with home.locked("nvcc"):
        if not directory.exists():
            _install(directory)
    return toolkit


def _install(directory: Path) -> None:
    say(f"installing nvcc of CUDA {RELEASE} (PyPI)")
    fresh = directory.with_name(f"{RELEASE}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "--no-cache-dir"]
    run([*pip, "--target", str(fresh), f"cuda-toolkit[{','.join(COMPONENTS['devel'])}]=={RELEASE}"])
    for top in fresh.glob("nvidia/cu*"):
        (top / "lib64").symlink_to("lib")  # where nvcc.profile looks for cudart
    fresh.rename(directory)
