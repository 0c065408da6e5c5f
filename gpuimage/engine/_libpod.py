"""What podman and buildah share: their build output, their image descriptions, their errors."""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpuimage import process
from gpuimage.engine.failures import LOG_LINES, StepFailure, build_error
from gpuimage.engine.lines import LineMap
from gpuimage.engine.staging import ignore_file
from gpuimage.engine.types import BuildEvent, BuildRequest, ImageInfo, LayerInfo, OnEvent
from gpuimage.errors import GpuImageError, UnavailableError

_STEP = re.compile(r"(?:\[(?P<stage>\d+)/\d+\] )?STEP (?P<number>\d+)/\d+: (?P<text>.*)")
_COMMIT = re.compile(r"(?:\[\d+/\d+\] )?COMMIT(?: .*)?")
_MADE = re.compile(r"--> (?P<id>[0-9a-f]{11,64})")
_CACHED = re.compile(r"--> Using cache (?P<id>[0-9a-f]+)")
_ID = re.compile(r"[0-9a-f]{64}")
_EXPORTING = "exporting to image"
_SOURCE = re.compile(
    r"initializing source docker://(?P<image>[^:\s]+(?::\d+)?[^\s:]*(?::[\w.-]+)?)"
    r"|short-name \"(?P<short>[^\"]+)\""
)
_FROM = re.compile(r"FROM (?:--\S+ )*(?P<image>\S+)", re.IGNORECASE)


class OutputReader:
    """Turns the lines of `podman build` and `buildah build` into events."""

    def __init__(self, request: BuildRequest, on_event: OnEvent) -> None:
        self._request = request
        self._lines = LineMap(request.dockerfile)
        self._emit = on_event
        self._step = ""
        self._line: int | None = None
        self._since = 0.0
        self._open = False
        self._log: deque[str] = deque(maxlen=LOG_LINES)
        self.made: list[str] = []
        self._cached = ""
        self._last = ""

    def read(self, line: str) -> None:
        """Take one line."""
        self._last = line
        if step := _STEP.fullmatch(line):
            self._begin(int(step["stage"] or 1), int(step["number"]), step["text"])
        elif cached := _CACHED.fullmatch(line):
            self._end("cached")
            self._cached = cached["id"]
        elif made := _MADE.fullmatch(line):
            self._made(made["id"])
        elif _COMMIT.fullmatch(line):
            self._end("done")
            self._start(_EXPORTING, None)
        elif self._step == _EXPORTING and _ID.fullmatch(line):
            return  # the image's id, which image() returns
        else:
            self._log.append(line)
            self._emit(BuildEvent("output", self._step, self._line, line))

    def _made(self, image: str) -> None:
        # A step from the cache is followed by the image that was there before: not ours to remove.
        if not (self._cached and self._cached.startswith(image)):
            self.made.append(image)
        self._end("done")

    def _begin(self, stage: int, number: int, text: str) -> None:
        self._end("done")
        found = self._lines.numbered(stage, number, text)
        self._cached = ""
        # The engine writes a stage's base as an image id; the Dockerfile's own words say more.
        self._start(found.text if found else text, found.line if found else None)

    def _start(self, step: str, line: int | None) -> None:
        self._step, self._line = step, line
        self._since, self._open = time.monotonic(), True
        self._log.clear()
        self._emit(BuildEvent("start", step, line))

    def _end(self, kind: Any) -> None:
        if self._open:
            self._open = False
            self._emit(BuildEvent(kind, self._step, self._line, seconds=time.monotonic() - self._since))

    def image(self, status: int) -> str:
        """Close the last step and return the image's id; raises the error for a build that failed.

        The id is the last line (with --iidfile buildah would not say which images it makes on the way).
        """
        if status != 0:
            raise self.failure(status)
        self._end("done")
        if not _ID.fullmatch(self._last):
            raise UnavailableError("the build ended without saying the image's id", why=self._last or None)
        return self._last

    def failure(self, status: int) -> GpuImageError:
        """Return the error for a build that ended with this status."""
        log = tuple(self._log)
        errors = [line for line in log if line.startswith("Error")]
        message = (
            "\n".join(line.removeprefix("Error: ") for line in errors)
            or f"the build ended with status {status}"
        )
        if self._open:
            self._open = False
            self._emit(BuildEvent("error", self._step, self._line, message, time.monotonic() - self._since))
        base = None
        if source := _SOURCE.search(message):
            named = _FROM.match(self._step)
            base = named["image"] if named else source["image"] or source["short"]
        return build_error(
            self._request,
            StepFailure(
                message, self._step or None, self._line, tuple(x for x in log if x not in errors), base
            ),
        )


@contextmanager
def build_files(request: BuildRequest) -> Iterator[list[str]]:
    """Write the Dockerfile and the ignore file outside the context; yields the options that name them."""
    with tempfile.TemporaryDirectory(prefix="gpuimage-") as name:
        directory = Path(name)
        dockerfile = directory / "Dockerfile"
        dockerfile.write_text(request.dockerfile)
        options = ["--file", str(dockerfile)]
        if ignore := ignore_file(request):
            (directory / "ignore").write_text(ignore)
            options += ["--ignorefile", str(directory / "ignore")]
        yield options


def oci_runtime() -> str | None:
    """Return the OCI runtime to ask for; None leaves the host's choice.

    crun before 1.9 refuses to start anything where cgroup v1 controllers are mounted beside v2 ("hybrid
    mode not supported"); runc takes that. A runtime that the host's configuration names is left alone.
    """
    if os.environ.get("CONTAINERS_CONF") or os.environ.get("BUILDAH_RUNTIME"):
        return None
    hybrid = Path("/sys/fs/cgroup/unified").is_dir() and Path("/sys/fs/cgroup/memory").is_dir()
    return "runc" if hybrid and process.which("runc") else None


def podman_image(found: Mapping[str, Any], layers: tuple[LayerInfo, ...]) -> ImageInfo:
    """Read one element of `podman image inspect`."""
    config = found.get("Config") or {}
    return ImageInfo(
        id=_sha(str(found["Id"])),
        size=int(found.get("Size") or found.get("VirtualSize") or 0),
        layers=layers,
        env=tuple(config.get("Env") or ()),
        user=str(config.get("User") or found.get("User") or ""),
        labels=dict(config.get("Labels") or {}),
        architecture=str(found.get("Architecture") or ""),
        entrypoint=tuple(config.get("Entrypoint") or ()),
        command=tuple(config.get("Cmd") or ()),
        tags=tuple(found.get("RepoTags") or ()),
    )


def podman_layers(history: str) -> tuple[LayerInfo, ...]:
    """Read `podman history --format json`, newest first; layers without bytes are dropped."""
    layers = json.loads(history or "[]")
    return tuple(
        LayerInfo(str(layer.get("CreatedBy") or ""), int(layer["size"]))
        for layer in reversed(layers)
        if int(layer.get("size") or 0) > 0
    )


def _sha(identifier: str) -> str:
    return identifier if identifier.startswith("sha256:") else f"sha256:{identifier}"


def error_text(output: str) -> str:
    """Return the lines that say what went wrong, without the warnings around them."""
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return "\n".join(line.removeprefix("Error: ") for line in errors or lines[-5:])
