"""A private Docker daemon: own socket, storage and containerd; the host's network stays as it is."""

from __future__ import annotations

import http.client
import json
import os
import socket
from pathlib import Path

from tests.lab import packages, processes
from tests.lab.home import Home
from tests.lab.shell import LabError, say, which, write_text

_KEPT_CACHE = 10_000_000_000  # bytes: enough for the wheels and bases of the tests


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("docker", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def request(path: Path, method: str, url: str, timeout: float = 5) -> tuple[int, bytes]:
    """Ask a Docker daemon on a unix socket; status and body of its answer. OSError when none answers."""
    connection = _UnixConnection(path, timeout)
    try:
        connection.request(method, url)
        answer = connection.getresponse()
        return answer.status, answer.read()
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def answers(path: Path) -> bool:
    """Return whether a Docker daemon answers on this unix socket."""
    try:
        status, _ = request(path, "GET", "/_ping")
    except OSError:
        return False
    return status == 200


def system_host() -> str | None:
    """Return the address of a Docker daemon this user can already use (unix sockets only)."""
    named = os.environ.get("DOCKER_HOST", "")
    if named and not named.startswith("unix://"):
        return None
    path = Path(named.removeprefix("unix://") or "/var/run/docker.sock")
    return f"unix://{path}" if path.exists() and os.access(path, os.W_OK) and answers(path) else None


def pids(home: Home) -> tuple[int, ...]:
    return processes.find(program="dockerd", mentions=home.docker)


def start(home: Home) -> None:
    """Start the daemon unless it runs; survives the stale pid files and mounts of a killed one."""
    if pids(home) and answers(home.socket):
        return
    packages.ensure(packages.DOCKER_TOOLS)
    stop(home)
    dockerd = which("dockerd")
    if dockerd is None:
        raise LabError("there is no dockerd")
    write_text(home.docker / "daemon.json", "{}\n")  # else it would obey the host's /etc/docker/daemon.json
    log = home.docker / "log"
    exec_root = home.run / "docker"
    args = [
        dockerd,
        f"--host=unix://{home.socket}",
        f"--config-file={home.docker / 'daemon.json'}",
        f"--data-root={home.docker / 'data'}",
        f"--exec-root={exec_root}",
        f"--pidfile={home.docker / 'pid'}",
        f"--group={os.getgid()}",
        # Two daemons on one host fight over the bridge docker0 and its firewall rules: do without both.
        "--bridge=none",
        "--iptables=false",
        "--ip6tables=false",
        "--ip-forward=false",
        # Where the system's containerd runs, dockerd shares it: keep out of the system's name space.
        "--containerd-namespace=gpuimage-lab",
        "--containerd-plugins-namespace=gpuimage-lab-plugins",
    ]
    say(f"starting a private Docker daemon on {home.socket}")
    pid = processes.start(args, log, root=True)
    processes.wait_until(lambda: answers(home.socket), pid, log, "the Docker daemon")


def stop(home: Home) -> None:
    """Stop the daemon and what it left behind; nothing happens when there is none."""
    processes.stop(pids(home))
    processes.stop(processes.leftovers(home), seconds=5)
    # A stale containerd.pid whose number lives on, be it as a zombie, makes the next start wait in vain.
    exec_root = home.run / "docker"
    processes.unmount_under(exec_root)
    processes.remove_tree(exec_root)
    for path in (home.docker / "pid", home.socket):
        processes.remove_tree(path)


def sweep(home: Home) -> None:
    """Remove every container and image of the private daemon, and of its build cache what goes beyond 10 GB."""
    if not answers(home.socket):
        return
    for kind, query, force in (
        ("containers", "all=true", "force=true&v=true"),
        ("images", "", "force=true"),
    ):
        _, body = request(home.socket, "GET", f"/{kind}/json?{query}", timeout=60)
        for entry in json.loads(body):
            request(home.socket, "DELETE", f"/{kind}/{entry['Id']}?{force}", timeout=120)
    request(home.socket, "POST", f"/build/prune?all=true&keep-storage={_KEPT_CACHE}", timeout=600)
