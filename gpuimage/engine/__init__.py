"""Container engines behind one protocol: docker, podman, buildah."""

from gpuimage.engine.disk import check_disk, required_disk
from gpuimage.engine.lines import step_text
from gpuimage.engine.select import NAMES, select_engine
from gpuimage.engine.types import (
    BuildEvent,
    BuildRequest,
    Engine,
    Health,
    ImageInfo,
    LayerInfo,
    OnEvent,
    RunResult,
    ignore_event,
)

__all__ = [
    "NAMES",
    "BuildEvent",
    "BuildRequest",
    "Engine",
    "Health",
    "ImageInfo",
    "LayerInfo",
    "OnEvent",
    "RunResult",
    "check_disk",
    "ignore_event",
    "required_disk",
    "select_engine",
    "step_text",
]
