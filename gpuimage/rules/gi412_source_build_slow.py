"""flash-attn is built in a way that breaks, or that takes hours.

## Why
setup.py of flash-attn imports torch, and its repository has no pyproject.toml that would ask for it: in the isolated
environment that uv makes, and pip since 25.3, the import fails. Where no release wheel fits, it compiles: without ninja one
file after the other, which its README calls hours; and it chooses MAX_JOBS from the cores and the memory of the host, not of
the build's limits.

## Cost
No bytes: time, and a builder that runs out of memory.

## Instead
Install torch, ninja, packaging and setuptools first, then flash-attn with `--no-build-isolation` and MAX_JOBS; or fetch a
release wheel by its URL.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
RUN pip install --no-cache-dir torch==2.6.0
RUN pip install --no-cache-dir flash-attn==2.7.4
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN pip install --no-cache-dir torch==2.8.0 ninja packaging setuptools wheel
ENV FLASH_ATTN_CUDA_ARCHS="80;90" MAX_JOBS=4
RUN pip install --no-cache-dir --no-build-isolation flash-attn==2.8.3
```

## Not judged
Wheels by their URL or from another index, `uv sync` and poetry, whose project file may say it, NGC images, which bring it, and
other projects: many ask for torch themselves.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import Call, FileFacts, PythonInstall, StageFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.compiling import Build, builds, root_of
from gpuimage.rules.shared import built_steps


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every install of flash-attn that pip or uv may compile."""
    for step in built_steps(file):
        if step.instruction.keyword != "RUN" or root_of(file, step).kind in ("ngc-torch", "ngc", "rocm"):
            continue
        for build in builds(file, step):
            if build.row is not None and build.project == "flash-attn":
                yield from _judge(file, build)


def _judge(file: FileFacts, build: Build) -> Iterator[Hit]:
    lacks = _lacks(file, build)
    install = build.install
    if install is not None and not install.no_isolation and not _configured(file, install):
        more = (
            f"; without {' and '.join(lacks)} a build from source takes hours or all memory" if lacks else ""
        )
        yield Hit(
            build.span,
            f"flash-attn imports torch while it is built, and build isolation (uv, pip since 25.3) hides the installed one: the build stops{more}",
            "install torch and ninja first, add --no-build-isolation, and set MAX_JOBS",
            fix=_fix(install),
        )
    elif lacks and (not build.fetched or (build.wanted is not None and build.wanted.from_source)):
        yield Hit(
            build.span,
            f"flash-attn is compiled here without {' and '.join(lacks)}: it takes hours, or as many jobs as the host has cores and their memory",
            "install ninja before, and set MAX_JOBS to what the builder's memory allows",
            severity="note",
        )


def _lacks(file: FileFacts, build: Build) -> list[str]:
    lacks = [] if _has_ninja(file, build) else ["ninja"]
    return (
        lacks
        if build.call.is_set("MAX_JOBS") or "MAX_JOBS" in build.call.step.variables
        else [*lacks, "MAX_JOBS"]
    )


def _has_ninja(file: FileFacts, build: Build) -> bool:
    """Whether ninja is there, or may be."""
    if root_of(file, build.call.step).kind not in ("cuda", "plain", "python"):
        return True
    stage, start = file.stages[build.call.step.stage], build.call.step.instruction.span.start
    found = file.once("ninja", stage.steps[0], lambda: tuple(_ninja(file, stage)))
    return any(at <= start and call is not build.call for at, call in found)


def _ninja(file: FileFacts, stage: StageFacts) -> Iterator[tuple[int, Call | None]]:
    """Where ninja comes in, or may; with the call for which that does not count."""
    for step in stage.chain:
        start = step.instruction.span.start
        for install in file.python(step):
            named = {one.name for one in install.wanted}
            if "ninja" in named or not (install.complete or named):
                yield start, None
            elif not install.complete and any(one.file for one in install.wanted):
                yield start, install.call
        if any(call.find(r"ninja(-build)?") for call in file.system(step)) or any(
            one.find("ninja") for one in file.conda(step)
        ):
            yield start, None


def _configured(file: FileFacts, install: PythonInstall) -> bool:
    """Whether uv is told otherwise by variables or a project's file."""
    if install.tool != "uv":
        return False
    if install.call.is_set("UV_NO_BUILD_ISOLATION") or install.call.is_set("UV_NO_BUILD_ISOLATION_PACKAGE"):
        return True
    root = install.call.absolute(".")
    for name in ("pyproject.toml", "uv.toml"):
        found = file.read(install.call.step, posixpath.join(root, name)) if root else None
        if found is not None and ("no-build-isolation" in found[0] or "extra-build-dependencies" in found[0]):
            return True
    return False


def _fix(install: PythonInstall) -> Fix | None:
    """The option, behind the verb; torch must be there by then, which a person must see to."""
    verb = install.given.words[0]
    place = install.call.place(verb)
    if install.call.step.source[place] != str(verb):
        return None
    return Fix(
        "build it with the installed torch", (Edit(Span(place.end, place.end), " --no-build-isolation"),)
    )


RULE = Rule("GI412", "source-build-slow", "warning", check, fix="suggested")
