"""The whole context is copied, and no .dockerignore leaves out what is large or private.

## Why
`COPY . .` takes everything below the context: `.git`, virtual environments, data, checkpoints, `.env` files. Without a
.dockerignore all of it is sent to the engine and stored in the layer.

## Cost
What lies there; measured for the large entries that are found beside the Dockerfile.

## Instead
Write a .dockerignore (`.git`, `.venv`, `data/`, `*.safetensors` …), or copy by name what the image needs.

## Bad
With a `.git` directory beside it:
```dockerfile
FROM python:3.12-slim
COPY . /app
```

## Good
```dockerfile
FROM python:3.12-slim
COPY src/ /app/
```

## Not judged
Files that are linted without their directory, and contexts in which nothing large or private lies.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Cost, Hit, Rule
from gpuimage.units import size

_ENTRIES = (
    ".git",
    ".venv",
    "venv",
    "node_modules",
    "data",
    "datasets",
    "checkpoints",
    "models",
    "outputs",
    "wandb",
    ".env",
    "__pycache__",
)
_WHOLE = frozenset({".", "./", "./.", "/"})


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every copy of the whole context in a stage that is built."""
    if not file.context.directories:
        return
    for stage in file.stages:
        for copy in file.copies(stage) if stage.used else ():
            if copy.from_ or not any(source in _WHOLE for source in copy.sources):
                continue
            if any(file.context.exists(name) for name in (".dockerignore", "Dockerfile.dockerignore")):
                return
            found = [name for name in _ENTRIES if file.context.holds(name)]
            if not found:
                return
            total = sum(file.context.bytes_of(name) or 0 for name in found)
            cost = (
                Cost(total, total, f"{', '.join(found)} beside the Dockerfile")
                if total >= 10**6 and stage.ships
                else None
            )
            yield Hit(
                copy.span,
                f"{', '.join(found)} ({size(total)}) would be copied too: there is no .dockerignore",
                "write a .dockerignore, or copy by name what the image needs",
                cost,
            )
            return


RULE = Rule("GI607", "context-without-ignore", "note", check)
