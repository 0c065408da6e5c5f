"""CMake's list of CUDA architectures is written in another grammar, or asks for the builder's GPU.

## Why
CMAKE_CUDA_ARCHITECTURES takes numbers without dots (`86;89-real`), and the words all, all-major and native. `8.6` is no
architecture for nvcc, and `native` asks for the GPU of the building machine: an image build has none.

## Cost
No bytes: the build fails.

## Instead
`-DCMAKE_CUDA_ARCHITECTURES="86;89"`.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN cmake -S /src -B /b -DCMAKE_CUDA_ARCHITECTURES="8.6;8.9" && cmake --build /b
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN cmake -S /src -B /b -DCMAKE_CUDA_ARCHITECTURES="86-real;89" && cmake --build /b
```

## Not judged
Variables of single projects with a grammar of their own, steps with `RUN --device`, and values that only the build knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.facts.runs import Call
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.builds import list_settings

_DEFINE = re.compile(r"['\"]?-DCMAKE_CUDA_ARCHITECTURES(?::\w+)?=(?P<value>.*)", re.DOTALL)
_ENTRY = re.compile(r"\d{2,3}[af]?(-real|-virtual)?|all|all-major|native|OFF")
_DOTTED = re.compile(r"(?:sm_|compute_)?(\d{1,2})\.?(\d)([af]?)(-real|-virtual)?(\+PTX)?")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at the variables, and at the definitions on cmake's command line."""
    for stage in file.stages:
        if not stage.used:
            continue
        for setting in list_settings(file, stage, "CMAKE_CUDA_ARCHITECTURES", "CUDAARCHS"):
            if setting.value and not setting.step.has_device:
                yield from _judge(setting.value, setting.span, setting.step.source[setting.span])
        yield from _defined(file, stage)


def _defined(file: FileFacts, stage: StageFacts) -> Iterator[Hit]:
    for step in stage.steps:
        for call in step.calls if not step.has_device else ():
            if call.name in ("cmake", "ccmake") or "CMAKE_ARGS" in call.assigned:
                yield from _words(call)


def _words(call: Call) -> Iterator[Hit]:
    for argument in call.arguments:
        match = _DEFINE.fullmatch(argument.value or "")
        if match:
            span = call.place(argument)
            yield from _judge(match["value"], span, call.step.source[span])


def _judge(value: str, span: Span, text: str) -> Iterator[Hit]:
    entries = [entry for entry in re.split(r"[;\s,]+", value.strip("'\"")) if entry]
    if "native" in entries:
        yield Hit(
            span,
            "native asks for the GPU of the machine that builds, and an image build has none",
            "name the architectures of the GPUs that are served: 86;89",
        )
    wrong = [entry for entry in entries if not _ENTRY.fullmatch(entry) and "$" not in entry]
    if not wrong:
        if "," in value:
            yield Hit(
                span,
                "CMake parts the architectures by semicolons, not commas",
                "write 86;89",
            )
        return
    better = _better(value)
    yield Hit(
        span,
        f"{wrong[0]} is no architecture for CMake: it takes numbers without dots, and the build fails",
        f"write {better}" if better else "write numbers: 86;89-real",
        fix=_fix(value, better, span, text),
    )


def _better(value: str) -> str | None:
    found = []
    for entry in re.split(r"[;\s,]+", value.strip("'\"").strip(";")):
        if _ENTRY.fullmatch(entry):
            found.append(entry)
            continue
        match = _DOTTED.fullmatch(entry)
        if match is None:
            return None
        found.append(f"{match[1]}{match[2]}{match[3]}{match[4] or ''}")
    return ";".join(found)


def _fix(value: str, better: str | None, span: Span, text: str) -> Fix | None:
    bare = value.strip("'\"")
    if not better or text.count(bare) != 1 or better.count(";") != bare.count(";"):
        return None
    return Fix(f"write {better}", (Edit(span, text.replace(bare, better)),), safe=True)


RULE = Rule("GI408", "cmake-archs", "error", check, "safe")
