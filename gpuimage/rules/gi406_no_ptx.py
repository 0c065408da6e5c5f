"""What is compiled holds no PTX, so it runs on no later GPU.

## Why
Machine code runs on its own major generation alone. PTX of the highest architecture (`9.0+PTX`) lets a driver compile for
GPUs that come later; without it the service stops at "no kernel image is available" on the next generation.

## Cost
No bytes to win: PTX adds a little.

## Instead
Add `+PTX` to the highest entry, or name the fleet (`archs` in the config), if it is fixed.

## Bad
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0"
RUN python setup.py install
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"
RUN python setup.py install
```

## Not judged
Fleets that are named in the config, lists whose highest entry is for one GPU alone (`9.0a`), projects that make their own
flags, and what CMake compiles.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.arch import ArchError, ArchList
from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.builds import OWN_VARIABLE, TORCH_LIST, ListSetting, builds, list_settings


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at the lists of stages that compile an extension."""
    if file.settings.archs:
        return
    for stage in file.stages:
        if not stage.used or not any(build.name not in OWN_VARIABLE for build in builds(file, stage)):
            continue
        for setting in list_settings(file, stage, TORCH_LIST):
            try:
                found = ArchList.parse(setting.value or "")
            except ArchError:
                continue
            highest = max(entry.capability for entry in found.entries)
            if not any(entry.ptx for entry in found.entries) and not highest.suffix:
                yield _hit(setting, highest.dotted)


def _hit(setting: ListSetting, highest: str) -> Hit:
    fix = None
    text = setting.step.source[setting.span]
    at = text.rfind(highest)
    if setting.exact and at >= 0:
        place = setting.span.start + at + len(highest)
        fix = Fix(f"add +PTX to {highest}", (Edit(Span(place, place), "+PTX"),))
    return Hit(
        setting.span,
        f"no entry has +PTX: what is compiled runs on no GPU of a later generation than {highest}",
        f"write {highest}+PTX, or name the fleet in the config (archs)",
        fix=fix,
    )


RULE = Rule("GI406", "no-ptx", "note", check, "suggested")
