"""What an explanation is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from gpuimage.arch import ComputeCapability
from gpuimage.errors import Location
from gpuimage.tables import KnownError


class Named(Struct, frozen=True):
    """What a message itself names; empty where it names nothing of the kind.

    `archs` are the GPU or the code that is asked for, `compiled` what the program has code for. `cuda` are CUDA
    versions in the order of the message, `driver_cuda` the CUDA that the host's driver speaks. `file` is the one that
    wants `library` or `symbol`. `package` is a requirement or a package of the distribution, `image` a reference,
    `condition` one of NVIDIA_REQUIRE_CUDA, `version` a symbol version such as GLIBC_2.38.
    """

    archs: tuple[ComputeCapability, ...] = ()
    compiled: tuple[ComputeCapability, ...] = ()
    cuda: tuple[str, ...] = ()
    driver_cuda: str | None = None
    library: str | None = None
    symbol: str | None = None
    version: str | None = None
    file: str | None = None
    package: str | None = None
    image: str | None = None
    condition: str | None = None


class Cause(Struct, frozen=True):
    """What in a spec or an image causes an error.

    `verdict`: `cause` (it is there), `not-here` (nothing in it causes this), `unknown` (it cannot be told). `key` and
    `where` are of a spec, `value` is that of the key, or the file of an image; `change` is the smallest one that helps,
    "" where there is none.
    """

    verdict: Literal["cause", "not-here", "unknown"]
    because: str
    change: str = ""
    key: str | None = None
    value: str | None = None
    where: Location | None = None


class Diagnosis(Struct, frozen=True):
    """A known error in a text: where it first stands, how often, and what the tables and the message itself say.

    `line` counts from 1. `facts` are worked out from what the message names: "compute_120 needs CUDA 12.8". `follows`
    is the error in the same text that causes this one. `building` is the package that was being built there. `spec`
    and `image` say what in them causes it, where they were given.
    """

    error: KnownError
    line: int
    text: str
    count: int
    facts: tuple[str, ...] = ()
    named: Named = Named()
    follows: str | None = None
    building: str | None = None
    spec: tuple[Cause, ...] = ()
    image: tuple[Cause, ...] = ()


def lacking_capability(one: Diagnosis, value: str) -> str | None:
    """The driver capability that an error is about, where a value of NVIDIA_DRIVER_CAPABILITIES lacks it."""
    wanted = "compute" if one.error.id == "jit-compiler-missing" else "utility"
    return None if value == "all" or wanted in value.split(",") else wanted


def archs_about(
    one: Diagnosis, found: Sequence[Diagnosis], targets: tuple[ComputeCapability, ...]
) -> tuple[ComputeCapability, ...]:
    """The GPUs or architectures that an error is about: its own, else the user's, else those that its companions name."""
    others = (other.named.archs for other in found if other.named.archs)
    return one.named.archs or targets or next(others, ())
