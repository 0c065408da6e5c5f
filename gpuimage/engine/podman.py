"""Podman, by its command."""

from __future__ import annotations

import json
import os
import resource
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from gpuimage import process
from gpuimage.engine import _libpod as libpod
from gpuimage.engine.failures import registry_error
from gpuimage.engine.registries import loopback, registries
from gpuimage.engine.staging import build_options, staged
from gpuimage.engine.types import (
    BuildEvent,
    BuildRequest,
    Details,
    Health,
    ImageInfo,
    OnEvent,
    RunResult,
    ignore_event,
)
from gpuimage.errors import SpecError, UnavailableError

_QUICK = 60.0  # seconds for questions that need no work
_TIDY = 20.0  # seconds to take down the working containers of a build that was interrupted
_ENGINE_FAILED = 125
_ROOT_FILES = 1048576  # the limit of open files that podman asks for when root runs it
_ROOT_PROCESSES = 32768  # the limit of processes that podman gives itself


class PodmanEngine:
    """Podman on this machine, with the storage that its own configuration names."""

    name = "podman"

    def __init__(self) -> None:
        self._runtime = libpod.oci_runtime()

    def _command(self, *args: str) -> list[str]:
        runtime = ("--runtime", self._runtime) if self._runtime else ()
        return [self.name, *runtime, *args]

    def _ask(self, *args: str, timeout: float | None = _QUICK) -> process.Completed:
        try:
            return process.run(self._command(*args), timeout=timeout)
        except process.ProcessTimeoutError as late:
            raise UnavailableError(f"{self.name} does not answer", why=str(late)) from None

    def health(self) -> Health:
        """Ask podman for its version and storage."""
        try:
            done = self._ask("info", "--format", "json")
        except UnavailableError as problem:
            hint = f"`apt install {self.name}`"
            return Health(self.name, None, False, problem.why or problem.what, hint, trouble="silent")
        if done.returncode != 0:
            said = libpod.error_text(done.stderr)
            return Health(self.name, None, False, said, "see `podman info`", trouble="broken")
        info = json.loads(done.stdout)
        storage = str(info["store"]["graphRoot"])
        return Health(
            engine=self.name,
            version=str(info["version"]["Version"]),
            available=True,
            free_bytes=free_bytes(storage),
            storage=storage,
            features=frozenset({"cache-mounts", "secrets"} | ({"gpu"} if has_cdi() else set())),
            details=_details(info),
        )

    def build(self, request: BuildRequest, on_event: OnEvent = ignore_event) -> ImageInfo:
        """Build an image (see Engine.build)."""
        return self.inspect(build(self._command("build"), request, on_event, self.remove_made))

    def remove_made(self, images: Sequence[str]) -> None:
        """Remove the images that a failed build made, newest first."""
        for image in reversed(images):
            self._ask("rmi", image)

    def inspect(self, image: str) -> ImageInfo:
        """Describe an image (see Engine.inspect)."""
        done = self._ask("image", "inspect", image)
        if done.returncode != 0:
            raise no_image(self.name, image, done.stderr)
        found: dict[str, Any] = json.loads(done.stdout)[0]
        history = self._ask("history", "--no-trunc", "--format", "json", image)
        return libpod.podman_image(found, libpod.podman_layers(history.stdout))

    def run(
        self,
        image: str,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        user: str | None = None,
        gpus: bool = False,
        env: Mapping[str, str] | None = None,
        network: bool = False,
        timeout: float = 600,
    ) -> RunResult:
        """Run a command in a container (see Engine.run); `timeout` in seconds."""
        self.inspect(image)
        name = f"gpuimage-{secrets.token_hex(8)}"
        # Signals are for podman alone: a first process of a container ignores most of them.
        options = [
            "run",
            "--rm",
            "--interactive",
            "--sig-proxy=false",
            "--name",
            name,
            "--pull",
            "never",
            "--entrypoint",
            "",
        ]
        options += [] if network else ["--network", "none"]
        options += ["--user", user] if user else []
        options += ["--device", "nvidia.com/gpu=all"] if gpus else []
        for key, value in (env or {}).items():
            options += ["--env", f"{key}={value}"]
        line = self._command(*options, *_limits(), image, *command)
        try:
            done = process.run(line, input=stdin, timeout=timeout)
        except process.ProcessTimeoutError as late:
            return RunResult(-1, late.stdout, late.stderr, timed_out=True)
        finally:
            # The container is not podman's child: it lives on when podman is killed.
            self._ask("rm", "--force", "--ignore", "--time", "0", name)
        if done.returncode == _ENGINE_FAILED:
            raise UnavailableError(
                f"podman could not run {image}", why=libpod.error_text(done.stderr), hint=_gpu_hint(gpus)
            )
        return RunResult(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def export(self, image: str) -> Iterator[BinaryIO]:
        """Stream the image's root file system as a tar archive (see Engine.export)."""
        self.inspect(image)
        name = f"gpuimage-{secrets.token_hex(8)}"
        try:
            # The container is never started, so that its command need not exist.
            made = self._ask(
                "create",
                "--name",
                name,
                "--pull",
                "never",
                "--network",
                "none",
                "--entrypoint",
                "",
                image,
                "-",
            )
            if made.returncode != 0:
                raise UnavailableError(f"podman could not open {image}", why=libpod.error_text(made.stderr))
            with process.pipe(self._command("export", name)) as stream:
                yield stream
        finally:
            self._ask("rm", "--force", "--ignore", "--time", "0", name)

    @contextmanager
    def archive(self, image: str) -> Iterator[BinaryIO]:
        """Stream the image as `docker save` writes it (see Engine.archive)."""
        self.inspect(image)
        with archive(self._command("save", "--format", "docker-archive", image)) as stream:
            yield stream

    def tag(self, image: str, tag: str) -> None:
        """Give an image one more name."""
        done = self._ask("tag", image, tag)
        if done.returncode != 0:
            raise no_image(self.name, image, done.stderr)

    def push(self, tag: str, on_event: OnEvent = ignore_event) -> str:
        """Push an image with podman's or docker's stored credentials; returns the digest."""
        return push(self._command("push"), tag, on_event)

    def pull(self, reference: str, on_event: OnEvent = ignore_event) -> None:
        """Pull an image with podman's or docker's stored credentials."""
        pull(self._command("pull"), reference, on_event)

    def remove(self, image: str) -> None:
        """Remove an image's name; its data goes with the last one."""
        done = self._ask("rmi", "--force", image)
        if done.returncode not in (0, 1):  # 1: there was none
            raise UnavailableError(
                f"{self.name} could not remove {image}", why=libpod.error_text(done.stderr)
            )


def _details(info: Mapping[str, Any]) -> Details:
    """Read `podman info`."""
    host = info.get("host") or {}
    return Details(
        storage_driver=str((info.get("store") or {}).get("graphDriverName") or "") or None,
        cgroups=f"{host.get('cgroupManager')}, {host.get('cgroupVersion')}"
        if host.get("cgroupVersion")
        else None,
        rootless=bool((host.get("security") or {}).get("rootless")),
    )


def build(command: Sequence[str], request: BuildRequest, on_event: OnEvent, undo: Any) -> str:
    """Build with `podman build` or `buildah build` and return the image's id."""
    reader = libpod.OutputReader(request, on_event)
    insecure = (*request.insecure_registries, *loopback(request.dockerfile), *loopback_arguments(request))
    try:
        with (
            staged(request) as context,
            libpod.build_files(request) as files,
            registries(insecure) as env,
        ):
            line = [
                # Docker's format keeps SHELL and HEALTHCHECK, which OCI's has no place for.
                *(*command, "--format", "docker", "--layers", "--force-rm"),
                *files,
                *build_options(request),
                *(("--network", request.network) if request.network else ()),
                str(context),
            ]
            with process.stream(line, env=env, tidy=_TIDY, rest=reader.read) as running:
                for text in running:
                    reader.read(text)
                status = running.returncode
            return reader.image(status)
    except BaseException:
        undo(reader.made)
        raise


def loopback_arguments(request: BuildRequest) -> tuple[str, ...]:
    """Return the loopback registries that build arguments name."""
    return loopback("\n".join(request.build_args.values()))


def push(command: Sequence[str], tag: str, on_event: OnEvent) -> str:
    """Push with podman or buildah; returns the manifest's digest."""
    with tempfile.TemporaryDirectory(prefix="gpuimage-") as directory, registries(loopback(tag)) as env:
        digest = Path(directory) / "digest"
        _transfer([*command, "--digestfile", str(digest), tag], f"push {tag}", tag, env, on_event)
        return digest.read_text().strip()


def pull(command: Sequence[str], reference: str, on_event: OnEvent) -> None:
    """Pull with podman or buildah."""
    with registries(loopback(reference)) as env:
        _transfer([*command, reference], f"pull {reference}", reference, env, on_event)


@contextmanager
def archive(command: Sequence[str]) -> Iterator[BinaryIO]:
    """Stream what podman or buildah writes, with a directory for its temporary files that is removed again.

    Each layer passes through a file there, and older versions leave it behind when they are ended early.
    """
    # Where they keep such files by themselves: a layer may be too large for a /tmp in memory.
    parent = os.environ.get("TMPDIR") or "/var/tmp"  # noqa: S108  # a parent directory
    # Without root, the user namespace is entered first, with TMPDIR as it was: podman may note there which
    # namespace is its own, and would leave a second one behind.
    inside = [] if os.geteuid() == 0 else [command[0], "unshare"]
    with (
        tempfile.TemporaryDirectory(prefix="gpuimage-", dir=parent) as directory,
        process.pipe([*inside, "env", f"TMPDIR={directory}", *command]) as stream,
    ):
        yield stream


def _transfer(
    command: Sequence[str], step: str, reference: str, env: Mapping[str, str], on_event: OnEvent
) -> None:
    lines: list[str] = []
    with process.stream(command, env=env) as running:
        for line in running:
            lines.append(line)
            on_event(BuildEvent("transfer", step, text=line))
        if running.returncode != 0:
            doing = step.partition(" ")[0]
            raise registry_error(reference, libpod.error_text("\n".join(lines)), doing=doing)


def _limits() -> list[str]:
    """Return options that keep the limits of root within what this machine allows.

    Podman asks for its own, high limits when root runs it, and fails where root may not raise them (it
    has lowered its own limit of processes by then). A configuration that is named says what it wants.
    """
    if os.geteuid() != 0 or os.environ.get("CONTAINERS_CONF"):
        return []
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    processes = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if processes == resource.RLIM_INFINITY or processes > _ROOT_PROCESSES:
        processes = _ROOT_PROCESSES
    if files == resource.RLIM_INFINITY or files >= _ROOT_FILES:
        return []
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", f"nproc={processes}:{processes}"]


def _gpu_hint(gpus: bool) -> str | None:
    if not gpus:
        return None
    return (
        "write the CDI file of this machine's GPUs: `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"
    )


def has_cdi() -> bool:
    """Say whether a CDI file describes NVIDIA GPUs here."""
    return any(
        found for directory in ("/etc/cdi", "/var/run/cdi") for found in Path(directory).glob("*nvidia*")
    )


def free_bytes(storage: str) -> int | None:
    """Return the free bytes of the disk that holds a directory."""
    try:
        return shutil.disk_usage(storage).free
    except OSError:
        return None


def no_image(engine: str, image: str, errors: str) -> SpecError:
    """Return the error for an image that is not in the store."""
    return SpecError(
        f"{engine} has no image {image}",
        why=libpod.error_text(errors) or None,
        hint=f"build it first, or `{engine} pull {image}`",
    )
