"""torch comes from conda and from pip: two stacks of CUDA in one image.

## Why
conda installs torch with CUDA as conda packages, pip installs it with CUDA as wheels. In one environment the second overwrites
files of the first, and the libraries of both stay (iot-salzburg/gpu-jupyter#59).

## Cost
4.8 to 7 GB for the second stack (measured for the wheels, 2026-12).

## Instead
One of both: take pytorch out of environment.yml, or drop the pip install.

## Bad
```dockerfile
FROM condaforge/miniforge3:24.11.3-2
RUN mamba install -y pytorch pytorch-cuda=12.4 && mamba clean -afy
RUN pip install --no-cache-dir torch==2.5.1
```

## Good
```dockerfile
FROM condaforge/miniforge3:24.11.3-2
RUN mamba install -y python=3.11 && mamba clean -afy
RUN pip install --no-cache-dir torch==2.5.1
```

## Not judged
Environments of different names, CPU builds, and cudatoolkit alone beside a pip torch where something else is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.facts.conda import CondaInstall
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import torch_bytes

_TORCH = ("pytorch", "pytorch-gpu", "torch", "libtorch")
_CUDA = ("pytorch-cuda", "cudatoolkit", "cuda-toolkit", "cuda", "cudnn")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at images that use both."""
    for stage in file.targets:
        for conda in file.conda_of(stage):
            stack = conda.find(*_TORCH) or conda.find(*_CUDA)
            if stack is not None and conda.find("cpuonly") is None:
                yield from _second(file, stage, conda, stack.name)


def _second(file: FileFacts, stage: StageFacts, conda: CondaInstall, what: str) -> Iterator[Hit]:
    line = conda.call.step.instruction.line
    torch = next((one for one in conda.pip if one.name == "torch"), None)
    if torch is not None:
        yield Hit(
            torch.span,
            f"{conda.file} asks conda for {what} and pip for torch: two stacks of CUDA in one environment",
            "keep one of both",
        )
    for install in file.python_of(stage):
        one = install.find("torch")
        if (
            one is None
            or install.builds
            or install.variant(one) == "cpu"
            or (install.no_deps and not one.version)
        ):
            continue
        if not _apart(conda, install.target, install.call.program.through):
            yield Hit(
                one.span,
                f"pip installs torch beside the {what} that conda installed in line {line}: two stacks of CUDA, and pip's overwrites conda's",
                "keep one of both: take it out of conda's environment, or drop this install",
                torch_bytes(one, install, of=f"torch:{install.call.step.instruction.line}"),
            )


def _apart(conda: CondaInstall, target: str | None, through: tuple[str, ...]) -> bool:
    """Whether pip installs into another environment for sure: a venv, or conda's base."""
    if target is None:
        return False
    return (
        not (
            conda.environment
            and target.rstrip("/").endswith(conda.environment.rstrip("/").rpartition("/")[2])
        )
        and "conda" not in target
    )


RULE = Rule("GI705", "conda-and-pip-torch", "warning", check)
