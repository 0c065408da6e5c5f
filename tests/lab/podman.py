"""Configuration that makes podman and buildah keep everything in the lab."""

from __future__ import annotations

import resource

from tests.lab import packages, processes
from tests.lab.home import Home
from tests.lab.shell import run, which, write_text

_STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{root}/storage"
rootless_storage_path = "{root}/storage"
runroot = "{run}/storage"
"""

# runc rather than crun: crun refuses hosts whose cgroups are half v1, half v2. The limits: without
# CAP_SYS_RESOURCE a process cannot raise its own, and podman's defaults are higher than most hosts'.
# File locks: the default shares a segment of memory with the system's podman.
_CONTAINERS = """\
[containers]
default_ulimits = ["nofile={nofile}:{nofile}", "nproc={nproc}:{nproc}"]

[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
runtime = "runc"
tmp_dir = "{run}/libpod"
volume_path = "{root}/volumes"

[network]
network_config_dir = "{root}/networks"
"""

_REGISTRIES = """\
unqualified-search-registries = []

[[registry]]
location = "{registry}"
insecure = true
"""

_MOST_PROCESSES = 32768  # podman lowers its own limit to this before it starts a container


def configure(home: Home, registry: str) -> dict[str, str]:
    """Write the configuration files and return the environment that makes podman and buildah read them."""
    places = {"root": home.podman, "run": home.run / "podman"}
    limits = {
        "nofile": _hard_limit(resource.RLIMIT_NOFILE, 1048576),
        "nproc": _hard_limit(resource.RLIMIT_NPROC, _MOST_PROCESSES),
    }
    write_text(home.podman / "storage.conf", _STORAGE.format(**places))
    write_text(home.podman / "containers.conf", _CONTAINERS.format(**places, **limits))
    write_text(home.podman / "registries.conf", _REGISTRIES.format(registry=registry))
    write_text(home.podman / "auth.json", "{}\n")  # named and absent is an error
    registries = str(home.podman / "registries.conf")
    return {
        "CONTAINERS_STORAGE_CONF": str(home.podman / "storage.conf"),
        "CONTAINERS_CONF": str(home.podman / "containers.conf"),
        "CONTAINERS_REGISTRIES_CONF": registries,
        "REGISTRIES_CONFIG_PATH": registries,
        "REGISTRY_AUTH_FILE": str(home.podman / "auth.json"),
        "TMPDIR": str(home.tmp),
    }


def ensure() -> None:
    """Install podman and buildah where they are missing."""
    packages.ensure(packages.PODMAN_TOOLS)


def _hard_limit(kind: int, most: int) -> int:
    hard = resource.getrlimit(kind)[1]
    return most if hard == resource.RLIM_INFINITY else min(hard, most)


def sweep(home: Home, env: dict[str, str]) -> None:
    """Remove every container and image from the lab's podman storage."""
    if which("podman") is None or not (home.podman / "storage").exists():
        return
    if which("buildah") is not None:
        run(["buildah", "rm", "--all"], env=env)
    run(["podman", "rm", "--all", "--force"], env=env)
    run(["podman", "rmi", "--all", "--force"], env=env)


def stop(home: Home) -> None:
    """End the monitors of containers that still run."""
    processes.stop(processes.leftovers(home), seconds=5)
