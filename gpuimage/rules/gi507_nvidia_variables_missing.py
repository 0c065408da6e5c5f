"""CUDA on a plain base without NVIDIA_VISIBLE_DEVICES.

## Why
Under `docker run --runtime=nvidia`, or where nvidia is the default runtime, the container toolkit adds GPUs to images
that set NVIDIA_VISIBLE_DEVICES; others get none (source of the container toolkit). `--gpus`, CDI and Kubernetes set it
themselves, so the rule runs only where it is selected by name.

## Cost
No bytes: no GPU under the older ways to start a container.

## Instead
`ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility`.

## Bad
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0
CMD ["python", "-m", "app"]
```

## Good
```dockerfile
FROM python:3.12-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir torch==2.8.0
CMD ["python", "-m", "app"]
```

## Not judged
Bases that may set the variables themselves, and builds of torch that are not for CUDA.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.shared import brings_cuda, head_of

_PLAIN = ("plain", "python", "conda")


def check(file: FileFacts) -> Iterator[Hit]:
    """Each image on a base that sets no such variable."""
    for stage in file.targets:
        if stage.root.kind not in _PLAIN or "NVIDIA_VISIBLE_DEVICES" in stage.env:
            continue
        name = _cuda(file, stage)
        if name:
            yield Hit(
                head_of(file, stage),
                f"{name} brings CUDA into {stage.root.text}, which sets no NVIDIA_VISIBLE_DEVICES: with --runtime=nvidia and "
                "without --gpus the container gets no GPU",
                "ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility",
            )


def _cuda(file: FileFacts, stage: StageFacts) -> str:
    """The first project that brings CUDA."""
    for install in file.shipped_python(stage):
        for wanted in install.wanted:
            if brings_cuda(install, wanted):
                return wanted.name
    return ""


RULE = Rule("GI507", "nvidia-variables-missing", "note", check, optional=True)
