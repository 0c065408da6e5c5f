"""The architectures that are compiled are not those of the cards that are served.

## Why
Every entry compiles every kernel once more: minutes to hours, and its own copy of the code in the library. An entry that no
card of the fleet needs is paid for nothing, and a card that no entry serves says `no kernel image is available`.

## Cost
No bytes known: they hang on the kernels. The largest wheel of torch holds 9 (torch_wheels.json).

## Instead
One entry for each generation of the fleet, which the settings name: `archs = ["8.0", "8.9"]`.

## Bad
With `archs = "8.0,8.9"`
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="6.1;7.0;8.0;8.9"
RUN FORCE_CUDA=1 python setup.py install
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.0;8.9"
RUN FORCE_CUDA=1 python setup.py install
```

## Not judged
Without a fleet in the settings only lists of more entries than torch's own wheels have, and CMake's `all`; PTX entries; and
whether a library really holds a kernel for each of its architectures.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from gpuimage.arch import ArchEntry, ArchList, ComputeCapability
from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.arch_lists import (
    CMAKE,
    TORCH,
    Given,
    cmake_entries,
    cmake_entry,
    fleet,
    given,
    stages_with,
    torch_list,
)
from gpuimage.rules.compiling import stage_builds
from gpuimage.rules.toolkits import toolkit
from gpuimage.tables import Unknown, torch_release, torch_versions


def check(file: FileFacts) -> Iterator[Hit]:
    """Hold every list against the fleet, or against what a reasonable list has."""
    cards = fleet(file.settings.archs)
    for one in given(file, TORCH, CMAKE, "CUDAARCHS"):
        if not one.value or not _compiles(file, one):
            continue
        words = {"all", "all-major"} & set(cmake_entries(one.value)) if one.name != TORCH else set()
        if words:
            yield Hit(
                one.span,
                f"{min(words)} compiles every kernel for each generation that this CUDA knows",
                "name the architectures of the cards that are served",
                severity="note",
            )
            continue
        found = torch_list(one.value) if one.name == TORCH else _cmake(one.value)
        if found is not None:
            yield from _against(one, found, cards) if cards else _many(one, found)


def _compiles(file: FileFacts, one: Given) -> bool:
    """Whether the stage can compile at all."""
    if one.call is not None or one.kind == "flag":
        return True
    return any(
        toolkit(file, stage.end).present is not False or any(stage_builds(file, stage))
        for stage in stages_with(file, one)
    )


def _cmake(value: str) -> ArchList | None:
    """CMake's list as one for torch: a plain number has both kinds of code."""
    found: dict[ComputeCapability, bool] = {}
    virtual: set[ComputeCapability] = set()
    for text in cmake_entries(value):
        entry = cmake_entry(text)
        if entry is None:
            return None
        if entry[1] == "virtual":
            virtual.add(entry[0])
        found[entry[0]] = found.get(entry[0], False) or entry[1] != "real"
    return ArchList(tuple(ArchEntry(*pair) for pair in sorted(found.items()))) if found else None


def _against(one: Given, found: ArchList, cards: list[ComputeCapability]) -> Iterator[Hit]:
    missing = [card.dotted for card in sorted(set(cards)) if found.code_for(card) == "none"]
    if missing:
        yield Hit(
            one.span,
            f"nothing is compiled for {' and '.join(missing)} of the fleet: those cards find no kernel image",
            f"add {' and '.join(missing)}",
            severity="error",
        )
    spare = [entry.capability.dotted for entry in found.entries if not _needed(entry, found, cards)]
    if spare:
        yield Hit(
            one.span,
            f"no card of the fleet needs the code for {', '.join(spare)}: every kernel is compiled {len(spare)} times for nothing",
            f"leave out {', '.join(spare)}",
        )


def _needed(entry: ArchEntry, found: ArchList, cards: list[ComputeCapability]) -> bool:
    """Whether a card takes this entry: the nearest machine code, else the nearest PTX."""
    for card in cards:
        native = [other for other in found.entries if other.capability.cubin_runs_on(card)]
        jit = [other for other in found.entries if other.ptx and other.capability.ptx_runs_on(card)]
        best = max(native or jit, key=lambda other: other.capability, default=None)
        if best == entry:
            return True
    return False


@cache
def _most() -> int:
    """How many architectures the largest wheel of torch holds."""
    sizes = [0]
    for version in torch_versions():
        release = torch_release(version)
        if not isinstance(release, Unknown):
            for variant in release.variants:
                archs = release.archs(variant)
                sizes.append(0 if isinstance(archs, Unknown) else len(archs.entries))
    return max(sizes)


def _many(one: Given, found: ArchList) -> Iterator[Hit]:
    if len(found.entries) > _most():
        yield Hit(
            one.span,
            f"every kernel is compiled {len(found.entries)} times, more often than in any wheel of torch ({_most()})",
            "name the architectures of the cards that are served, here or in the settings (archs)",
            severity="note",
        )


RULE = Rule("GI407", "archs-outside-fleet", "warning", check)
