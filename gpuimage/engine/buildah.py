"""Buildah, by its command: it builds as podman does, and runs commands in working containers."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from gpuimage import process
from gpuimage.engine import _libpod as libpod
from gpuimage.engine import podman
from gpuimage.engine.types import (
    BuildRequest,
    Details,
    Health,
    ImageInfo,
    LayerInfo,
    OnEvent,
    RunResult,
    ignore_event,
)
from gpuimage.errors import UnavailableError

_QUICK = 60.0
_TIDY = 20.0
# Names as the other engines write them: without "./" in front, and without an entry for the root itself.
_EXPORT = (
    'cd "$(buildah mount {name})" && find . -mindepth 1 -maxdepth 1 -printf "%P\\0" | sort -z'
    " | exec tar --null --verbatim-files-from --numeric-owner -cf - -T -"
)
_STATUS_LINE = "while running runtime: exit status "


class BuildahEngine:
    """Buildah on this machine, with the storage that its own configuration names."""

    name = "buildah"

    def __init__(self) -> None:
        self._runtime = libpod.oci_runtime()

    def _ask(self, *args: str) -> process.Completed:
        try:
            return process.run([self.name, *args], timeout=_QUICK)
        except process.ProcessTimeoutError as late:
            raise UnavailableError("buildah does not answer", why=str(late)) from None

    def _with_runtime(self, verb: str) -> list[str]:
        return [self.name, verb, *(("--runtime", self._runtime) if self._runtime else ())]

    def _info(self) -> dict[str, Any]:
        done = self._ask("info")
        if done.returncode != 0:
            raise UnavailableError("buildah does not work here", why=libpod.error_text(done.stderr))
        info: dict[str, Any] = json.loads(done.stdout)
        return info

    def health(self) -> Health:
        """Ask buildah for its version and storage."""
        try:
            version = self._ask("--version").stdout.split()
            info = self._info()
        except UnavailableError as problem:
            hint = "`apt install buildah`"
            return Health(self.name, None, False, problem.why or problem.what, hint, trouble="broken")
        storage = str(info["store"]["GraphRoot"])
        return Health(
            engine=self.name,
            version=version[2] if len(version) > 2 else None,
            available=True,
            free_bytes=podman.free_bytes(storage),
            storage=storage,
            features=frozenset({"cache-mounts", "secrets"}),
            details=Details(
                storage_driver=str(info["store"].get("GraphDriverName") or "") or None,
                rootless=bool((info.get("host") or {}).get("rootless")),
            ),
        )

    def build(self, request: BuildRequest, on_event: OnEvent = ignore_event) -> ImageInfo:
        """Build an image (see Engine.build)."""
        command = self._with_runtime("build")
        return self.inspect(podman.build(command, request, on_event, self.remove_made))

    def remove_made(self, images: Sequence[str]) -> None:
        """Remove the images that a failed build made, newest first."""
        for image in reversed(images):
            self._ask("rmi", image)

    def inspect(self, image: str) -> ImageInfo:
        """Describe an image (see Engine.inspect)."""
        done = self._ask("inspect", "--type", "image", image)
        if done.returncode != 0:
            raise podman.no_image(self.name, image, done.stderr)
        found = json.loads(done.stdout)
        described = found["Docker"]
        config = described.get("config") or {}
        layers = tuple(self._layers(described, found))
        names = json.loads(self._ask("images", "--json", "--no-trunc").stdout or "[]")
        identifier = str(found["FromImageID"])
        return ImageInfo(
            id=f"sha256:{identifier}",
            size=sum(layer.bytes for layer in layers),
            layers=tuple(layer for layer in layers if layer.bytes),
            env=tuple(config.get("Env") or ()),
            user=str(config.get("User") or ""),
            labels=dict(config.get("Labels") or {}),
            architecture=str(described.get("architecture") or ""),
            entrypoint=tuple(config.get("Entrypoint") or ()),
            command=tuple(config.get("Cmd") or ()),
            tags=tuple(
                str(name)
                for entry in names
                if str(entry.get("id")).removeprefix("sha256:") == identifier
                for name in entry.get("names") or ()
            ),
        )

    def _layers(self, described: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[LayerInfo]:
        """Pair the history with the layers' sizes: those of the store, else those of the manifest."""
        stored = self._stored_sizes()
        manifest = json.loads(found.get("Manifest") or "{}").get("layers") or ()
        identifiers = (described.get("rootfs") or {}).get("diff_ids") or ()
        sizes = [
            stored.get(identifier, int(manifest[at]["size"]) if at < len(manifest) else 0)
            for at, identifier in enumerate(identifiers)
        ]
        kept = [h for h in described.get("history") or () if not h.get("empty_layer")]
        for at, size in enumerate(sizes):
            yield LayerInfo(str(kept[at].get("created_by") or "") if at < len(kept) else "", size)

    def _stored_sizes(self) -> dict[str, int]:
        # One index a storage driver; the manifest of a pulled image has compressed sizes only.
        store = self._info()["store"]
        index = Path(store["GraphRoot"]) / f"{store['GraphDriverName']}-layers" / "layers.json"
        with contextlib.suppress(OSError, ValueError):
            return {
                str(layer["diff-digest"]): int(layer.get("diff-size") or 0)
                for layer in json.loads(index.read_text())
                if layer.get("diff-digest")
            }
        return {}

    @contextmanager
    def _container(self, image: str) -> Iterator[str]:
        self.inspect(image)
        name = f"gpuimage-{secrets.token_hex(8)}"
        try:
            done = self._ask("from", "--pull-never", "--name", name, image)
            if done.returncode != 0:
                raise UnavailableError(f"buildah could not open {image}", why=libpod.error_text(done.stderr))
            yield name
        finally:
            self._ask("rm", name)

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
        """Run a command in a working container (see Engine.run); `timeout` in seconds."""
        if gpus:
            raise UnavailableError(
                "buildah gives its containers no GPU", hint="use `--engine podman` or `--engine docker`"
            )
        with self._container(image) as name:
            line = self._with_runtime("run")
            # Chroot isolation has no network of its own to take away.
            if not network and os.environ.get("BUILDAH_ISOLATION") != "chroot":
                line += ["--network", "none"]
            line += ["--user", user] if user else []
            for key, value in (env or {}).items():
                line += ["--env", f"{key}={value}"]
            try:
                done = process.run([*line, name, "--", *command], input=stdin, timeout=timeout, tidy=_TIDY)
            except process.ProcessTimeoutError as late:
                return RunResult(-1, late.stdout, late.stderr, timed_out=True)
        return _result(image, done)

    @contextmanager
    def export(self, image: str) -> Iterator[BinaryIO]:
        """Stream the image's root file system as a tar archive (see Engine.export)."""
        with self._container(image) as name:
            script = _EXPORT.format(name=shlex.quote(name))
            # A user without root can see a mount only from inside buildah's own user namespace.
            inside = [] if os.geteuid() == 0 else [self.name, "unshare"]
            with process.pipe([*inside, "sh", "-c", script]) as stream:
                yield stream

    @contextmanager
    def archive(self, image: str) -> Iterator[BinaryIO]:
        """Stream the image as `docker save` writes it (see Engine.archive)."""
        self.inspect(image)
        with podman.archive([self.name, "push", "--quiet", image, "docker-archive:/dev/stdout"]) as stream:
            yield stream

    def tag(self, image: str, tag: str) -> None:
        """Give an image one more name."""
        done = self._ask("tag", image, tag)
        if done.returncode != 0:
            raise podman.no_image(self.name, image, done.stderr)

    def push(self, tag: str, on_event: OnEvent = ignore_event) -> str:
        """Push an image with podman's or docker's stored credentials; returns the digest."""
        return podman.push([self.name, "push"], tag, on_event)

    def pull(self, reference: str, on_event: OnEvent = ignore_event) -> None:
        """Pull an image with podman's or docker's stored credentials."""
        podman.pull([self.name, "pull"], reference, on_event)

    def remove(self, image: str) -> None:
        """Remove an image's name; its data goes with the last one."""
        done = self._ask("rmi", "--force", image)
        if done.returncode not in (0, 1, 125):  # 1 and 125: there was none
            raise UnavailableError(f"buildah could not remove {image}", why=libpod.error_text(done.stderr))


def _result(image: str, done: process.Completed) -> RunResult:
    """Take buildah's own last words out of the command's output."""
    lines = done.stderr.splitlines(keepends=True)
    if lines and _STATUS_LINE in lines[-1]:
        done = replace(done, stderr="".join(lines[:-1]))
    elif done.returncode != 0 and lines and lines[-1].startswith("Error:"):
        raise UnavailableError(f"buildah could not run {image}", why=libpod.error_text(done.stderr))
    if "executable file not found" in done.stderr and "error running container" in done.stderr:
        return RunResult(127, done.stdout, done.stderr)  # as a shell says it; buildah says 1
    return RunResult(done.returncode, done.stdout, done.stderr)
