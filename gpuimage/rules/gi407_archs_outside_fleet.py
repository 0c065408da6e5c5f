"""Code is compiled for GPUs that the fleet does not have, or not for one that it has.

## Why
Each architecture is one more copy of every kernel, in time and in bytes. A GPU that no entry covers cannot run the service.

## Cost
Minutes to hours of compiling and hundreds of megabytes for large projects (notes on linting, 2026-12); not known here.

## Instead
Compile for the fleet: `archs` in the config, `TORCH_CUDA_ARCH_LIST` in the file.

## Bad
With `archs = "8.6"` in the config:
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="7.0;7.5;8.6;9.0+PTX"
RUN python setup.py install
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.6"
RUN python setup.py install
```

## Not judged
Without `archs` in the config only the words `all` and `all-major` of CMake, and lists of more than eight entries.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.arch import ArchError, ArchList
from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.builds import TORCH_LIST, ListSetting, list_settings

_MANY = 8
_NUMBERS = ("CMAKE_CUDA_ARCHITECTURES", "CUDAARCHS")


def check(file: FileFacts) -> Iterator[Hit]:
    """Hold every list against the fleet."""
    fleet = _fleet(file.settings.archs)
    for stage in file.stages:
        if not stage.used:
            continue
        for setting in list_settings(file, stage, TORCH_LIST):
            try:
                found = ArchList.parse(setting.value or "")
            except ArchError:
                continue
            yield from _against(setting, found, fleet)
        for setting in list_settings(file, stage, *_NUMBERS):
            if setting.value in ("all", "all-major"):
                yield Hit(
                    setting.span,
                    f"{setting.value} compiles every kernel for each generation that this CUDA knows",
                    "name the architectures of the GPUs that are served",
                    severity="note",
                )


def _fleet(archs: tuple[str, ...]) -> ArchList | None:
    try:
        return ArchList.parse(";".join(archs)) if archs else None
    except ArchError:
        return None


def _against(setting: ListSetting, found: ArchList, fleet: ArchList | None) -> Iterator[Hit]:
    if fleet is None:
        if len(found.entries) > _MANY:
            yield Hit(
                setting.span,
                f"every kernel is compiled {len(found.entries)} times, once for each entry",
                "name the architectures of the GPUs that are served",
                severity="note",
            )
        return
    for gpu in fleet.capabilities:
        if found.code_for(gpu) == "none":
            yield Hit(
                setting.span,
                f"nothing is compiled for {gpu.dotted} of the fleet: no kernel image is available there",
                f"add {gpu.dotted}",
                severity="error",
            )
    spare = [
        entry.capability.dotted
        for entry in found.entries
        if not any(entry.capability.cubin_runs_on(gpu) for gpu in fleet.capabilities) and not entry.ptx
    ]
    if spare:
        yield Hit(setting.span, f"no GPU of the fleet runs the code for {', '.join(spare)}", "leave it out")


RULE = Rule("GI407", "archs-outside-fleet", "warning", check)
