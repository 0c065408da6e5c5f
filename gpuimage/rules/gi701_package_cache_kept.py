"""The download cache of pip, uv or poetry stays in a layer.

## Why
pip keeps every wheel that it downloads below ~/.cache/pip, uv below ~/.cache/uv, poetry below ~/.cache/pypoetry. In a
RUN that becomes part of the layer, and nothing ever reads it again. For a torch with CUDA the wheels weigh as much again
as half the installation.

## Cost
2.7 to 3.9 GB for a torch with CUDA (the cache left after installing it, measured 2026-12); for small packages a few
megabytes.

## Instead
`--no-cache-dir` (pip) or `--no-cache` (uv, poetry), PIP_NO_CACHE_DIR=1 or UV_NO_CACHE=1, or a cache mount over the
directory, which also makes the next build faster.

## Bad
```dockerfile
FROM python:3.12-slim
RUN pip install torch==2.9.1
```

## Good
```dockerfile
FROM python:3.12-slim
RUN --mount=type=cache,target=/root/.cache/pip pip install torch==2.9.1
RUN pip install --no-cache-dir numpy==2.3.5
```

## Not judged
Stages whose layers do not ship. PIP_NO_CACHE_DIR counts with any value, `off` and `0` too: so pip reads it (measured with
23.2 and 26.3). A cache directory that only the build knows is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, PythonInstall, Wanted
from gpuimage.finding import Cost, Edit, Fix, Hit, Rule
from gpuimage.rules.caches import python_cache_stays
from gpuimage.rules.costs import torch_cache
from gpuimage.rules.shared import HEAVY, NEEDS_TORCH, shipped_steps


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every installing command of a layer that ships."""
    for stage, step in shipped_steps(file):
        if stage.root.kind in ("ngc", "ngc-torch"):
            continue
        for install in file.python(step):
            if (not install.builds and install.wanted and python_cache_stays(file, stage, install)) or (
                not install.complete and not install.wanted and python_cache_stays(file, stage, install)
            ):
                yield _hit(file, install)


def _hit(file: FileFacts, install: PythonInstall) -> Hit:
    tool = install.tool.partition("-")[0]
    heavy = next((one for one in install.wanted if _is_heavy(file, install, one)), None)
    # tensorflow alone brings no CUDA wheels; what it weighs is not measured.
    measured = heavy is not None and not heavy.source and heavy.name != "tensorflow"
    cost: Cost | None = torch_cache() if measured else None
    what = f"the wheels of {heavy.name} and all that it needs" if heavy else "what it downloads"
    flag = "--no-cache-dir" if tool == "pip" else "--no-cache"
    fix = _fix(install, flag) if tool in ("pip", "uv") else None
    return Hit(
        install.call.span,
        f"{tool} keeps {what} in its cache, and the cache stays in the layer",
        f"add {flag}, or mount a cache over the directory",
        cost, fix, severity="warning" if heavy else "note",
    )  # fmt: skip


def _is_heavy(file: FileFacts, install: PythonInstall, one: Wanted) -> bool:
    """Whether gigabytes come with a project: torch itself, or what asks for it where there is none yet."""
    if one.name not in HEAVY or _cpu(install):
        return False
    return one.name in ("torch", "tensorflow") or not _torch_may_be_there(file, install)


def _torch_may_be_there(file: FileFacts, install: PythonInstall) -> bool:
    """Whether the base or an earlier command may have brought torch, so that it is not downloaded here."""
    stage = file.stages[install.call.step.stage]
    if stage.root.kind in ("pytorch", "ngc-torch", "rocm", "other", "unknown"):
        return True
    starts = (
        one.call.span.start
        for one in file.python_of(stage)
        if any(w.name == "torch" or w.name in NEEDS_TORCH for w in one.wanted)
    )
    first = file.once("first torch", stage.steps[0], lambda: min(starts, default=None))
    return first is not None and first < install.call.span.start


def _cpu(install: PythonInstall) -> bool:
    torch = install.find("torch")
    return torch is not None and install.variant(torch) == "cpu"


def _fix(install: PythonInstall, flag: str) -> Fix | None:
    """Put the flag behind `install` or `sync`."""
    words = install.call.arguments
    verb = next((word for word in words if word.value in ("install", "sync", "add")), None)
    if verb is None:
        return None
    end = install.call.place(verb).end
    return Fix(f"add {flag}", (Edit(Span(end, end), f" {flag}"),), safe=True)


RULE = Rule("GI701", "package-cache-kept", "warning", check, "safe", ("DL3042",))
