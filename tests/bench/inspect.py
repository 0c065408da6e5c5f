"""Reading GPU code against cuobjdump, and a whole site-packages of PyTorch; no engine needed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.clock import quietly, seconds
from tests.lab.cuobjdump import program
from tests.lab.home import Home
from tests.lab.wheels import download, taken_out

_TORCH = "torch==2.9.1"
_LIBRARY = "torch/lib/libtorch_cuda.so"
_FASTER = 30  # times cuobjdump's wall time on that library, both warm
_RUNS = 5


def main() -> bool:
    """Run both and print what came out; whether the bound holds."""
    gpuimage = str(Path(sys.executable).with_name("gpuimage"))
    # Both start from bytecode, as an installed package does.
    quietly([sys.executable, "-m", "compileall", "-q", str(Path(__file__).parents[2] / "gpuimage")])
    home = Home.find()
    wheel = download(home, _TORCH)
    with tempfile.TemporaryDirectory(dir=home.root) as name:
        folder = Path(name)
        with taken_out(wheel, _LIBRARY, folder) as library:
            ours = [gpuimage, "inspect", "--quiet", "--format", "json", str(library)]
            peer = [program(), "-all", "-lelf", str(library)]
            quietly(ours)  # warms the page cache for both
            mine = min(seconds(lambda: quietly(ours)) for _ in range(_RUNS))
            theirs = min(seconds(lambda: quietly(peer)) for _ in range(2))
        holds = theirs >= _FASTER * mine
        print(
            f"libtorch_cuda.so: gpuimage {mine * 1000:.0f} ms, cuobjdump -all -lelf {theirs:.1f} s, {theirs / mine:.0f} times "
            f"(at least {_FASTER}: {'holds' if holds else 'BROKEN'})"
        )
        site = folder / "site"
        pip = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-compile",
        ]
        subprocess.run([*pip, "--target", str(site), _TORCH], check=True)
        whole = [gpuimage, "inspect", "--quiet", "--format", "json", str(site)]
        cold = seconds(lambda: quietly(whole))
        warm = min(seconds(lambda: quietly(whole)) for _ in range(2))
        size = sum(path.lstat().st_size for path in site.rglob("*"))
        print(f"site-packages of {_TORCH}, {size / 1e9:.1f} GB: {cold:.1f} s at first, {warm:.1f} s again")
    return holds


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
