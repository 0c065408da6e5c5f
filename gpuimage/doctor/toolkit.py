"""Lines about the NVIDIA container toolkit, and whether an engine can give a GPU to a container."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import partial

from msgspec import Struct

from gpuimage import process
from gpuimage.doctor.cdi import DIRECTORIES, CdiFile, read_cdi
from gpuimage.doctor.driver import find_library
from gpuimage.doctor.host import Host, quoted
from gpuimage.doctor.settings import Daemon, read_daemon
from gpuimage.doctor.types import Line
from gpuimage.engine import Health
from gpuimage.errors import UnavailableError
from gpuimage.tables import docker_has, docker_since

_line = partial(Line, area="gpu")
_SECONDS = 10.0
_GENERATE = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
_SETTINGS = "/etc/nvidia-container-runtime/config.toml"
_WHY_RUNTIME = "--runtime=nvidia fails, and gpuimage gives no GPU to its tests where the daemon names neither this nor CDI devices"


class Toolkit(Struct, frozen=True):
    """What is installed of the toolkit.

    `hook` is what Docker's `--gpus` starts, by way of `cli`; `runtime` what `--runtime=nvidia` starts; `ctk` writes
    settings and CDI files, whose hooks are `cdi_hook`.
    """

    version: str | None
    ctk: bool
    runtime: bool
    hook: bool
    cli: bool
    cdi_hook: bool

    @property
    def installed(self) -> bool:
        """Whether there is any part of it."""
        return self.ctk or self.runtime or self.hook or self.cli


def read_toolkit(host: Host) -> Toolkit:
    """Look for the toolkit's programs, and for its version in a program's words or a file's name."""
    has = {
        name: host.program(name) is not None
        for name in ("nvidia-ctk", "nvidia-container-runtime", "nvidia-container-cli", "nvidia-cdi-hook")
    }
    # The hook's older name is the toolkit's own.
    hook = any(host.program(name) for name in ("nvidia-container-runtime-hook", "nvidia-container-toolkit"))
    return Toolkit(
        _version(host, ctk=has["nvidia-ctk"]), has["nvidia-ctk"], has["nvidia-container-runtime"], hook,
        has["nvidia-container-cli"], has["nvidia-cdi-hook"],
    )  # fmt: skip


def _version(host: Host, *, ctk: bool) -> str | None:
    said = ""
    if host.here and ctk:
        try:
            said = process.run(["nvidia-ctk", "--version"], timeout=_SECONDS).stdout
        except (UnavailableError, TimeoutError):
            said = ""
    path = find_library(host, "libnvidia-container.so.1")
    said += f" version {host.resolve(path).name.removeprefix('libnvidia-container.so.')}" if path else ""
    found = re.search(r"version (\d+\.\d+\.\d+\S*)", said)
    return found[1] if found else None


def container_lines(
    host: Host, *, gpu_works: bool, driver: str | None, engine: str, health: Health | None
) -> Iterator[Line]:
    """Whether an engine, docker, podman or buildah, can give a GPU to a container, and what that rests on.

    `health` is what the engine said, None where it was not asked; `driver` the version of the driver's libraries.
    """
    address = health.details.address if health and health.details else None
    if address is not None and not address.startswith("unix://"):
        yield _given(
            status="skipped",
            seen=f"not judged, the daemon is on another machine ({address})",
            why="its GPUs and its toolkit count: run gpuimage doctor there",
            stops=None,
        )
        return
    toolkit = read_toolkit(host)
    rootless = bool(health and health.details and health.details.rootless)
    daemon = read_daemon(host, rootless=rootless) if engine == "docker" else None
    told = health.details.cdi_directories if health and health.details else ()
    # Of several files the last one counts, where they are of the same devices.
    file = next(iter(reversed(read_cdi(host, told or DIRECTORIES))), None)
    wanted = engine == "podman" or not toolkit.hook
    yield _installed(host, toolkit, engine, rootless=rootless)
    broken = daemon is not None and daemon.problem is not None
    if toolkit.installed and engine == "docker" and not broken:
        yield _runtime(host, daemon, health)
    if file or (toolkit.installed and wanted):
        yield _cdi(host, file, driver, wanted=wanted)
    if not gpu_works:
        yield _given(
            status="skipped",
            seen="not judged",
            why="the GPU must work on the machine itself first",
            stops=None,
        )
    elif broken and health is None:
        yield _given(seen="no: the docker daemon does not start", why="its settings are broken")
    elif engine == "docker":
        yield _docker(host, toolkit, health, file, driver)
    elif engine == "podman":
        yield _podman(host, usable=_usable(file, driver))
    else:
        why = "GPU smoke tests need docker or podman"
        yield _given(seen="no: buildah gives none", why=why, mend=host.install("engine")[0])


_given = partial(Line, area="gpu", name="GPU in containers", status="missing", stops="gpu")


def _installed(host: Host, toolkit: Toolkit, engine: str, *, rootless: bool) -> Line:
    if not toolkit.installed:
        commands, why = host.install("container-toolkit")
        then = _configure(host, user=rootless) if engine == "docker" else host.commands(_GENERATE)
        return _line(
            name="container toolkit",
            status="missing",
            seen="not installed",
            why=why or "it puts the host's driver into containers",
            mend=(*commands, *then) if commands else (),
            stops="gpu",
        )
    parts = {
        "nvidia-ctk": toolkit.ctk, "runtime": toolkit.runtime, "hook": toolkit.hook, "nvidia-container-cli": toolkit.cli,
    }  # fmt: skip
    seen = f"{toolkit.version or 'version not known'}: {', '.join(name for name, there in parts.items() if there)}"
    if toolkit.hook and not toolkit.cli:
        return _line(
            name="container toolkit",
            status="missing",
            seen=f"{seen}, but no nvidia-container-cli",
            why="the hook starts it",
            mend=host.install("container-toolkit")[0],
            stops="gpu",
        )
    return _line(name="container toolkit", status="ok", seen=seen)


def _configure(host: Host, *, user: bool) -> tuple[str, ...]:
    """The commands that give Docker the runtime nvidia; a rootless daemon has settings of its own."""
    command = "nvidia-ctk runtime configure --runtime=docker"
    command = f"{command} --config=$HOME/.config/docker/daemon.json" if user else f"sudo {command}"
    return host.commands(command, host.service("restart", "docker", user=user))


def _runtime(host: Host, daemon: Daemon | None, health: Health | None) -> Line:
    """What the running daemon has, else what its settings say that it would have."""
    details = health.details if health else None
    user = bool(details and details.rootless)
    line = partial(_line, name="docker runtime")
    configured = daemon is not None and bool(daemon.runtime)
    if daemon is not None and daemon.runtime and not _there(host, daemon.runtime):
        return line(
            status="missing",
            seen=f"{daemon.path} names {daemon.runtime}, which is not there",
            why="containers with --runtime=nvidia do not start",
            mend=host.install("container-toolkit")[0],
        )
    if details is None and daemon is not None and configured:
        return line(status="ok", seen=f"nvidia, in {daemon.path}")
    if details is not None and "nvidia" in details.runtimes:
        return line(status="ok", seen="the daemon has nvidia")
    if configured:
        seen = "daemon.json names nvidia, but the running daemon does not have it"
        return line(
            status="warning", seen=seen, why="it was started before", mend=_configure(host, user=user)[1:]
        )
    if details is not None and details.devices:
        return line(status="ok", seen="none; the daemon gives GPUs by CDI")
    return line(
        status="warning",
        seen=f"{'daemon.json names' if details is None else 'the daemon has'} no runtime nvidia",
        why=_WHY_RUNTIME,
        mend=_configure(host, user=user),
    )


def _there(host: Host, program: str) -> bool:
    return host.exists(program) if program.startswith("/") else host.program(program) is not None


def _usable(file: CdiFile | None, driver: str | None) -> bool:
    """Whether a file names devices, and mounts libraries of the driver that is there."""
    return bool(file and file.devices) and not (
        file and driver and file.drivers and driver not in file.drivers
    )


def _cdi(host: Host, file: CdiFile | None, driver: str | None, *, wanted: bool) -> Line:
    """The CDI file; where it is not `wanted`, because the hook serves, what is wrong with it is a warning."""
    path = file.path if file else "/etc/cdi/nvidia.yaml"
    mend = host.commands(f"sudo nvidia-ctk cdi generate --output={quoted(path)}")
    line = partial(_line, name="CDI", status="missing" if wanted else "warning", mend=mend)
    if file is None:
        why = "podman, and docker without the toolkit's hook, need one"
        return line(seen="no CDI file of NVIDIA's GPUs", why=why)
    if file.problem or not file.devices:
        return line(seen=f"{path}: {file.problem or 'it names no device'}", why="no engine can use it")
    if not _usable(file, driver):
        return line(
            seen=f"{path} is of driver {', '.join(file.drivers)}, the driver is {driver}",
            why="it was written before the driver was updated: what it mounts is gone",
        )
    names = ", ".join(f"nvidia.com/gpu={name}" for name in file.devices[:4])
    seen = f"{path}: {names}{' …' if len(file.devices) > 4 else ''}"
    if file.gone:
        why = f"{len(file.gone)} of the files that it puts into containers are not there"
        return line(status="warning", seen=f"{seen}; {file.gone[0]} is gone", why=why)
    return _line(name="CDI", status="ok", seen=seen)


def _docker(
    host: Host, toolkit: Toolkit, health: Health | None, file: CdiFile | None, driver: str | None
) -> Line:
    details = health.details if health else None
    settings = _settings(host)
    if details and details.rootless and toolkit.hook and settings.get("no-cgroups") is not True:
        return _given(
            seen=f"no: {_SETTINGS} has no `no-cgroups = true`",
            why="a rootless daemon may not change the cgroups of devices",
            mend=host.commands("sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place"),
        )
    enabled = details is None or bool(details.cdi_directories)
    if file and enabled:
        found = _docker_by_cdi(host, toolkit, health, usable=_usable(file, driver))
        if found is not None:
            return found
    if toolkit.hook and toolkit.cli and settings.get("mode") == "cdi":
        return _given(
            seen=f'not with --gpus: {_SETTINGS} sets mode = "cdi", which the hook refuses',
            why="docker run --runtime=nvidia works",
            mend=host.commands("sudo nvidia-ctk config --in-place --set nvidia-container-runtime.mode=auto"),
        )
    if toolkit.hook and toolkit.cli:
        return _given(status="ok", seen="docker run --gpus all, by the toolkit's hook", stops=None)
    return _given(
        seen="docker run --gpus fails: could not select device driver",
        why="the daemon finds neither the toolkit's hook nor CDI devices",
        mend=(
            *host.install("container-toolkit")[0],
            *_configure(host, user=bool(details and details.rootless)),
        ),
    )


def _docker_by_cdi(host: Host, toolkit: Toolkit, health: Health | None, *, usable: bool) -> Line | None:
    """What a CDI file means for `--gpus`; None where it means nothing."""
    version = health.version if health else None
    if docker_has("gpus-by-cdi", version) and toolkit.cdi_hook:
        if usable:
            return _given(status="ok", seen="docker run --gpus all, by CDI", stops=None)
        return _given(
            seen="docker run --gpus fails: the CDI file does not fit the driver",
            why=f"since Docker {docker_since('gpus-by-cdi')}, --gpus takes CDI before the toolkit's hook",
            mend=host.commands(_GENERATE),
        )
    if usable and not toolkit.hook:
        return _given(
            status="warning",
            seen="not with --gpus; docker run --device nvidia.com/gpu=all works",
            why=f"--gpus needs the toolkit's hook, or Docker {docker_since('gpus-by-cdi')} and nvidia-cdi-hook; "
            f"this is Docker {version or 'of a version that is not known'}",
            mend=(*host.install("container-toolkit")[0], *host.commands(host.service("restart", "docker"))),
        )
    return None


def _settings(host: Host) -> dict[str, object]:
    """The two settings of the toolkit that decide: its mode, and whether it leaves cgroups alone."""
    try:
        table = tomllib.loads(host.read(_SETTINGS) or "")
    except tomllib.TOMLDecodeError:
        return {}
    runtime, cli = table.get("nvidia-container-runtime"), table.get("nvidia-container-cli")
    found = {**(runtime if isinstance(runtime, dict) else {}), **(cli if isinstance(cli, dict) else {})}
    return {key: found[key] for key in ("mode", "no-cgroups") if key in found}


def _podman(host: Host, *, usable: bool) -> Line:
    if usable:
        return _given(status="ok", seen="podman run --device nvidia.com/gpu=all", stops=None)
    return _given(
        seen="podman run --device nvidia.com/gpu=all fails: unresolvable CDI devices",
        why="there is no CDI file that fits the driver",
        mend=host.commands(_GENERATE),
    )
