"""What is compiled holds machine code only, so that no later GPU can run it.

## Why
Machine code runs on its own major generation; PTX is what a driver compiles for the ones that come later (CUDA
programming guide, and the suffix rules in cuda_releases.json). An extension built for `8.0;9.0` says `no kernel image is
available` on a card of 2025. `+PTX` on the highest entry keeps it running there, and costs one compile at the first start.

## Cost
No bytes: PTX adds a little.

## Instead
`+PTX` on the highest entry, a `-virtual` entry for CMake; or name the cards that are served in the settings (`archs`),
and the list is held against them instead.

## Bad
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0"
RUN FORCE_CUDA=1 python setup.py install
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"
RUN FORCE_CUDA=1 python setup.py install
```

## Not judged
Files with a fleet in the settings, lists that no build reads here, code for exactly one card (`9.0a`), plain nvcc
options, and flash-attn, which cannot be asked for PTX.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.arch_lists import (
    CMAKE,
    TORCH,
    Given,
    cmake_entries,
    cmake_entry,
    given,
    stages_with,
    torch_list,
)
from gpuimage.rules.compiling import builds, stage_builds


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at the highest entry of every list that a build reads."""
    if file.settings.archs:
        return
    for one in given(file, TORCH, CMAKE):
        found = _torch(file, one) if one.name == TORCH else _cmake(one)
        if found is not None:
            yield found


def _torch(file: FileFacts, one: Given) -> Hit | None:
    found = torch_list(one.value)
    if found is None or any(entry.ptx for entry in found.entries) or not _read(file, one):
        return None
    highest = found.entries[-1].capability
    if highest.suffix:
        return None
    at = one.span.start + one.text.rfind(highest.dotted) + len(highest.dotted)
    place = Span(at, at)
    fix = (
        Fix(f"add +PTX to {highest}", (Edit(place, "+PTX"),))
        if one.exact and highest.dotted in one.text
        else None
    )
    return Hit(
        one.span,
        f"no entry of this list has +PTX: GPUs of a generation after {highest} find no kernel image",
        f"write {highest}+PTX, or name the fleet in the settings (archs)",
        fix=fix,
    )


def _read(file: FileFacts, one: Given) -> bool:
    """Whether a build here takes its architectures from the list."""
    if one.call is not None:
        return any(build.archs in ("", "list", "default") for build in builds(file, one.step))
    return any(
        build.archs in ("", "list", "default")
        for stage in stages_with(file, one)
        for build in stage_builds(file, stage)
    )


def _cmake(one: Given) -> Hit | None:
    """A list of `-real` entries alone."""
    if one.kind != "flag" or not one.value or one.step.instruction.keyword != "RUN":
        return None
    entries = [cmake_entry(text) for text in cmake_entries(one.value)]
    if not entries or any(entry is None or entry[1] != "real" or entry[0].suffix for entry in entries):
        return None
    highest = max(entry[0] for entry in entries if entry is not None)
    return Hit(
        one.span,
        f"every entry is -real: GPUs of a generation after {highest} find no kernel image",
        f"add {highest.number}-virtual, or name the fleet in the settings (archs)",
    )


RULE = Rule("GI406", "no-ptx", "note", check, fix="suggested")
