"""The Docker Engine API through the docker SDK: connecting, building with BuildKit, containers."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import docker.errors
import requests
import urllib3.exceptions
from docker import APIClient
from docker.context import ContextAPI
from docker.utils import kwargs_from_env
from docker.utils.socket import frames_iter

from gpuimage.engine.buildkit import IMAGE_ID, TRACE, Tracker
from gpuimage.engine.context import tar_context
from gpuimage.engine.types import BuildEvent, BuildRequest, OnEvent, RunResult, Trouble
from gpuimage.errors import GpuImageError, SpecError, UnavailableError

DEFAULT_HOST = "unix:///var/run/docker.sock"
CONNECT_SECONDS = 10
DOCKERFILE = ".gpuimage.Dockerfile"
LABEL = "gpuimage.helper"
_MAX_OUTPUT = 16 << 20


class NoAnswerError(UnavailableError):
    """A daemon that cannot be spoken to; `trouble` is the kind of it."""

    def __init__(self, host: str, error: Exception) -> None:
        problem = _root(error)
        self.trouble = _trouble(problem)
        forbidden = self.trouble == "forbidden"
        super().__init__(
            f"docker: no answer on {host}",
            why=_reason(problem),
            hint="`sudo usermod -aG docker $USER`, then log in again"
            if forbidden
            else "start it with `systemctl start docker`, or say where it is with DOCKER_HOST",
        )


def find_host(host: str | None) -> str:
    """Return the daemon's address: the argument, DOCKER_HOST, the CLI's current context, or the default."""
    if chosen := host or os.environ.get("DOCKER_HOST"):
        return chosen
    with contextlib.suppress(Exception):  # a broken context file must not hide a daemon that answers
        current = ContextAPI.get_current_context()
        if current is not None and current.Host:
            return str(current.Host)
    return DEFAULT_HOST


def connect(host: str) -> APIClient:
    """Open a client and ask the daemon for its API version; NoAnswerError when it does not answer."""
    try:
        _knock(host)
        return _connect(host)
    except (docker.errors.DockerException, requests.RequestException, OSError) as problem:
        raise NoAnswerError(host, problem) from None


def _knock(host: str) -> None:
    """Connect to a unix socket and leave again: the SDK's own errors hide the reason."""
    if host.startswith("unix://"):
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(CONNECT_SECONDS)
            probe.connect(host.removeprefix("unix://"))


def _root(problem: BaseException) -> BaseException:
    """What the system said, below the layers that HTTP libraries put around it; the error itself where nothing is known."""
    told = (
        FileNotFoundError,
        PermissionError,
        ConnectionRefusedError,
        TimeoutError,
        socket.gaierror,
        ssl.SSLError,
    )
    found: BaseException | None = problem
    while found is not None and not isinstance(found, told):
        found = found.__cause__ or found.__context__
    return found or problem


def _reason(problem: BaseException) -> str:
    if isinstance(problem, FileNotFoundError):
        return "there is no such socket"
    if isinstance(problem, PermissionError):
        return "this user may not use the socket (add it to the group docker, or use sudo)"
    if isinstance(problem, ConnectionRefusedError):
        return "nothing listens there"
    if isinstance(problem, socket.gaierror):
        return "its name cannot be resolved"
    return str(problem)


def _trouble(problem: BaseException) -> Trouble:
    if isinstance(problem, FileNotFoundError):
        return "absent"
    if isinstance(problem, PermissionError):
        return "forbidden"
    return "stopped" if isinstance(problem, ConnectionRefusedError) else "silent"


def _connect(host: str) -> APIClient:
    tls = None
    if os.environ.get("DOCKER_TLS_VERIFY") and not host.startswith(("unix://", "npipe://", "ssh://")):
        tls = kwargs_from_env().get("tls")
    return APIClient(base_url=host, version="auto", timeout=CONNECT_SECONDS, tls=tls or False)


@contextmanager
def api_errors(what: str) -> Iterator[None]:
    """Turn the errors of the SDK, and of what it is built on, into ours."""
    try:
        yield
    except docker.errors.APIError as problem:
        raise UnavailableError(f"docker could not {what}", why=str(problem.explanation or problem)) from None
    except (
        docker.errors.DockerException,
        requests.RequestException,
        urllib3.exceptions.HTTPError,
    ) as problem:
        raise UnavailableError(
            f"docker could not {what}",
            why=str(problem),
            hint="see whether the daemon still runs: `docker info`",
        ) from None


def build(client: APIClient, request: BuildRequest, network: str | None, on_event: OnEvent) -> str:
    """Build with the daemon's BuildKit and return the image's id.

    The daemon stops the build when the connection closes, which is what leaves nothing behind when this is
    interrupted.
    """
    if request.secrets:
        raise UnavailableError(
            "build secrets do not work through the Engine API",
            why="BuildKit takes secrets only over a session, which the docker SDK does not speak",
            hint="install the docker buildx plugin, or build with `--engine podman` or `--engine buildah`",
        )
    note = _noter(on_event)
    body = tar_context(
        request.context,
        ignore=request.ignore,
        files={DOCKERFILE: request.dockerfile.encode(), **request.extra_files},
        on_note=note,
    )
    tracker = Tracker(request, on_event)
    with _post_build(client, body, _parameters(request, network)) as response:
        return _read_build(response, tracker)


def _noter(on_event: OnEvent) -> Any:
    return lambda text: on_event(BuildEvent("output", "build context", text=text))


def _parameters(request: BuildRequest, network: str | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "version": "2",
        "dockerfile": DOCKERFILE,
        "t": list(request.tags),
        "rm": "1",
        "buildargs": json.dumps(dict(request.build_args)),
        "labels": json.dumps(dict(request.labels)),
        "nocache": "1" if request.no_cache else "",
        "platform": request.platform or "",
        "target": request.target or "",
        "networkmode": network or "",
    }
    return {name: value for name, value in values.items() if value}


@contextmanager
def _post_build(client: APIClient, body: Iterator[bytes], parameters: dict[str, Any]) -> Iterator[Any]:
    # A failure while reading the context reaches us through requests unchanged; it is ours already.
    with api_errors("start the build"):
        response = client.post(
            f"{client.base_url}/v{client.api_version}/build",
            data=body,
            params=parameters,
            headers={"Content-Type": "application/x-tar"},
            stream=True,
            timeout=None,
        )
    try:
        if response.status_code >= 400:
            message = _message(response)
            if "dockerfile" in message.lower() or "platform" in message.lower():
                raise SpecError("docker refused the build", why=message)
            raise UnavailableError("docker refused the build", why=message)
        yield response
    finally:
        response.close()


def _message(response: requests.Response) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return response.text.strip() or f"HTTP status {response.status_code}"


def _read_build(response: requests.Response, tracker: Tracker) -> str:
    image = ""
    with api_errors("finish the build"):
        for message in json_lines(response):
            if message.get("id") == TRACE:
                tracker.trace(message.get("aux"))
            elif "error" in message:
                detail = message.get("errorDetail") or {}
                raise tracker.failure(str(detail.get("message") or message["error"]))
            elif message.get("id") == IMAGE_ID or "aux" in message:
                image = str((message.get("aux") or {}).get("ID") or image)
    if not image:
        raise UnavailableError(
            "the docker daemon ended the build without an image",
            why="its answer stopped before the image's id",
            hint="the daemon's log says why; it may have been stopped",
        )
    return image


@contextmanager
def download(client: APIClient, path: str, doing: str) -> Iterator[BinaryIO]:
    """Stream what the daemon sends for a path of its API; it stops sending when the block is left."""
    url = f"{client.base_url}/v{client.api_version}{path}"
    with api_errors(doing), client.get(url, stream=True, timeout=None) as response:
        if response.status_code >= 400:
            raise UnavailableError(f"docker could not {doing}", why=_message(response))
        response.raw.auto_close = False  # a reader that asks once more at the end is told that it is the end
        yield io.BufferedReader(response.raw, 1 << 20)


def json_lines(response: requests.Response) -> Iterator[dict[str, Any]]:
    """Read a stream of JSON objects, one a line."""
    for line in response.iter_lines(chunk_size=8192):
        if line.strip():
            message = json.loads(line)
            if isinstance(message, dict):
                yield message


@contextmanager
def container(client: APIClient, image: str, **options: Any) -> Iterator[str]:
    """Create a container that is removed again whatever happens; yields its id."""
    # The name is known before the daemon answers, so that an interrupt in between leaves nothing either.
    name = f"gpuimage-{secrets.token_hex(8)}"
    try:
        with api_errors(f"create a container of {image}"):
            made = client.create_container(image, name=name, labels={LABEL: "1"}, **options)
        yield str(made["Id"])
    finally:
        remove_container(client, name)


def remove_container(client: APIClient, name: str) -> None:
    """Remove a container by force; one that is not there, or is being removed, is fine."""
    for _attempt in range(50):
        try:
            client.remove_container(name, force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as problem:
            if problem.status_code != requests.codes.conflict:
                return
            time.sleep(0.1)  # the daemon is still at the removal
        except (docker.errors.DockerException, requests.RequestException):
            return
        else:
            return


def run_container(client: APIClient, name: str, stdin: bytes, seconds: float) -> RunResult:
    """Start a created container, feed it, and collect its output until it ends or its time is up."""
    deadline = time.monotonic() + seconds
    with api_errors("run a container"):
        sock = client.attach_socket(name, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        try:
            try:
                client.start(name)
            except docker.errors.APIError as problem:
                return _not_started(problem)
            output = _Output(sock, stdin)
            finished = output.wait(deadline)
            if finished:
                status = _exit_status(client, name, deadline)
                if status is not None:
                    return RunResult(status, output.text(1), output.text(2))
            return RunResult(-1, output.text(1), output.text(2), timed_out=True)
        finally:
            _hang_up(sock)


def _hang_up(sock: Any) -> None:
    """Close a hijacked connection: the SDK's object, the answer that it came from, and the socket itself."""
    raw = getattr(sock, "_sock", sock)
    with contextlib.suppress(OSError):
        raw.shutdown(socket.SHUT_RDWR)  # wakes the threads that wait on it
    for part in (getattr(sock, "_response", None), sock, raw):
        with contextlib.suppress(OSError, ValueError):  # each may have closed the next already
            if part is not None:
                part.close()


def _not_started(problem: docker.errors.APIError) -> RunResult:
    """Say of a command that cannot be run what a shell says; raise what is no fault of the command."""
    text = str(problem.explanation or problem)
    if "device driver" in text:
        raise UnavailableError(
            "docker cannot give the container a GPU",
            why=text,
            hint="install nvidia-container-toolkit, then `nvidia-ctk runtime configure` and restart docker",
        )
    if "executable file not found" in text or "no such file or directory" in text:
        return RunResult(127, "", text)
    if "permission denied" in text and "exec" in text:
        return RunResult(126, "", text)
    raise problem


def _exit_status(client: APIClient, name: str, deadline: float) -> int | None:
    try:
        return int(client.wait(name, timeout=max(1, int(deadline - time.monotonic())))["StatusCode"])
    except (requests.ReadTimeout, requests.ConnectionError):
        return None


class _Output:
    """Feeds a container and gathers what it writes, in threads: the socket may stop in either direction."""

    def __init__(self, sock: Any, stdin: bytes) -> None:
        self._parts: dict[int, bytearray] = {1: bytearray(), 2: bytearray()}
        raw = getattr(sock, "_sock", sock)
        raw.settimeout(None)
        self._reader = threading.Thread(target=self._read, args=(sock,), daemon=True)
        self._reader.start()
        threading.Thread(target=self._feed, args=(raw, stdin), daemon=True).start()

    def _feed(self, raw: Any, stdin: bytes) -> None:
        with contextlib.suppress(OSError):
            raw.sendall(stdin)
            raw.shutdown(socket.SHUT_WR)

    def _read(self, sock: Any) -> None:
        with contextlib.suppress(OSError, ValueError):
            for stream, data in frames_iter(sock, tty=False):  # type: ignore[no-untyped-call]
                kept = self._parts.setdefault(stream, bytearray())
                if len(kept) < _MAX_OUTPUT:
                    kept += data

    def wait(self, deadline: float) -> bool:
        self._reader.join(max(0.0, deadline - time.monotonic()))
        return not self._reader.is_alive()

    def text(self, stream: int) -> str:
        return bytes(self._parts[stream]).decode("utf-8", "replace")


def ensure_image(error: docker.errors.APIError, image: str) -> GpuImageError:
    """Return the error for an image that the daemon does not have."""
    return SpecError(
        f"docker has no image {image}",
        why=str(error.explanation or error),
        hint=f"build it first, or `docker pull {image}`",
    )


def gpu_options() -> dict[str, Any]:
    """Return the host options that ask for every GPU (what `docker run --gpus all` sends)."""
    return {"device_requests": [docker.types.DeviceRequest(count=-1, capabilities=[["gpu"]])]}


def environment(env: Mapping[str, str]) -> Sequence[str]:
    """Return variables as the API takes them."""
    return [f"{name}={value}" for name, value in env.items()]
