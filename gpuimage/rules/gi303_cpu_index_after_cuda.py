"""The CPU build of torch is installed over the CUDA one.

## Why
The index `cpu` serves a torch without GPU code. Installed behind the CUDA build it takes its place: the image runs on the CPU,
and the first torch with all of CUDA stays in its layer.

## Cost
4.8 to 7 GB of a torch that nothing loads any more (measured 2026-12).

## Instead
Install torch, torchvision and torchaudio in one command from one index.

## Bad
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0 --index-url https://download.pytorch.org/whl/cu126
RUN pip install --no-cache-dir torch==2.8.0 torchvision==0.23.0 --index-url https://download.pytorch.org/whl/cpu
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0 torchvision==0.23.0 --index-url https://download.pytorch.org/whl/cu126
```

## Not judged
Targets of their own, environments beside each other, and indexes that an ARG chooses.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import torch_bytes
from gpuimage.rules.shared import TORCH, environment_of


def check(file: FileFacts) -> Iterator[Hit]:
    """Look for a CUDA torch and a later CPU index in the same environment."""
    for stage in file.targets:
        cuda: dict[str, tuple[int, str]] = {}
        if stage.root.kind in ("pytorch", "ngc-torch"):
            cuda[""] = (stage.stage.head.line, stage.root.text or "the base")
        costs = {}
        for install in file.python_of(stage):
            where = environment_of(install)
            for one in install.wanted:
                variant = install.variant(one) if one.name in TORCH and not install.builds else None
                if variant and variant.startswith("cu") and one.name == "torch":
                    cuda[where] = (install.call.step.instruction.line, variant)
                    costs[where] = torch_bytes(one, install, of=f"torch:{cuda[where][0]}")
                elif variant == "cpu" and where in cuda:
                    line, what = cuda[where]
                    yield Hit(
                        one.span,
                        f"the CPU build of {one.name} is installed after the CUDA build ({what}, line {line}) and takes its place",
                        "install all of torch from one CUDA index, in one command",
                        costs.get(where),
                    )
                    break


RULE = Rule("GI303", "cpu-index-after-cuda", "error", check)
