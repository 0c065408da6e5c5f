"""BuildKit's progress messages: from protobuf bytes, and from the JSON lines of buildx.

The field numbers below are facts of BuildKit's api/services/control/control.proto (message StatusResponse),
held against a Docker 20.10 daemon by the tests. The wire format: each field is a varint tag (number * 8 +
type) and a value; type 0 is a varint, 1 eight bytes, 2 a length and that many bytes, 5 four bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Field = tuple[int, int | bytes]

# StatusResponse
_VERTEXES, _STATUSES, _LOGS, _WARNINGS = 1, 2, 3, 4


class WireError(ValueError):
    """These bytes are no protobuf message."""


@dataclass(frozen=True, slots=True)
class Vertex:
    """One node of the build graph; times in seconds since the epoch."""

    digest: str
    name: str = ""
    cached: bool = False
    started: float | None = None
    completed: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """Progress of a part of a vertex's work, such as one layer that is being fetched; in bytes."""

    id: str
    vertex: str
    current: int = 0
    total: int = 0
    completed: bool = False


@dataclass(frozen=True, slots=True)
class Log:
    """Output of a vertex; stream 1 is standard output, 2 standard error."""

    vertex: str
    stream: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Update:
    """One message of the progress stream."""

    vertexes: tuple[Vertex, ...] = ()
    statuses: tuple[Status, ...] = ()
    logs: tuple[Log, ...] = ()
    warnings: tuple[str, ...] = ()


def fields(data: bytes) -> Iterator[Field]:
    """Read the fields of one protobuf message: number and value (an int, or bytes)."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, kind = tag >> 3, tag & 7
        value: int | bytes
        if kind == 0:
            value, at = _varint(data, at)
        elif kind in (1, 2, 5):
            if kind == 2:
                size, at = _varint(data, at)
            else:
                size = 8 if kind == 1 else 4
            value = data[at : at + size]
            at += size
            if at > len(data):
                raise WireError("a field is longer than its message")
        else:
            raise WireError(f"unknown wire type {kind}")
        if number == 0:
            raise WireError("field number 0")
        yield number, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
    raise WireError("a varint does not end")


def _collect(data: bytes) -> dict[int, int | bytes]:
    """Read a message in which every field counts once (the last one wins, as protobuf says)."""
    return dict(fields(data))


def _text(value: int | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def _number(value: int | bytes | None) -> int:
    if not isinstance(value, int):
        return 0
    return value - (1 << 64) if value >> 63 else value  # int64 is sent as two's complement


def _time(value: int | bytes | None) -> float | None:
    """Read a google.protobuf.Timestamp: seconds=1, nanos=2."""
    if not isinstance(value, bytes):
        return None
    parts = _collect(value)
    return _number(parts.get(1)) + _number(parts.get(2)) / 1e9


def decode(data: bytes) -> Update:
    """Decode a moby.buildkit.v1.StatusResponse; WireError for anything else."""
    vertexes: list[Vertex] = []
    statuses: list[Status] = []
    logs: list[Log] = []
    warnings: list[str] = []
    for number, value in fields(data):
        if not isinstance(value, bytes):
            continue
        if number == _VERTEXES:
            vertexes.append(_vertex(value))
        elif number == _STATUSES:
            statuses.append(_status(value))
        elif number == _LOGS:
            part = _collect(value)  # VertexLog: vertex=1, timestamp=2, stream=3, msg=4
            message = part.get(4)
            data_ = message if isinstance(message, bytes) else b""
            logs.append(Log(_text(part.get(1)), _number(part.get(3)), data_))
        elif number == _WARNINGS:  # VertexWarning: vertex=1, level=2, short=3, detail=4, url=5
            warnings.append(_text(_collect(value).get(3)))
    return Update(tuple(vertexes), tuple(statuses), tuple(logs), tuple(warnings))


def _vertex(data: bytes) -> Vertex:
    # Vertex: digest=1, inputs=2 (repeated), name=3, cached=4, started=5, completed=6, error=7
    part = _collect(data)
    return Vertex(
        digest=_text(part.get(1)),
        name=_text(part.get(3)),
        cached=bool(part.get(4)),
        started=_time(part.get(5)),
        completed=_time(part.get(6)),
        error=_text(part.get(7)),
    )


def _status(data: bytes) -> Status:
    # VertexStatus: ID=1, vertex=2, name=3, current=4, total=5, timestamp=6, started=7, completed=8
    part = _collect(data)
    return Status(
        id=_text(part.get(1)),
        vertex=_text(part.get(2)),
        current=_number(part.get(4)),
        total=_number(part.get(5)),
        completed=part.get(8) is not None,
    )


def from_json(message: dict[str, Any]) -> Update:
    """Decode one line of `buildx build --progress=rawjson`: the same message with Go's JSON names."""
    return Update(
        tuple(
            Vertex(
                digest=str(v.get("digest", "")),
                name=str(v.get("name", "")),
                cached=bool(v.get("cached")),
                started=_iso(v.get("started")),
                completed=_iso(v.get("completed")),
                error=str(v.get("error") or ""),
            )
            for v in message.get("vertexes") or ()
        ),
        tuple(
            Status(
                id=str(s.get("id", "")),
                vertex=str(s.get("vertex", "")),
                current=int(s.get("current") or 0),
                total=int(s.get("total") or 0),
                completed=s.get("completed") is not None,
            )
            for s in message.get("statuses") or ()
        ),
        tuple(
            Log(str(entry.get("vertex", "")), int(entry.get("stream") or 0), _base64(entry.get("data")))
            for entry in message.get("logs") or ()
        ),
        tuple(_base64(w.get("short")).decode("utf-8", "replace") for w in message.get("warnings") or ()),
    )


def _iso(value: object) -> float | None:
    try:
        return datetime.fromisoformat(str(value)).timestamp() if value else None
    except ValueError:
        return None


def _base64(value: object) -> bytes:
    try:
        return base64.b64decode(str(value or ""))
    except ValueError:
        return b""
