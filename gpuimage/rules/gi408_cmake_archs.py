"""CMake is told its CUDA architectures in a way that it does not understand.

## Why
CMAKE_CUDA_ARCHITECTURES, and CUDAARCHS in the environment, hold numbers without dots, each with `-real`, `-virtual` or
nothing behind it, parted by semicolons; or one of `all`, `all-major`, `native`, `OFF` (the CMake manual, CUDA_ARCHITECTURES).
Dots and `sm_86` reach nvcc as `compute_8.6`, which it refuses (ggml-org/llama.cpp#18430, colmap/colmap#1822). `native` asks
the building machine for its GPU, and an image build has none (leejet/stable-diffusion.cpp#1464). A semicolon that no quotes
hold ends the shell's command.

## Cost
No bytes: the build fails, or serves whatever card the builder had.

## Instead
`-DCMAKE_CUDA_ARCHITECTURES="86;89"`, in quotes.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN cmake -S /src -B /b -DCMAKE_CUDA_ARCHITECTURES="8.6;8.9" && cmake --build /b
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-devel-ubuntu22.04
RUN cmake -S /src -B /b -DCMAKE_CUDA_ARCHITECTURES="86;89" && cmake --build /b
```

## Not judged
Values that only the build knows, what a CMakeLists.txt sets, and the variables of single projects: CUDA_ARCH_BIN of OpenCV
wants dots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.arch import ArchError, ArchList
from gpuimage.dockerfile import Span
from gpuimage.facts import Call, FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.arch_lists import CMAKE, CMAKE_WORDS, Given, cmake_entries, cmake_entry, given, rewrite
from gpuimage.rules.shared import built_steps

_NUMBER = pattern(r"[1-9][0-9]{1,2}[af]?(-real|-virtual)?")
_SPELLING = pattern(
    r"(?:sm_|compute_)?(?P<major>[1-9][0-9]?)\.?(?P<minor>[0-9])(?P<suffix>[af]?)(?P<kind>-real|-virtual)?"
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Read every list as CMake does."""
    for one in given(file, CMAKE, "CUDAARCHS"):
        if one.value and one.value.strip():
            yield from _judge(one, one.value)
    if CMAKE in file.source.text:
        for step in built_steps(file):
            yield from _cut(file, step.calls)


def _judge(one: Given, value: str) -> Iterator[Hit]:
    if "native" in cmake_entries(value) and not one.step.has_device:
        yield Hit(
            one.span,
            "native asks for the GPU of the building machine, and an image build has none",
            "name the architectures of the cards that are served: 86;89",
            severity="warning",
        )
        return
    odd = [text for text in cmake_entries(value) if text not in CMAKE_WORDS and cmake_entry(text) is None]
    if not odd:
        return
    better = _better(value)
    edit = rewrite(one, better) if better else None
    yield Hit(
        one.span,
        f"{odd[0]!r} is no architecture for CMake: {_why(odd[0])}, and the build stops",
        f'write "{better}"' if better else 'write numbers without dots: "86;89"',
        fix=Fix(f"write {better}", (edit,), safe=True) if edit else None,
    )


def _why(text: str) -> str:
    if re.search(r"[,\s]", text):
        return "entries are parted by semicolons"
    if re.match(r"(sm|compute)_", text):
        return "it takes the bare number"
    if "PTX" in text:
        return "PTX is asked for with -virtual"
    return "it takes numbers without dots" if "." in text else "it takes numbers such as 86"


def _better(value: str) -> str | None:
    """The list that was meant, where every entry is a number in another spelling."""
    found: list[str] = []
    for text in re.split(r"[;,\s]+", value.strip()):
        match = _SPELLING.fullmatch(text)
        if match is None:
            return None
        dotted = f"{match['major']}.{match['minor']}{match['suffix']}"
        try:
            ArchList.parse(dotted)
        except ArchError:
            return None
        found.append(f"{match['major']}{match['minor']}{match['suffix']}{match['kind'] or ''}")
    return ";".join(found)


def _cut(file: FileFacts, calls: tuple[Call, ...]) -> Iterator[Hit]:
    """`-DCMAKE_CUDA_ARCHITECTURES=75;86` without quotes: the shell runs `86` as a program of its own."""
    for at, call in enumerate(calls):
        last = call.arguments[-1] if call.arguments else None
        if (
            last is None
            or last.value is None
            or (f"{CMAKE}=" not in last.value and f"{CMAKE}:STRING=" not in last.value)
        ):
            continue
        rest = []
        for other in calls[at + 1 :]:
            if not _NUMBER.fullmatch(other.name) or other.program.command.before != ";":
                break
            rest.append(other)
            if other.arguments:
                break
        if rest and last.raw[:1] not in "\"'":
            equals = last.raw.index("=", last.raw.index(CMAKE)) + 1
            start = call.script.place(Span(last.span.start + equals, last.span.end)).start
            end = rest[-1].script.place(rest[-1].program.command.words[0].span).end
            yield Hit(
                Span(start, end),
                f"the shell ends the command at the semicolon and runs {rest[0].name} as a program: CMake gets the first architecture alone",
                f'write "{file.source.text[start:end]}" in quotes',
                fix=Fix(
                    "put the list in quotes",
                    (Edit(Span(start, start), '"'), Edit(Span(end, end), '"')),
                    safe=True,
                ),
            )


RULE = Rule("GI408", "cmake-archs", "error", check, fix="safe")
