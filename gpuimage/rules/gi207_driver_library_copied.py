"""A library of the driver is copied into the image.

## Why
libcuda.so.1 and libnvidia-ml.so.1 must be those of the host's driver: the container toolkit mounts them when the container
starts. A copy in the image is found before or beside them and fails with a version mismatch on every other host.

## Cost
Some tens of megabytes; the GPU cannot be used.

## Instead
Leave it out. To link without a GPU, take the stub in /usr/local/cuda/lib64/stubs, in a builder.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
COPY libcuda.so.1 /usr/lib/x86_64-linux-gnu/
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
COPY libengine.so.1 /usr/lib/x86_64-linux-gnu/
```

## Not judged
Stages whose files do not ship, and stubs (GI501 speaks of those).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import Change, FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.caches import removes

_DRIVER = pattern(
    r"(.*/)?lib(cuda|nvidia-ml|nvidia-ptxjitcompiler|nvidia-opencl|nvcuvid|nvidia-encode|nvidia-nvvm|cudadebugger)\.so[\d.*]*"
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at what every image copies, by COPY or in a step."""
    if "lib" not in file.source.text:
        return
    for stage in file.targets:
        for copy in file.chain_copies(stage):
            for source in copy.sources:
                if source and _DRIVER.fullmatch(source) and "stubs" not in source:
                    yield Hit(
                        copy.span,
                        f"{source.rpartition('/')[2]} belongs to the host's driver: a copy in the image is found instead of it",
                        "leave it out: the container toolkit mounts the host's",
                    )
        for step in stage.chain:
            for change in file.changes(step):
                if change.kind == "copied" and _DRIVER.fullmatch(change.source) and _stays(file, change):
                    yield Hit(
                        change.call.span,
                        f"{change.source.rpartition('/')[2]} belongs to the host's driver: this copy or link stays in the image",
                        "leave it out: the container toolkit mounts the host's",
                        severity="warning" if change.call.name == "ln" else None,
                    )


def _stays(file: FileFacts, change: Change) -> bool:
    """Whether it is no stub, and not removed again in the same step."""
    path = change.path or ""
    gone = bool(path) and removes(file, change.call.step, change.call, path)
    return "stubs" not in change.source and "stubs" not in path and not gone


RULE = Rule("GI207", "driver-library-copied", "error", check)
