"""The linter against hadolint: a thousand generated files, and the start of one small file; no engine needed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench.clock import in_turns, quietly, seconds
from tests.bench.dockerfiles import write

_COUNT = 1000
_FASTER = 8  # times hadolint's wall time on the thousand
_SMALL = """\
FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y python3-pip
RUN pip install torch==2.9.1
COPY . /app
CMD ["python3", "-m", "app"]
"""
_START = 2.5  # times a bare `import click` for one small file


def main() -> bool:
    """Run both and print what came out; whether the bounds hold."""
    tools = Path(sys.executable).parent
    gpuimage, hadolint = str(tools / "gpuimage"), str(tools / "hadolint")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [str(path) for path in write(folder, _COUNT)]
        # Both start from bytecode, as an installed package does.
        quietly([sys.executable, "-m", "compileall", "-q", str(Path(__file__).parents[2] / "gpuimage")])
        ours = [gpuimage, "lint", "--format", "json", "--fail-on", "never", "."]
        quietly(ours, folder)  # warms the page cache for both
        mine = min(seconds(lambda: quietly(ours, folder)) for _ in range(3))
        peer = seconds(lambda: quietly([hadolint, "--format", "json", "--no-fail", *paths], folder))
        small = folder / "Dockerfile.small"
        small.write_text(_SMALL, encoding="utf-8")
        one, click = in_turns(
            lambda: quietly([gpuimage, "lint", "--fail-on", "never", str(small)]),
            lambda: quietly([sys.executable, "-c", "import click"]),
            15,
        )
    fast, quick = peer >= _FASTER * mine, one <= _START * click
    print(f"{_COUNT} files: gpuimage {mine:.2f} s, hadolint {peer:.1f} s, {peer / mine:.1f} times", end=" ")
    print(f"(at least {_FASTER}: {'holds' if fast else 'BROKEN'})")
    print(
        f"one small file: {one * 1000:.0f} ms, python -c 'import click' {click * 1000:.0f} ms, {one / click:.2f} times",
        end=" ",
    )
    print(f"(at most {_START}: {'holds' if quick else 'BROKEN'})")
    return fast and quick


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
