"""CUDA_VERSION without NVIDIA_REQUIRE_CUDA: the container toolkit takes the image for a legacy CUDA image.

## Why
The container toolkit calls an image legacy when its environment has CUDA_VERSION and no NVIDIA_REQUIRE_CUDA: it then
gives it all devices and all driver capabilities unless told otherwise, and refuses the start on a driver that is older
than that CUDA (source of the container toolkit). On NVIDIA's own images both are set.

## Cost
No bytes: a start that is refused, or more devices and libraries than were asked for.

## Instead
Give the variable another name, or make it an ARG where only the build needs it.

## Bad
```dockerfile
FROM python:3.12-slim
ENV CUDA_VERSION=12.8.0
CMD ["python", "-m", "app"]
```

## Good
```dockerfile
FROM python:3.12-slim
ARG CUDA_VERSION=12.8.0
ENV APP_CUDA=12.8.0
CMD ["python", "-m", "app"]
```

## Not judged
Bases that may set NVIDIA_REQUIRE_CUDA, values that only the build knows, and stages that do not ship.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.environment import Setting, last_settings

_OWN = ("plain", "python", "conda", "scratch")
_NEW_NAME = "TOOLKIT_VERSION"
_USE = pattern(r"(?<=\$)CUDA_VERSION\b|(?<=\$\{)CUDA_VERSION\b")


def check(file: FileFacts) -> Iterator[Hit]:
    """Each image on a base that is known not to be NVIDIA's."""
    if "CUDA_VERSION" not in file.source.text:
        return
    for stage, setting in last_settings(file, "CUDA_VERSION"):
        value = setting.value
        if stage.root.kind not in _OWN or not value or stage.env.get("NVIDIA_REQUIRE_CUDA", "") != "":
            continue
        yield Hit(
            Span(setting.name.span.start, setting.given.span.end),
            f"CUDA_VERSION={value} without NVIDIA_REQUIRE_CUDA makes this a legacy CUDA image for the container toolkit: the "
            f"start is refused on drivers older than CUDA {'.'.join(value.split('.')[:2])}, and all capabilities are given",
            "give the variable another name, or make it an ARG",
            fix=_renamed(file, setting),
        )


def _renamed(file: FileFacts, setting: Setting) -> Fix | None:
    """Another name here and where the file uses it; none where another place sets it too."""
    text = file.source.text
    if re.search(
        r"\b(ARG|ENV)\s[^\n]*\bCUDA_VERSION\b",
        text.replace(text[setting.name.span.start : setting.given.span.end], "", 1),
    ):
        return None
    if _NEW_NAME in text:
        return None
    uses = [Edit(Span(one.start(), one.end()), _NEW_NAME) for one in _USE.finditer(text)]
    return Fix(f"call it {_NEW_NAME}", (Edit(setting.name.span, _NEW_NAME), *uses))


RULE = Rule("GI508", "legacy-image", "warning", check, fix="suggested")
