"""cuda-compat is installed although nothing says that it is needed.

## Why
cuda-compat holds a libcuda of its CUDA release for hosts with an older driver. It works on data-centre GPUs alone and only for
the pairs of the compatibility guide; elsewhere a program that finds it first stops at error 803 or 804 (forward_compat.json).

## Cost
Some tens of megabytes; starts that fail on other GPUs.

## Instead
Leave it out where the host's driver is new enough; name the driver (`driver` in the config) where it is not.

## Bad
```dockerfile
FROM ubuntu:22.04
RUN apt-get update && apt-get install -y --no-install-recommends cuda-compat-12-8
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
COPY app /app
```

## Not judged
NVIDIA's own images, which hold it and use it only where the toolkit asks for it, and projects whose config names a driver that
needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.environment import settings
from gpuimage.rules.shared import shipped_steps

_COMPAT = pattern(r"cuda-compat(-\d+-\d+)?")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at packages and at the library path of every image."""
    if file.settings.driver or "compat" not in file.source.text:
        return
    for _, step in shipped_steps(file):
        for call in file.system(step):
            package = (
                next((p for p in call.packages if _COMPAT.fullmatch(p.name)), None) if call.installs else None
            )
            if package:
                yield Hit(
                    package.span,
                    f"{package.name} brings a libcuda of its own, which works on data-centre GPUs with certain drivers alone",
                    "leave it out, or name the driver that needs it in the config",
                )
    for stage in file.targets:
        for setting in settings(stage, "LD_LIBRARY_PATH"):
            if re.search(r"/usr/local/cuda[^:]*/compat", setting.value or setting.text):
                yield Hit(
                    setting.given.span,
                    "the compat directory is on the library path: its libcuda is found before the host's on every GPU",
                    "leave it to the container toolkit, which uses it only where it may",
                )


RULE = Rule("GI209", "cuda-compat-baked", "warning", check)
