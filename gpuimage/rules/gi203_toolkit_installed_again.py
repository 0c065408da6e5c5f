"""CUDA packages are installed that the base image already has.

## Why
The devel flavor of nvidia/cuda holds the toolkit, its cudnn tags cuDNN, runtime and devel the CUDA libraries and NCCL
(base_images.json). Installing them again stores a second copy, often of another version.

## Cost
3 to 6 GB for a toolkit, about 1 GB for cuDNN (estimates from notes on linting and measured wheels, 2026-12).

## Instead
Leave the package out, or start from a smaller flavor that does not hold it.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends cuda-toolkit-12-8
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends libcublas-12-8
```

## Not judged
A second version on purpose (`update-alternatives`, several toolkits by name), upgrades by exact version, and bases whose
content is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import Base, FileFacts, Package
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import typical
from gpuimage.rules.packages import CUDNN, LIBRARIES, NCCL, TOOLKIT, installed


def check(file: FileFacts) -> Iterator[Hit]:
    """Hold the packages of every stage that is built against what its base has."""
    for stage in file.stages:
        if not stage.used or stage.root.kind != "cuda" or stage.root.flavor is None:
            continue
        for call, package in installed(file, stage):
            what = _again(stage.root, package)
            if what and not package.version:
                kind = "cudnn" if what == "cuDNN" else "toolkit"
                cost = (
                    typical(kind, of=f"again:{call.call.step.instruction.line}")
                    if stage.ships and what in ("cuDNN", "the toolkit")
                    else None
                )
                yield Hit(
                    package.span,
                    f"{package.name} is installed again: {stage.root.text} already holds {what}",
                    "leave it out, or take a smaller flavor as base",
                    cost,
                    severity=None if stage.ships else "note",
                )


def _again(base: Base, package: Package) -> str | None:
    name = package.name
    if (
        base.flavor == "devel"
        and TOOLKIT.fullmatch(name)
        and "nsight-systems" not in name
        and "visual" not in name
    ):
        return "the toolkit"
    if base.cudnn and CUDNN.fullmatch(name) and ("-dev" not in name or base.flavor == "devel"):
        return "cuDNN"
    if base.flavor in ("runtime", "devel"):
        if LIBRARIES.fullmatch(name):
            return "the CUDA libraries"
        if NCCL.fullmatch(name) and ("-dev" not in name or base.flavor == "devel"):
            return "NCCL"
    return None


RULE = Rule("GI203", "toolkit-installed-again", "warning", check)
