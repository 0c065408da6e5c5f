"""A wheel or archive is copied into a layer, only to be installed from there.

## Why
COPY makes a layer that holds the archive. What is installed from it comes on top, and deleting the archive in a later step
does not take it out of its layer.

## Cost
The size of the archive: 0.9 GB for a torch wheel with CUDA 12.8 (torch_wheels.json); measured where the file lies beside
the Dockerfile.

## Instead
Mount it for the step that needs it: `RUN --mount=type=bind,source=dist,target=/dist pip install /dist/*.whl`.

## Bad
```dockerfile
FROM python:3.11-slim
COPY dist/torch-2.6.0-cp311-cp311-linux_x86_64.whl /tmp/
RUN pip install --no-cache-dir /tmp/torch-2.6.0-cp311-cp311-linux_x86_64.whl
```

## Good
```dockerfile
FROM python:3.11-slim
RUN --mount=type=bind,source=dist,target=/dist pip install --no-cache-dir /dist/torch-2.6.0-cp311-cp311-linux_x86_64.whl
```

## Not judged
Stages whose layers do not ship, requirements files, and sources that the image keeps on purpose. ADD unpacks local tar
files itself, so nothing stays of those.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts, Step, covers
from gpuimage.finding import Cost, Hit, Rule
from gpuimage.rules.layers import ARCHIVE, Made, bytes_of, key, made

_INSTALLERS = frozenset(
    {"pip", "uv", "dpkg", "apt", "apt-get", "dnf", "yum", "rpm", "tar", "unzip", "conda", "sh", "bash"}
)
_SMALL = 10**6  # bytes; a smaller archive is not worth a word


def check(file: FileFacts) -> Iterator[Hit]:
    """Look for copied paths that a later step installs from."""
    for stage in file.targets:
        for one in made(file, stage):
            used = (
                _archive(file, stage, one)
                if one.kind == "copied" and one.copy and not one.copy.from_
                else None
            )
            if used is not None:
                cost = bytes_of(file, one, of=key(one.step))
                if (cost is None and "keyring" not in used) or (cost is not None and cost.high >= _SMALL):
                    yield _hit(one, used, cost)


def _archive(file: FileFacts, stage: StageFacts, one: Made) -> str | None:
    """The archive at or below a copied path that a later step installs."""
    if one.step.instruction.keyword == "ADD" and ".tar" in one.source:
        return None
    for step in stage.chain:
        if step.instruction.span.start <= one.step.instruction.span.start:
            continue
        for call in step.calls:
            if call.name in _INSTALLERS or call.name.endswith(".run"):
                for argument in call.program.command.words:
                    path = call.absolute(argument.value) if argument.value else None
                    if path and ARCHIVE.fullmatch(path) and _below(path, one) and not _mounted(step, path):
                        return posixpath.basename(path)
    return None


def _mounted(step: Step, path: str) -> bool:
    return any(mount.covers(path) for mount in step.mounts)


def _below(path: str, one: Made) -> bool:
    """Whether the archive lies at the copied path, or in the directory that was copied or copied into."""
    if path == one.path or covers(one.path, path) or covers(path, one.path):
        return True
    name = posixpath.basename(one.source)
    return "*" in name and posixpath.dirname(path) == one.path


def _hit(one: Made, used: str, cost: Cost | None) -> Hit:
    return Hit(
        one.span,
        f"{used} is copied into a layer of its own and installed from there: the archive stays in the image",
        "install it from a bind mount: RUN --mount=type=bind,source=…,target=…",
        cost,
    )


RULE = Rule("GI601", "copied-then-installed", "warning", check)
