"""The lab: a private engine, a loopback registry and stand-in bases, for machines that have none of them.

`python -m tests.lab up` starts it, `down` stops it; tests use it through the fixtures in tests/conftest.py.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tests.lab import bases, daemon, podman, processes, registry
from tests.lab.home import Home
from tests.lab.shell import LabError, say

__all__ = ["Home", "Lab", "LabError"]

_CA_VARIABLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_CA_FILE = Path("/etc/ssl/certs/ca-certificates.crt")


def find_ca() -> Path | None:
    """Return the certificate bundle this host trusts: containers need it where a company CA signs."""
    named = (os.environ.get(name) for name in _CA_VARIABLES)
    for path in (*(Path(value) for value in named if value), _CA_FILE):
        if path.is_file():
            return path
    return None


@dataclass(frozen=True, slots=True)
class Lab:
    """A running lab.

    registry: host:port of the loopback registry (plain http). docker_host: address of the private
    Docker daemon. env: what makes podman and buildah keep everything in the lab. Builds need
    `network host`: the daemon has no bridge.
    """

    home: Home
    registry: str
    docker_host: str
    env: dict[str, str]
    ca: Path | None

    @property
    def mirrors(self) -> dict[str, str]:
        """What a spec's `build.mirrors` has to say."""
        return {"docker.io": self.registry}

    def base(self, name: str) -> str:
        """Return the reference of the stand-in for an image of Docker Hub, which is made on first use."""
        return bases.make(self.home, self.registry, name)


def up(home: Home | None = None, *, docker: bool = True) -> Lab:
    """Start what does not run yet and return the lab; LabError when this machine cannot have one."""
    home = home or Home.find()
    with home.locked():
        home.make()
        where = registry.start(home)
        if docker:
            daemon.start(home)
        env = podman.configure(home, where)
    return Lab(home, where, f"unix://{home.socket}", env, find_ca())


def down(home: Home | None = None, *, sweep: bool = False, remove: bool = False) -> None:
    """Stop everything the lab started; `sweep` removes images and containers first, `remove` all files last.

    Safe to call at any time, also after a killed run, also twice.
    """
    home = home or Home.find()
    if not home.root.exists() and not home.run.exists():
        return
    with home.locked():
        if sweep:
            daemon.sweep(home)
            address = registry.address(home)
            if address is not None:
                podman.sweep(home, podman.configure(home, address))
        running = bool(daemon.pids(home) or registry.pids(home))
        podman.stop(home)
        daemon.stop(home)
        registry.stop(home)
        processes.unmount_under(home.root, home.run)
        home.keep.unlink(missing_ok=True)
        processes.remove_tree(home.run)
        if running:
            say("stopped")
        if remove:
            processes.remove_tree(home.root)
