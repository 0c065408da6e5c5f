"""PyTorch has no such index, or not for this version of torch or this Python.

## Why
Each torch is published for two to four CUDA builds (torch_wheels.json). From an index without it pip finds no version, or another
one than was asked for; cu120, cu122 and cu123 were never published.

## Cost
No bytes: the build fails.

## Instead
Take an index that has this torch.

## Bad
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0 --index-url https://download.pytorch.org/whl/cu122
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0 --index-url https://download.pytorch.org/whl/cu126
```

## Not judged
Nightly and private indexes, versions that the tables do not know, and extra indexes beside the default one.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, PythonInstall, StageFacts, Wanted
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.tables import TorchRelease, torch_release, torch_versions

_INDEX = pattern(r"https?://(download|download-r2)\.pytorch\.org/whl/(?P<variant>cu\d+)/?")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every torch from one of PyTorch's indexes in a stage that is built."""
    for stage in file.stages:
        for step in stage.steps if stage.used else ():
            for install in file.python(step):
                match = _INDEX.fullmatch(install.index or "")
                if match:
                    yield from _judge(stage, install, match["variant"])


def _judge(stage: StageFacts, install: PythonInstall, variant: str) -> Iterator[Hit]:
    if not any(variant in release.variants for release in _releases()):
        yield Hit(
            install.call.span,
            f"PyTorch never published an index {variant}: the install fails",
            f"take one of {_known()}",
        )
        return
    one = install.find("torch")
    release = torch_release(one.public) if one is not None and one.public else None
    if one is None or not isinstance(release, TorchRelease):
        return
    if variant not in release.variants:
        yield Hit(
            one.span,
            f"torch {release.version} is not on the index {variant}: it was published for {', '.join(release.variants)}",
            f"take {release.default_variant}, or another version of torch",
            severity="error" if release.variants_verified else "warning",
        )
    elif (
        stage.root.kind == "python"
        and stage.root.python
        and (hit := _python(stage.root.python, release, one))
    ):
        yield hit


def _python(python: str, release: TorchRelease, one: Wanted) -> Hit | None:
    parts = python.split(".")
    if len(parts) < 2 or not release.python_tags:
        return None
    tag = f"cp{parts[0]}{parts[1]}"
    if any(found == tag or found.startswith("py3") or found == "abi3" for found in release.python_tags):
        return None
    have = ", ".join(release.python_tags)
    return Hit(
        one.span,
        f"torch {release.version} has no wheel for Python {parts[0]}.{parts[1]}: there are {have}",
        "take another Python or torch",
    )


def _releases() -> list[TorchRelease]:
    return [
        found for version in torch_versions() if isinstance(found := torch_release(version), TorchRelease)
    ]


def _known() -> str:
    names = {variant for release in _releases() for variant in release.variants}
    return ", ".join(sorted(names, key=lambda name: int(name[2:]))[-6:])


RULE = Rule("GI305", "index-does-not-exist", "error", check)
