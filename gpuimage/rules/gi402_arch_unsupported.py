"""An architecture is asked for that the nvcc of this CUDA does not take.

## Why
Each toolkit compiles for a range of architectures: 12.0 (RTX 50) needs CUDA 12.8, everything below 7.5 went with 13.0,
3.5 and 3.7 with 12.0. nvcc stops with `Unsupported gpu architecture`. The ranges come from the `ptxas` of each release,
which was run for them (cuda_releases.json, 2026-12). flash-attn does not stop: its setup.py leaves out what the toolkit
is too old for, and the wheel has no code for those cards.

## Cost
No bytes: the build fails, often after a long time.

## Instead
Drop the architecture, or take the CUDA that has it.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
ENV TORCH_CUDA_ARCH_LIST="9.0;12.0+PTX"
RUN pip install --no-cache-dir --no-build-isolation git+https://github.com/x/ext@v1
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
ENV TORCH_CUDA_ARCH_LIST="9.0;12.0+PTX"
RUN pip install --no-cache-dir --no-build-isolation git+https://github.com/x/ext@v1
```

## Not judged
Stages without nvcc, or whose CUDA only the build knows, two toolkits in one stage, and options that a Makefile or a
script holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpuimage.arch import ComputeCapability
from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, Step
from gpuimage.finding import Fix, Hit, Rule, Severity
from gpuimage.patterns import pattern
from gpuimage.rules.arch_lists import (
    CMAKE,
    FLASH,
    TEXT_TOOLS,
    TORCH,
    Given,
    capability,
    cmake_entries,
    cmake_entry,
    given,
    nvcc_names,
    rewrite,
    stages_with,
    support,
    toolkits,
    torch_list,
    when,
)
from gpuimage.rules.compiling import inner, stage_builds
from gpuimage.rules.environment import settings_of
from gpuimage.rules.shared import built_steps
from gpuimage.rules.toolkits import toolkit
from gpuimage.tables import NvccSupport

_NVCC_OPTION = pattern(r"arch=compute_|-arch[= ]sm_|-code=sm_|gpu-architecture|gpu-code")


def check(file: FileFacts) -> Iterator[Hit]:
    """Hold every list and every nvcc option against the toolkit of its stage."""
    for one in given(file, TORCH, FLASH, CMAKE, "CUDAARCHS"):
        yield from _list(file, one)
    if "compute_" in file.source.text or "sm_" in file.source.text:
        for step in built_steps(file):
            yield from _options(file, step)


def _list(file: FileFacts, one: Given) -> Iterator[Hit]:
    if one.value is None:
        return
    for tools in toolkits(file, one):
        takes = support(tools)
        bad = _refused(one, takes) if takes is not None else []
        if takes is not None and bad:
            yield _hit(file, one, takes, bad)
            return


def _refused(one: Given, takes: NvccSupport) -> list[tuple[str, ComputeCapability]]:
    """The entries that a toolkit does not take, as written."""
    if one.name == TORCH:
        found = torch_list(one.value)
        return (
            [(e.capability.dotted, e.capability) for e in found.entries if e.capability not in takes.real]
            if found
            else []
        )
    if one.name == FLASH:
        archs = [(text, capability(text)) for text in (one.value or "").split(";")]
        return [(text, arch) for text, arch in archs if arch is not None and arch not in takes.real]
    bad: list[tuple[str, ComputeCapability]] = []
    for text in cmake_entries(one.value or ""):
        entry = cmake_entry(text)
        if entry is not None:
            known = takes.virtual if entry[1] == "virtual" else takes.real
            bad += [(text, entry[0])] if entry[0] not in known else []
    return bad


def _hit(file: FileFacts, one: Given, takes: NvccSupport, bad: list[tuple[str, ComputeCapability]]) -> Hit:
    names = " and ".join(text for text, _ in bad)
    if one.name == FLASH:
        return Hit(
            one.span,
            f"flash-attn leaves out {names} without a word, as nvcc of CUDA {takes.cuda} does not take it: the wheel has no code for those cards",
            _help(bad),
            severity="warning",
        )
    return Hit(
        one.span,
        f"nvcc of CUDA {takes.cuda} does not take {names}, and the build stops with an unsupported architecture",
        _help(bad),
        fix=_fix(one, bad),
        severity=_severity(file, one, takes),
    )


def _help(bad: Iterable[tuple[str, ComputeCapability]]) -> str:
    said = [f"for {text} {told}" for text, arch in bad if (told := when(arch))]
    return "drop it, or change the CUDA version" + (": " + ", ".join(said) if said else "")


def _severity(file: FileFacts, one: Given, takes: NvccSupport) -> Severity:
    """A list that nothing here reads may still be read at run time; what vLLM and PyTorch build drops what is too old."""
    if not takes.verified:
        return "warning"
    if one.name != TORCH or one.kind != "env":
        return "error"
    seen = [build for stage in stages_with(file, one) for build in stage_builds(file, stage)]
    return "error" if any(build.archs != "default" for build in seen) else "warning"


def _fix(one: Given, bad: list[tuple[str, ComputeCapability]]) -> Fix | None:
    """Without the entries that are refused, if any is left."""
    if not one.exact or one.value is None:
        return None
    separator = ";" if ";" in one.value else " "
    gone = {text for text, _ in bad}
    kept = [part for part in re.split(r"[; ]", one.value) if part and part.removesuffix("+PTX") not in gone]
    if not kept or len(kept) == len(re.split(r"[; ]", one.value)):
        return None
    edit = rewrite(one, separator.join(kept))
    return Fix(f"drop {' and '.join(sorted(gone))}", (edit,)) if edit else None


def _options(file: FileFacts, step: Step) -> Iterator[Hit]:
    """The `-gencode arch=compute_90,code=sm_90` of nvcc and of what hands options on to it."""
    if (
        step.instruction.keyword not in ("RUN", "ENV")
        or step.instruction.onbuild
        or not _NVCC_OPTION.search(file.source[step.instruction.span])
    ):
        return
    takes = support(toolkit(file, step))
    if takes is None:
        return
    for text, span in _texts(file, step):
        if re.search(r"\\\$|\$\(|`", text):
            continue
        bad = [
            (name, arch)
            for name, virtual, arch in nvcc_names(text)
            if arch not in (takes.virtual if virtual else takes.real)
        ]
        if bad:
            names = " and ".join(dict.fromkeys(name for name, _ in bad))
            yield Hit(
                span,
                f"nvcc of CUDA {takes.cuda} does not take {names}, and the build stops with an unsupported architecture",
                _help({arch: (name, arch) for name, arch in bad}.values()),
                severity=None if takes.verified else "warning",
            )


def _texts(file: FileFacts, step: Step) -> Iterator[tuple[str, Span]]:
    if step.instruction.keyword == "ENV":
        for setting in settings_of(step):
            if _NVCC_OPTION.search(setting.text) and setting.value is not None:
                yield setting.value, setting.given.span
        return
    for call in step.calls:
        if call.name in TEXT_TOOLS or call.tolerated:
            continue
        for at, argument in enumerate(call.arguments):
            text = str(argument)
            option = _NVCC_OPTION.search(text)
            behind = (
                call.name == "nvcc"
                and at
                and str(call.arguments[at - 1]) in ("-arch", "-code", "--gpu-architecture", "--gpu-code")
            )
            if (option or behind) and argument.value is not None:
                yield text, inner(file, call, argument, text)


RULE = Rule("GI402", "arch-unsupported", "error", check, fix="suggested")
