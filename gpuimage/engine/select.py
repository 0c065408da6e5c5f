"""Choosing an engine."""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage import process
from gpuimage.engine.types import Engine, Health
from gpuimage.errors import SpecError, UnavailableError

NAMES = ("auto", "docker", "podman", "buildah")


def select_engine(name: str = "auto", *, host: str | None = None) -> Engine:
    """Return an engine that answers.

    "auto" tries docker (with buildx where its plugin is, else by the Engine API), podman, buildah.
    `host` is a docker daemon's address; given, "auto" tries no other engine. Raises UnavailableError with
    what was tried and one fix each, SpecError for a name that is none.
    """
    wanted = candidates(name, host)
    tried: list[tuple[str, str, str]] = []
    for candidate in wanted:
        for engine in _make(candidate, host, tried):
            health = engine.health()
            if health.available:
                return engine
            if close := getattr(engine, "close", None):
                close()
            tried.append((candidate, health.problem or "it does not answer", health.hint or ""))
    raise UnavailableError(
        "no container engine answers" if len(wanted) > 1 else f"the engine {wanted[0]} does not answer",
        why="\n       ".join(f"{engine}: {problem}" for engine, problem, _hint in tried),
        hint="\n       ".join(f"{engine}: {hint}" for engine, _problem, hint in tried if hint),
    )


def candidates(name: str, host: str | None = None) -> tuple[str, ...]:
    """The engines that a name stands for, in the order in which they are tried; SpecError for a name that is none."""
    _check(name)
    if name != "auto":
        return (name,)
    return ("docker",) if host else NAMES[1:]


def survey(name: str, *, host: str | None = None) -> Health:
    """The health of one engine, also of one that is not installed; `host` is a docker daemon's address.

    Raises SpecError for a name that is none.
    """
    _check(name)
    tried: list[tuple[str, str, str]] = []
    for engine in _make(name, host, tried):
        try:
            return engine.health()
        finally:
            if close := getattr(engine, "close", None):
                close()
    [(_, problem, hint)] = tried
    return Health(name, None, False, problem, hint, trouble="absent")


def _check(name: str) -> None:
    if name not in NAMES:
        raise SpecError(f"there is no engine `{name}`", hint=f"one of {', '.join(NAMES)}")


def _make(name: str, host: str | None, tried: list[tuple[str, str, str]]) -> Iterator[Engine]:
    # The imports are here because the docker SDK takes longer to load than most commands to run.
    if name == "docker":
        from gpuimage.engine.docker import DockerEngine  # noqa: PLC0415

        yield DockerEngine(host)
        return
    if process.which(name) is None:
        tried.append((name, "it is not installed", f"`apt install {name}` or `dnf install {name}`"))
    elif name == "podman":
        from gpuimage.engine.podman import PodmanEngine  # noqa: PLC0415

        yield PodmanEngine()
    else:
        from gpuimage.engine.buildah import BuildahEngine  # noqa: PLC0415

        yield BuildahEngine()
