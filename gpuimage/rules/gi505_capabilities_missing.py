"""What is installed needs a driver capability that the image does not ask for.

## Why
The container toolkit mounts only the parts of the driver that NVIDIA_DRIVER_CAPABILITIES names: by default, and on the
CUDA images, compute and utility. NVENC and NVDEC need `video`, OpenGL, EGL and Vulkan need `graphics` (documentation and
source of the container toolkit; base_images.json).

## Cost
No bytes: encoding, decoding or drawing fails or falls back to the CPU.

## Instead
Name the capabilities that are used.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN pip install --no-cache-dir PyNvVideoCodec==2.0.2
CMD ["python3", "-m", "app"]
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility,video
RUN pip install --no-cache-dir PyNvVideoCodec==2.0.2
CMD ["python3", "-m", "app"]
```

## Not judged
Libraries that also work without a GPU (libgl1 for OpenCV, ffmpeg by itself), bases nobody knows, values that only the
build knows, and what is given when the container starts (`--gpus capabilities=…`).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.capabilities import Need, needs
from gpuimage.rules.environment import Setting, settings

_VARIABLE = "NVIDIA_DRIVER_CAPABILITIES"


def check(file: FileFacts) -> Iterator[Hit]:
    """Each image whose capabilities are known."""
    for stage in file.targets:
        given = _given(stage)
        if given is None:
            continue
        said: set[str] = set()
        for need in needs(file, stage):
            meant = need.sure or any(name.startswith("NVIDIA_") for name in stage.env)
            if meant and need.capability not in given and need.capability not in said:
                said.add(need.capability)
                yield _hit(stage, need, given)


def _given(stage: StageFacts) -> frozenset[str] | None:
    """The capabilities that the container will have; None where nobody knows, or where no GPU is meant."""
    if _VARIABLE in stage.env:
        value = stage.env[_VARIABLE]
    elif stage.root.kind in ("plain", "python", "conda"):
        value = "compute,utility"
    else:
        return None
    if value is None or not value.strip():
        return None
    found = frozenset(word.strip() for word in value.split(","))
    return None if "all" in found else found


def _hit(stage: StageFacts, need: Need, given: frozenset[str]) -> Hit:
    wanted = ",".join((*sorted(given), need.capability))
    *_, last = (None, *settings(stage, _VARIABLE))
    return Hit(
        need.span,
        f"{need.what} needs the driver capability {need.capability}, and the container gets {', '.join(sorted(given))} "
        "alone: those libraries of the driver are not mounted",
        f"set {_VARIABLE}={wanted}",
        fix=_fix(last, need.capability) if last else None,
        severity="warning" if need.sure else "note",
    )


def _fix(setting: Setting, capability: str) -> Fix:
    end = setting.given.span.end - (1 if setting.text.endswith(('"', "'")) else 0)
    return Fix(f"ask for {capability}", (Edit(Span(end, end), f",{capability}"),))


RULE = Rule("GI505", "capabilities-missing", "warning", check, fix="suggested")
