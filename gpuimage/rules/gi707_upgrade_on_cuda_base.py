"""A package upgrade on a CUDA base stores new copies of CUDA libraries.

## Why
NVIDIA's CUDA images hold only cuBLAS and NCCL (`apt-mark hold`). `apt-get upgrade` moves everything else of CUDA in the
image past the version of its tag, and each moved package is stored a second time in the new layer.

## Cost
0.1 to 3 GB, by what moved since the tag was built (an estimate from notes on linting, 2026-12).

## Instead
Take a newer tag. For security updates of the distribution alone, upgrade those packages by name.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN apt-get update && apt-get upgrade -y && rm -rf /var/lib/apt/lists/*
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-runtime-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends --only-upgrade openssl && rm -rf /var/lib/apt/lists/*
```

## Not judged
Stages whose layers do not ship, bases without CUDA, and steps that hold or exclude the CUDA packages themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import typical
from gpuimage.rules.shared import shipped_steps

_UPGRADES = frozenset({"upgrade", "dist-upgrade", "full-upgrade", "safe-upgrade", "update"})


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every upgrade on a base that brings CUDA."""
    for stage, step in shipped_steps(file):
        # torch's own images hold CUDA as wheels or conda packages, which no package manager moves.
        if not stage.root.has_cuda or stage.root.kind == "pytorch":
            continue
        for call in file.system(step):
            if (
                call.verb not in _UPGRADES
                or (call.verb == "update" and call.manager != "dnf")
                or len(call.given.words) > 1
            ):
                continue
            if call.given.has("--security") or any(
                "hold" in one.text or "exclude" in one.text for one in step.calls
            ):
                continue
            yield Hit(
                call.call.span,
                f"{call.call.name} {call.verb} moves the CUDA packages of {stage.root.text} and stores each a second time",
                "take a newer tag, or upgrade single packages by name",
                None if stage.root.flavor == "base" else typical("upgrade"),
            )


RULE = Rule("GI707", "upgrade-on-cuda-base", "warning", check, twins=("DL3005",))
