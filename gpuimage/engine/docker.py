"""Docker: with buildx where its plugin is, else with BuildKit through the Engine API."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import docker.errors
from docker import APIClient

from gpuimage.engine import _docker_api as api
from gpuimage.engine import buildx
from gpuimage.engine.failures import registry_error
from gpuimage.engine.types import (
    BuildEvent,
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

_BUILDKIT_API = (1, 41)  # Docker 20.10: cache and bind mounts without a `# syntax=` line


class DockerEngine:
    """One Docker daemon; the connection is made on first use."""

    name = "docker"

    def __init__(self, host: str | None = None, *, builder: str = "auto") -> None:
        """Take the daemon's address; `builder` is "auto", "buildx" or "api"."""
        self.host = api.find_host(host)
        self._builder = builder
        self._client: APIClient | None = None
        self._info: dict[str, Any] | None = None

    @property
    def builder(self) -> str:
        """The way this engine builds: "buildx" or "api"."""
        if self._builder == "auto":
            self._builder = "buildx" if buildx.available() else "api"
        return self._builder

    @property
    def client(self) -> APIClient:
        """The connection to the daemon; UnavailableError when it does not answer."""
        if self._client is None:
            self._client = api.connect(self.host)
            # The connections close with the engine, also where nobody calls close().
            weakref.finalize(self, self._client.close)
        return self._client

    def close(self) -> None:
        """Close the connections to the daemon; the next question opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _daemon(self) -> dict[str, Any]:
        if self._info is None:
            with api.api_errors("describe itself"):
                self._info = dict(self.client.info())
        return self._info

    def health(self) -> Health:
        """Ping the daemon and ask for its version, storage and what it can do."""
        try:
            client = self.client
            with api.api_errors("answer"):
                version = client.version()
                self._info = dict(client.info())
        except UnavailableError as problem:
            return Health(
                self.name,
                None,
                False,
                f"{problem.what.removeprefix('docker: ')}: {problem.why}",
                problem.hint,
                trouble=problem.trouble if isinstance(problem, api.NoAnswerError) else "silent",
                details=Details(address=self.host),
            )
        info = self._daemon()
        storage = str(info.get("DockerRootDir") or "") or None
        features = self._features(version)
        missing = None if "buildkit" in features else _no_buildkit(version)
        return Health(
            engine=self.name,
            version=str(version.get("Version") or "") or None,
            available=missing is None,
            problem=missing,
            hint="install Docker 20.10 or newer, or use `--engine podman`" if missing else None,
            free_bytes=self._free(storage),
            storage=storage,
            features=features,
            trouble="old" if missing else None,
            details=_details(self.host, version, info),
        )

    def _features(self, version: Mapping[str, Any]) -> frozenset[str]:
        found: set[str] = set()
        # Podman's service answers on the same API, but builds with buildah and sends no BuildKit trace.
        parts = [str(part.get("Name")) for part in version.get("Components") or ()]
        if "Podman Engine" not in parts and _api_version(version) >= _BUILDKIT_API:
            found |= {"buildkit", "cache-mounts"}
            if self.builder == "buildx":
                found |= {"buildx", "secrets"}
        info = self._daemon()
        if "nvidia" in (info.get("Runtimes") or {}) or info.get("DiscoveredDevices"):
            found.add("gpu")
        return frozenset(found)

    def _free(self, storage: str | None) -> int | None:
        # Only a socket of this machine says that the daemon's directory is one of ours.
        if storage is None or not self.host.startswith("unix://"):
            return None
        try:
            return shutil.disk_usage(storage).free
        except OSError:
            return None

    def _has_bridge(self) -> bool:
        with api.api_errors("list its networks"):
            return any(n.get("Name") == "bridge" for n in self.client.networks(names=["bridge"]))

    def build(self, request: BuildRequest, on_event: OnEvent = ignore_event) -> ImageInfo:
        """Build an image (see Engine.build)."""
        # A daemon started with --bridge=none gives steps no network unless the host's is asked for.
        network = request.network or (None if self._has_bridge() else "host")
        if self.builder == "buildx":
            image = buildx.build(self.host, request, network, on_event)
        else:
            image = api.build(self.client, request, network, on_event)
        return self.inspect(image)

    def inspect(self, image: str) -> ImageInfo:
        """Describe an image (see Engine.inspect)."""
        try:
            with api.api_errors("read an image"):
                try:
                    found = self.client.inspect_image(image)  # type: ignore[no-untyped-call]
                    history = self.client.history(image)  # type: ignore[no-untyped-call]
                except docker.errors.NotFound as problem:
                    raise api.ensure_image(problem, image) from None
        except docker.errors.NullResource:
            raise UnavailableError("no image name was given") from None
        config = found.get("Config") or {}
        return ImageInfo(
            id=str(found["Id"]),
            size=int(found.get("Size") or 0),
            layers=tuple(
                LayerInfo(str(layer.get("CreatedBy") or ""), int(layer["Size"]))
                for layer in reversed(history)
                if int(layer.get("Size") or 0) > 0
            ),
            env=tuple(config.get("Env") or ()),
            user=str(config.get("User") or ""),
            labels=dict(config.get("Labels") or {}),
            architecture=str(found.get("Architecture") or ""),
            entrypoint=tuple(config.get("Entrypoint") or ()),
            command=tuple(config.get("Cmd") or ()),
            tags=tuple(found.get("RepoTags") or ()),
        )

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
        mode = "none" if not network else "bridge" if self._has_bridge() else "host"
        options = {"network_mode": mode, **(api.gpu_options() if gpus else {})}
        created = {
            # As entry point, the command replaces both the image's entry point and its command.
            "entrypoint": list(command),
            "stdin_open": True,
            "user": user,
            "environment": api.environment(env or {}),
            "host_config": self.client.create_host_config(**options),
        }
        with api.container(self.client, image, **created) as name:
            return api.run_container(self.client, name, stdin, timeout)

    @contextmanager
    def export(self, image: str) -> Iterator[BinaryIO]:
        """Stream the image's root file system as a tar archive (see Engine.export)."""
        self.inspect(image)
        # The container is never started, so that its command need not exist.
        with (
            api.container(self.client, image, entrypoint=["-"]) as name,
            api.download(self.client, f"/containers/{name}/export", f"export {image}") as stream,
        ):
            yield stream

    @contextmanager
    def archive(self, image: str) -> Iterator[BinaryIO]:
        """Stream the image as `docker save` writes it (see Engine.archive)."""
        # By its id: for a name without a tag the daemon sends every tag of that name.
        identifier = self.inspect(image).id
        with api.download(self.client, f"/images/{identifier}/get", f"save {image}") as stream:
            yield stream

    def tag(self, image: str, tag: str) -> None:
        """Give an image one more name."""
        self.inspect(image)
        repository, version = _split(tag)
        with api.api_errors(f"tag {image} as {tag}"):
            self.client.tag(image, repository, version)

    def push(self, tag: str, on_event: OnEvent = ignore_event) -> str:
        """Push an image with the credentials of ~/.docker/config.json; returns the digest."""
        self.inspect(tag)
        repository, version = _split(tag)
        digest = ""
        with api.api_errors(f"push {tag}"):
            for message in self.client.push(repository, version, stream=True, decode=True):
                _transfer(f"push {tag}", message, on_event)
                if "error" in message:
                    raise registry_error(tag, str(message["error"]), doing="push")
                digest = str((message.get("aux") or {}).get("Digest") or digest)
        return digest

    def pull(self, reference: str, on_event: OnEvent = ignore_event) -> None:
        """Pull an image with the credentials of ~/.docker/config.json."""
        repository, version = _split(reference)
        try:
            for message in self.client.pull(repository, version, stream=True, decode=True):
                _transfer(f"pull {reference}", message, on_event)
                if "error" in message:
                    raise registry_error(reference, str(message["error"]), doing="pull")
        except docker.errors.APIError as problem:
            raise registry_error(reference, str(problem.explanation or problem), doing="pull") from None

    def remove(self, image: str) -> None:
        """Remove an image's name; its data goes with the last one."""
        with api.api_errors(f"remove {image}"):
            try:
                self.client.remove_image(image, force=True)
            except docker.errors.NotFound:
                return


def _details(host: str, version: Mapping[str, Any], info: Mapping[str, Any]) -> Details:
    """Read what `docker info` shows; a service that stands in for Docker leaves much of it out."""
    cgroups = f"{info.get('CgroupDriver')}, v{info.get('CgroupVersion') or 1}"
    registries = info.get("RegistryConfig") or {}
    return Details(
        address=host,
        api=str(version.get("ApiVersion") or "") or None,
        storage_driver=str(info.get("Driver") or "") or None,
        snapshotter=any(
            "io.containerd.snapshotter" in str(row[1:]) for row in info.get("DriverStatus") or ()
        ),
        cgroups=cgroups if info.get("CgroupDriver") else None,
        rootless=any("rootless" in str(option) for option in info.get("SecurityOptions") or ()),
        runtimes=tuple(sorted(info.get("Runtimes") or {})),
        cdi_directories=tuple(map(str, info.get("CDISpecDirs") or ())),
        devices=tuple(str(found.get("ID")) for found in info.get("DiscoveredDevices") or ()),
        mirrors=tuple(map(str, registries.get("Mirrors") or ())),
    )


def _transfer(step: str, message: Mapping[str, Any], on_event: OnEvent) -> None:
    """Emit one message of a pull or push; one without numbers says that a layer is there, or done."""
    if not message.get("id"):
        return
    detail = message.get("progressDetail") or {}
    text = f"{message['id']} {message.get('status', '')}".strip()
    current = int(detail["current"]) if "current" in detail else None
    total = int(detail["total"]) if detail.get("total") else None
    on_event(BuildEvent("transfer", step, text=text, current=current, total=total))


def _split(reference: str) -> tuple[str, str]:
    """Split a reference into repository and tag or digest; "latest" when neither is written."""
    if "@" in reference:
        repository, _, digest = reference.partition("@")
        return repository, digest
    head, _, tail = reference.rpartition(":")
    return (head, tail) if head and "/" not in tail else (reference, "latest")


def _api_version(version: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(part) for part in str(version.get("ApiVersion") or "0").split(".") if part.isdigit())


def _no_buildkit(version: Mapping[str, Any]) -> str:
    return f"the daemon (version {version.get('Version')}) builds without BuildKit"
