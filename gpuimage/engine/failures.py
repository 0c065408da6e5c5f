"""Why a build or transfer failed, in our errors: a registry that does not answer, a full disk, or a step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from gpuimage.engine.lines import step_text
from gpuimage.engine.types import BuildRequest
from gpuimage.errors import BuildError, GpuImageError, Location, UnavailableError

LOG_LINES = 20
_DISK_FULL = re.compile(r"no space left on device|ENOSPC|disk quota exceeded", re.IGNORECASE)
_EXIT_CODE = re.compile(r"exit (?:code|status):? (\d+)")
_COMMAND_FAILED = re.compile(r"executor failed running|did not complete successfully|while running runtime")
_KILLED = 137
_REASONS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"connection refused|no such host|i/o timeout|no route to host|network is unreachable"),
        "the registry does not answer: check its name and the network, or name a mirror with `build.mirrors`",
    ),
    (
        re.compile(r"server gave HTTP response to HTTPS client"),
        "the registry speaks plain HTTP: add it to the engine's insecure registries",
    ),
    (
        re.compile(r"x509|certificate"),
        "the registry's certificate is not trusted: give the engine the company's CA",
    ),
    (
        re.compile(r"unauthorized|authentication required|denied|forbidden", re.IGNORECASE),
        "log in to the registry first (`docker login` or `podman login`), or correct the name",
    ),
    (
        re.compile(r"manifest unknown|not found|name unknown|no such image", re.IGNORECASE),
        "the registry has no such image: correct the name or the tag",
    ),
)


@dataclass(frozen=True, slots=True)
class StepFailure:
    """What an engine said of the step that failed; `base` is the image when it was one that is missing."""

    message: str
    step: str | None = None
    line: int | None = None
    log: tuple[str, ...] = ()
    base: str | None = None


def registry_hint(message: str) -> str | None:
    """Return the fix for what a registry, or the lack of one, said."""
    return next((hint for pattern, hint in _REASONS if pattern.search(message)), None)


def registry_error(
    reference: str, message: str, *, doing: str = "get", line: int | None = None
) -> UnavailableError:
    """Return the error for an image that could not be fetched or pushed."""
    return UnavailableError(
        f"cannot {doing} the image {reference}",
        where=_where(line),
        why=_short(message),
        hint=registry_hint(message),
    )


def is_disk_full(*texts: str) -> bool:
    """Say whether any of these texts reports a full disk."""
    return any(_DISK_FULL.search(text) for text in texts)


def build_error(request: BuildRequest, failure: StepFailure) -> GpuImageError:
    """Return the error for a build that failed."""
    full = is_disk_full(failure.message, *failure.log)
    if failure.base and not full:
        return registry_error(failure.base, failure.message, line=failure.line)
    step = _one_line(step_text(failure.step)) if failure.step else None
    where = _where(failure.line)
    what = f"the build failed: {step}" if step else "the build failed"
    if full:
        return BuildError(
            f"the disk is full: {what}",
            where=where,
            why=_reason(failure.message),
            hint="free space where the engine keeps its images (`docker system df`, `podman system df`)",
            log=failure.log,
        )
    return BuildError(
        what, where=where, why=_reason(failure.message), hint=_step_hint(request, failure), log=failure.log
    )


def _step_hint(request: BuildRequest, failure: StepFailure) -> str | None:
    code = _EXIT_CODE.search(failure.message)
    if code and int(code[1]) == _KILLED:
        return (
            "status 137 is SIGKILL, mostly for want of memory: lower MAX_JOBS, or give the engine more memory"
        )
    if request.network is None and any(
        re.search(r"name resolution|resolve host|Network is unreachable", line) for line in failure.log
    ):
        return "the step has no network: try `network: host` for the build, or check the engine's DNS"
    return None


def _where(line: int | None) -> Location | None:
    return Location(Path("Dockerfile"), line) if line else None


def _one_line(text: str, limit: int = 200) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def _reason(message: str) -> str:
    """What an engine said, without the command that it repeats: the step is named beside it."""
    code = _EXIT_CODE.search(message)
    if code and _COMMAND_FAILED.search(message):
        return f"its command ended with exit code {code[1]}"
    return _short(message)


def _short(message: str, limit: int = 2000) -> str:
    text = message.strip()
    return text if len(text) <= limit else "…" + text[-limit:]
