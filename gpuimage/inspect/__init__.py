"""What is in an image's files: libraries, GPU code, wheels, layers, bytes. No container, no GPU, no unpacking."""

from gpuimage.inspect.closure import Closure, Missing, MissingVersion, Twice, closure
from gpuimage.inspect.compare import Change, Comparison, compare
from gpuimage.inspect.coverage import Coverage, DriverDemand, coverage, driver_needs, needed
from gpuimage.inspect.gpu import read_gpu_code
from gpuimage.inspect.layers import inspect_image, inspect_layout
from gpuimage.inspect.sizes import Category, Copies, Node, Share, categories, copies, shares, tree
from gpuimage.inspect.target import Kind, OnBytes, inspect_path, inspect_stream
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
    "Category",
    "Change",
    "Closure",
    "Code",
    "Comparison",
    "Container",
    "Copies",
    "Coverage",
    "DriverDemand",
    "GpuFile",
    "Hidden",
    "InspectError",
    "Inspection",
    "Kind",
    "Layer",
    "Library",
    "Missing",
    "MissingVersion",
    "Node",
    "OnBytes",
    "Share",
    "Twice",
    "WheelInfo",
    "categories",
    "closure",
    "compare",
    "copies",
    "coverage",
    "driver_needs",
    "inspect_directory",
    "inspect_image",
    "inspect_layout",
    "inspect_path",
    "inspect_stream",
    "inspect_tar",
    "inspect_wheel",
    "needed",
    "read_gpu_code",
    "shares",
    "tree",
]
