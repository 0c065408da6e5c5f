"""A loopback registry, and the few requests that put an image into it."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.lab import packages, processes
from tests.lab.home import Home
from tests.lab.shell import LabError, read_text, say, which, write_text

_CONFIG = """\
version: 0.1
log:
  level: warn
  accesslog:
    disabled: true
storage:
  filesystem:
    rootdirectory: {storage}
  delete:
    enabled: true
http:
  addr: {address}
"""
_DOCKER = "application/vnd.docker"
_MANIFEST = f"{_DOCKER}.distribution.manifest.v2+json"
_BLOCK = 1 << 20


def address(home: Home) -> str | None:
    """Return the registry's host:port, chosen at its first start and kept since; None before that."""
    return read_text(home.registry / "address").strip() or None


def pids(home: Home) -> tuple[int, ...]:
    return processes.find(program="docker-registry", mentions=home.registry)


def answers(where: str | None) -> bool:
    """Return whether a registry answers there."""
    if where is None:
        return False
    try:
        return _call(where, "GET", "/v2/")[0] == 200
    except OSError:
        return False


def start(home: Home) -> str:
    """Start the registry unless it runs, and return its host:port."""
    where = address(home)
    if where is not None and pids(home) and answers(where):
        return where
    packages.ensure(packages.BASE_TOOLS)
    stop(home)
    where = where if where is not None and _is_free(where) else _free_address()
    config = home.registry / "config.yml"
    write_text(config, _CONFIG.format(storage=home.registry / "storage", address=where))
    write_text(home.registry / "address", f"{where}\n")
    program = which("docker-registry")
    if program is None:
        raise LabError("there is no docker-registry")
    log = home.registry / "log"
    say(f"starting a registry on {where}")
    # It takes every variable REGISTRY_* for configuration, also podman's REGISTRY_AUTH_FILE.
    env = {name: value for name, value in os.environ.items() if not name.startswith("REGISTRY_")}
    pid = processes.start([program, "serve", str(config)], log, env=env)
    processes.wait_until(lambda: answers(where), pid, log, "the registry", seconds=20)
    return where


def stop(home: Home) -> None:
    """Stop the registry; its images stay on disk."""
    processes.stop(pids(home), seconds=5)


def _is_free(where: str) -> bool:
    host, _, port = where.rpartition(":")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError:
            return False
    return True


def _free_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def _call(
    where: str,
    method: str,
    url: str,
    body: bytes | IO[bytes] | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[int, Mapping[str, str], bytes]:
    connection = http.client.HTTPConnection(where, timeout=120)
    try:
        connection.request(method, url, body, dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def digest_of(where: str, repository: str, tag: str) -> str | None:
    """Return the digest of an image in the registry; None when it is not there."""
    status, headers, _ = _call(
        where, "HEAD", f"/v2/{repository}/manifests/{tag}", headers={"Accept": _MANIFEST}
    )
    return headers.get("docker-content-digest") if status == 200 else None


@dataclass(frozen=True, slots=True)
class Layer:
    """A compressed layer on disk. `diff_id` is the digest of the tar inside, `digest` that of the file."""

    path: Path
    diff_id: str
    digest: str
    size: int


def pack_layer(tar: IO[bytes], directory: Path) -> Layer:
    """Compress a tar stream into a layer file in the directory, lightly: it only travels over loopback."""
    inner = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=directory, suffix=".tar.gz", delete=False) as output:
        path = Path(output.name)
        with gzip.GzipFile(filename="", fileobj=output, mode="wb", compresslevel=1, mtime=0) as packed:
            while block := tar.read(_BLOCK):
                inner.update(block)
                packed.write(block)
    with path.open("rb") as stream:
        outer = hashlib.file_digest(stream, "sha256").hexdigest()
    return Layer(path, f"sha256:{inner.hexdigest()}", f"sha256:{outer}", path.stat().st_size)


def push(
    where: str,
    repository: str,
    tag: str,
    layers: tuple[Layer, ...],
    config: Mapping[str, object],
    made_by: str,
) -> str:
    """Put an image of these layers into the registry and return its digest.

    The manifest goes last: an interrupted push leaves blobs that nothing names.
    """
    described = {
        **config,
        "rootfs": {"type": "layers", "diff_ids": [layer.diff_id for layer in layers]},
        "history": [{"created": config["created"], "created_by": made_by} for _ in layers],
    }
    raw_config = json.dumps(described, sort_keys=True).encode()
    config_digest = f"sha256:{hashlib.sha256(raw_config).hexdigest()}"
    for layer in layers:
        with layer.path.open("rb") as stream:
            _upload(where, repository, layer.digest, stream, layer.size)
    _upload(where, repository, config_digest, raw_config, len(raw_config))
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {
                "mediaType": f"{_DOCKER}.container.image.v1+json",
                "size": len(raw_config),
                "digest": config_digest,
            },
            "layers": [
                {
                    "mediaType": f"{_DOCKER}.image.rootfs.diff.tar.gzip",
                    "size": layer.size,
                    "digest": layer.digest,
                }
                for layer in layers
            ],
        }
    ).encode()
    url = f"/v2/{repository}/manifests/{tag}"
    status, headers, body = _call(where, "PUT", url, manifest, {"Content-Type": _MANIFEST})
    if status != 201:
        raise LabError(f"the registry refused {repository}:{tag}: {status} {body.decode(errors='replace')}")
    return headers["docker-content-digest"]


def _upload(where: str, repository: str, digest: str, body: bytes | IO[bytes], size: int) -> None:
    if _call(where, "HEAD", f"/v2/{repository}/blobs/{digest}")[0] == 200:
        return
    status, headers, answer = _call(where, "POST", f"/v2/{repository}/blobs/uploads/")
    if status == 202:
        location = headers["location"].removeprefix(f"http://{where}")
        separator = "&" if "?" in location else "?"
        length = {"Content-Type": "application/octet-stream", "Content-Length": str(size)}
        status, _, answer = _call(where, "PUT", f"{location}{separator}digest={digest}", body, length)
    if status != 201:
        raise LabError(
            f"the registry refused a blob of {repository}: {status} {answer.decode(errors='replace')}"
        )


def storage_bytes(home: Home) -> int:
    """Return the bytes the registry holds on disk."""
    root = home.registry / "storage"
    return sum((Path(at) / name).lstat().st_size for at, _, names in os.walk(root) for name in names)
