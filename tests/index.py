"""A package index on the loopback: real HTTP, with pages, wheels and faults as a test wants them."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = "application/vnd.pypi.simple.v1+json"
Fault = Callable[[BaseHTTPRequestHandler], None]


def wheel(name: str, version: str, files: Mapping[str, bytes | str], requires: tuple[str, ...] = ()) -> bytes:
    """A wheel's bytes with these files and requirements."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in {**files, f"{info}/METADATA": "\n".join(lines) + "\n"}.items():
            archive.writestr(path, content)
    return out.getvalue()


class LocalIndex:
    """What the server holds: `files` by path, `faults` by path, and the requests that came."""

    def __init__(self, url: str) -> None:
        self.host = url
        self.url = f"{url}/simple"
        self.files: dict[str, bytes] = {}
        self.pages: dict[str, list[dict[str, Any]]] = {}
        self.faults: dict[str, Fault] = {}
        self.asked: list[tuple[str, str, str | None]] = []

    def add(
        self,
        project: str,
        filename: str,
        data: bytes | int = 1000,
        *,
        metadata: str | None = None,
        **entry: object,
    ) -> None:
        """List a file of a project; its bytes, or only how many they are; `metadata` lies beside it."""
        row: dict[str, Any] = {
            "filename": filename, "url": f"../../files/{filename}", "hashes": {}, "requires-python": ">=3.11",
            "size": data if isinstance(data, int) else len(data), "upload-time": "2026-12-20T10:00:00.0Z", "yanked": False,
        }  # fmt: skip
        if isinstance(data, bytes):
            self.files[f"/files/{filename}"] = data
            row["hashes"] = {"sha256": hashlib.sha256(data).hexdigest()}
        if metadata is not None:
            self.files[f"/files/{filename}.metadata"] = metadata.encode()
            row["core-metadata"] = True
        self.pages.setdefault(project, []).append({**row, **entry})

    def page(self, project: str) -> bytes:
        """The page of a project."""
        document = {"meta": {"api-version": "1.1"}, "name": project, "files": self.pages[project]}
        return json.dumps(document).encode()


@contextmanager
def serving() -> Iterator[LocalIndex]:
    """Serve an index for as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.block_on_close = False  # a request that hangs on purpose
    index = LocalIndex(f"http://127.0.0.1:{server.server_address[1]}")
    server.index = index  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        index: LocalIndex = self.server.index  # type: ignore[attr-defined]
        index.asked.append((self.command, self.path, self.headers.get("Authorization")))
        fault = index.faults.get(self.path) or index.faults.get("*")
        if fault:
            self.close_connection = True
            fault(self)
            return
        project = self.path.removeprefix("/simple/").strip("/")
        if project in index.pages:
            answer(self, index.page(project), kind=JSON)
        elif self.path in index.files:
            self._file(index.files[self.path])
        else:
            answer(self, b"no such thing", 404)

    def _file(self, data: bytes) -> None:
        span = self.headers.get("Range")
        if span is None:
            answer(self, data)
            return
        first, last = map(int, span.removeprefix("bytes=").split("-"))
        answer(self, data[first : last + 1], 206)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def answer(
    handler: BaseHTTPRequestHandler,
    body: bytes,
    status: int = 200,
    *,
    kind: str = "text/plain",
    length: int | None = None,
) -> None:
    """Send an answer, with another length than it has where a test wants one cut off."""
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


def hang(handler: BaseHTTPRequestHandler) -> None:
    """Take the request and never answer."""
    time.sleep(60)


def trickle(handler: BaseHTTPRequestHandler) -> None:
    """Answer a byte at a time, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(3000):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)
