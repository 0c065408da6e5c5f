"""What is in an image's files: libraries and what they need, installed wheels, links, sizes. No container, no GPU."""

from gpuimage.inspect.closure import Closure, Missing, closure
from gpuimage.inspect.tree import inspect_directory, inspect_tar
from gpuimage.inspect.types import InspectError, Inspection, Library, WheelInfo

__all__ = [
    "Closure",
    "InspectError",
    "Inspection",
    "Library",
    "Missing",
    "WheelInfo",
    "closure",
    "inspect_directory",
    "inspect_tar",
]
