"""What a plan is made of: decisions with their reasons, predicted bytes, and stages of steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuimage.arch import ArchList
from gpuimage.lock import Lock, Resolution
from gpuimage.reference import ImageReference
from gpuimage.spec import SpecFile


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice and why; `key` is the spec key it answers, `source` the table row or measurement behind it."""

    topic: str
    choice: str
    because: str
    key: str | None = None
    source: str | None = None
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something the plan did not do although one might expect it, and why; `key` is the spec key it answers."""

    what: str
    because: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Predicted bytes on disk of one part of the image; None where no table and no index tells."""

    name: str
    low: int | None
    high: int | None
    basis: str


@dataclass(frozen=True, slots=True)
class Apt:
    """Packages of the distribution."""

    packages: tuple[str, ...]
    because: str
    kind: Literal["apt"] = "apt"


@dataclass(frozen=True, slots=True)
class CopyPython:
    """The interpreter of an official Python image, copied onto a base that carries another version."""

    source: ImageReference
    because: str
    kind: Literal["copy_python"] = "copy_python"


@dataclass(frozen=True, slots=True)
class Venv:
    """A virtual environment; without `pip` it is filled from outside, so that none ships."""

    path: str
    because: str
    pip: bool = True
    kind: Literal["venv"] = "venv"


@dataclass(frozen=True, slots=True)
class InstallLock:
    """All locked wheels in one layer; `venv` names the environment, None the base's own Python."""

    lock: str
    because: str
    venv: str | None = None
    kind: Literal["install_lock"] = "install_lock"


@dataclass(frozen=True, slots=True)
class InstallLocal:
    """Wheel files that lie beside the spec, without their dependencies (those are in the lock)."""

    paths: tuple[str, ...]
    because: str
    venv: str | None = None
    kind: Literal["install_local"] = "install_local"


@dataclass(frozen=True, slots=True)
class BuildWheels:
    """Wheels compiled in a builder stage for exactly the spec's architectures.

    `pins` are locked source archives (requirement with hash) of `names`, `paths` source trees beside the spec;
    isolated builds install their own build requirements, others use what the stage has.
    """

    pins: tuple[str, ...]
    names: tuple[str, ...]
    paths: tuple[str, ...]
    isolated: bool
    because: str
    kind: Literal["build_wheels"] = "build_wheels"


@dataclass(frozen=True, slots=True)
class InstallBuilt:
    """The wheels another stage built, mounted for the install so that they leave no bytes behind."""

    stage: str
    because: str
    venv: str | None = None
    kind: Literal["install_built"] = "install_built"


@dataclass(frozen=True, slots=True)
class CopyVenv:
    """The virtual environment of another stage."""

    stage: str
    path: str
    because: str
    kind: Literal["copy_venv"] = "copy_venv"


@dataclass(frozen=True, slots=True)
class RootFs:
    """An archive of a root file system under an empty base."""

    path: str
    because: str
    kind: Literal["rootfs"] = "rootfs"


@dataclass(frozen=True, slots=True)
class CudaHome:
    """Links that make the folder of a CUDA major version's wheels a toolkit that nvcc and build tools accept."""

    major: int
    because: str
    kind: Literal["cuda_home"] = "cuda_home"


@dataclass(frozen=True, slots=True)
class Env:
    """Environment variables that share one reason."""

    values: Mapping[str, str]
    because: str
    kind: Literal["env"] = "env"


@dataclass(frozen=True, slots=True)
class App:
    """The user's code, its user and its command: last, because it changes most.

    A created user gets `uid` as its number and its group's, and the image names the number: Kubernetes cannot
    check `runAsNonRoot` against a name. In a `workbench` it owns the working directory and has a shell.
    """

    copy: tuple[str, ...]
    workdir: str
    user: str
    create_user: bool
    command: tuple[str, ...]
    because: str
    workbench: bool = False
    uid: int = 10001
    kind: Literal["app"] = "app"


@dataclass(frozen=True, slots=True)
class Labels:
    """OCI annotations and the facts that tools read from an image without starting it."""

    values: Mapping[str, str]
    because: str
    kind: Literal["labels"] = "labels"


Step = (
    Apt | CopyPython | Venv | InstallLock | InstallLocal | BuildWheels | InstallBuilt | CopyVenv
    | RootFs | CudaHome | Env | App | Labels
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stage:
    """One FROM and what follows it; `reference` names an image or, with `stage`, an earlier stage."""

    name: str | None
    reference: ImageReference
    because: str
    steps: tuple[Step, ...]
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class DriverPlan:
    """What the host's driver must be; `verdicts` answer the spec's `driver`, one line per GPU or one for all."""

    full: str | None
    floor: str | None
    require: str | None
    verdicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that follows from a spec, before any engine is asked.

    `resolution` is the question for the resolver and `lock` its answer, None while there is none.
    `cuda` is the CUDA minor version the image's GPU code is built for, None for an image without a GPU.
    """

    spec: SpecFile
    cuda: str | None
    variant: str | None
    arch: ArchList | None
    driver: DriverPlan | None
    resolution: Resolution
    lock: Lock | None
    stages: tuple[Stage, ...]
    decisions: tuple[Decision, ...]
    warnings: tuple[Decision, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    parts: tuple[Part, ...] = ()
    frameworks: Mapping[str, str] = field(default_factory=dict)

    @property
    def final(self) -> Stage:
        """The stage that ships."""
        return self.stages[-1]

    @property
    def base(self) -> ImageReference:
        """The image under the stage that ships."""
        return self.final.reference

    @property
    def predicted_bytes(self) -> tuple[int, int] | None:
        """Low and high sum of the known parts, None when nothing is known."""
        known = [part for part in self.parts if part.low is not None and part.high is not None]
        if not known:
            return None
        return sum(part.low or 0 for part in known), sum(part.high or 0 for part in known)
