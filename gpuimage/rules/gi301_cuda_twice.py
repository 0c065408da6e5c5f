"""CUDA is in the image twice: the base's libraries are dead under wheels that bring their own.

## Why
PyTorch's CUDA wheels, and others with their CUDA extras, install the CUDA libraries as nvidia-* wheels and find them by the
RPATH in their own files, before any library path. With a second set of cuBLAS, cudart and cuDNN first on LD_LIBRARY_PATH,
`import torch` still mapped the wheels' copies alone (measured with 2.14.1, 2026-12). The base's are never loaded.

## Cost
What the base holds beyond its smallest flavor: 2 to 3 GB for runtime, 7 to 10 GB for devel, cuDNN on top (figures quoted in
public threads, sizes.json; IBM/text-generation-inference#50, vllm-project/vllm#14433).

## Instead
A slim Python as base. Where a CUDA base is wanted for its start-time check, its `base` flavor.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-cudnn-runtime-ubuntu22.04
RUN pip install --no-cache-dir torch==2.9.1
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.9.1
```

## Not judged
Images in which anything else may use the base's libraries: programs that are compiled or copied in, TensorRT, ffmpeg, cupy or
onnxruntime-gpu without their CUDA extras, installs that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, PythonInstall, StageFacts, Wanted
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import flavor_difference
from gpuimage.rules.shared import NEEDS_TORCH, brings_cuda, head_of, is_to_build, uses_base_cuda, wheel_facts


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at images on a CUDA base with CUDA libraries in it."""
    for stage in file.targets:
        if stage.root.kind != "cuda" or stage.root.flavor in ("base", None) or uses_base_cuda(file, stage):
            continue
        if stage.root.flavor == "devel" and is_to_build(stage):
            continue  # its toolkit is what it is there for
        found = _bringing(file, stage)
        if found is not None:
            install, wanted = found
            line = install.call.step.instruction.line
            yield Hit(
                head_of(file, stage),
                f"CUDA is in this image twice: {wanted.name} (line {line}) brings its own libraries and never loads those of "
                f"{stage.root.text}",
                "take a slim Python as base, or the base flavor of the same CUDA",
                flavor_difference(stage.root, "base"),
            )


def _bringing(file: FileFacts, stage: StageFacts) -> tuple[PythonInstall, Wanted] | None:
    """The wheel that brings CUDA along; None where there is none, or another wheel needs the base's libraries."""
    bringing = None
    for install in file.shipped_python(stage):
        for one in install.wanted:
            brings = brings_cuda(install, one) or _pulls_torch(install, one)
            if one.name == "torch" and install.variant(one) == "cpu":
                return None
            facts = wheel_facts(one)
            if facts is not None and facts.cuda == "system":
                return None
            if one.from_source and not one.editable and not one.file:
                return None  # what is built here may link to the base
            if brings:
                bringing = bringing or (install, one)
    return bringing


def _pulls_torch(install: PythonInstall, one: Wanted) -> bool:
    """Whether a project brings PyPI's torch along, which is a CUDA build."""
    return one.name in NEEDS_TORCH and install.index is None and not install.no_deps and not one.source


RULE = Rule("GI301", "cuda-twice", "warning", check)
