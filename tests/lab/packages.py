"""Install what is missing from the distribution's packages, once, without leaving a service running."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.lab.home import Home
from tests.lab.shell import LabError, is_root, run, say, which

# What must be found -> the package of Debian and Ubuntu that brings it.
PACKAGES = {
    "dockerd": "docker.io",
    "docker": "docker-cli",  # a package of its own from Debian 13 on; before, docker.io brings it
    "docker-registry": "docker-registry",
    "mmdebstrap": "mmdebstrap",
    "podman": "podman",
    "buildah": "buildah",
    "runc": "runc",
    "newuidmap": "uidmap",
    "g++": "g++",  # brings ar too
    "chromium": "chromium",
}
DOCKER_TOOLS = ("dockerd", "docker", "runc")
BASE_TOOLS = ("docker-registry", "mmdebstrap")
PODMAN_TOOLS = ("podman", "buildah", "runc")
NVCC_TOOLS = ("g++",)
PAGE_TOOLS = ("chromium",)

_POLICY = Path("/usr/sbin/policy-rc.d")
_APT_ENV = {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}


def missing(tools: Sequence[str]) -> tuple[str, ...]:
    """Return the tools that are not there; rootless podman also needs newuidmap."""
    wanted = [*tools, *(["newuidmap"] if "podman" in tools and not is_root() else [])]
    return tuple(tool for tool in wanted if which(tool) is None)


def ensure(tools: Sequence[str]) -> None:
    """Install the packages of the tools that are missing; LabError when that is not possible."""
    if missing(tools):
        with Home.find().locked("packages"):  # apt-get refuses to run twice
            _install(missing(tools))
    if still := missing(tools):
        raise LabError(f"apt-get ran, and still missing: {', '.join(still)}")


def _install(absent: Sequence[str]) -> None:
    if not absent:
        return
    if which("apt-get") is None:
        raise LabError(f"missing: {', '.join(absent)}; there is no apt-get here to install them with")
    names = [PACKAGES[tool] for tool in absent]
    if not is_root() and which("sudo") is None:
        raise LabError(
            f"missing: {', '.join(absent)}. Run as root, or first: apt-get install {' '.join(names)}"
        )
    say(f"installing {' '.join(names)} (apt-get)")
    run(["apt-get", "update", "-q"], root=True, env=_APT_ENV)
    known = [name for name in names if _is_known(name)]
    with _no_services():
        install = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *known]
        run(["env", *(f"{key}={value}" for key, value in _APT_ENV.items()), *install], root=True)


def ensure_keyring(path: Path, package: str) -> None:
    """Install the package with a distribution's archive keys when the file is not there."""
    if path.exists():
        return
    with Home.find().locked("packages"):
        say(f"installing {package} (apt-get)")
        run(["apt-get", "install", "-q", "-y", "--no-install-recommends", package], root=True, env=_APT_ENV)


def _is_known(name: str) -> bool:
    shown = run(["apt-cache", "policy", name], env={"LC_ALL": "C"})
    return "Candidate:" in shown and "Candidate: (none)" not in shown


@contextmanager
def _no_services() -> Iterator[None]:
    """Keep the packages from starting their daemons, as Debian's policy allows: exit 101 means no."""
    if _POLICY.exists():
        yield
        return
    fresh = Path(os.environ.get("TMPDIR", "/tmp")) / f"policy-rc.d.{os.getpid()}"
    fresh.write_text("#!/bin/sh\nexit 101\n")
    try:
        run(["install", "-m", "0755", str(fresh), str(_POLICY)], root=True)
        yield
    finally:
        fresh.unlink(missing_ok=True)
        run(["rm", "-f", str(_POLICY)], root=True)
