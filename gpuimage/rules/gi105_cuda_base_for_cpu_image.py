"""A CUDA base image under wheels that are built for the CPU.

## Why
A torch from the index `cpu` holds no GPU code. Nothing in the image can use the CUDA libraries of its base
(topoteretes/cognee#3691, opea-project/GenAIComps#111).

## Cost
What the CUDA base holds beyond a slim Python: 2 to 3 GB for the runtime flavor (figures quoted in public threads, sizes.json).

## Instead
A slim Python as base, or the CUDA build of torch, whichever was meant.

## Bad
```dockerfile
FROM nvidia/cuda:12.6.3-runtime-ubuntu22.04
RUN pip install --no-cache-dir torch==2.8.0 --index-url https://download.pytorch.org/whl/cpu
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0 --index-url https://download.pytorch.org/whl/cpu
```

## Not judged
Images that install or compile anything else that may use CUDA, and indexes that an ARG chooses.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import flavor_difference
from gpuimage.rules.shared import head_of, uses_base_cuda, wheel_facts


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at CUDA bases under a torch for the CPU."""
    for stage in file.targets:
        if stage.root.kind == "cuda":
            line = _cpu_torch(file, stage)
            if line and not uses_base_cuda(file, stage) and not _others(file, stage):
                yield Hit(
                    head_of(file, stage),
                    f"a CUDA base for a CPU image: line {line} installs the CPU build of torch, and nothing else here uses CUDA",
                    "take a slim Python as base, or the CUDA build of torch",
                    flavor_difference(stage.root, "base") if stage.root.flavor != "base" else None,
                )


def _cpu_torch(file: FileFacts, stage: StageFacts) -> int | None:
    line = None
    for install in file.shipped_python(stage):
        for one in install.wanted:
            if one.name == "torch":
                if install.variant(one) != "cpu":
                    return None
                line = line or install.call.step.instruction.line
    return line


def _others(file: FileFacts, stage: StageFacts) -> bool:
    """Whether another wheel of the image brings or wants CUDA."""
    for install in file.shipped_python(stage):
        for one in install.wanted:
            facts = wheel_facts(one) if one.name != "torch" else None
            if facts is not None and facts.cuda in ("wheels", "bundled", "system"):
                return True
    return False


RULE = Rule("GI105", "cuda-base-for-cpu-image", "warning", check)
