"""The image itself says which GPU its programs see.

## Why
CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES are for whoever starts the container: a scheduler gives each one its
cards. A number or UUID in the image hides all others, wherever it runs, and a UUID fits one machine alone (CUDA
programming guide, environment variables; documentation of the container toolkit).

## Cost
No bytes: GPUs stay idle, or none is found.

## Instead
Leave it out; give it when the container starts (`docker run --gpus device=0`, `-e CUDA_VISIBLE_DEVICES=0`).

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
ENV CUDA_VISIBLE_DEVICES=0
CMD ["/app"]
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
ENV NVIDIA_VISIBLE_DEVICES=all
CMD ["/app"]
```

## Not judged
`all`, `none`, `void`, `-1` and empty values, values made of variables, settings of one RUN, and stages that do not
ship.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.environment import Setting, last_settings, removal

_NAMES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
_DEVICE = pattern(r"\d+(:\d+)?|(GPU|MIG)-[0-9A-Za-z/-]+")


def check(file: FileFacts) -> Iterator[Hit]:
    """The value that counts in each image."""
    if "VISIBLE_DEVICES" not in file.source.text:
        return
    for name in _NAMES:
        for _, setting in last_settings(file, name):
            value = (setting.value or "").strip()
            if (
                "$" in setting.text
                or not value
                or not all(map(_DEVICE.fullmatch, re.split(r"\s*,\s*", value)))
            ):
                continue
            yield Hit(
                Span(setting.name.span.start, setting.given.span.end),
                f"{name}={value} in the image: every container sees this device alone, whatever the scheduler gives it",
                "leave it out and choose devices when the container starts",
                fix=_fix(file, name, setting),
            )


def _fix(file: FileFacts, name: str, setting: Setting) -> Fix | None:
    if name == "NVIDIA_VISIBLE_DEVICES":
        return Fix("show all devices", (Edit(setting.given.span, "all"),))
    edit = removal(file, setting)
    return Fix(f"take {name} out", (edit,)) if edit else None


RULE = Rule("GI504", "visible-devices-baked", "warning", check, fix="suggested")
