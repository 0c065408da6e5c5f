"""The distribution's own CUDA toolkit is installed.

## Why
`nvidia-cuda-toolkit` of Debian and Ubuntu is an older CUDA (11.8 in Debian 12, 12.4 in Debian 13; apt_packages.json), in
/usr/bin, where it shadows or is shadowed by /usr/local/cuda, and it comes with documentation and profilers.

## Cost
2 to 4 GB (an estimate from notes on linting, 2026-12).

## Instead
An nvidia/cuda devel image in a stage of its own, or single packages of NVIDIA's repository (`cuda-nvcc-X-Y`).

## Bad
```dockerfile
FROM ubuntu:22.04
RUN apt-get update && apt-get install -y --no-install-recommends nvidia-cuda-toolkit
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS build
RUN nvcc -o /a a.cu
```

## Not judged
Architectures for which NVIDIA has no repository.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import typical
from gpuimage.rules.packages import installed


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at the packages of every stage that is built."""
    for stage in file.stages:
        for call, package in installed(file, stage) if stage.used else ():
            if call.manager == "apt" and package.name in ("nvidia-cuda-toolkit", "nvidia-cuda-toolkit-gcc"):
                over = " and shadows the toolkit of the base" if stage.root.has_nvcc else ""
                yield Hit(
                    package.span,
                    f"{package.name} is the distribution's old CUDA, with documentation and profilers{over}",
                    "compile in a stage from nvidia/cuda devel, or install cuda-nvcc-X-Y from NVIDIA's repository",
                    typical("distribution-toolkit") if stage.ships else None,
                    severity=None if stage.ships else "note",
                )


RULE = Rule("GI204", "distribution-toolkit", "warning", check)
