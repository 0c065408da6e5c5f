"""The project that is compiled reads another variable than TORCH_CUDA_ARCH_LIST.

## Why
flash-attn passes its own `-gencode` flags and reads FLASH_ATTN_CUDA_ARCHS (numbers: `80;90`), tiny-cuda-nn reads
TCNN_CUDA_ARCHITECTURES (their setup.py). TORCH_CUDA_ARCH_LIST changes nothing there, and all default architectures are
compiled.

## Cost
No bytes that are known; hours of compiling for architectures that nobody asked for.

## Instead
Set the variable that the project reads.

## Bad
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="9.0" FLASH_ATTENTION_FORCE_BUILD=TRUE
RUN pip wheel --no-build-isolation --no-deps -w /wheels flash-attn==2.8.3
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV FLASH_ATTN_CUDA_ARCHS="90" FLASH_ATTENTION_FORCE_BUILD=TRUE
RUN pip wheel --no-build-isolation --no-deps -w /wheels flash-attn==2.8.3
```

## Not judged
Installs that may fetch a release wheel of flash-attn, for which no architecture is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.builds import OWN_VARIABLE, TORCH_LIST, builds


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at builds of projects that have a variable of their own."""
    for stage in file.stages:
        for build in builds(file, stage) if stage.used else ():
            own = OWN_VARIABLE.get(build.name)
            if own and build.call.is_set(TORCH_LIST) and not build.call.is_set(own):
                yield Hit(
                    build.wanted.span if build.wanted else build.call.span,
                    f"{build.name} reads {own}; TORCH_CUDA_ARCH_LIST is ignored, and all its default architectures are compiled",
                    f'set {own} ("80;90": numbers without dots)',
                )


RULE = Rule("GI404", "arch-list-in-wrong-variable", "warning", check)
