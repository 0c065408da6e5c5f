"""FROM uses a build argument that is not declared in front of the first FROM.

## Why
FROM sees only the ARGs that stand before the first FROM; one that is declared inside a stage ends with that stage.
What is not declared is empty text, so the reference becomes another one or none at all (Dockerfile reference, how ARG
and FROM interact; BuildKit's check UndefinedArgInFrom).

## Cost
No bytes: the build fails, or stands on another image.

## Instead
Declare it in front of the first FROM; a stage that needs its value too says `ARG NAME` again.

## Bad
```dockerfile
FROM python:3.12-slim AS assets
ARG CUDA=12.8.1
RUN echo ${CUDA}
FROM nvidia/cuda:${CUDA}-base-ubuntu22.04
COPY --from=assets /a /a
```

## Good
```dockerfile
ARG CUDA=12.8.1
FROM python:3.12-slim AS assets
ARG CUDA
RUN echo ${CUDA}
FROM nvidia/cuda:${CUDA}-base-ubuntu22.04
COPY --from=assets /a /a
```

## Not judged
Arguments that are declared without a default (they come with the build), those of the platform (TARGETARCH …), and uses
with a default of their own (`${TAG:-1}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.reference import ImageReference, ReferenceSyntaxError


def check(file: FileFacts) -> Iterator[Hit]:
    """Each variable of each FROM."""
    for stage in file.stages:
        for name in dict.fromkeys(stage.undefined):
            if "{{" in stage.stage.image:
                continue
            declared = _declared(file, stage, name)
            inside = " (the ARG inside a stage ends with that stage)" if declared is not None else ""
            yield Hit(
                _place(file, stage, name),
                f"{name} is not declared in front of the first FROM{inside}: it is empty here, and "
                f"{_what_follows(stage)}",
                f"ARG {name}{'=' + declared if declared else ''} in front of the first FROM",
                fix=_fix(file, name, declared),
                severity="error" if _broken(stage) else "warning",
            )


def _broken(stage: StageFacts) -> bool:
    """Whether what is left is no reference at all."""
    if stage.parent is not None or stage.base is None:
        return False
    try:
        ImageReference.parse(stage.base)
    except ReferenceSyntaxError:
        return True
    return False


def _what_follows(stage: StageFacts) -> str:
    if _broken(stage):
        return (
            f"`{stage.base}` is no image, so the build fails"
            if stage.base
            else "the build has no image to begin with"
        )
    return f"the stage stands on {stage.base}" if stage.base else "the stage stands on another image"


def _declared(file: FileFacts, stage: StageFacts, name: str) -> str | None:
    """The default that an ARG inside an earlier stage gives it; None where there is no such ARG."""
    for earlier in file.stages[: stage.index]:
        for step in earlier.steps:
            if step.instruction.keyword == "ARG":
                for word in step.instruction.texts:
                    if word.partition("=")[0] == name:
                        return word.partition("=")[2]
    return None


def _place(file: FileFacts, stage: StageFacts, name: str) -> Span:
    """The variable in the image's name."""
    head = stage.stage.head
    span = head.values[0].span
    match = re.search(rf"\$(?:\{{{re.escape(name)}\b[^}}]*\}}|{re.escape(name)}\b)", file.source[span])
    return Span(span.start + match.start(), span.start + match.end()) if match else span


def _fix(file: FileFacts, name: str, declared: str | None) -> Fix | None:
    """Declare it in front, with the default that the stage's own ARG has."""
    if not declared or "$" in declared:
        return None
    start = file.stages[0].stage.head.span.start
    return Fix(
        f"declare {name} in front of the first FROM", (Edit(Span(start, start), f"ARG {name}={declared}\n"),)
    )


RULE = Rule("GI902", "undefined-arg-in-from", "error", check, fix="suggested")
