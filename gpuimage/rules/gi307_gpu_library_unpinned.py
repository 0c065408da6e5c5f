"""A GPU library is installed without a version.

## Why
torch, vllm and their like move their default CUDA major between releases (torch 2.10 to 2.11: CUDA 12 to 13, torch_wheels.json). A
rebuild without versions may need a newer driver than the hosts have.

## Cost
No bytes: a rebuild that does not run on the same hosts.

## Instead
Exact versions, or a lock or constraint file.

## Bad
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.9.1
```

## Not judged
All other packages; bounds (`torch>=2.6,<2.7`) that keep the release line; lock files, constraints, and versions that come from an
ARG.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, PythonInstall, Wanted
from gpuimage.finding import Hit, Rule
from gpuimage.rules.shared import shipped_steps

_LIBRARIES = frozenset(
    "torch vllm sglang tensorflow jax onnxruntime-gpu flash-attn xformers tensorrt tensorrt-llm cupy-cuda12x cupy-cuda13x "
    "cupy-cuda11x deepspeed triton transformer-engine paddlepaddle-gpu ctranslate2 faster-whisper llama-cpp-python".split()
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every install of a layer that ships."""
    pinned: set[str] = set()
    for stage, step in shipped_steps(file):
        for install in file.python(step):
            found = [
                one
                for one in install.wanted
                if _free(one) and install.variant(one) is None and not _met(install, one, pinned)
            ]
            pinned |= {one.name for one in install.wanted if one.version}
            if (
                stage.root.kind == "rocm"
                or install.constrained
                or install.index == ""
                or any("download.pytorch.org" in one for one in install.extra_indexes)  # GI306 speaks of it
                or install.tool in ("uv-sync", "poetry", "pdm", "pipenv")
            ):
                continue
            if stage.root.kind in ("other", "unknown"):
                # What such a base may hold meets the requirements of a file.
                found = [one for one in found if not one.file]
            if found and not (
                stage.root.kind in ("pytorch", "ngc-torch") and all(one.name == "torch" for one in found)
            ):
                yield _hit(install, found)


def _met(install: PythonInstall, one: Wanted, pinned: set[str]) -> bool:
    """Whether the exact version of an earlier install meets it, so that nothing new comes."""
    return one.name in pinned and not install.given.has("-U", "--upgrade", "--force-reinstall")


def _free(one: Wanted) -> bool:
    if one.name not in _LIBRARIES or one.source or one.locked or one.specifier is None:
        return False
    return "==" not in one.specifier and "<" not in one.specifier and "~=" not in one.specifier


def _hit(install: PythonInstall, found: list[Wanted]) -> Hit:
    names = ", ".join(dict.fromkeys(one.name for one in found))
    where = f" ({found[0].file})" if found[0].file else ""
    return Hit(
        found[0].span,
        f"{names}{where}: no version, so a rebuild may bring another CUDA major that the hosts' driver does not run",
        "name exact versions, or install from a lock or constraint file",
    )


RULE = Rule("GI307", "gpu-library-unpinned", "note", check)
