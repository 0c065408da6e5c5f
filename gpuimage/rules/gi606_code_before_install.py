"""The application's code is copied before the big install, so every edit repeats it.

## Why
A step is taken from the build cache only while everything before it is unchanged. With `COPY . .` in front of the install,
each edit of the code installs gigabytes of wheels again, and the new layer is pushed and pulled as a whole.

## Cost
No bytes in one image; for a torch with CUDA 4.8 to 7 GB (measured 2026-12) in every push after an edit, and minutes.

## Instead
Copy the requirements or the lock first, install, and copy the code after that.

## Bad
```dockerfile
FROM python:3.12-slim
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir -r requirements.txt torch==2.9.1
```

## Good
```dockerfile
FROM python:3.12-slim
WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt torch==2.9.1
COPY . .
```

## Not judged
Installs of small packages, installs of the copied project itself where its own file is the list, and stages that are not
built.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import Copy, FileFacts, PythonInstall, Wanted
from gpuimage.finding import Hit, Rule
from gpuimage.rules.shared import HEAVY

_WHOLE = frozenset({".", "./", "./.", "*", "./*", "/"})


def check(file: FileFacts) -> Iterator[Hit]:
    """Look for a copy of the whole context before a heavy install."""
    for stage in file.stages:
        if not stage.used:
            continue
        wholes = [
            copy
            for copy in file.copies(stage)
            if not copy.from_ and any(source in _WHOLE for source in copy.sources)
        ]
        if not wholes:
            continue
        first = wholes[0]
        heavy = [
            (install, one)
            for step in stage.steps
            if step.instruction.span.start > first.step.instruction.span.start
            for install in file.python(step)
            for one in install.wanted
            if one.name in HEAVY and not one.from_source and _is_cuda(install)
        ]
        if heavy and not _earlier(file, first):
            yield _hit(first, *heavy[0])


def _is_cuda(install: PythonInstall) -> bool:
    torch = install.find("torch")
    return torch is None or install.variant(torch) != "cpu"


def _earlier(file: FileFacts, first: Copy) -> bool:
    """Whether the heavy install was already done before the code came: a second one then has nothing to do."""
    start = first.step.instruction.span.start
    stage = file.stages[first.step.stage]
    return any(
        one.name in HEAVY
        for install in file.python_of(stage)
        if install.call.span.start < start
        for one in install.wanted
    ) or stage.root.kind in ("pytorch", "ngc-torch")


def _hit(copy: Copy, install: PythonInstall, one: Wanted) -> Hit:
    line = install.call.step.instruction.line
    return Hit(
        copy.span,
        f"the whole context is copied before line {line} installs {one.name}: every edit installs and pushes it again",
        "copy the requirements first, install, then copy the code",
    )


RULE = Rule("GI606", "code-before-install", "note", check)
