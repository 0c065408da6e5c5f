"""NVIDIA_DRIVER_CAPABILITIES holds a word that the container toolkit does not know.

## Why
The NVIDIA container toolkit takes compute, compat32, graphics, utility, video, display, ngx and all. Its hook refuses
any other word, and the container does not start (source of the container toolkit).

## Cost
No bytes: the start fails.

## Instead
Write one of these words, parted by commas.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utilty
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
```

## Not judged
Words that only the build knows, images for Jetson, where the toolkit mounts by other lists, and stages that do not
ship.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.environment import DRIVER_CAPABILITIES, Part, last_settings

_VARIABLE = "NVIDIA_DRIVER_CAPABILITIES"


def check(file: FileFacts) -> Iterator[Hit]:
    """Each word of the value that counts in an image."""
    if _VARIABLE not in file.source.text:
        return
    for stage, setting in last_settings(file, _VARIABLE):
        if "l4t" in (stage.root.text or "") or "jetson" in (stage.root.text or ""):
            continue
        for part in setting.parts(","):
            word = (part.value or "").strip()
            if "$" in part.raw or not word or word in DRIVER_CAPABILITIES:
                continue
            near = _near(word)
            yield Hit(
                part.span,
                f"{word} is no driver capability: the container toolkit refuses it and the container does not start",
                f"write {near}"
                if near
                else f"take some of {', '.join(DRIVER_CAPABILITIES)}, parted by commas",
                fix=_fix(part, word, near),
            )


def _near(word: str) -> str | None:
    """The capability that is meant."""
    low = word.lower()
    close = [one for one in DRIVER_CAPABILITIES if _one_edit(low, one)]
    if not close and len(low) > 3:
        close = [one for one in DRIVER_CAPABILITIES if one[:4] == low[:4]]
    return close[0] if len(close) == 1 else None


def _one_edit(a: str, b: str) -> bool:
    """Whether one letter more, less, other or two swapped make one word of the other."""
    if a == b:
        return True
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    swapped = a[at : at + 2] == b[at : at + 2][::-1] and a[at + 2 :] == b[at + 2 :] and len(a) == len(b)
    return swapped or a[at + 1 :] == b[at + 1 :] or a[at:] == b[at + 1 :] or a[at + 1 :] == b[at:]


def _fix(part: Part, word: str, near: str | None) -> Fix | None:
    if near is None or len(part.span) != len(part.raw):
        return None
    return Fix(f"write {near} for {word}", (Edit(part.span, near),), safe=_one_edit(word.lower(), near))


RULE = Rule("GI503", "unknown-capability", "error", check, fix="safe")
