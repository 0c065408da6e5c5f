"""The base image has no tag, or one that moves to other versions.

## Why
Without a tag, or with `latest`, the next build may stand on another distribution, another Python or another CUDA. What was
tested is then not what is built.

## Cost
No bytes: a rebuild that differs or fails.

## Instead
Name a version (`python:3.12-slim-bookworm`), or a digest.

## Bad
```dockerfile
FROM ubuntu:latest
```

## Good
```dockerfile
FROM ubuntu:24.04
```

## Not judged
Tags that name a version, even if a patch release moves under them; stages, scratch, digests; nvidia/cuda, whose missing tags
are GI102's; names that only the build knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule

_MOVING = frozenset(
    {"latest", "stable", "main", "master", "nightly", "edge", "dev", "slim", "rolling", "devel", "lts"}
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every FROM."""
    for stage in file.stages:
        reference, head = stage.root.reference, stage.stage.head
        if (
            stage.parent is not None
            or reference is None
            or reference.digest
            or stage.root.kind == "cuda"
            or not stage.used
        ):
            continue
        # A single word that is no image of Docker Hub's library names a local image, or a context of `bake`.
        if stage.root.kind == "other" and reference.repository.startswith("library/"):
            continue
        if head.values and (reference.tag is None or reference.tag in _MOVING):
            what = "has no tag" if reference.tag is None else f"has the tag {reference.tag}, which moves"
            yield Hit(
                head.values[0].span,
                f"the base {reference} {what}: the next build may stand on another version",
                "name a version or a digest",
            )


RULE = Rule("GI104", "base-floating", "note", check, twins=("DL3006", "DL3007"))
