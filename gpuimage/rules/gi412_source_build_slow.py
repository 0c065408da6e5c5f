"""flash-attn or its like is built in a way that fails or takes hours.

## Why
flash-attn's setup imports torch, and in pip's isolated build environment there is none: the build stops unless
`--no-build-isolation` is given. It looks for a release wheel first; where none fits it compiles, with as many jobs as the
host's cores allow unless MAX_JOBS says otherwise, and one job can take 5 GB (flash-attention setup.py, read at 0251105).

## Cost
No bytes: hours of building, or a machine that runs out of memory.

## Instead
Install torch, ninja, packaging, setuptools and wheel first, then `pip install --no-build-isolation flash-attn` with MAX_JOBS
set, or take the release wheel by its URL.

## Bad
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
RUN pip install --no-cache-dir flash-attn==2.8.3
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
RUN pip install --no-cache-dir ninja packaging setuptools wheel
RUN MAX_JOBS=4 pip install --no-cache-dir --no-build-isolation flash-attn==2.8.3
```

## Not judged
Wheels by URL or file, `--only-binary`, and projects whose build needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, PythonInstall, StageFacts, Wanted
from gpuimage.finding import Hit, Rule
from gpuimage.rules.builds import has_torch

# Projects whose setup.py imports torch (read in their sdists or repositories).
_IMPORTS_TORCH = frozenset(
    {"flash-attn", "flash-attention", "causal-conv1d", "mamba-ssm", "apex", "grouped-gemm"}
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every install of such a project."""
    for stage in file.stages:
        for step in stage.steps if stage.used else ():
            for install in file.python(step):
                for wanted in install.wanted:
                    if (
                        wanted.name in _IMPORTS_TORCH
                        and not wanted.source.endswith(".whl")
                        and not wanted.locked
                    ):
                        yield from _judge(file, stage, install, wanted)


def _judge(file: FileFacts, stage: StageFacts, install: PythonInstall, wanted: Wanted) -> Iterator[Hit]:
    if install.given.has("--only-binary") or install.tool not in ("pip", "uv"):
        return
    jobs = install.call.is_set("MAX_JOBS")
    if not install.no_isolation:
        more = (
            ""
            if jobs
            else "; MAX_JOBS is not set either, so a build takes all cores and several GB of memory for each"
        )
        yield Hit(
            wanted.span,
            f"{wanted.name} imports torch while it is built, and pip's isolated build environment has none{more}",
            "install torch and ninja first, add --no-build-isolation and set MAX_JOBS",
        )
        return
    forced = (
        install.call.is_set("FLASH_ATTENTION_FORCE_BUILD")
        or wanted.from_source
        or install.given.has("--no-binary")
    )
    ninja = any(one.find("ninja") for one in file.python_of(stage)) or any(
        c.find("ninja-build") for c in file.system_of(stage)
    )
    known = has_torch(file, stage, install.call) is not None and stage.root.kind not in (
        "ngc-torch",
        "pytorch",
    )
    if not ninja and known and forced:
        yield Hit(
            wanted.span,
            f"{wanted.name} is compiled without ninja: one file after the other, which takes hours",
            "install ninja before",
            severity="note",
        )
    elif forced and not jobs:
        yield Hit(
            wanted.span,
            f"{wanted.name} is compiled on all cores of the builder, and each job can take several GB of memory",
            "set MAX_JOBS",
            severity="note",
        )


RULE = Rule("GI412", "source-build-slow", "warning", check)
