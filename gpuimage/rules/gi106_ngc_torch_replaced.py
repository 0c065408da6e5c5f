"""NVIDIA's own torch in an NGC image is replaced by another one.

## Why
nvcr.io/nvidia/pytorch holds a torch that NVIDIA built, with extensions compiled against it. Since 25.03 a constraint file
(/etc/pip/constraint.txt, PIP_CONSTRAINT) keeps pip from replacing it; uv does not read that, and an emptied variable switches
it off (astral-sh/uv#2560).

## Cost
4.8 to 7 GB for the second torch with its CUDA (measured 2026-12), and the extensions of the image no longer fit.

## Instead
Leave torch, torchvision and what was built against them out of the install, or take a slim Python as base.

## Bad
```dockerfile
FROM nvcr.io/nvidia/pytorch:25.03-py3
RUN pip install --no-cache-dir torch==2.6.0
```

## Good
```dockerfile
FROM nvcr.io/nvidia/pytorch:25.03-py3
RUN pip install --no-cache-dir --no-deps accelerate==1.12.0
```

## Not judged
Installs of other projects whose own requirements may pull a torch: pip's constraint holds those.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import torch_bytes
from gpuimage.rules.environment import settings_of
from gpuimage.rules.shared import NEEDS_TORCH, TORCH


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at installs on an NGC PyTorch image."""
    for stage in file.targets:
        if stage.root.kind != "ngc-torch":
            continue
        for step in stage.chain:
            for setting in settings_of(step):
                if setting.name.text == "PIP_CONSTRAINT" and setting.value == "":
                    yield Hit(
                        setting.name.span,
                        "an empty PIP_CONSTRAINT lets pip replace NVIDIA's torch and what was built against it",
                        "leave the variable as the image sets it",
                    )
            for install in file.python(step):
                named = next((one for one in install.wanted if one.name in TORCH and not one.file), None)
                pulling = (
                    next((one for one in install.wanted if one.name in NEEDS_TORCH), None)
                    if install.tool == "uv"
                    else None
                )
                one = named or pulling
                if one is not None and not install.no_deps and not install.target and not install.builds:
                    what = "replaces" if named else "may replace (uv does not read pip's constraint file)"
                    yield Hit(
                        one.span,
                        f"{one.name} {what} the torch that NVIDIA built into {stage.root.text}",
                        "leave it out, or add --no-deps",
                        torch_bytes(one, install, of=f"torch:{step.instruction.line}")
                        if one.name == "torch"
                        else None,
                    )


RULE = Rule("GI106", "ngc-torch-replaced", "warning", check)
