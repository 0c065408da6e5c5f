"""What the smoke tests expect of an image, and what they say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuimage.arch import ArchList
from gpuimage.inspect import WheelInfo

Tier = Literal["T0", "T1", "T2", "T3"]
Status = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of one probe; the reason is never empty, also where it passed. `seconds` is wall time."""

    probe: str
    tier: Tier
    status: Status
    reason: str
    seconds: float = 0.0
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Expectation:
    """What an image promises; None and empty mean that nothing was promised, so nothing is held against it.

    `driver` is the oldest host driver to serve, `cuda` the minor version ("12.8") that frameworks must be built for;
    `cpu_only` that no GPU code is wanted. `frameworks` maps distributions to the exact versions the lock holds. Budgets are bytes on disk.
    """

    flavor: str | None = None
    jit: str | None = None
    arch: ArchList | None = None
    driver: str | None = None
    cuda: str | None = None
    cpu_only: bool = False
    frameworks: Mapping[str, str] = field(default_factory=dict)
    imports: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    require: frozenset[str] = frozenset()
    image_budget: int | None = None
    layer_budget: int | None = None
    wheel_budget: int | None = None


@dataclass(frozen=True, slots=True)
class SmokeReport:
    """All verdicts on one image.

    `line` is the familiar `Torch Version: …, Is CUDA Available: …`, None without torch. `wheels` are the
    distributions found in the image with their bytes on disk, None where its files were not read.
    """

    image: str
    engine: str
    verdicts: tuple[Verdict, ...]
    line: str | None = None
    wheels: tuple[WheelInfo, ...] | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing failed; what is required and was skipped has been made a failure before."""
        return all(verdict.status != "failed" for verdict in self.verdicts)
