"""NVIDIA's repository is the one of another operating system than the base image.

## Why
Each CUDA repository is built for one release (`ubuntu2204`, `rhel9`). Packages of another one want other versions of glibc and of
the compiler, and fail to install or to load (open-mmlab/OpenPCDet#955).

## Cost
No bytes: packages that do not install, or programs that do not start.

## Instead
Name the repository of the base's release.

## Bad
```dockerfile
FROM ubuntu:22.04
RUN echo "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2004/x86_64 /" > /etc/apt/sources.list.d/cuda.list
```

## Good
```dockerfile
FROM ubuntu:22.04
RUN echo "deb https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64 /" > /etc/apt/sources.list.d/cuda.list
```

## Not judged
Bases whose release is not known from their name, and derivatives that are made to be compatible.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.patterns import pattern

_REPOSITORY = pattern(
    r"developer\.download\.nvidia\.(?:com|cn)/compute/(?:cuda|machine-learning)/repos/(?P<os>[a-z]+[\d]*)/(?P<arch>[a-z0-9_]+)"
)
_SYSTEM = pattern(r"(?P<name>ubuntu|debian|rhel|ubi|rockylinux|centos)(?P<version>[\d.]+)")


def check(file: FileFacts) -> Iterator[Hit]:
    """Hold every repository of a stage that is built against its base."""
    if "/repos/" not in file.source.text:
        return
    for stage in file.stages:
        own = _name(stage.root.os) if stage.used else None
        if own:
            yield from _others(file, stage, own)


def _name(os: str | None) -> str | None:
    """`ubuntu2204` of `ubuntu22.04`, `rhel9` of `ubi9`."""
    match = _SYSTEM.fullmatch(os or "")
    if match is None:
        return None
    version = match["version"]
    if match["name"] in ("ubuntu", "debian"):
        return match["name"] + version.replace(".", "")
    return f"rhel{version.partition('.')[0]}"


def _others(file: FileFacts, stage: StageFacts, own: str) -> Iterator[Hit]:
    for step in stage.steps:
        if step.instruction.keyword not in ("RUN", "ADD") or step.instruction.onbuild:
            continue
        start = step.instruction.span.start
        found = [
            (m, step.expand(m["os"]).value) for m in _REPOSITORY.finditer(file.source[step.instruction.span])
        ]
        wrong = [
            (m, os) for m, os in found if os and os != own and os[:4] in ("ubun", "debi", "rhel", "cent")
        ]
        if not wrong:
            continue
        edits = tuple(Edit(Span(start + m.start("os"), start + m.end("os")), own) for m, _ in wrong)
        match, other = wrong[0]
        span = Span(start + match.start("os"), start + match.end("os"))
        yield Hit(
            span,
            f"the repository of {other} on {stage.root.os}: its packages are built for another release",
            f"name the repository of this release: {own}",
            fix=Fix(f"take the repository of {own}", edits) if own[:4] == (other or "")[:4] else None,
        )


RULE = Rule("GI206", "repository-of-another-os", "warning", check, "suggested")
