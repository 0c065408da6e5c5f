"""Reports that go into a file: whole, or not at all."""

from gpuimage.files import write_atomic as save

__all__ = ["save"]
