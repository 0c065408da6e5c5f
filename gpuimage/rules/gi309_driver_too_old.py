"""The hosts' driver is older than what is in the image needs.

## Why
Every CUDA major has a driver from which its programs run (12: 525, 13: 580), and every release one from which all of it works
(release notes, cuda_releases.json). Below the floor a program stops at "driver version is insufficient"; NVIDIA's images refuse to
start by NVIDIA_REQUIRE_CUDA.

## Cost
No bytes: the service does not start.

## Instead
Take a CUDA build that the driver runs, or newer drivers.

## Bad
With `driver = "535"` in the config:
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.14.1
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.9.1
```

## Not judged
Everything but a switched-off check (NVIDIA_DISABLE_REQUIRE), where the config names no driver.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.environment import settings_of
from gpuimage.rules.shared import head_of
from gpuimage.tables import DriverNeed, Unknown, cuda_of_variant, driver_need, torch_release


def check(file: FileFacts) -> Iterator[Hit]:
    """Hold base and torch of every image against the driver of the config."""
    for stage in file.targets:
        for step in stage.chain:
            for setting in settings_of(step):
                if setting.name.text == "NVIDIA_DISABLE_REQUIRE" and setting.value not in ("", "0", "false"):
                    yield Hit(
                        setting.name.span,
                        "NVIDIA_DISABLE_REQUIRE switches off the check that the driver is new enough: the failure comes later",
                        "leave it out, and name the driver in the config",
                        severity="note",
                    )
        if file.settings.driver:
            yield from _too_old(file, stage, file.settings.driver)


def _too_old(file: FileFacts, stage: StageFacts, driver: str) -> Iterator[Hit]:
    for span, what, cuda in _needs(file, stage):
        need = driver_need(cuda)
        if isinstance(need, DriverNeed) and not _reaches(driver, need.floor):
            yield Hit(
                span,
                f"driver {driver} is too old for {what}: CUDA {cuda} needs {need.floor} or newer ({need.source})",
                "take a CUDA that this driver runs, or serve newer drivers",
                severity="error" if need.verified else "warning",
            )


def _reaches(driver: str, floor: str) -> bool:
    own, wanted = ([int(part) for part in text.split(".")] for text in (driver, floor))
    return own[0] >= wanted[0] if len(own) == 1 else own >= wanted


def _needs(file: FileFacts, stage: StageFacts) -> Iterator[tuple[Span, str, str]]:
    if stage.root.kind in ("cuda", "pytorch") and stage.root.cuda_minor:
        yield head_of(file, stage), stage.root.text or "the base", stage.root.cuda_minor
    for install in file.shipped_python(stage):
        one = install.find("torch")
        if one is None:
            continue
        variant = install.variant(one)
        if variant is None and one.public and install.index is None:
            release = torch_release(one.public)
            variant = None if isinstance(release, Unknown) else release.default_variant
        cuda = cuda_of_variant(variant) if variant else None
        if isinstance(cuda, str):
            yield one.span, f"torch {one.public or ''} ({variant})".replace("  ", " "), cuda


RULE = Rule("GI309", "driver-too-old", "error", check)
