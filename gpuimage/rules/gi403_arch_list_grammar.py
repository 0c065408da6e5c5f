"""A list of architectures that its reader does not understand.

## Why
TORCH_CUDA_ARCH_LIST holds capabilities with a dot (`8.6`, `9.0a`) or names (`Ampere`), each with `+PTX` or without, parted
by one semicolon or one space. Commas, `sm_80`, `80`, an empty entry and `9.0f` raise `ValueError: Unknown CUDA arch`
(torch 2.9.1 and 2.14.1, tried 2026-12). flash-attn compares the entries of FLASH_ATTN_CUDA_ARCHS with fixed texts (`80`,
`90` …) and leaves out every other one without a word (its setup.py).

## Cost
No bytes: the build fails, or the wheel has no code for the card.

## Instead
`TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"`, `FLASH_ATTN_CUDA_ARCHS="80;90"`.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
ENV TORCH_CUDA_ARCH_LIST="sm_80,sm_90"
RUN pip install --no-cache-dir --no-build-isolation git+https://github.com/x/ext@v1
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0"
RUN pip install --no-cache-dir --no-build-isolation git+https://github.com/x/ext@v1
```

## Not judged
Values that only the build knows, the words `All`, `Common` and `Auto` where CMake may read the list, CMake's own variables
(GI408), and projects that read the list in their own loose way (SageAttention).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.arch import ArchError, ArchList
from gpuimage.facts import FileFacts
from gpuimage.finding import Fix, Hit, Rule
from gpuimage.rules.arch_lists import FLASH, TORCH, Given, given, rewrite, stages_with
from gpuimage.rules.compiling import Build, builds, stage_builds

# Words that CMake's half of PyTorch takes where its extension builder does not.
_CMAKE_WORDS = frozenset({"all", "common", "auto"})
_FLASH_NUMBERS = frozenset({"80", "90", "100", "110", "120"})


def check(file: FileFacts) -> Iterator[Hit]:
    """Read every list as its reader does."""
    for one in given(file, TORCH, FLASH):
        if one.value is None or not one.value.strip():
            continue
        found = _torch(file, one) if one.name == TORCH else _flash(one)
        if found is not None:
            yield found


def _torch(file: FileFacts, one: Given) -> Hit | None:
    value = one.value or ""
    readers = list(_readers(file, one))
    if readers and all(build.row is not None and build.row["reads_loosely"] for build in readers):
        return None
    try:
        refused = ArchList.parse(value).refused_by_torch()
    except ArchError as error:
        words = {part.lower() for part in re.split(r"[; ]", value)}
        if words & _CMAKE_WORDS and not any(build.archs == "list" for build in readers):
            return None
        better = _repaired(error)
        edit = rewrite(one, better) if better else None
        return Hit(
            one.span,
            f"torch's extension builder stops at this list: {error.reason}",
            error.hint or 'write it like "8.0;9.0+PTX"',
            fix=Fix(f"write {better}", (edit,), safe=True) if edit and better else None,
            severity=None if _certain(error, readers) else "warning",
        )
    odd = [
        entry.capability.dotted
        for entry in refused
        if entry.capability.suffix == "f" or entry.capability.dotted == "8.8"
    ]
    if not odd or not any(build.archs != "default" for build in readers):
        return None
    return Hit(
        one.span,
        f"torch's extension builder knows no {' and '.join(odd)}, as of torch 2.14: it raises ValueError",
        f"write {' and '.join(text.rstrip('f') for text in odd if text != '8.8') or '8.6 or 8.9'}",
        severity="warning",
    )


def _readers(file: FileFacts, one: Given) -> Iterator[Build]:
    """The builds that may read a list."""
    if one.kind in ("assign", "export") and one.call is not None:
        yield from builds(file, one.step)
        return
    for stage in stages_with(file, one):
        yield from stage_builds(file, stage)


def _certain(error: ArchError, readers: list[Build]) -> bool:
    """What is only newer than the tables may be known to a newer torch."""
    return "newer than" not in error.reason and (
        not readers or any(build.archs != "own" for build in readers)
    )


def _repaired(error: ArchError) -> str | None:
    """The list that was meant, where the parser is certain of it."""
    match = re.fullmatch(r'write "([^"]+)"', error.hint or "")
    return match[1] if match else None


def _flash(one: Given) -> Hit | None:
    parts = (one.value or "").split(";")
    odd = [part for part in parts if part not in _FLASH_NUMBERS]
    if not odd:
        return None
    try:
        better = ArchList.parse(
            ";".join(
                re.sub(r"^(\d+)(\d)$", r"\1.\2", p.strip())
                for p in re.split(r"[;,\s]+", one.value or "")
                if p
            )
        ).flash_attn()
    except ArchError:
        better = ""
    edit = rewrite(one, better) if better else None
    shown = " and ".join(repr(part) for part in odd)
    return Hit(
        one.span,
        f"flash-attn leaves out {shown} without a word: it compares each entry with {', '.join(sorted(_FLASH_NUMBERS, key=int))}",
        f'write "{better}"; the code for 80 serves every 8.x' if better else 'write it like "80;90"',
        fix=Fix(f"write {better}", (edit,)) if edit else None,
        severity="warning",
    )


RULE = Rule("GI403", "arch-list-grammar", "error", check, fix="safe")
