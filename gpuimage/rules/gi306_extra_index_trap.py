"""torch without a version from an extra index: the default index may win.

## Why
`--extra-index-url` adds an index, and pip takes the highest version of both. PyPI's torch is often as new as the CUDA index's, so
which CUDA build comes is a matter of the day (pixeloven/ComfyUI-Docker#46, #47).

## Cost
No bytes that are known: another CUDA build than was meant.

## Instead
`--index-url` for torch, or exact versions with their local part: `torch==2.8.0+cu126`.

## Bad
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch torchvision --extra-index-url https://download.pytorch.org/whl/cu126
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0+cu126 --extra-index-url https://download.pytorch.org/whl/cu126
```

## Not judged
Exact versions without a local part, where both indexes have the same version: pip prefers the local one. uv, which stops at the
first index that has the project.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, PythonInstall
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.shared import TORCH, built_steps

_EXTRA = pattern(r"/whl/(nightly/)?(cu\d+|rocm[\d.]+)")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every install by pip with an extra index of PyTorch."""
    for step in built_steps(file):
        for install in file.python(step):
            if install.tool != "pip" or install.constrained or install.index is not None:
                continue
            extra = next((index for index in install.extra_indexes if _EXTRA.search(index)), None)
            if extra is None or (
                not install.given.has("--extra-index-url") and not install.call.is_set("PIP_EXTRA_INDEX_URL")
            ):
                continue
            one = next(
                (
                    w
                    for w in install.wanted
                    if w.name in TORCH and w.version is None and w.specifier is not None and not w.source
                ),
                None,
            )
            if one is not None:
                yield Hit(
                    one.span,
                    f"{one.name} has no exact version, and an extra index only competes with the default one: the higher version wins, "
                    "so another CUDA build may come",
                    "use --index-url, or exact versions with +cuXXX",
                    fix=_fix(install),
                )


def _fix(install: PythonInstall) -> Fix | None:
    """Make the extra index the only one, where nothing else is installed."""
    if not all(one.name in TORCH for one in install.wanted):
        return None
    for argument in install.call.arguments:
        if (argument.value or "").startswith("--extra-index-url"):
            start = install.call.place(argument).start
            length = len("--extra-index-url")
            return Fix("use --index-url", (Edit(Span(start, start + length), "--index-url"),))
    return None


RULE = Rule("GI306", "extra-index-trap", "warning", check, "suggested")
