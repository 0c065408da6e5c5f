"""A tag of nvidia/cuda that does not exist.

## Why
NVIDIA publishes nvidia/cuda under full names alone: version, flavor and operating system. There is no `latest` since January
2021 (NVIDIA/nvidia-docker#1454), none without the operating system, and no cuDNN in the base flavor (base_images.json).

## Cost
No bytes: the build fails at the pull.

## Instead
Write a tag that was published: `12.8.1-runtime-ubuntu22.04`.

## Bad
```dockerfile
FROM nvidia/cuda:12.4-runtime
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
```

## Not judged
Images of other registries that only look alike, digests, and tags with a part that only the build knows. A full tag that no
table lists may have come out after the tables were made: that is only a warning.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import Base, FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.tables import CudaImage, Unknown, cuda_minors, cuda_tag, cuda_tags_complete, edition

_SYSTEMS = ("ubuntu", "ubi", "rocky", "centos", "suse", "oracle", "amzn", "azl", "cm2")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every FROM that names nvidia/cuda."""
    for stage in file.stages:
        base = stage.root
        head = stage.stage.head
        if (
            stage.parent is not None
            or base.kind != "cuda"
            or base.reference is None
            or not head.values
            or not stage.used
        ):
            continue
        reason, severity = _reason(base)
        if reason:
            better = _better(base)
            span = head.values[0].span
            fix = None
            if better and file.source[span] == base.text:
                fix = Fix(f"write {better}", (Edit(span, _renamed(base, better)),))
            yield Hit(
                span,
                f"{base.text}: {reason}",
                f"write {better}" if better else "NVIDIA's tags read VERSION[-cudnn]-(base|runtime|devel)-OS",
                fix=fix,
                severity="error" if severity == "error" else "warning",
            )


def _reason(base: Base) -> tuple[str, str]:
    """Why there is no such tag, and how sure that is; "" where there may be."""
    reference = base.reference
    if reference is None or reference.digest:
        return "", ""
    if reference.tag in (None, "latest"):
        return "nvidia/cuda has no tag latest, the pull fails", "error"
    if base.cuda_tag is None:
        reason = _broken(base, str(reference.tag))
        return reason, "error"
    gone = int(base.cuda_tag.version.split(".")[0]) <= 10  # of those GI103 speaks
    if _official(base) and cuda_tags_complete(base.cuda_tag.version) and not (base.cuda_tag.tensorrt or gone):
        found = cuda_tag(base.cuda_tag.version, base.cuda_tag.flavor, cudnn=base.cudnn, os=base.cuda_tag.os)
        if isinstance(found, Unknown) or found.reference.rpartition(":")[2] != str(base.cuda_tag):
            return f"no such tag is listed as of {edition()}", "warning"
    return "", ""


def _broken(base: Base, tag: str) -> str:
    """What is wrong with the form of a tag that names a version and a flavor."""
    if not base.cuda or not base.flavor:
        return (
            "nvidia/cuda has no tag of this form" if base.cuda and _official(base) and not base.flavor else ""
        )
    if not any(part in tag for part in _SYSTEMS):
        return "no tag of nvidia/cuda leaves the operating system out, the pull fails"
    return "nvidia/cuda has no tag of this form" if _official(base) else ""


def _official(base: Base) -> bool:
    reference = base.reference
    return (
        reference is not None
        and reference.repository == "nvidia/cuda"
        and reference.registry in ("docker.io", "nvcr.io")
    )


def _better(base: Base) -> str | None:
    """A tag that is listed, as near as may be."""
    version = base.cuda or (
        cuda_minors()[-1] if not base.reference or base.reference.tag in (None, "latest") else None
    )
    if version is None:
        return None
    flavor = base.flavor or "base"
    os = base.cuda_tag.os if base.cuda_tag else None
    minor = ".".join(version.split(".")[:2])
    for candidate in (version, minor):
        for system in (os, None):
            found = cuda_tag(candidate, flavor, cudnn=base.cudnn and flavor != "base", os=system)
            if isinstance(found, CudaImage) and found.verified:
                return found.reference
    return None


def _renamed(base: Base, better: str) -> str:
    """The better tag behind the name as it was written."""
    written = base.text or ""
    name = written.rpartition(":")[0] if base.reference is not None and base.reference.tag else written
    return f"{name}:{better.rpartition(':')[2]}"


RULE = Rule("GI102", "no-such-tag", "error", check, "suggested")
