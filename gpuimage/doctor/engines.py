"""Lines about the container engines of a machine: which answer, which a build takes, and where it keeps images."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial

from msgspec import Struct

from gpuimage.doctor.host import Host, quoted
from gpuimage.doctor.types import Line
from gpuimage.engine import Health, candidates, prune_command, required_disk, survey
from gpuimage.tables import (
    SizeFact,
    Unknown,
    base_size,
    torch_files,
    torch_release,
    torch_set_bytes,
    torch_versions,
)
from gpuimage.units import size

_line = partial(Line, area="engine")
_SOCKETS = ("unix:///var/run/docker.sock", "unix:///run/docker.sock")  # those of the service
_CONTAINERD = (
    "/var/lib/containerd"  # where a daemon whose images lie with containerd keeps them, if nobody moved it
)


class Engines(Struct, frozen=True):
    """The health of each engine that was asked, and the one that a build takes."""

    asked: Mapping[str, Health]
    chosen: Health | None


def ask_engines(engine: str, host: str | None) -> Engines:
    """Ask one engine, or with "auto" all of them; `host` is a docker daemon's address, and then only docker is asked."""
    asked = {name: survey(name, host=host) for name in candidates(engine, host)}
    return Engines(asked, next((health for health in asked.values() if health.available), None))


def engine_lines(host: Host, engines: Engines, image_bytes: int | None) -> Iterator[Line]:
    """Each engine, the one that is taken, its builder, storage and disk; `image_bytes` is the image to be built."""
    for health in engines.asked.values():
        yield _engine(host, health, engines.chosen)
    chosen = engines.chosen
    yield _taken(host, engines)
    if chosen is None:
        return
    if chosen.engine == "docker":
        yield _line(name="BuildKit", status="ok", seen="the daemon's own")
        yield _buildx(host, chosen)
    yield _storage(chosen)
    yield from _disk(host, chosen, image_bytes)


def _engine(host: Host, health: Health, chosen: Health | None) -> Line:
    if health.available:
        return _line(name=health.engine, status="ok", seen=_told(health))
    if not _installed(host, health):
        return _line(name=health.engine, status="skipped", seen="not installed")
    return _line(
        name=health.engine,
        status="warning" if chosen else "missing",
        seen=health.problem or "it does not answer",
        why=f"{chosen.engine} serves instead" if chosen else "",
        mend=_mend(host, health),
    )


def _told(health: Health) -> str:
    details = health.details
    if details is None:
        return str(health.version)
    more = (
        f"API {details.api}" if details.api else "",
        f"cgroups {details.cgroups}" if details.cgroups else "",
        "rootless" if details.rootless else "",
    )
    where = f" on {details.address}" if details.address else ""
    said = ", ".join(part for part in more if part)
    return f"{health.version}{where}{f' ({said})' if said else ''}"


def _installed(host: Host, health: Health) -> bool:
    """Whether an engine is there, if only its program; dockerd is in no user's PATH."""
    if health.engine == "docker":
        return health.trouble != "absent" or any(map(host.program, ("dockerd", "docker")))
    return health.trouble != "absent"


def _mend(host: Host, health: Health) -> tuple[str, ...]:
    """The commands for the trouble of an engine."""
    if health.engine != "docker":
        return (f"{health.engine} info",)
    address = (health.details.address if health.details else None) or ""
    if not address.startswith("unix://"):
        return ("docker context ls",)
    if health.trouble == "forbidden":
        return (*host.commands("sudo usermod -aG docker $USER"), "newgrp docker")
    if health.trouble == "old" or host.program("dockerd") is None:
        return host.install("engine")[0]
    return host.commands(_start(host, address, again=health.trouble == "silent"))


def _start(host: Host, address: str, *, again: bool) -> str:
    user = address.startswith("unix:///run/user/")
    if user or address in _SOCKETS:
        return host.service("restart" if again else "start", "docker", user=user)
    return f"docker --host={quoted(address)} info" if again else f"sudo dockerd --host={quoted(address)}"


def _taken(host: Host, engines: Engines) -> Line:
    if engines.chosen is not None:
        asked = "what `--engine auto` takes" if len(engines.asked) > 1 else "what was asked for"
        return _line(name="engine", status="ok", seen=f"{engines.chosen.engine}: {asked}")
    present = next((health for health in engines.asked.values() if _installed(host, health)), None)
    if present is None:
        names = tuple(engines.asked)
        commands, why = host.install("engine" if "docker" in names else names[0])
        return _line(
            name="engine",
            status="missing",
            seen=f"no {' or '.join(names)}",
            why=why or "there is nothing to build with",
            mend=commands,
            stops="build",
        )
    return _line(
        name="engine",
        status="missing",
        seen=f"{present.engine} is there, but does not serve",
        why="there is nothing to build with",
        mend=_mend(host, present),
        stops="build",
    )


def _buildx(host: Host, health: Health) -> Line:
    if "buildx" in health.features:
        return _line(name="buildx", status="ok", seen="the docker CLI has it")
    commands: tuple[str, ...] = ()
    why = ""
    for package in ("docker-ce-buildx", "buildx") if _from_docker(host) else ("buildx",):
        commands, why = host.install(package)
        if commands:
            break
    return _line(
        name="buildx",
        status="warning",
        seen="none: builds go through the daemon's BuildKit by the Engine API",
        why=f"build secrets do not work that way{'' if commands else f'; {why}: https://docs.docker.com/go/buildx/'}",
        mend=commands,
    )


def _from_docker(host: Host) -> bool:
    """Whether the packages are Docker's own, and not the distribution's."""
    return host.exists("/var/lib/dpkg/info/docker-ce.list") or (
        host.system == "dnf" and host.exists("/etc/yum.repos.d/docker-ce.repo")
    )


def _storage(health: Health) -> Line:
    details = health.details
    driver = details.storage_driver if details else None
    where = health.storage or "a place that the engine does not tell"
    seen = f"{driver or 'driver not known'} in {where}"
    if details and details.snapshotter:
        seen += ", images with containerd"
    if driver == "vfs":
        return _line(
            name="storage",
            status="warning",
            seen=seen,
            why="vfs copies every layer whole: builds take many times their size; overlay does not",
            mend=(f"{health.engine} info",),
        )
    return _line(name="storage", status="ok", seen=seen)


# The disk


class Room(Struct, frozen=True):
    """What an image needs: bytes for a build, files; `least` is what not even a base fits into; `of` says which image."""

    bytes: int
    least: int
    files: int
    of: str


def room(image_bytes: int | None) -> Room:
    """The room for an image of known size, or for a slim base with the newest torch whose size was measured."""
    base, files = base_size("python-slim"), torch_files()
    least = base.low if isinstance(base, SizeFact) else 0
    inodes = 0 if isinstance(files, Unknown) else files.files
    if image_bytes is not None:
        return Room(required_disk(image_bytes), least, inodes, f"this spec's image ({size(image_bytes)})")
    for version in reversed(torch_versions()):
        release = torch_release(version)
        found = (
            Unknown("") if isinstance(release, Unknown) else torch_set_bytes(version, release.default_variant)
        )
        if isinstance(found, SizeFact):
            whole = found.high + (base.high if isinstance(base, SizeFact) else 0)
            return Room(required_disk(whole), least, inodes, f"an image with torch {version} ({size(whole)})")
    return Room(least, least, inodes, "a base image")


def _disk(host: Host, health: Health, image_bytes: int | None) -> Iterator[Line]:
    details = health.details
    address = details.address if details else None
    here = address is None or address.startswith("unix://")
    places = [health.storage] if health.storage and here else []
    places += [_CONTAINERD] if places and details and details.snapshotter else []
    known = False
    for place in places:
        try:
            found = os.statvfs(host.resolve(place))
        except OSError:  # a daemon in a virtual machine of its own has a socket here, and its disk there
            continue
        known = True
        yield _space(health.engine, place, found, room(image_bytes))
    if not known:
        why = "the engine's storage cannot be looked at from here"
        yield _line(name="disk", status="skipped", seen="free space not known", why=why)


def _space(engine: str, place: str, found: os.statvfs_result, need: Room) -> Line:
    free, files = found.f_bavail * found.f_frsize, found.f_favail
    prune = (
        (f"{engine} system df", prune_command(engine)) if engine != "buildah" else (prune_command(engine),)
    )
    line = partial(_line, name="disk", mend=prune)
    if free < need.least:
        return line(
            status="missing",
            seen=f"{size(free)} free in {place}",
            why=f"a slim base alone takes {size(need.least)}",
            stops="build",
        )
    # btrfs and its like make inodes as they need them, and count none.
    if found.f_files and files < need.files:
        return line(
            status="warning" if files else "missing",
            seen=f"{files} inodes free in {place}",
            why=f"torch and all that it needs have {need.files} files and directories",
            stops=None if files else "build",
        )
    if free < need.bytes:
        return line(
            status="warning",
            seen=f"{size(free)} free in {place}",
            why=f"building {need.of} takes {size(need.bytes)}",
        )
    return _line(
        name="disk",
        status="ok",
        seen=f"{size(free)} free in {place}; building {need.of} takes {size(need.bytes)}",
    )
