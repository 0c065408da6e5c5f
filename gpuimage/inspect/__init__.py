"""What is in an image's files: libraries and what they need, installed wheels, links, sizes. No container, no GPU."""

from gpuimage.inspect.closure import Closure, Family, Missing, closure, driver_libraries, families
from gpuimage.inspect.tree import inspect_directory, inspect_tar
from gpuimage.inspect.types import InspectError, Inspection, Library, WheelInfo

__all__ = [
    "Closure",
    "Family",
    "InspectError",
    "Inspection",
    "Library",
    "Missing",
    "WheelInfo",
    "closure",
    "driver_libraries",
    "families",
    "inspect_directory",
    "inspect_tar",
]
