"""A CUDA base image that is no longer supported, or is deleted.

## Why
NVIDIA supports only the newest point release of a CUDA minor, while its driver branch lives, and deletes tags some time after
their end of life: those of CUDA 10 are gone (NVIDIA/nvidia-docker#1768, pytorch/builder#1446).

## Cost
No bytes: the build fails once the tag is gone, and the image gets no fixes before that.

## Instead
Take a supported tag, or keep a copy in a registry of your own.

## Bad
```dockerfile
FROM nvidia/cuda:10.2-cudnn7-devel-ubuntu18.04
```

## Good
```dockerfile
FROM nvidia/cuda:13.0.2-cudnn-runtime-ubuntu24.04
```

## Not judged
Copies in other registries, digests, and releases whose end no source names. A tag whose driver branch has ended is still there
for a time: that is only a note.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import Base, FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.tables import CudaImage, cuda_tag


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every FROM with a full tag of nvidia/cuda."""
    for stage in file.stages:
        base, head = stage.root, stage.stage.head
        if stage.parent is not None or base.cuda_tag is None or not head.values or not stage.used:
            continue
        reference = base.reference
        if reference is None or reference.digest or reference.registry not in ("docker.io", "nvcr.io"):
            continue
        severity, because = _ended(base)
        if severity:
            yield Hit(
                head.values[0].span,
                f"{base.text} has reached its end of life: {because}",
                _help(base),
                severity="error" if severity == "error" else "warning" if severity == "warning" else "note",
            )


def _ended(base: Base) -> tuple[str, str]:
    tag = base.cuda_tag
    if tag is None:
        return "", ""
    if int(tag.version.split(".")[0]) <= 10:
        return "error", "the tags of CUDA 10 and older are deleted"
    found = cuda_tag(tag.version, tag.flavor, cudnn=base.cudnn, os=tag.os)
    if not isinstance(found, CudaImage) or not found.end_of_life:
        return "", ""
    if "point release" in found.end_of_life_because and _newer(base) is None:
        return "", ""  # there is a newer one, but of this flavor and system no tag of it is known
    # The images of an ended driver branch or an older point release are still there for a time.
    moved = "end-of-life folder" in found.end_of_life_because
    return ("warning" if moved else "note"), found.end_of_life_because


def _newer(base: Base) -> CudaImage | None:
    """The same image of a newer point release, as far as one is known."""
    tag = base.cuda_tag
    newest = cuda_tag(tag.minor, tag.flavor, cudnn=base.cudnn, os=tag.os) if tag else None
    return newest if isinstance(newest, CudaImage) and tag and newest.version != tag.version else None


def _help(base: Base) -> str:
    newest = _newer(base)
    if newest is not None and newest.end_of_life is not True:
        return f"take {newest.reference}"
    return "take a supported CUDA, or keep a copy of the image in a registry of your own"


RULE = Rule("GI103", "tag-end-of-life", "warning", check)
