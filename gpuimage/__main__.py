"""`python -m gpuimage`."""

from gpuimage.cli import main

if __name__ == "__main__":
    main()
