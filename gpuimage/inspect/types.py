"""What is known of the files of an image without starting it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from gpuimage.arch import ComputeCapability
from gpuimage.errors import SpecError

CodeKind = Literal["cubin", "ptx", "lto-ir", "other"]
Compression = Literal["none", "lz4", "zstd"]
GpuFileKind = Literal["library", "archive", "fatbin", "cubin"]

_LINK_LIMIT = 40  # as the kernel's


class InspectError(SpecError):
    """What was given to look at cannot be read: not a tar archive, cut short, or no such directory."""


class Code(Struct, frozen=True, gc=False):
    """One entry of a container: code of one kind for one compute capability (None where its number says nothing).

    `bytes` is what it takes on disk, header and padding with it. `isa` is the PTX ISA version ("9.0"), None for
    all other kinds. `debug` is a build with `-G`, whose kernels run many times slower. `bare` is machine code too
    small to hold a kernel: the stub that nvcc links into every library, for one architecture of its own choice.
    """

    kind: CodeKind
    capability: ComputeCapability | None
    bytes: int
    isa: str | None
    compression: Compression
    debug: bool = False
    bare: bool = False


class Container(Struct, frozen=True):
    """A fatbin container: what the driver loads as a whole, so "no kernel image" happens per container.

    `section` is the ELF section it lies in ("" where the file has none), `offset` where in the file or in the
    member of a static library, `bytes` how long it says it is. nvprune leaves empty ones.
    """

    section: str
    offset: int
    bytes: int
    code: tuple[Code, ...]

    @property
    def loadable(self) -> bool:
        """Whether a program loads kernels from it; units of `-rdc=true` are left only for linking at run time."""
        return self.section != RELOCATABLE_SECTION and not all(code.bare for code in self.code)


RELOCATABLE_SECTION = "__nv_relfatbin"
GPU_SECTIONS = (".nv_fatbin", RELOCATABLE_SECTION)
"""The sections that hold nothing but containers."""


class GpuFile(Struct, frozen=True):
    """A file with GPU code; `kind` archive is a static library, whose containers are those of all members."""

    path: str
    kind: GpuFileKind
    bytes: int
    containers: tuple[Container, ...]

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def code_bytes(self) -> int:
        """Bytes of GPU code on disk."""
        return sum(code.bytes for container in self.containers for code in container.code)


@dataclass(frozen=True, slots=True)
class Library:
    """One ELF file with a dynamic section; `bits` is 32 or 64, `bytes` its size on disk.

    A `runpath` of one empty entry is one that is there and empty: it finds nothing, but switches RPATH off.
    `wants` are the symbol versions it needs of others, by library: `("libc.so.6", "GLIBC_2.34")`; `defines` are its own.
    """

    path: str
    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    machine: str
    bits: int
    bytes: int
    wants: tuple[tuple[str, str], ...] = ()
    defines: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its directory."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class WheelInfo:
    """An installed distribution; `bytes` sums the files of its RECORD that are there."""

    name: str
    version: str
    bytes: int
    location: str

    @property
    def label(self) -> str:
        """Name and version: `torch 2.9.1`."""
        return f"{self.name} {self.version}"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of an image, the base's first; `bytes` sums its files, `hidden_bytes` those that no path shows any more.

    `digest` is that of the layer's blob in the archive ("" where it names none).
    """

    digest: str
    created_by: str
    bytes: int
    files: int
    hidden_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Hidden:
    """A file that later layers cover: `layer` carries it, `hidden_by` (an index too) overwrites or deletes it."""

    path: str
    bytes: int
    layer: int
    hidden_by: int
    deleted: bool


@dataclass(frozen=True, slots=True)
class Inspection:
    """The files of one root: absolute paths as the container sees them.

    `sizes` holds regular files in bytes, hard links once more under their own name with 0; `links` symbolic links
    with their targets as written; `problems` says what could not be read, so that a partial answer shows as one.
    `gpu` are the files with GPU code. `digests` holds SHA-256 of files that may have a copy, `owners` the index in
    `wheels` of files that a RECORD names, `layer_of` the index in `layers` of files of an image.
    """

    sizes: Mapping[str, int]
    links: Mapping[str, str]
    executables: frozenset[str]
    libraries: tuple[Library, ...]
    gpu: tuple[GpuFile, ...] = ()
    wheels: tuple[WheelInfo, ...] = ()
    owners: Mapping[str, int] = field(default_factory=dict)
    ld_so_conf: tuple[str, ...] = ()
    digests: Mapping[str, bytes] = field(default_factory=dict)
    layers: tuple[Layer, ...] = ()
    layer_of: Mapping[str, int] = field(default_factory=dict)
    hidden: tuple[Hidden, ...] = ()
    env: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    _by_path: Mapping[str, Library] = field(default_factory=dict, repr=False)

    @property
    def files(self) -> int:
        """How many regular files there are."""
        return len(self.sizes)

    @property
    def bytes(self) -> int:
        """The sum of their sizes."""
        return sum(self.sizes.values())

    def wheel_of(self, path: str) -> WheelInfo | None:
        """The distribution whose RECORD names a file; None for one outside of all."""
        owner = self.owners.get(path)
        return None if owner is None else self.wheels[owner]

    def library(self, path: str) -> Library | None:
        """The library behind a path, links followed; None where there is none."""
        real = self.resolve(path)
        return self._by_path.get(real) if real else None

    def resolve(self, path: str) -> str | None:
        """The path with every symbolic link followed inside this root; None for a loop of links."""
        done, rest, jumps = "", path.split("/"), 0  # no normpath: `link/..` is where the link leads, one up
        while rest:
            part = rest.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            here = f"{done}/{part}"
            target = self.links.get(here)
            if target is None:
                done = here
                continue
            jumps += 1
            if jumps > _LINK_LIMIT:
                return None
            if target.startswith("/"):
                done = ""
            rest = target.split("/") + rest
        return done or "/"
