"""What is in an image's files: libraries, GPU code, wheels, layers, bytes. No container, no GPU, no unpacking."""

from gpuimage.inspect.closure import Closure, Missing, closure
from gpuimage.inspect.gpu import read_gpu_code
from gpuimage.inspect.tree import inspect_directory, inspect_tar, inspect_wheel
from gpuimage.inspect.types import (
    Code,
    Container,
    GpuFile,
    Hidden,
    InspectError,
    Inspection,
    Layer,
    Library,
    WheelInfo,
)

__all__ = [
    "Closure",
    "Code",
    "Container",
    "GpuFile",
    "Hidden",
    "InspectError",
    "Inspection",
    "Layer",
    "Library",
    "Missing",
    "WheelInfo",
    "closure",
    "inspect_directory",
    "inspect_tar",
    "inspect_wheel",
    "read_gpu_code",
]
