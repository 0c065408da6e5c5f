"""The program: the command `gpuimage`, and `python -m gpuimage`."""

from __future__ import annotations

import gc
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line."""
    gc.set_threshold(100_000, 20, 20)  # nearly all that a short program makes lives until its end
    from gpuimage.cli import main as run  # noqa: PLC0415  # behind the line above

    run()


if __name__ == "__main__":
    main()
