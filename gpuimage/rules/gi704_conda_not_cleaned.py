"""conda's downloaded packages stay in a layer.

## Why
conda, mamba and micromamba keep every downloaded package and its unpacked copy in `pkgs/`. Installed files are hard links
to the copies, so those cost nothing more, but the archives do, and an environment on another file system costs all of it.

## Cost
1 to 6 GB for a CUDA stack; one project's image lost 1.12 GB with `conda clean` (twosixlabs/armory#456).

## Instead
`conda clean -afy` at the end of the same RUN, or a cache mount over `pkgs`.

## Bad
```dockerfile
FROM condaforge/miniforge3:24.11.3-2
RUN conda create -y -n gpu python=3.11 pytorch-gpu
```

## Good
```dockerfile
FROM condaforge/miniforge3:24.11.3-2
RUN conda create -y -n gpu python=3.11 pytorch-gpu && conda clean -afy
```

## Not judged
Stages whose layers do not ship, and a `pkgs_dirs` set to a place that nobody can see here.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, Step
from gpuimage.facts.conda import CondaInstall
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.caches import cleans_up, runs_behind
from gpuimage.rules.costs import typical
from gpuimage.rules.shared import shipped_steps

_GPU = pattern(r"pytorch.*|cudatoolkit|cuda.*|tensorflow.*|cudnn|jax.*|cupy|rapids|cudf")
_ALL = pattern(r"(conda|mamba|micromamba) clean\b.*(\s-[a-z]*a|--all|--tarballs|\s-[a-z]*t)")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every installing command of conda in a layer that ships."""
    for _, step in shipped_steps(file):
        found = [one for one in file.conda(step) if not _cleaned(file, step, one)]
        if found:
            yield _hit(step, found[-1])


def _cleaned(file: FileFacts, step: Step, install: CondaInstall) -> bool:
    if cleans_up(file, step, install.call) or runs_behind(
        file, step, install.call, "conda clean", lambda one: bool(_ALL.match(one.text))
    ):
        return True
    if any(
        mount.kind in ("cache", "tmpfs") and ("pkgs" in mount.target or mount.covers("/opt/conda/pkgs"))
        for mount in step.mounts
    ):
        return True
    if install.call.is_set("CONDA_PKGS_DIRS"):
        return True
    start = install.call.span.start
    return any(
        change.kind == "removed"
        and "/pkgs" in (change.path or str(change.span))
        and change.span.start > start
        for change in file.changes(step)
    )


def _hit(step: Step, install: CondaInstall) -> Hit:
    cpu = any(one.name == "cpuonly" or one.name.endswith("-cpu") for one in install.packages)
    heavy = any(_GPU.fullmatch(one.name) for one in install.packages) and not cpu
    return Hit(
        install.call.span,
        f"{install.tool} keeps the packages that it downloads in pkgs/, and nothing in this layer cleans them",
        f"end this RUN with `{_tool(install)} clean -afy`, or mount a cache over pkgs",
        typical("conda-packages") if heavy else None,
        _fix(step, install),
        "warning" if heavy or install.file or not install.complete else "note",
    )


def _tool(install: CondaInstall) -> str:
    return install.tool if install.tool != "mamba" else "conda"


def _fix(step: Step, install: CondaInstall) -> Fix | None:
    calls = step.calls
    if (
        step.instruction.json
        or step.instruction.heredocs
        or any(c.program.through or c.program.command.redirections for c in calls)
    ):
        return None
    if any(c.program.command.before not in ("", "&&") or c.program.command.inside for c in calls):
        return None
    end = max(call.span.end for call in calls)
    return Fix(
        "clean conda's packages in the same layer",
        (Edit(Span(end, end), f" && {_tool(install)} clean -afy"),),
        safe=True,
    )


RULE = Rule("GI704", "conda-not-cleaned", "warning", check, "safe")
