"""Compile total.cu for the GPU that is here, and sum a million numbers with it.

`--check` compiles without a GPU, and is content when CUDA says that there is none.
"""

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

NO_GPU = {35, 100}  # cudaErrorInsufficientDriver, which is also said where there is no driver; cudaErrorNoDevice


def main() -> int:
    has_gpu = Path("/dev/nvidiactl").exists()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "libtotal.so")
        arch = "native" if has_gpu else "sm_80"
        source = Path(__file__).with_name("total.cu")
        subprocess.run(
            ["nvcc", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC", str(source), "-o", str(library)],
            check=True,
        )
        total = ctypes.CDLL(str(library)).total
    numbers, answer = (ctypes.c_float * 1_000_000)(*[1.0] * 1_000_000), ctypes.c_float()
    error = total(numbers, len(numbers), ctypes.byref(answer))
    if error in NO_GPU and "--check" in sys.argv:
        print(f"compiled for {arch} and loaded; there is no GPU to run it (error {error})")
        return 0
    print(f"the sum is {answer.value:.0f}" if not error else f"CUDA error {error}")
    return int(error != 0 or answer.value != len(numbers))


if __name__ == "__main__":
    sys.exit(main())
