"""A cloned source tree stays in the image after it was built and installed.

## Why
A clone brings the whole history unless `--depth` says otherwise, and building leaves objects beside the sources. What was
installed from the tree does not need it any more.

## Cost
0.3 to 10 GB by the project and what it builds (notes on linting, 2026-12); not known here.

## Instead
Clone and build in a stage of its own and copy the result, or delete the tree at the end of the same RUN.

## Bad
```dockerfile
FROM python:3.12-slim
RUN git clone https://github.com/pytorch/vision /src && cd /src && python setup.py install
```

## Good
```dockerfile
FROM python:3.12-slim
RUN git clone --depth 1 https://github.com/pytorch/vision /src && cd /src && pip install --no-cache-dir . && rm -rf /src
```

## Not judged
Stages whose layers do not ship; trees that the image runs from: editable installs, a WORKDIR or command below them.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import Change, FileFacts, StageFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.caches import removes

_INSTALLS = (
    "make install", "ninja install", "cmake --install", "setup.py install", "setup.py bdist_wheel", "pip install .", "pip wheel .",
    "cmake --build",
)  # fmt: skip


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every clone of a layer that ships."""
    for stage in file.targets:
        for step in stage.chain:
            for change in file.changes(step):
                if change.kind == "cloned" and change.path and _left(file, stage, change):
                    yield Hit(
                        change.span,
                        f"the sources in {change.path} stay in the image after they were built and installed"
                        + ("" if "--depth" in change.call.text else ", with their whole history"),
                        "clone with --depth 1 and delete the tree in the same RUN, or build in a stage of its own",
                    )


def _left(file: FileFacts, stage: StageFacts, change: Change) -> bool:
    """Whether the tree is built in this very step, kept, and not what the image runs from."""
    step, path = change.call.step, change.path or ""
    if removes(file, step, change.call, path) or any(mount.covers(path) for mount in step.mounts):
        return False
    inside = [
        call for call in step.calls if call.span.start > change.call.span.start and _in(call.directory, path)
    ]
    built = any(_installs(call.text) for call in inside) or any(
        one.from_source
        and not one.editable
        and _in(install.call.absolute(one.source.partition("[")[0]), path)
        for install in file.python(step)
        for one in install.wanted
    )
    return built and not _needed(file, stage, path)


def _installs(text: str) -> bool:
    if text.startswith("make") and " install" in text:
        return True
    return any(one in text for one in _INSTALLS) and not any(
        word in text for word in (" -e ", "--editable", "develop")
    )


def _in(where: str | None, path: str) -> bool:
    return where is not None and (where + "/").startswith(path.rstrip("/") + "/")


def _needed(file: FileFacts, stage: StageFacts, path: str) -> bool:
    """Whether something later works in the tree, or is installed from it without being copied."""
    if _in(stage.end.workdir, path):
        return True
    for step in stage.chain:
        if step.instruction.keyword in ("CMD", "ENTRYPOINT", "ENV") and path in step.instruction.arguments:
            return True
        for install in file.python(step):
            if any(one.editable for one in install.wanted):
                return True
    return False


RULE = Rule("GI605", "build-tree-kept", "warning", check)
