"""CUDA wheels in an image that is made for the CPU.

## Why
PyPI's torch for Linux is a CUDA build: it brings gigabytes of GPU libraries along. In a CPU image nothing loads them
(opea-project/GenAIComps#111: images twice as large).

## Cost
4.8 to 7 GB instead of some hundred megabytes (measured 2026-12).

## Instead
`--index-url https://download.pytorch.org/whl/cpu`.

## Bad
```dockerfile
FROM python:3.12-slim
ENV CUDA_VISIBLE_DEVICES=""
RUN pip install --no-cache-dir torch==2.9.1
```

## Good
```dockerfile
FROM python:3.12-slim
ENV CUDA_VISIBLE_DEVICES=""
RUN pip install --no-cache-dir torch==2.9.1 --index-url https://download.pytorch.org/whl/cpu
```

## Not judged
Images that do not say that they are for the CPU: by a stage named so, by an empty list of devices, or by other wheels of PyTorch's
CPU index in the same image.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.costs import torch_bytes
from gpuimage.rules.shared import TORCH

_CPU = pattern(r"(.*[-_])?cpu([-_].*)?")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at images that say that they are for the CPU."""
    for stage in file.targets:
        why = _for_cpu(file, stage)
        if why is None or stage.root.has_cuda:
            continue
        for install in file.shipped_python(stage):
            one = install.find("torch")
            plain = (
                one is not None
                and install.variant(one) is None
                and install.index is None
                and not one.source
                and not install.extra_indexes
            )
            if (
                one is not None
                and (plain or (install.variant(one) or "").startswith("cu"))
                and not one.locked
            ):
                yield Hit(
                    one.span,
                    f"this torch is a CUDA build, and the image is for the CPU: {why}",
                    "add --index-url https://download.pytorch.org/whl/cpu",
                    torch_bytes(one, install, of=f"torch:{install.call.step.instruction.line}"),
                )


def _for_cpu(file: FileFacts, stage: StageFacts) -> str | None:
    if stage.stage.name and _CPU.fullmatch(stage.stage.name):
        return f"its stage is named {stage.stage.name}"
    if stage.env.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"):
        return "it hides every GPU (CUDA_VISIBLE_DEVICES)"
    for install in file.shipped_python(stage):
        other = next(
            (w for w in install.wanted if w.name in TORCH - {"torch"} and install.variant(w) == "cpu"), None
        )
        if other is not None and install.find("torch") is None:
            return f"{other.name} comes from the CPU index"
    return None


RULE = Rule("GI308", "cuda-wheels-in-cpu-image", "warning", check)
