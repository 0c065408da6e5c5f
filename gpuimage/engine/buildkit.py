"""BuildKit's progress as build events, and its failures as our errors."""

from __future__ import annotations

import base64
import re
from collections import deque
from dataclasses import dataclass, field

from gpuimage.engine.failures import LOG_LINES, StepFailure, build_error
from gpuimage.engine.lines import LineMap
from gpuimage.engine.types import BuildEvent, BuildRequest, OnEvent
from gpuimage.engine.wire import Log, Status, Update, Vertex, decode
from gpuimage.errors import GpuImageError

TRACE = "moby.buildkit.trace"
IMAGE_ID = "moby.image.id"

# For example "[builder 2/5] RUN …", without a stage's name, or with a platform before it.
_NAME = re.compile(r"\[(?:(?P<head>[^\]]*?) )?(?P<number>\d+)/(?P<total>\d+)\] (?P<text>.*)", re.DOTALL)
_METADATA = re.compile(r"\[(?:\S+ )?internal\] load metadata for (?P<image>\S+)")
_PARSE_ERROR = re.compile(r"\bparse error (?:on )?line (?P<line>\d+)")
_FROM = re.compile(r"FROM (?:--\S+ )*(?P<image>\S+)", re.IGNORECASE)


@dataclass(slots=True)
class _State:
    """What is known of a vertex so far."""

    step: str
    line: int | None
    name: str
    started: bool = False
    ended: bool = False
    partial: dict[int, bytes] = field(default_factory=dict)
    log: deque[str] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    error: str = ""


class Tracker:
    """Turns progress messages into events and remembers what is needed to explain a failure."""

    def __init__(self, request: BuildRequest, on_event: OnEvent) -> None:
        self._request = request
        self._lines = LineMap(request.dockerfile)
        self._emit = on_event
        self._states: dict[str, _State] = {}

    def trace(self, aux: object) -> None:
        """Take the base64 payload of a `moby.buildkit.trace` message; one that cannot be read is skipped."""
        try:
            update = decode(base64.b64decode(str(aux)))
        except ValueError:  # of base64, or WireError
            return  # progress is for people; a newer daemon's unknown message must not end the build
        self.update(update)

    def update(self, update: Update) -> None:
        """Take one message."""
        for vertex in update.vertexes:
            self._vertex(vertex)
        for status in update.statuses:
            self._status(status)
        for log in update.logs:
            self._log(log)
        for warning in update.warnings:
            self._emit(BuildEvent("output", "warning", text=warning))

    def _vertex(self, vertex: Vertex) -> None:
        state = self._states.get(vertex.digest)
        if state is None:
            step, line = self._place(vertex.name)
            state = self._states[vertex.digest] = _State(step, line, vertex.name)
        if vertex.started is not None and not state.started and not vertex.cached:
            state.started = True
            self._emit(BuildEvent("start", state.step, state.line))
        if state.ended or (vertex.completed is None and not vertex.cached and not vertex.error):
            return
        state.ended = True
        self._flush(state)
        seconds = None
        if vertex.started is not None and vertex.completed is not None:
            seconds = max(0.0, vertex.completed - vertex.started)
        if vertex.error and not vertex.cached:
            state.error = vertex.error
            self._emit(BuildEvent("error", state.step, state.line, vertex.error, seconds))
        else:
            self._emit(
                BuildEvent("cached" if vertex.cached else "done", state.step, state.line, seconds=seconds)
            )

    def _place(self, name: str) -> tuple[str, int | None]:
        match = _NAME.fullmatch(name)
        if not match:
            image = _METADATA.fullmatch(name)
            return name, self._base_line(image["image"]) if image else None
        stage = (match["head"] or "").rpartition(" ")[2] or None
        if stage and "/" in stage:
            stage = None  # only a platform
        found = self._lines.buildkit(stage, int(match["number"]), int(match["total"]), match["text"])
        return (found.text, found.line) if found else (match["text"], None)

    def _base_line(self, image: str) -> int | None:
        """Return the line of the FROM that names an image; BuildKit writes the name in full."""
        for step in self._lines.steps:
            named = _FROM.match(step.text)
            if named and image.endswith(named["image"].removeprefix("docker.io/").removesuffix(":latest")):
                return step.line
            if named and image.removesuffix(":latest").endswith("/" + named["image"]):
                return step.line
        return None

    def _status(self, status: Status) -> None:
        state = self._states.get(status.vertex)
        if state is None or not (status.total or status.current):
            return
        self._emit(
            BuildEvent(
                "transfer",
                state.step,
                state.line,
                status.id,
                current=status.current,
                total=status.total or None,
            )
        )

    def _log(self, log: Log) -> None:
        state = self._states.get(log.vertex)
        if state is None:
            state = self._states[log.vertex] = _State(log.vertex, None, "")
        *whole, rest = (state.partial.get(log.stream, b"") + log.data).split(b"\n")
        state.partial[log.stream] = rest
        for line in whole:
            self._line(state, line)

    def _flush(self, state: _State) -> None:
        for rest in state.partial.values():
            if rest:
                self._line(state, rest)
        state.partial.clear()

    def _line(self, state: _State, raw: bytes) -> None:
        # A progress bar redraws its line with carriage returns: its last state is what a person would see.
        text = raw.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
        state.log.append(text)
        self._emit(BuildEvent("output", state.step, state.line, text))

    def _instruction(self, line: int | None) -> str | None:
        return next((step.text for step in self._lines.steps if step.line == line), None)

    def failure(self, message: str) -> GpuImageError:
        """Return the error for a build that the engine gave up with this message."""
        failed = [s for s in self._states.values() if s.error and "canceled" not in s.error]
        failed = failed or [s for s in self._states.values() if s.error]
        if not failed:
            place = _PARSE_ERROR.search(message)
            line = int(place["line"]) if place else None
            return build_error(self._request, StepFailure(message, self._instruction(line), line))
        state = failed[0]
        self._flush(state)
        image = _METADATA.fullmatch(state.name) or _FROM.match(state.step)
        return build_error(
            self._request,
            StepFailure(
                message=state.error or message,
                step=state.step if state.line or not image else f"FROM {image['image']}",
                line=state.line,
                log=tuple(state.log),
                base=image["image"] if image else None,
            ),
        )
