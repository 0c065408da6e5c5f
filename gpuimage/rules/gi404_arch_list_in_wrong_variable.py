"""The architectures are given in a variable that this project does not read.

## Why
A project that passes its own `-gencode` options never looks at TORCH_CUDA_ARCH_LIST. flash-attn reads
FLASH_ATTN_CUDA_ARCHS since 2.7.3 (default `80;90;100;110;120`), Transformer Engine NVTE_CUDA_ARCHS, tiny-cuda-nn
TCNN_CUDA_ARCHITECTURES, fused-ssim CUDA_ARCHITECTURES (their build scripts, read 2026-12). The list that was meant to save
time changes nothing, and every default architecture is compiled: with flash-attn that takes hours.

## Cost
No bytes known: the time of the build, and code for cards that are not there.

## Instead
Set the project's own variable, in its own spelling: numbers without dots.

## Bad
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="9.0" FLASH_ATTENTION_FORCE_BUILD=TRUE MAX_JOBS=8
RUN pip install --no-cache-dir --no-build-isolation flash-attn==2.8.3
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV FLASH_ATTN_CUDA_ARCHS="90" FLASH_ATTENTION_FORCE_BUILD=TRUE MAX_JOBS=8
RUN pip install --no-cache-dir --no-build-isolation flash-attn==2.8.3
```

## Not judged
Finished wheels (where one may be found it is a note), versions before the variable, steps where both are set, and projects whose
variable changed between versions (NATTEN).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.arch_lists import FLASH, TORCH, given, torch_list
from gpuimage.rules.compiling import Build, builds, root_of, scope, stage_builds
from gpuimage.rules.shared import built_steps


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every build of a project with a variable of its own."""
    if TORCH not in file.source.text:
        return
    for step in built_steps(file):
        for build in builds(file, step):
            own = build.variable if build.archs == "own" else None
            if own is None or not build.call.is_set(TORCH) or _before(build):
                continue
            if build.fetched and _others(file, build):
                continue  # the list is for them
            if scope(build.call, root_of(file, step), own) is False:
                yield _hit(file, build, own)


def _others(file: FileFacts, build: Build) -> bool:
    """Whether the list has a reader in the same stage."""
    stage = file.stages[build.call.step.stage]

    def read() -> Iterator[bool]:
        yield any(other.archs in ("", "list", "default") for other in stage_builds(file, stage))

    return file.once("readers", stage.steps[0], lambda: tuple(read()))[0]


def _before(build: Build) -> bool:
    """Whether the version that is asked for does not read the variable yet."""
    since, version = (
        build.row["variable_since"] if build.row else None,
        build.wanted.public if build.wanted else None,
    )
    if not since or not version:
        return False
    numbers = [[int(part) for part in text.split(".")[:3] if part.isdigit()] for text in (version, since)]
    return numbers[0] < numbers[1]


def _hit(file: FileFacts, build: Build, own: str) -> Hit:
    value = build.call.variable(TORCH)
    better = _translated(value, own) if isinstance(value, str) else None
    required = build.row is not None and build.row["required"]
    follows = (
        "the build stops, as it sees no GPU to ask"
        if required
        else "all its default architectures are compiled"
    )
    return Hit(
        build.span,
        f"{build.project} does not read TORCH_CUDA_ARCH_LIST but {own}: the list is ignored and {follows}",
        f'set {own}="{better}"' if better else f"set {own}, numbers without dots",
        fix=_fix(file, build, own, better),
        severity="error" if required else "note" if build.fetched else None,
    )


def _translated(value: str, own: str) -> str | None:
    """The same architectures in the project's spelling."""
    found = torch_list(value)
    if found is None:
        return None
    if own == FLASH:
        return None if found.flash_attn_leaves_out() else found.flash_attn()
    return ";".join(one.number for one in found.capabilities)


def _fix(file: FileFacts, build: Build, own: str, better: str | None) -> Fix | None:
    """Beside the list in its ENV, the variable that is read."""
    if better is None or own in build.call.step.variables:
        return None
    start = build.call.span.start
    for one in given(file, TORCH):
        if (
            one.kind == "env"
            and one.exact
            and one.span.end <= start
            and one.step.stage == build.call.step.stage
        ):
            at = one.span.end + len(one.quote)
            edit = _beside(file, one.span.start - len(one.quote), at, f'{own}="{better}"')
            return Fix(f"set {own} too", (edit,)) if edit else None
    return None


def _beside(file: FileFacts, start: int, end: int, pair: str) -> Edit | None:
    """The edit that puts another pair behind one; the old form `ENV NAME value` takes none."""
    return Edit(Span(end, end), f" {pair}") if file.source.text[start - 1 : start] == "=" else None


RULE = Rule("GI404", "arch-list-in-wrong-variable", "warning", check, fix="suggested")
