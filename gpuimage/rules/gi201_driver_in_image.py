"""A part of the NVIDIA driver is installed into the image.

## Why
The driver belongs to the host: the container toolkit mounts libcuda, NVML and nvidia-smi of the host's version when the
container starts. A copy in the image is found beside or before them, and fails with "driver/library version mismatch" wherever
the versions differ.

## Cost
0.3 to 1.5 GB (an estimate from notes on linting, 2026-12).

## Instead
Leave the package out, and start the container with a GPU.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends nvidia-utils-550
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1
```

## Not judged
Headers and stubs to link against, stages that are not built, and images that are made to install drivers on hosts.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.costs import typical
from gpuimage.rules.packages import installed, is_driver

_RUN_FILE = pattern(r"(?:\S*/)?NVIDIA-Linux-\S+\.run")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at packages and installers in every stage that is built."""
    for stage in file.stages:
        if not stage.used:
            continue
        seen = False
        for call, package in installed(file, stage):
            if is_driver(package.name):
                yield Hit(
                    package.span,
                    f"{package.name} is a part of the driver, which the host brings: a copy in the image clashes with it",
                    "leave it out",
                    typical("driver-packages", of=f"driver:{call.call.step.instruction.line}")
                    if stage.ships and not seen
                    else None,
                    severity=None if stage.ships else "warning",
                )
                seen = True
        for step in stage.steps:
            for one in step.calls:
                if (
                    any(_RUN_FILE.fullmatch(word.value or "") for word in one.program.command.words)
                    and one.name not in _FETCH
                ):
                    yield Hit(
                        one.span,
                        "the driver's installer runs in the image: the driver belongs to the host",
                        "leave it out",
                        severity=None if stage.ships else "warning",
                    )


_FETCH = frozenset({"wget", "curl", "chmod", "rm", "echo", "ls", "mv", "cp"})

RULE = Rule("GI201", "driver-in-image", "error", check)
