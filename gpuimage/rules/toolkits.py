"""The compiler of CUDA that a step finds: of its base, installed, copied, unpacked by hand."""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from gpuimage.facts import Call, Copy, FileFacts, StageFacts, Step
from gpuimage.facts.base import read_base
from gpuimage.patterns import pattern

_TOOLKIT = pattern(
    r"cuda(-(toolkit|nvcc|compiler|minimal-build))?(-(?P<major>\d+)-(?P<minor>\d+))?|nvidia-cuda-toolkit(-gcc)?"
)
_MAYBE_TOOLKIT = pattern(r"(?i).*cuda.*|.*nvcc.*|.*nvhpc.*|.*hpc-?sdk.*")
_INSTALLER = pattern(r"(?:^|/)cuda[_-](?P<version>\d+\.\d+)[^/]*\.run$")
_CONDA_TOOLKIT = pattern(
    r"cuda(-(nvcc|toolkit|compiler|minimal-build))?(_linux-64|-impl|-tools)?|cudatoolkit-dev"
)
_WIDE = frozenset(
    {"/", "/usr", "/usr/local", "/usr/bin", "/usr/local/bin", "/opt", "/opt/conda", "/opt/venv"}
)
_LIBRARIES = (
    "libcu", "libnv", "cuda-cudart", "cuda-libraries", "cuda-nvtx", "cuda-nvrtc", "cuda-compat", "cuda-cupti", "cuda-keyring",
    "cuda-driver", "cuda-runtime",
)  # fmt: skip
_MOVERS = frozenset({"tar", "unzip", "ln", "cp", "mv", "dpkg", "rpm", "update-alternatives"})
_OTHER_INSTALLERS = frozenset(
    {"spack", "nix", "nix-env", "nix-shell", "brew", "module", "ansible-playbook", "pixi", "guix", ""}
)
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})


class Toolkit(NamedTuple):
    """The compiler of CUDA that a step finds: `present` None where nobody knows, `cuda` its version where there is one."""

    present: bool | None
    cuda: str | None


def toolkit(file: FileFacts, step: Step) -> Toolkit:
    """The nvcc that a step finds, what it installs itself included."""
    stage = file.stages[step.stage]
    found = file.once("toolkits", stage.steps[0], lambda: tuple(_toolkits(file, stage)))
    at = bisect_right(found, step.instruction.span.start, key=lambda pair: pair[0])
    return found[at - 1][1] if at else Toolkit(None, None)


def _toolkits(file: FileFacts, stage: StageFacts) -> Iterator[tuple[int, Toolkit]]:
    """What each step of a stage and its parents finds."""
    present, unsure = stage.root.has_nvcc, False
    versions: set[str | None] = {stage.root.cuda_minor} if present else set()
    copies = {copy.step.instruction.span.start: copy for copy in file.chain_copies(stage)}
    for step in stage.chain:
        start = step.instruction.span.start
        for version in _brought(file, step, copies.get(start)):
            if version == "maybe":
                unsure = True
            else:
                present = True
                versions.add(version or None)
        cuda = next(iter(versions)) if len(versions) == 1 and not unsure else None
        yield start, Toolkit(None, None) if unsure and not present else Toolkit(present, cuda)


def _brought(file: FileFacts, step: Step, copy: Copy | None) -> tuple[str, ...]:
    """The toolkits that a step brings: versions, "" for one of unknown version, "maybe" for what may be one."""

    def read() -> Iterator[str]:
        if copy is not None:
            yield from _copied(file, copy)
        if step.instruction.keyword == "RUN" and not step.instruction.onbuild:
            yield from _ran(file, step)

    return file.once("brought", step, lambda: tuple(read()))


def _copied(file: FileFacts, copy: Copy) -> Iterator[str]:
    if not copy.from_:
        if any(source is None or _MAYBE_TOOLKIT.fullmatch(source) for source in copy.sources):
            yield "maybe"
        return
    named = [source for source in copy.sources if source and re.search(r"cuda|nvcc", source)]
    wide = any(source is None or posixpath.normpath(source) in _WIDE for source in copy.sources)
    if not named and not wide:
        return
    if copy.from_stage is not None and copy.from_stage < copy.step.stage:
        other = toolkit(file, file.stages[copy.from_stage].end)
    else:
        base = read_base(copy.from_)
        other = Toolkit(base.has_nvcc, base.cuda_minor)
    if other.present is None or (other.present and wide):
        yield "maybe"
    elif other.present and any(re.search(r"cuda(-[\d.]+)?/?(bin/?|bin/nvcc)?$", source) for source in named):
        yield other.cuda or ""


def _ran(file: FileFacts, step: Step) -> Iterator[str]:
    yield from _packages(file, step)
    if any(mount.kind == "bind" and (mount.from_ or "cuda" in mount.target) for mount in step.mounts):
        yield "maybe"
    for conda in file.conda(step):
        if any(_CONDA_TOOLKIT.fullmatch(one.name) for one in conda.packages):
            yield ""
        elif not conda.complete:
            yield "maybe"
    for install in file.python(step):
        if any(
            one.name.startswith(("nvidia-cuda-nvcc", "nvidia-nvcc", "cuda-toolkit")) for one in install.wanted
        ):
            yield "maybe"
    for call in step.calls:
        yield from _by_hand(call)


def _packages(file: FileFacts, step: Step) -> Iterator[str]:
    for system in file.system(step):
        if not system.installs:
            continue
        for package in system.packages:
            match = _TOOLKIT.fullmatch(package.name) if package.known else None
            if match:
                yield f"{match['major']}.{match['minor']}" if match["major"] else ""
            elif not package.known or _may_hold_nvcc(package.name):
                yield "maybe"


def _may_hold_nvcc(name: str) -> bool:
    """Packages that bring nvcc under another name, files and URLs; not the libraries."""
    if name.startswith(_LIBRARIES):
        return False
    return bool(_MAYBE_TOOLKIT.fullmatch(name)) or ("/" in name and name.endswith((".deb", ".rpm")))


def _by_hand(call: Call) -> Iterator[str]:
    """Installers, scripts, archives."""
    name = call.name
    words = (str(call.program.path or name), *call.values)
    for word in words:
        match = _INSTALLER.search(word)
        if match and name not in ("wget", "curl", "rm", "chmod", "aria2c", "mv", "cp"):
            yield match["version"]
            return
    script = name.endswith(".sh") or (name in _SHELLS and not any(v.startswith("-c") for v in call.values))
    moved = name in _MOVERS and "cuda" in call.text
    if script or moved or name in _OTHER_INSTALLERS or name.endswith(".run"):
        yield "maybe"
