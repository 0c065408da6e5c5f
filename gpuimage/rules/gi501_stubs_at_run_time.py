"""The toolkit's stub of libcuda is on the library path of the image.

## Why
`…/stubs/libcuda.so` is there to link against on machines without a driver; it holds no code. The real library comes
from the host when the container starts, and LD_LIBRARY_PATH as well as directories of ld.so.conf are searched before
the place where it is put. A program that finds the stub first gets CUDA_ERROR_STUB_LIBRARY (34) (NVIDIA/warp#219,
NVIDIA/nvidia-container-toolkit#668).

## Cost
No bytes: the GPU cannot be used.

## Instead
Name the directory where it is needed only: `LIBRARY_PATH` for the linker (devel images set it), or a variable in front
of the command that builds. Take a link named libcuda.so.1 away again in the same RUN.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
ENV LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs:${LD_LIBRARY_PATH}
COPY app /app
CMD ["/app/run"]
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
COPY app /app
RUN LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs make -C /app
CMD ["/app/run"]
```

## Not judged
Stages that do not ship, variables that hold for one RUN, `LIBRARY_PATH`, links within the stubs directory itself, and
`ldconfig DIRECTORY`, whose effect ends when the container starts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gpuimage.facts import Call, FileFacts, StageFacts, covers
from gpuimage.facts.options import options
from gpuimage.finding import Edit, Fix, Hit, Rule, Severity
from gpuimage.patterns import pattern
from gpuimage.rules.environment import Part, Setting, offset_in, settings
from gpuimage.rules.shared import shipped_steps
from gpuimage.rules.toolkits import toolkit

_STUBS = pattern(r"(?i)(cuda|nvidia|/lib(64)?/).*\bstubs/?$|/lib(64)?/stubs/?$")
_VARIABLE = "LD_LIBRARY_PATH"


def check(file: FileFacts) -> Iterator[Hit]:
    """The environment of each image, then files and links that its RUNs leave."""
    if "stubs" not in file.source.text:
        return
    for stage in file.targets:
        yield from _environment(file, stage)
    for stage, step in shipped_steps(file):
        if step.instruction.keyword == "RUN" and "stubs" in file.source[step.instruction.span]:
            for call in step.calls:
                yield from _configured(file, stage, call)
                yield from _linked(file, stage, call)


def _environment(file: FileFacts, stage: StageFacts) -> Iterator[Hit]:
    """The elements of LD_LIBRARY_PATH that are left at the end."""
    found: list[tuple[Setting, Part]] = []
    for setting in settings(stage, _VARIABLE):
        if not setting.uses(_VARIABLE):
            found.clear()
        found += ((setting, part) for part in setting.parts(":") if _is_stubs(part))
    # Without a toolkit there are no stubs to be found.
    severity: Severity | None = "note" if toolkit(file, stage.end).present is False else None
    for setting, part in found:
        yield Hit(
            part.span,
            f"{part.value or part.raw} on LD_LIBRARY_PATH: a program that finds the toolkit's empty libcuda there, before "
            "the driver's, stops with CUDA_ERROR_STUB_LIBRARY (34)",
            "leave it out; for linking, LIBRARY_PATH or a variable of the one RUN is enough",
            fix=_without(stage, setting, part),
            severity=severity,
        )


def _is_stubs(part: Part) -> bool:
    return "stubs" in part.raw and _STUBS.search(part.value or part.raw) is not None


def _without(stage: StageFacts, setting: Setting, part: Part) -> Fix | None:
    """Drop the element with one colon; where nothing would be left, there is no fix."""
    text, one = setting.text, setting.step.instruction
    offset = offset_in(one, setting.given.span)
    if text[part.end : part.end + 1] == ":":
        start, end = part.start, part.end + 1
    elif part.start and text[part.start - 1] == ":":
        start, end = part.start - 1, part.end
    else:
        return None
    span = one.place(offset + start, offset + end)
    if len(span) != end - start:  # a continued line lies between
        return None
    linked = stage.root.flavor == "devel" or not any(
        step.instruction.keyword == "RUN" and step.instruction.line > one.line for step in stage.chain
    )
    return Fix("take the stubs off LD_LIBRARY_PATH", (Edit(span, ""),), safe=linked)


def _configured(file: FileFacts, stage: StageFacts, call: Call) -> Iterator[Hit]:
    """`echo …/stubs > /etc/ld.so.conf.d/x.conf`."""
    if call.name not in ("echo", "printf"):
        return
    word = next((one for one in call.arguments if _STUBS.search(str(one).strip())), None)
    path = _written(call)
    if word is not None and path is not None and not _removed(file, stage, call, path):
        yield Hit(
            call.place(word),
            f"the stubs directory goes into {path}: the loader prefers the empty libcuda of the toolkit to the driver's, "
            "and programs stop with CUDA_ERROR_STUB_LIBRARY (34)",
            "leave it out; for linking, LIBRARY_PATH is enough",
            severity="error",
        )


def _written(call: Call) -> str | None:
    """The file of the loader's configuration that takes a command's output, by redirection or `| tee`."""
    for redirection in call.program.command.redirections:
        if redirection.operator.endswith((">", ">|")) and "ld.so.conf" in str(redirection.target):
            return call.absolute(str(redirection.target))
    found = iter(call.step.calls)
    for one in found:
        if one is call:
            following = next(found, None)
            if following is not None and following.name == "tee" and following.program.command.before == "|":
                return next((v for v in following.values if "ld.so.conf" in v), None)
    return None


def _linked(file: FileFacts, stage: StageFacts, call: Call) -> Iterator[Hit]:
    """`ln -s …/stubs/libcuda.so /usr/lib/libcuda.so.1`, also by cp."""
    if call.name not in ("ln", "cp"):
        return
    words = options(call.arguments, frozenset({"-t"})).words
    if len(words) < 2:
        return
    target = call.absolute(str(words[-1]))
    for word in words[:-1]:
        source = str(word)
        if not re.search(r"\bstubs/lib(cuda|nvidia-ml)\.so", source) or target is None:
            continue
        place = (
            target
            if ".so" in posixpath.basename(target)
            else posixpath.join(target, posixpath.basename(source))
        )
        if (
            not place.endswith(".so.1")
            or "$" in place
            or "/stubs/" in place
            or _removed(file, stage, call, place)
        ):
            continue
        yield Hit(
            call.place(word),
            f"{place} is the toolkit's empty library, not the driver's: a program that finds it stops with "
            "CUDA_ERROR_STUB_LIBRARY (34)",
            "take the link away in the same RUN once the build is done, or link with -L…/stubs",
            severity="error",
        )


def _removed(file: FileFacts, stage: StageFacts, call: Call, path: str) -> bool:
    """Whether a later command of the image takes a path away."""
    start = call.span.start
    return any(
        one.kind == "removed" and one.path is not None and one.span.start > start and covers(one.path, path)
        for step in stage.chain
        if step.instruction.span.end > start
        for one in file.changes(step)
    )


RULE = Rule("GI501", "stubs-at-run-time", "warning", check, fix="safe")
