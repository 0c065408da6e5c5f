"""A CUDA extension is compiled and nothing says for which architectures.

## Why
Without TORCH_CUDA_ARCH_LIST the extension builder of PyTorch asks the GPUs it sees. A build sees none, and the builder
stops with `IndexError: list index out of range` (torch 2.9.1 and 2.14.1, run without a GPU, 2026-12;
mlcommons/training#690, pytorch/pytorch#137261). tiny-cuda-nn stops likewise without TCNN_CUDA_ARCHITECTURES, and
SageAttention without the list (their setup.py).

## Cost
No bytes: the build fails, or works only on a machine that lends its GPU to builds.

## Instead
Set the list in front of the step: the capabilities of the cards to serve, the highest with `+PTX` if later cards
shall work too.

## Bad
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
RUN FORCE_CUDA=1 pip install --no-cache-dir --no-build-isolation git+https://github.com/facebookresearch/detectron2@v0.6
```

## Good
```dockerfile
FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel
ENV TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"
RUN FORCE_CUDA=1 pip install --no-cache-dir --no-build-isolation git+https://github.com/facebookresearch/detectron2@v0.6
```

## Not judged
Steps with `--device`, ROCm, bases that may set the list themselves (NGC images do), scripts that read variables from
a file, projects that name their architectures themselves (flash-attn: GI404), finished wheels, and projects that
nobody knows where torch or nvcc is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.arch_lists import TORCH, fleet
from gpuimage.rules.compiling import Build, builds, needs_list, root_of, scope
from gpuimage.rules.late_lists import late
from gpuimage.rules.shared import built_steps


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every build that takes its architectures from a variable."""
    for step in built_steps(file):
        for build in builds(file, step):
            name = needs_list(file, build)
            if (
                name is None
                or scope(build.call, root_of(file, step), name) is not False
                or late(file, build, name)
            ):
                continue
            yield _hit(file, build, name)


def _hit(file: FileFacts, build: Build, name: str) -> Hit:
    what = build.project or "this extension"
    if build.sure:
        follows = f"{what} is compiled without {name}: a build sees no GPU to take the architectures from, and stops"
    else:
        follows = f"{what} is built without {name}: if it holds CUDA code, the build stops, as it sees no GPU to take the architectures from"
    return Hit(
        build.span,
        follows,
        f'set {name} before this step, such as ENV {name}="{_example(file, name)}"',
        severity="error" if build.sure else "warning",
        fix=_fix(file, build, name),
    )


def _example(file: FileFacts, name: str) -> str:
    archs = sorted(set(fleet(file.settings.archs)))
    if name == TORCH:
        return ";".join(one.dotted for one in archs) or "8.0;9.0+PTX"
    return ";".join(one.number for one in archs) or "80;90"


def _fix(file: FileFacts, build: Build, name: str) -> Fix | None:
    """With a fleet in the settings the list is known, and the command gets it."""
    words = build.call.program.command.words
    if not fleet(file.settings.archs) or build.call.program.through or build.call.step.instruction.json:
        return None
    place = build.call.place(words[0])
    if file.source[place] != words[0].raw:
        return None
    edit = Edit(Span(place.start, place.start), f'{name}="{_example(file, name)}" ')
    return Fix(f"set {name} to the fleet's architectures", (edit,))


RULE = Rule("GI401", "arch-list-missing", "error", check, fix="suggested")
