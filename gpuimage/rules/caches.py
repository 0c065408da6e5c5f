"""Whether the download caches of package managers stay in a layer."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator

from gpuimage.facts import FileFacts, PythonInstall, StageFacts, Step
from gpuimage.facts.runs import Call
from gpuimage.patterns import pattern

_TRUE = pattern(r"(?i)1|true|t|yes|y|on")


def runs_behind(file: FileFacts, step: Step, call: Call, kind: str, is_one: Callable[[Call], bool]) -> bool:
    """Whether the step runs a program of a kind behind another program; `kind` names it."""
    last = file.once(
        f"last {kind}", step, lambda: max((one.span.start for one in step.calls if is_one(one)), default=-1)
    )
    return last > call.span.start


def removes(file: FileFacts, step: Step, call: Call, path: str) -> bool:
    """Whether the step deletes a path behind a program: the path, what holds it, or all in it."""
    start = call.span.start
    return any(
        at > start and (path.rstrip("/") + "/").startswith(target)
        for at, target in file.once("removed", step, lambda: tuple(_removed(file, step)))
    )


def _removed(file: FileFacts, step: Step) -> Iterator[tuple[int, str]]:
    for change in file.changes(step):
        if change.kind == "removed" and change.path:
            target = re.sub(r"/(\*|\.\*|\{.*)?$", "", change.path)
            yield change.span.start, target.rstrip("/") + "/"


def cleans_up(file: FileFacts, step: Step, call: Call) -> bool:
    """Whether a script or function whose name says that it cleans runs behind a program: nobody can see into it."""
    return runs_behind(file, step, call, "clean", lambda one: "clean" in one.name)


def mounted(step: Step, path: str) -> bool:
    """Whether a cache, temporary or bind mount lies over a path, so that it is no part of the layer."""
    return any(mount.kind in ("cache", "tmpfs", "bind") and mount.covers(path) for mount in step.mounts)


def python_cache_stays(file: FileFacts, stage: StageFacts, install: PythonInstall) -> bool:
    """Whether what a command of pip, uv or poetry downloads stays in the layer of its step."""
    call, step = install.call, install.call.step
    tool = {"pip": "pip", "pipenv": "pip", "uv": "uv", "uv-sync": "uv", "poetry": "pypoetry", "pdm": "pdm"}[
        install.tool
    ]
    if install.given.has("--no-cache-dir", "--no-cache", "-n") and tool in ("pip", "uv", "pypoetry"):
        return False
    if _switched_off(call, tool) or _configured(file, stage, step, tool):
        return False
    path = _directory(install, call, tool)
    if path is None or mounted(step, path):
        return False
    if removes(file, step, call, path) or removes(file, step, call, posixpath.join(step.home, ".cache")):
        return False
    return not (
        cleans_up(file, step, call)
        or runs_behind(file, step, call, f"{tool} cache", lambda one: _cleans(one, tool))
    )


def _switched_off(call: Call, tool: str) -> bool:
    """By a variable: pip takes any value (measured: `off` and `0` turn the cache off too), uv only a true one."""
    if tool == "pip":
        return call.is_set("PIP_NO_CACHE_DIR")
    if tool == "uv":
        value = call.variable("UV_NO_CACHE")
        return call.is_set("UV_NO_CACHE") and (not isinstance(value, str) or bool(_TRUE.fullmatch(value)))
    return False


def _configured(file: FileFacts, stage: StageFacts, step: Step, tool: str) -> bool:
    """By `pip config set global.no-cache-dir`, in the same step or one before."""
    if tool != "pip":
        return False
    starts = (
        call.span.start
        for call in file.calls_of(stage)
        if call.name == "pip" and call.values[:1] == ("config",) and "no-cache-dir" in call.text
    )
    first = file.once("pip config", stage.steps[0], lambda: min(starts, default=None))
    return first is not None and first < step.instruction.span.end


def _directory(install: PythonInstall, call: Call, tool: str) -> str | None:
    """Where the cache lies; None where only the build knows."""
    given = install.given.last("--cache-dir")
    variable = {
        "pip": "PIP_CACHE_DIR",
        "uv": "UV_CACHE_DIR",
        "pypoetry": "POETRY_CACHE_DIR",
        "pdm": "PDM_CACHE_DIR",
    }[tool]
    if install.given.has("--cache-dir"):
        return call.absolute(given) if given else None
    if call.is_set(variable):
        value = call.variable(variable)
        return call.absolute(value) if isinstance(value, str) else None
    home = call.variable("XDG_CACHE_HOME")
    cache = home if isinstance(home, str) and home else posixpath.join(call.step.home, ".cache")
    return posixpath.join(cache, tool)


def _cleans(call: Call, tool: str) -> bool:
    verbs = {
        "pip": ("pip cache purge", "pip cache remove"), "uv": ("uv cache clean", "uv cache prune"),
        "pypoetry": ("poetry cache clear",), "pdm": ("pdm cache clear",),
    }  # fmt: skip
    return call.text.startswith(verbs[tool])
