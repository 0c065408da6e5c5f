"""Container engines behind one protocol: docker, podman, buildah."""

from gpuimage.engine.disk import check_disk, prune_command, required_disk
from gpuimage.engine.lines import step_text
from gpuimage.engine.select import NAMES, candidates, select_engine, survey
from gpuimage.engine.types import (
    BuildEvent,
    BuildRequest,
    Details,
    Engine,
    Health,
    ImageInfo,
    LayerInfo,
    OnEvent,
    RunResult,
    Trouble,
    ignore_event,
)

__all__ = [
    "NAMES",
    "BuildEvent",
    "BuildRequest",
    "Details",
    "Engine",
    "Health",
    "ImageInfo",
    "LayerInfo",
    "OnEvent",
    "RunResult",
    "Trouble",
    "candidates",
    "check_disk",
    "ignore_event",
    "prune_command",
    "required_disk",
    "select_engine",
    "step_text",
    "survey",
]
