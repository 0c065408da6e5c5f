"""Building with `docker buildx`, which speaks BuildKit's sessions: secrets, logins, local contexts."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuimage import process
from gpuimage.engine.buildkit import Tracker
from gpuimage.engine.staging import build_options, ignore_file, staged
from gpuimage.engine.types import BuildRequest, OnEvent
from gpuimage.engine.wire import Log, Update, Vertex, from_json

_RAWJSON = (0, 13)  # the first buildx with --progress=rawjson
_VERSION = re.compile(r"\bv?(\d+)\.(\d+)\.(\d+)")
_PLAIN = re.compile(r"#(?P<number>\d+) (?P<rest>.*)")
_SECONDS = re.compile(r"DONE (?P<seconds>[\d.]+)s")
_OUTPUT = re.compile(r"[\d.]+ (?P<text>.*)")


def version() -> tuple[int, int] | None:
    """Return the version of the buildx plugin; None where the docker CLI or the plugin is missing."""
    if process.which("docker") is None:
        return None
    try:
        done = process.run(["docker", "buildx", "version"], timeout=20)
    except process.ProcessTimeoutError:
        return None
    found = _VERSION.search(done.stdout)
    return (int(found[1]), int(found[2])) if done.returncode == 0 and found else None


def available() -> bool:
    """Say whether `docker buildx` can be used."""
    return version() is not None


def build(host: str, request: BuildRequest, network: str | None, on_event: OnEvent) -> str:
    """Build, load the image into the daemon and return its id."""
    raw = (version() or (0, 0)) >= _RAWJSON
    tracker = Tracker(request, on_event)
    with staged(request) as context, _files(request) as (dockerfile, iid):
        command = [
            *("docker", "buildx", "build", "--load", "--progress", "rawjson" if raw else "plain"),
            *("--file", str(dockerfile), "--iidfile", str(iid)),
            *_options(request, network),
            str(context),
        ]
        with process.stream(command, env={"DOCKER_HOST": host}) as running:
            rest: list[str] = []
            for update in _updates(running, raw, rest):
                tracker.update(update)
            if running.returncode != 0:
                raise tracker.failure(
                    "\n".join(rest[-20:]) or f"buildx ended with status {running.returncode}"
                )
        return iid.read_text().strip()


@contextmanager
def _files(request: BuildRequest) -> Iterator[tuple[Path, Path]]:
    """Write the Dockerfile, outside the context, with the ignore file that belongs to it."""
    with tempfile.TemporaryDirectory(prefix="gpuimage-") as name:
        directory = Path(name)
        dockerfile = directory / "Dockerfile"
        dockerfile.write_text(request.dockerfile)
        if ignore := ignore_file(request):
            (directory / "Dockerfile.dockerignore").write_text(ignore)
        yield dockerfile, directory / "image-id"


def _options(request: BuildRequest, network: str | None) -> Iterator[str]:
    yield from build_options(request)
    if network:
        yield from ("--network", network)
        if network == "host":
            yield from ("--allow", "network.host")


def _updates(lines: Iterable[str], raw: bool, rest: list[str]) -> Iterator[Update]:
    reader = RawReader() if raw else PlainReader()
    for line in lines:
        update = reader.read(line)
        if update is not None:
            yield update
        elif not reader.inside:
            rest.append(line)


class RawReader:
    """Reads `--progress=rawjson`: one object a line, or, in buildx 0.13, indented over many lines."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    @property
    def inside(self) -> bool:
        """Whether the last line belongs to an object that has not ended."""
        return bool(self._parts)

    def read(self, line: str) -> Update | None:
        """Return the object that a line completes; None for one that completes none."""
        if not self._parts and not line.startswith("{"):
            return None
        self._parts.append(line)
        if not line.startswith("}") and not (len(self._parts) == 1 and line.endswith("}")):
            return None
        text = "\n".join(self._parts)
        self._parts.clear()
        try:
            return from_json(json.loads(text))
        except ValueError:
            return None


class PlainReader:
    """Reads `--progress=plain` of an older buildx: "#5 [2/3] RUN x", "#5 0.1 text", "#5 DONE 0.3s"."""

    inside = False

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def read(self, line: str) -> Update | None:
        """Return what a line says; None for one that belongs to no step."""
        match = _PLAIN.fullmatch(line)
        if not match:
            return None
        digest, rest = match["number"], match["rest"]
        if digest not in self._names:
            self._names[digest] = rest
            return Update((Vertex(digest, rest, started=0.0),))
        name = self._names[digest]
        if done := _SECONDS.fullmatch(rest):
            return Update((Vertex(digest, name, started=0.0, completed=float(done["seconds"])),))
        if rest == "CACHED":
            return Update((Vertex(digest, name, cached=True),))
        if rest.startswith("ERROR: "):
            return Update((Vertex(digest, name, started=0.0, completed=0.0, error=rest[len("ERROR: ") :]),))
        output = _OUTPUT.fullmatch(rest)
        text = output["text"] if output else rest
        return Update(logs=(Log(digest, 1, text.encode() + b"\n"),))
