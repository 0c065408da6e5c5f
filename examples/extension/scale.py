"""Scales a vector with our own kernel; `--check` only shows that a machine without a GPU says so."""

import sys

import gpuimage_kernels


def main() -> int:
    try:
        print(gpuimage_kernels.scale([1.0, 2.0, 3.0], 2.0))
    except RuntimeError as error:
        print(f"no GPU: {error}")
        return 0 if "--check" in sys.argv else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
