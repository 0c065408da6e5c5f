"""TORCH_CUDA_ARCH_LIST cannot be read by torch.

## Why
The list is capabilities with a dot (`8.6`, `9.0a`, `8.0+PTX`) or names (`Ampere`), parted by a semicolon or a space. Commas,
`sm_80`, `80` and an empty entry raise `ValueError: Unknown CUDA arch` (measured with torch 2.9.1 and 2.14.1).

## Cost
No bytes: the build fails.

## Instead
`TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"`.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
ENV TORCH_CUDA_ARCH_LIST="sm_80,sm_90"
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0"
```

## Not judged
Values that only the build knows, and the lists of CMake and flash-attn, which have a grammar of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.arch import ArchError, ArchList
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.builds import TORCH_LIST, ListSetting, list_settings

_TOKEN = re.compile(
    r"(?:sm_|compute_)?(?P<major>1?\d)\.?(?P<minor>\d)(?P<suffix>[af]?)(?P<ptx>\+PTX)?", re.IGNORECASE
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Read every list of a stage that is built."""
    for stage in file.stages:
        for setting in list_settings(file, stage, TORCH_LIST) if stage.used else ():
            if setting.value and setting.value.strip():
                try:
                    ArchList.parse(setting.value)
                except ArchError as error:
                    yield _hit(setting, error)


def _hit(setting: ListSetting, error: ArchError) -> Hit:
    better = _repaired(setting.value or "")
    fix = None
    if better and setting.exact:
        text = setting.step.source[setting.span]
        quoted = text.replace((setting.value or ""), better)
        if quoted == better and ";" in better:
            quoted = f'"{better}"'  # a shell would end the command at the semicolon
        fix = Fix(f"write {better}", (Edit(setting.span, quoted),), safe=True)
    return Hit(
        setting.span,
        f"torch cannot read this list of architectures: {error.reason}",
        f'write "{better}"' if better else (error.hint or 'write it like "8.0;9.0+PTX"'),
        fix=fix,
    )


def _repaired(text: str) -> str | None:
    """The list that was meant, where every entry is a number in another spelling."""
    found = []
    for token in re.split(r"[;,\s]+", text.strip().strip(";,")):
        match = _TOKEN.fullmatch(token)
        if match is None:
            return None
        found.append(
            f"{match['major']}.{match['minor']}{match['suffix'].lower()}{'+PTX' if match['ptx'] else ''}"
        )
    try:
        ArchList.parse(";".join(found))
    except ArchError:
        return None
    return ";".join(found)


RULE = Rule("GI403", "arch-list-grammar", "error", check, "safe")
