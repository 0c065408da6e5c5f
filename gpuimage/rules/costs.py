"""What faults cost, from the tables; every number has its basis, and what nobody measured is None."""

from __future__ import annotations

from functools import cache

from gpuimage.facts import Base, PythonInstall, Wanted
from gpuimage.finding import Cost
from gpuimage.tables import (
    SizeFact,
    Unknown,
    base_size,
    pip_cache_bytes,
    raw_rows,
    torch_release,
    torch_set_bytes,
)

_MB = 10**6


@cache
def _rows() -> dict[str, tuple[int, int, str]]:
    return {
        row["what"]: (row["low_mb"] * _MB, row["high_mb"] * _MB, f"{row['basis']} ({row['source']})")
        for row in raw_rows("lint_costs", "costs")
    }


def typical(what: str, *, of: str = "", times: int = 1) -> Cost:
    """The cost of a row of lint_costs.json; `of` names the bytes where other findings may speak of them too."""
    low, high, basis = _rows()[what]
    return Cost(low * times, high * times, basis, of)


def base_bytes(base: Base) -> SizeFact | None:
    """What a base image takes on disk, as far as the tables know."""
    if base.kind == "python":
        found = base_size("python-slim") if base.slim else Unknown("not measured")
    elif base.kind == "cuda" and base.flavor and base.cuda:
        found = base_size(base.flavor, base.cuda)
    else:
        return None
    return None if isinstance(found, Unknown) else found


def flavor_difference(base: Base, smaller: str) -> Cost | None:
    """What the flavor of a CUDA base holds beyond a smaller flavor (`runtime`, `base`); None where not known."""
    if base.kind != "cuda" or not base.flavor or not base.cuda:
        return None
    own, other = base_size(base.flavor, base.cuda), base_size(smaller, base.cuda)
    if isinstance(own, Unknown) or isinstance(other, Unknown):
        return None
    low, high = max(own.low - other.high, 0), max(own.high - other.low, 0)
    if base.cudnn:
        cudnn = typical("cudnn")
        low, high = (
            low + (cudnn.low if smaller == "base" else 0),
            high + (cudnn.high if smaller == "base" else 0),
        )
    basis = f"nvidia/cuda {base.flavor} against {smaller} ({own.source})"
    return Cost(low, high, basis, of="base") if high else None


@cache
def _any_torch() -> tuple[int, int]:
    """The smallest and the largest set of torch with CUDA that was measured."""
    sizes = [
        fact
        for version, variant in (("2.9.1", "cu128"), ("2.13.0", "cu130"), ("2.14.1", "cu130"))
        if isinstance(fact := torch_set_bytes(version, variant), SizeFact)
    ]
    return min(fact.low for fact in sizes), max(fact.high for fact in sizes)


def torch_bytes(wanted: Wanted, install: PythonInstall, *, of: str = "") -> Cost | None:
    """What torch with CUDA and all that it pulls in takes; None for a build without CUDA."""
    variant = install.variant(wanted)
    if variant is not None and not variant.startswith("cu"):
        return None
    if wanted.public and variant is None:
        release = torch_release(wanted.public)
        variant = None if isinstance(release, Unknown) else release.default_variant
    if wanted.public and variant:
        exact = torch_set_bytes(wanted.public, variant)
        if not isinstance(exact, Unknown):
            return Cost(exact.low, exact.high, f"{exact.basis} ({exact.source})", of)
    low, high = _any_torch()
    return Cost(low, high, "torch with its CUDA wheels, smallest and largest set measured in 2026-12", of)


def torch_cache() -> Cost | None:
    """What the download cache keeps of a torch with CUDA."""
    found = pip_cache_bytes()
    return (
        None if isinstance(found, Unknown) else Cost(found.low, found.high, f"{found.basis} ({found.source})")
    )
