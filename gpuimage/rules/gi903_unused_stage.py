"""A stage that no other stage uses and that nobody can ask for by a name of its own.

## Why
BuildKit builds what the last stage, or the one of `--target`, needs; any other stage is skipped. One without a name, or
named as a builder, from which nothing is copied is left over, or its `COPY --from` was forgotten.

## Cost
No bytes: the stage is not built, or the image lacks what it makes.

## Instead
Take the stage away, or copy from it.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN make
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
CMD ["/app"]
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04 AS build
RUN make
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
COPY --from=build /app /app
CMD ["/app"]
```

## Not judged
Stages with a name of their own, which may be a `--target` (test, dev, cpu …), files where a `--from` hangs on a
variable, and runs with `--target`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.facts import FileFacts, Mount
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern

_BUILDER = pattern(r"(builder|build|build[-_](env|stage)|compile|compiler|builder[-_]?base)")


def check(file: FileFacts) -> Iterator[Hit]:
    """The leaves that are not the last stage."""
    if file.settings.target or len(file.stages) < 2 or _hidden(file):
        return
    used = {stage.parent for stage in file.stages if stage.parent is not None}
    for stage in file.stages:
        used |= {copy.from_stage for copy in file.copies(stage) if copy.from_stage is not None}
        for step in stage.steps:
            used |= _mounted(file, step.mounts) if step.instruction.flags else set()
    for stage in file.stages[:-1]:
        name = stage.stage.name
        if stage.index in used or (name and not _BUILDER.fullmatch(name)):
            continue
        head = stage.stage.head
        yield Hit(
            head.values[-1].span if head.values else head.keyword_span,
            f"nothing uses the stage {name or 'that begins here'}, and it is not the last one: it is not built, and nothing "
            "of it reaches the image",
            "take it away, or copy from it what it makes",
        )


def _hidden(file: FileFacts) -> bool:
    """Whether a `--from` is made of variables, or stands behind ONBUILD."""
    for one in file.dockerfile.instructions:
        if one.onbuild and "from=" in file.source[one.span]:
            return True
        for flag in one.flags:
            if (
                flag.value
                and "$" in flag.value
                and "from" in (flag.name, *re.findall(r"\bfrom\b", flag.value))
            ):
                return True
    return "{{" in file.source.text or "{%" in file.source.text


def _mounted(file: FileFacts, mounts: tuple[Mount, ...]) -> set[int]:
    found = (file.dockerfile.find(mount.from_) for mount in mounts if mount.from_)
    return {index for index in found if index is not None}


RULE = Rule("GI903", "unused-stage", "note", check)
