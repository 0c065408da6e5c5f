"""torch is installed twice, or a later install replaces the one that was chosen.

## Why
Each RUN is a layer: a second torch is stored beside the first. And an install without a version, or of a project that asks for
torch itself, takes PyPI's build, whose CUDA may be another major than the one that was chosen (flashinfer-ai/flashinfer#4284).

## Cost
4.8 to 7 GB for each torch with its CUDA (measured 2026-12).

## Instead
One command for torch, torchvision and torchaudio of one index; a constraint file or `--no-deps` for what comes later.

## Bad
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0 --index-url https://download.pytorch.org/whl/cu126
RUN pip install --no-cache-dir torch==2.9.1 torchvision
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir torch==2.8.0 torchvision==0.23.0 --index-url https://download.pytorch.org/whl/cu126
```

## Not judged
The same version of the same build again, environments beside each other, installs under constraints, and projects whose
requirement the first torch may meet, for pip leaves it then: of those without a version only the ones whose releases follow
torch's (torchvision, torchaudio, xformers, vllm, sglang, tensorrt-llm) count.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, PythonInstall, StageFacts, Wanted
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import torch_bytes
from gpuimage.rules.shared import environment_of
from gpuimage.tables import Unknown, torch_release, torch_versions

# What asks for the torch that was new when it came out (metadata on PyPI, read 2026-12).
_FOLLOWING = frozenset({"torchvision", "torchaudio", "xformers", "vllm", "sglang", "tensorrt-llm"})


def check(file: FileFacts) -> Iterator[Hit]:
    """Compare every torch of an image with the one before it in the same environment."""
    for stage in file.targets:
        first: dict[str, tuple[str | None, str | None, int]] = {}
        if stage.root.kind == "pytorch":
            variant = f"cu{stage.root.cuda.replace('.', '')}" if stage.root.cuda else None
            first[""] = (stage.root.torch, variant, 0)
        seen = {"torchvision", "torchaudio"} if first else set()
        for install in file.python_of(stage):
            one = install.find("torch")
            if install.builds or (install.call.tolerated and "||" in install.call.step.instruction.arguments):
                continue
            if one is not None:
                yield from _again(stage, install, one, first)
            else:
                yield from _followed(stage, install, first, seen)
            seen |= {wanted.name for wanted in install.wanted}


def _followed(
    stage: StageFacts,
    install: PythonInstall,
    first: dict[str, tuple[str | None, str | None, int]],
    seen: set[str],
) -> Iterator[Hit]:
    """Projects whose newest release asks for a newer torch than the one that is there."""
    before = first.get(environment_of(install))
    version = (before[0] or "").partition("+")[0] if before else ""
    if before is None or not version or install.constrained or install.no_deps:
        return
    older = version in torch_versions() and not torch_versions()[-1].startswith(
        version.rpartition(".")[0] + "."
    )
    for one in install.wanted if older else ():
        if one.name in _FOLLOWING and one.specifier == "" and not one.source and one.name not in seen:
            said = f"that of {stage.root.text}" if before[2] == 0 else f"that of line {before[2]}"
            yield Hit(
                one.span,
                f"{one.name} without a version comes in its newest release, which asks for a newer torch than {version}: pip "
                f"replaces {said}, and both stay in the image",
                f"name the {one.name} that goes with torch {version}, or hold torch with a constraint file",
                torch_bytes(one, install, of=f"torch:{install.call.step.instruction.line}"),
            )
            return


def _again(
    stage: StageFacts,
    install: PythonInstall,
    one: Wanted,
    first: dict[str, tuple[str | None, str | None, int]],
) -> Iterator[Hit]:
    where = environment_of(install)
    variant, line = _variant(install, one), install.call.step.instruction.line
    before = first.get(where)
    if before is not None and before[2] != line and variant != "cpu" and not _kept(install, one, before):
        said = f"the torch of {stage.root.text}" if before[2] == 0 else f"the torch of line {before[2]}"
        yield Hit(
            one.span,
            f"this install replaces {said}: both stay in the image" + _other_cuda(before[1], variant),
            "install torch once, and add --no-deps or a constraint to what comes later",
            torch_bytes(one, install, of=f"torch:{line}"),
        )
    if before is None or one.version or variant:
        first[where] = (
            one.version or (before[0] if before else None),
            variant or (before[1] if before else None),
            line,
        )


def _kept(install: PythonInstall, one: Wanted, before: tuple[str | None, str | None, int]) -> bool:
    """Whether pip leaves the first torch where it is."""
    upgraded = install.given.has("-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed")
    if install.no_deps and not upgraded and not one.version:
        return True
    if install.constrained or one.forked:
        return True
    if one.specifier is None:
        return True  # only the build knows which version
    variant = _variant(install, one)
    if one.version is None:
        # A requirement that the first one meets changes nothing; another index alone does not either.
        return not upgraded and not (one.specifier or "").strip().startswith("<")
    same = one.public == (before[0] or "").partition("+")[0]
    return same and (variant == before[1] or not one.local) and not upgraded


def _variant(install: PythonInstall, one: Wanted) -> str | None:
    found = install.variant(one)
    if found is None and one.public and install.index is None and not install.extra_indexes:
        release = torch_release(one.public)
        return None if isinstance(release, Unknown) else release.default_variant
    return found


def _other_cuda(before: str | None, now: str | None) -> str:
    return f", and the CUDA build changes from {before} to {now}" if before and now and before != now else ""


RULE = Rule("GI302", "torch-replaced", "warning", check)
