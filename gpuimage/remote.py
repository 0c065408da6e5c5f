"""What is read over HTTP: whole answers within a bound of bytes and time, files held to their hash, parts of files by range.

Proxies (HTTPS_PROXY), a company CA (SSL_CERT_FILE) and passwords (in the address, or in ~/.netrc) count as they do for
pip and uv. An address is never shown with its password.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import io
import netrc
import queue
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from gpuimage.errors import UnavailableError

_CHUNK = 1 << 20
_LARGEST = 64 << 20  # bytes of an answer that is read whole
_HINT = "check the network, a proxy (HTTPS_PROXY) and the company CA (SSL_CERT_FILE)"

_In = TypeVar("_In")
_Out = TypeVar("_Out")


PYPI = "https://pypi.org/simple"
INDEX_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
"""The variables of uv and pip that name the package index, the first that is set counts."""


class MissingError(UnavailableError):
    """The server answers, and has no such thing (404, 410)."""


def shown(url: str) -> str:
    """Return an address without its user and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def read(url: str, *, accept: str = "*/*", timeout: float = 30.0, login: str = "") -> tuple[bytes, str]:
    """Return the bytes of an answer, and the address that gave them in the end.

    `timeout` is in seconds, for each step and (ten times of it) for the whole. `login` is an address whose password counts
    for its own host. Raises MissingError for a 404, UnavailableError for everything else that goes wrong; what may pass
    by itself is asked for once more.
    """
    with _answer(url, {"Accept": accept}, timeout, login) as answer:
        data = b"".join(_chunks(answer, url, timeout * 10, _LARGEST))
        return data, str(answer.url)


def download(url: str, path: Path, sha256: str, *, timeout: float = 30.0, login: str = "") -> None:
    """Write a file to `path`; UnavailableError where its hash is another than the hex digits given."""
    digest = hashlib.sha256()
    with _answer(url, {}, timeout, login) as answer, path.open("wb") as file:
        for chunk in _chunks(answer, url, timeout * 40, None):
            digest.update(chunk)
            _keep(file, chunk, path)
    if digest.hexdigest() != sha256:
        raise UnavailableError(
            f"{shown(url)} is not the file that the index names", why="its SHA-256 is another"
        )


def _keep(file: BinaryIO, chunk: bytes, path: Path) -> None:
    try:
        file.write(chunk)
    except OSError as error:  # told apart from what the server does wrong
        raise UnavailableError(f"{path} cannot be written", why=error.strerror) from error


@contextmanager
def _answer(
    url: str, headers: Mapping[str, str], timeout: float, login: str
) -> Iterator[http.client.HTTPResponse]:
    try:
        with _opened(request(url, headers, login), timeout) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        kind = MissingError if error.code in (404, 410) else UnavailableError
        raise kind(f"{shown(url)} answers {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: an address that is none
        reason = str(getattr(error, "reason", None) or error) or type(error).__name__
        raise UnavailableError(f"{shown(url)} does not answer", why=reason, hint=_HINT) from error


def _opened(request: urllib.request.Request, timeout: float) -> http.client.HTTPResponse:
    """Open a request; a server that fails or hangs up gets a second chance."""
    try:
        return _open(request, timeout)
    except urllib.error.HTTPError as error:
        if error.code < 500 and error.code != 429:
            raise
    except (ConnectionError, http.client.RemoteDisconnected):
        pass
    time.sleep(0.2)
    return _open(request, timeout)


def _open(request: urllib.request.Request, timeout: float) -> http.client.HTTPResponse:
    try:
        answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=timeout)  # noqa: S310  # see request
    except urllib.error.HTTPError as error:
        error.close()  # it is an answer too, and holds the connection
        raise
    return answer


def request(
    url: str, headers: Mapping[str, str], login: str = "", method: str = "GET"
) -> urllib.request.Request:
    """Return a question with the password that its address or ~/.netrc holds; UnavailableError for what is no web address."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise UnavailableError(f"{shown(url)} is no address of http or https")
    request = urllib.request.Request(shown(url), headers=dict(headers), method=method)  # noqa: S310
    if secret := _secret(url) or (_secret(login) if urlsplit(login).hostname == parts.hostname else None):
        # Not to follow a redirect to another host.
        request.add_unredirected_header("Authorization", f"Basic {secret}")
    return request


def _secret(url: str) -> str | None:
    """Return user and password for an address, in the form of HTTP's basic authentication."""
    parts = urlsplit(url)
    pair = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    if pair is None and parts.hostname:
        try:
            found = netrc.netrc().authenticators(parts.hostname)
        except (OSError, netrc.NetrcParseError):
            found = None
        pair = (found[0], found[2] or "") if found else None
    return base64.b64encode(":".join(pair).encode()).decode() if pair else None


def _chunks(answer: http.client.HTTPResponse, url: str, seconds: float, most: int | None) -> Iterator[bytes]:
    """Yield an answer in pieces; one that is cut off, trickles or does not end raises."""
    begin, length = time.monotonic(), 0
    wanted = answer.headers.get("Content-Length")
    while chunk := answer.read1(_CHUNK):
        length += len(chunk)
        if time.monotonic() - begin > seconds:
            raise UnavailableError(f"{shown(url)} is too slow", why=f"{length} bytes in {seconds:g} seconds")
        if most is not None and length > most:
            raise UnavailableError(
                f"{shown(url)} answers with more than {most} bytes, which no list of files has"
            )
        yield chunk
    if wanted is not None and wanted.isdigit() and length != int(wanted):
        raise UnavailableError(
            f"the answer of {shown(url)} is cut off", why=f"{length} of {wanted} bytes came"
        )


def every(function: Callable[[_In], _Out], items: Iterable[_In], workers: int = 8) -> tuple[_Out, ...]:
    """Call a function for each item in a bounded number of threads; results in the order of the items.

    The first error is raised at once, and so is Ctrl-C: what still waits for a server is left behind and dies with the
    process.
    """
    todo: queue.SimpleQueue[tuple[int, _In]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, _Out | None, BaseException | None]] = queue.SimpleQueue()
    listed: Sequence[_In] = list(items)
    for pair in enumerate(listed):
        todo.put(pair)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                number, item = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, function(item), None))
            except BaseException as error:  # raised again where the results are gathered
                done.put((number, None, error))

    for _ in range(min(workers, len(listed))):
        threading.Thread(target=work, daemon=True).start()
    results: dict[int, _Out] = {}
    try:
        while len(results) < len(listed):
            number, result, error = done.get()
            if error is not None:
                raise error
            results[number] = result  # type: ignore[assignment]  # there was no error
    finally:
        stop.set()
    return tuple(results[number] for number in range(len(listed)))


class RemoteFile(io.RawIOBase):
    """A file behind HTTP range requests, as much of it as zipfile needs. Raises OSError where it cannot be read so."""

    def __init__(self, url: str, *, timeout: float = 30.0, login: str = "") -> None:
        self._url, self._timeout, self._login = url, timeout, login
        self._at = 0

        with _opened(request(url, {}, login, method="HEAD"), timeout) as answer:
            self._size = int(answer.headers["Content-Length"] or 0)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that `seek` works."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, start + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]  # typeshed wants WriteableBuffer
        """Read from the position: one request."""
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        wanted = {"Range": f"bytes={self._at}-{end - 1}"}
        try:
            with _open(request(self._url, wanted, self._login), self._timeout) as answer:
                if answer.status != 206:  # the whole file came back: reading it would be the download itself
                    raise OSError("this index does not answer range requests")
                data = answer.read(end - self._at)
        except http.client.HTTPException as error:
            raise OSError(f"the answer is cut off: {error}") from error
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
