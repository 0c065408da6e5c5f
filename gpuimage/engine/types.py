"""What every engine takes and gives back; the protocol that all of them follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from gpuimage.patterns import pattern

# BuildKit writes `RUN |1 A=b /bin/sh -c … # buildkit`, others `/bin/sh -c …` and `/bin/sh -c #(nop) COPY …`.
_RECORDED = pattern(
    r"(?:RUN )?(?:\|\d+ .*? )?/\S*sh(?: -o \w+| -\w+)*? -\w*c (?P<nop>#\(nop\) )?(?P<text>.*)"
)

Trouble = Literal["absent", "stopped", "forbidden", "silent", "old", "broken"]
"""Why an engine does not serve: it is not there; nobody listens on its socket; this user may not use it; it does not
answer in time, or not sensibly; it builds without BuildKit; its own command fails."""


@dataclass(frozen=True, slots=True)
class Details:
    """What an engine says of itself beyond its health; what it does not say is None, False or empty.

    `address` is a daemon's; `snapshotter` says that images lie with containerd, outside the storage that the
    daemon names; `devices` are the CDI devices that it found.
    """

    address: str | None = None
    api: str | None = None
    storage_driver: str | None = None
    snapshotter: bool = False
    cgroups: str | None = None
    rootless: bool = False
    runtimes: tuple[str, ...] = ()
    cdi_directories: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    mirrors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """The state of an engine; `free_bytes` is the space where it keeps images (None: not known).

    `trouble` is the kind of the `problem` of one that is not available; `details` are there where it answered, and a daemon's address in any case.
    """

    engine: str
    version: str | None
    available: bool
    problem: str | None = None
    hint: str | None = None
    free_bytes: int | None = None
    storage: str | None = None
    features: frozenset[str] = frozenset()
    trouble: Trouble | None = None
    details: Details | None = None


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """One image build.

    `ignore` is the text of a .dockerignore (empty: the context's own file counts). `extra_files` are put
    into the context under these names. `insecure_registries` ("127.0.0.1:5000") may answer in plain HTTP.
    `secrets` are written as for `docker build --secret` ("id=token,src=token.txt"). `network` None leaves
    the engine's default.
    """

    dockerfile: str
    context: Path
    ignore: str = ""
    tags: tuple[str, ...] = ()
    build_args: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    platform: str | None = None
    extra_files: Mapping[str, bytes] = field(default_factory=dict)
    insecure_registries: tuple[str, ...] = ()
    no_cache: bool = False
    target: str | None = None
    secrets: tuple[str, ...] = ()
    network: str | None = None


@dataclass(frozen=True, slots=True)
class BuildEvent:
    """Something that happened during a build, push or pull.

    `step` is the Dockerfile's instruction, or the engine's own name for work that no instruction asked
    for; `line` the line where it starts (None: not known). `current` and `total` are bytes.
    """

    kind: Literal["start", "output", "done", "cached", "error", "transfer"]
    step: str
    line: int | None = None
    text: str = ""
    seconds: float | None = None
    current: int | None = None
    total: int | None = None


OnEvent = Callable[[BuildEvent], None]


def ignore_event(_event: BuildEvent) -> None:
    """Do nothing with an event."""


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """One layer that holds bytes, and the instruction that made it."""

    created_by: str
    bytes: int

    @property
    def instruction(self) -> str:
        """The same on one line, without the shell and the build arguments that engines write before it."""
        line = " ".join(self.created_by.split()).removesuffix("# buildkit").rstrip()
        match = _RECORDED.fullmatch(line)
        if match:
            line = match["text"] if match["nop"] else f"RUN {match['text']}"
        return line or "(no instruction is recorded)"


@dataclass(frozen=True, slots=True)
class ImageInfo:
    """An image in an engine's store; `size` in bytes on disk, `layers` from the base upwards."""

    id: str
    size: int
    layers: tuple[LayerInfo, ...] = ()
    env: tuple[str, ...] = ()
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    architecture: str = ""
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a command in a container gave back; `returncode` is -1 where `timed_out`."""

    returncode: int
    stdout: str
    stderr: str
    timed_out: bool = False


class Engine(Protocol):
    """A program that builds and runs images."""

    @property
    def name(self) -> str:
        """The name that `--engine` takes."""

    def health(self) -> Health:
        """Ask the engine how it is; never raises for an engine that does not answer."""

    def build(self, request: BuildRequest, on_event: OnEvent) -> ImageInfo:
        """Build an image.

        Raises BuildError when a step fails, UnavailableError when the engine or the registry of a base
        image does not answer, SpecError for a context that cannot be read. A build that fails or is
        interrupted leaves no container and no image.
        """

    def inspect(self, image: str) -> ImageInfo:
        """Describe an image of the engine's store; SpecError when there is none of that name."""

    def run(
        self,
        image: str,
        command: Sequence[str],
        *,
        stdin: bytes = b"",
        user: str | None = None,
        gpus: bool = False,
        env: Mapping[str, str] = ...,
        network: bool = False,
        timeout: float = 600,
    ) -> RunResult:
        """Run a command in a container without the image's entry point; the container is always removed."""

    def export(self, image: str) -> AbstractContextManager[BinaryIO]:
        """Stream the image's flattened root file system as a tar archive."""

    def archive(self, image: str) -> AbstractContextManager[BinaryIO]:
        """Stream the image as `docker save` writes it: its layers, configuration and manifest in one tar archive."""

    def tag(self, image: str, tag: str) -> None:
        """Give an image one more name."""

    def push(self, tag: str, on_event: OnEvent = ...) -> str:
        """Push an image to the registry that its name says; returns the manifest's digest."""

    def pull(self, reference: str, on_event: OnEvent = ...) -> None:
        """Pull an image; UnavailableError names the reference and what the registry said."""

    def remove(self, image: str) -> None:
        """Remove a name of an image, and the image with its last name; nothing when there is none."""
