"""The NVIDIA container toolkit is installed into the image.

## Why
The toolkit gives GPUs to containers. It runs on the host, beside the engine; in the image nothing calls it.

## Cost
20 to 200 MB (an estimate from notes on linting, 2026-12).

## Instead
Install it on the host.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends nvidia-container-toolkit
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1
```

## Not judged
Images that run an engine themselves (docker, containerd or podman is installed too), and stages that do not ship.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.costs import typical
from gpuimage.rules.packages import CONTAINER_TOOLKIT

_ENGINES = pattern(r"docker(-ce|\.io|-engine)?|containerd(\.io)?|podman|cri-o")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at the packages of every image."""
    for stage in file.targets:
        calls = [call for call in file.system_of(stage) if call.installs]
        if any(_ENGINES.fullmatch(p.name) for call in calls for p in call.packages) or "docker" in (
            stage.root.text or ""
        ):
            continue
        for call in calls:
            package = next((p for p in call.packages if CONTAINER_TOOLKIT.fullmatch(p.name)), None)
            if package:
                yield Hit(
                    package.span,
                    f"{package.name} belongs on the host, beside the engine: in the image nothing calls it",
                    "leave it out, and install it on the host",
                    typical("container-toolkit"),
                )


RULE = Rule("GI208", "container-toolkit-in-image", "warning", check)
