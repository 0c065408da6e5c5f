"""BuildKit's progress: protobuf bytes and JSON lines become events and errors."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.engine import BuildEvent, BuildRequest
from gpuimage.engine.buildkit import Tracker
from gpuimage.engine.buildx import PlainReader, RawReader
from gpuimage.engine.wire import Log, Status, Update, Vertex, WireError, decode, fields, from_json
from gpuimage.errors import BuildError, UnavailableError

DOCKERFILE = """\
# a service
FROM base AS builder
RUN pip wheel \\
    torch
FROM scratch
WORKDIR /app
COPY --from=builder /out /app
"""


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: int | bytes | str) -> bytes:
    """Encode one protobuf field: written from the format's description, apart from the decoder."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def timestamp(seconds: int, nanos: int) -> bytes:
    return field(1, seconds) + field(2, nanos)


def events_of(*updates: Update, dockerfile: str = DOCKERFILE) -> list[BuildEvent]:
    events: list[BuildEvent] = []
    tracker = Tracker(BuildRequest(dockerfile, Path()), events.append)
    for update in updates:
        tracker.update(update)
    return events


def test_a_whole_message_is_decoded() -> None:
    vertex = (
        field(1, "sha256:a")
        + field(2, "sha256:in1")
        + field(2, "sha256:in2")
        + field(3, "[1/2] RUN x")
        + field(4, 1)
        + field(5, timestamp(100, 500_000_000))
        + field(6, timestamp(101, 0))
        + field(7, "boom")
    )
    status = field(1, "layer") + field(2, "sha256:a") + field(4, 7 << 30) + field(5, 9 << 30)
    log = field(1, "sha256:a") + field(3, 2) + field(4, b"\xffout\n")
    warning = field(1, "sha256:a") + field(2, 1) + field(3, "careful")
    assert decode(field(1, vertex) + field(2, status) + field(3, log) + field(4, warning)) == Update(
        (Vertex("sha256:a", "[1/2] RUN x", True, 100.5, 101.0, "boom"),),
        (Status("layer", "sha256:a", 7 << 30, 9 << 30),),
        (Log("sha256:a", 2, b"\xffout\n"),),
        ("careful",),
    )


def test_fields_that_a_newer_daemon_adds_are_passed_over() -> None:
    known = field(1, "d") + field(3, "name")
    fixed = varint(20 << 3 | 1) + bytes(8) + varint(21 << 3 | 5) + bytes(4)
    assert decode(field(9, "new") + field(1, known + field(8, "new") + fixed)).vertexes == (
        Vertex("d", "name"),
    )


def test_a_recorded_message_of_docker_20_10_is_read() -> None:
    # Vertex "[builder 2/2] RUN …" started, as the daemon sent it (digest shortened).
    raw = b"\nU\n\tsha256:74\x12\tsha256:27\x1a([builder 2/2] RUN echo one;     echo two*\x0c\x08\xf4\xd2\xb9"
    raw += b"\xd8\x06\x10\xd8\x90\x9f\xc7\x03"
    raw = raw.replace(b"\nU", b"\n" + bytes([len(raw) - 2]), 1)
    (vertex,) = decode(raw).vertexes
    assert vertex.name == "[builder 2/2] RUN echo one;     echo two"
    assert vertex.started == pytest.approx(1796106612.955, abs=0.001)
    assert vertex.completed is None


@given(st.lists(st.tuples(st.integers(1, 2**20), st.integers(0, 2**64 - 1) | st.binary())))
def test_what_is_encoded_is_decoded(message: list[tuple[int, int | bytes]]) -> None:
    assert list(fields(b"".join(field(n, v) for n, v in message))) == message


@given(st.binary())
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_message_or_a_wire_error(data: bytes) -> None:
    try:
        decode(data)
    except WireError:
        return


def test_a_cut_message_is_a_wire_error() -> None:
    whole = field(1, field(3, "name"))
    for length in range(1, len(whole)):
        with pytest.raises(WireError):
            decode(whole[:length])


@given(st.binary())
def test_an_unreadable_trace_does_not_end_the_build(data: bytes) -> None:
    tracker = Tracker(BuildRequest(DOCKERFILE, Path()), lambda _event: None)
    tracker.trace(base64.b64encode(data).decode())
    tracker.trace(data.decode("latin-1"))


def test_rawjson_of_buildx_says_the_same_as_the_wire() -> None:
    line = {
        "vertexes": [
            {
                "digest": "sha256:a",
                "inputs": None,
                "name": "[1/2] RUN x",
                "started": "1970-01-01T00:01:40.5Z",
                "completed": "1970-01-01T00:01:41.000000001Z",
                "error": "boom",
            }
        ],
        "statuses": [{"id": "layer", "vertex": "sha256:a", "name": "", "total": 9, "current": 7}],
        "logs": [{"vertex": "sha256:a", "stream": 2, "data": base64.b64encode(b"out\n").decode()}],
        "warnings": [{"vertex": "sha256:a", "short": base64.b64encode(b"careful").decode()}],
    }
    update = from_json(json.loads(json.dumps(line)))
    assert update.vertexes[0].started == 100.5
    assert update.vertexes[0].completed == pytest.approx(101.0)
    assert update.vertexes[0].error == "boom"
    assert update.statuses == (Status("layer", "sha256:a", 7, 9),)
    assert update.logs == (Log("sha256:a", 2, b"out\n"),)
    assert update.warnings == ("careful",)


def test_a_step_is_shown_with_its_line_its_output_and_its_time() -> None:
    name = "[builder 2/2] RUN pip wheel     torch"
    step = "RUN pip wheel     torch"
    assert events_of(
        Update((Vertex("a", name),)),
        Update((Vertex("a", name, started=10.0),)),
        Update(statuses=(Status("blob", "a", 5, 10),), logs=(Log("a", 1, b"one\ntw"), Log("a", 2, b"err\n"))),
        Update(logs=(Log("a", 1, b"o\n10%\r20%\r\nlast"),)),
        Update((Vertex("a", name, started=10.0, completed=12.5),)),
        Update((Vertex("a", name, started=10.0, completed=12.5),)),
    ) == [
        BuildEvent("start", step, 3),
        BuildEvent("transfer", step, 3, "blob", current=5, total=10),
        BuildEvent("output", step, 3, "one"),
        BuildEvent("output", step, 3, "err"),
        BuildEvent("output", step, 3, "two"),
        BuildEvent("output", step, 3, "20%"),
        BuildEvent("output", step, 3, "last"),
        BuildEvent("done", step, 3, seconds=2.5),
    ]


def test_a_cached_step_is_neither_started_nor_done() -> None:
    events = events_of(Update((Vertex("a", "[stage-1 2/2] COPY x", True, 1.0, 1.0),)))
    assert [(event.kind, event.line) for event in events] == [("cached", 7)]


def test_work_that_no_instruction_asked_for_keeps_its_name() -> None:
    events = events_of(Update((Vertex("a", "exporting to image", started=1.0),)))
    assert events == [BuildEvent("start", "exporting to image", None)]


def test_a_failed_step_is_named_with_line_and_last_lines() -> None:
    tracker = Tracker(BuildRequest(DOCKERFILE, Path()), lambda _event: None)
    name = "[builder 2/2] RUN pip wheel     torch"
    noise = b"".join(b"line %d\n" % n for n in range(100))
    tracker.update(Update((Vertex("a", name, started=1.0),), logs=(Log("a", 1, noise),)))
    tracker.update(Update((Vertex("b", "[stage-1 1/2] WORKDIR /app", error="context canceled"),)))
    tracker.update(Update((Vertex("a", name, started=1.0, completed=2.0, error="exit code: 1"),)))
    error = tracker.failure("failed to solve")
    assert isinstance(error, BuildError)
    assert error.where is not None
    assert error.where.line == 3
    assert "RUN pip wheel torch" in error.what
    assert error.why == "exit code: 1"
    assert error.log == tuple(f"line {n}" for n in range(80, 100))


def test_a_base_that_no_registry_has_is_unavailable_and_named() -> None:
    tracker = Tracker(BuildRequest("FROM python:3.12-slim\n", Path()), lambda _event: None)
    name = "[internal] load metadata for docker.io/library/python:3.12-slim"
    tracker.update(Update((Vertex("a", name, started=1.0, completed=2.0, error="manifest unknown"),)))
    error = tracker.failure("failed to solve")
    assert isinstance(error, UnavailableError)
    assert "docker.io/library/python:3.12-slim" in error.what
    assert error.where is not None
    assert error.where.line == 1
    assert "correct the name or the tag" in (error.hint or "")


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("dockerfile parse error line 3: unknown instruction: X", 3),
        ("dockerfile parse error on line 3: unknown instruction: X", 3),
        ("something else", None),
    ],
)
def test_an_error_before_any_step_keeps_the_line_it_names(message: str, line: int | None) -> None:
    error = Tracker(BuildRequest(DOCKERFILE, Path()), lambda _event: None).failure(message)
    assert isinstance(error, BuildError)
    assert (error.where.line if error.where else None) == line


def test_a_full_disk_is_said() -> None:
    tracker = Tracker(BuildRequest(DOCKERFILE, Path()), lambda _event: None)
    name = "[builder 2/2] RUN pip wheel     torch"
    log = Log("a", 2, b"OSError: [Errno 28] No space left on device\n")
    tracker.update(Update((Vertex("a", name, started=1.0),), logs=(log,)))
    tracker.update(Update((Vertex("a", name, started=1.0, completed=2.0, error="exit code: 1"),)))
    assert "the disk is full" in str(tracker.failure(""))


def test_killed_for_memory_is_explained() -> None:
    tracker = Tracker(BuildRequest(DOCKERFILE, Path()), lambda _event: None)
    name = "[builder 2/2] RUN pip wheel     torch"
    tracker.update(Update((Vertex("a", name, started=1.0, completed=2.0, error="exit code: 137"),)))
    assert "MAX_JOBS" in str(tracker.failure(""))


@pytest.mark.parametrize("indent", [None, 2], ids=["one line each", "indented, as buildx 0.13 writes"])
def test_rawjson_is_read_line_by_line_and_other_lines_are_passed_over(indent: int | None) -> None:
    messages = [
        {"vertexes": [{"digest": "a", "name": "[builder 2/2] RUN x", "started": "1970-01-01T00:00:01Z"}]},
        {"logs": [{"vertex": "a", "stream": 1, "data": base64.b64encode(b"}\n{\n").decode()}]},
        {"warnings": []},
    ]
    lines = ["WARNING: something else"]
    for message in messages:
        lines += json.dumps(message, indent=indent).splitlines()
    lines.append("ERROR: failed to solve: x")
    reader = RawReader()
    passed, updates = [], []
    for line in lines:
        update = reader.read(line)
        if update is not None:
            updates.append(update)
        elif not reader.inside:
            passed.append(line)
    assert [event.text for event in events_of(*updates)] == ["", "}", "{"]
    assert len(updates) == 3
    assert passed == ["WARNING: something else", "ERROR: failed to solve: x"]


def test_plain_progress_of_an_older_buildx_becomes_the_same_events() -> None:
    reader = PlainReader()
    lines = [
        "#7 [builder 2/2] RUN pip wheel     torch",
        "#7 0.513 collecting",
        "#7 DONE 1.5s",
        "#8 [stage-1 2/2] COPY --from=builder /out /app",
        "#8 CACHED",
        "#9 [stage-1 1/2] WORKDIR /app",
        "#9 ERROR: no",
    ]
    events = events_of(*(update for line in lines if (update := reader.read(line)) is not None))
    assert [(event.kind, event.line, event.text, event.seconds) for event in events] == [
        ("start", 3, "", None),
        ("output", 3, "collecting", None),
        ("done", 3, "", 1.5),
        ("start", 7, "", None),
        ("cached", 7, "", None),
        ("start", 6, "", None),
        ("error", 6, "no", 0.0),
    ]
    assert reader.read("------") is None
