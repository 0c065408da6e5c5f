"""Adds two vectors on the GPU; `--check` only shows that a machine without one says so in plain words."""

import sys

import cupy


def main() -> int:
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        print(f"no GPU: {error}")
        return 0 if "--check" in sys.argv else 1
    x = cupy.arange(1_000_000, dtype=cupy.float32)
    y = 2 * x + 1
    print(f"{count} GPU(s), saxpy of {x.size} elements, last value {float(y[-1]):.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
