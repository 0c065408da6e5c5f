"""Predicted bytes of each part, from the lock and the tables; what neither knows stays unknown."""

from __future__ import annotations

from gpuimage import tables
from gpuimage.lock import Lock
from gpuimage.plan.base import Base
from gpuimage.plan.draft import Draft
from gpuimage.plan.types import Part
from gpuimage.plan.wanted import Wanted
from gpuimage.plan.wheels import CudaChoice
from gpuimage.tables import Unknown


def predict(draft: Draft, want: Wanted, cuda: CudaChoice, base: Base, lock: Lock | None) -> tuple[Part, ...]:
    """One row for the base, each big wheel, the other wheels, the packages and the code; bytes on disk."""
    parts = [_base(base, cuda)]
    if lock is not None:
        parts.extend(_locked(lock))
    elif cuda.torch and cuda.variant and cuda.variant != "cpu":
        size = tables.torch_set_bytes(cuda.torch, cuda.variant)
        name = f"torch {cuda.torch} with all it pulls"
        parts.append(
            Part(name, None, None, size.reason)
            if isinstance(size, Unknown)
            else Part(name, size.low, size.high, size.basis)
        )
    elif want.lines or want.files:
        parts.append(
            Part("wheels", None, None, "not resolved yet: `gpuimage lock` reads their sizes from the index")
        )
    if draft.spec.compile:
        parts.append(Part("compiled wheels", None, None, "known after the build"))
    if draft.spec.apt or draft.spec.jit != "none":
        parts.append(Part("distribution packages", None, None, "known after the build"))
    parts.append(_app(draft))
    return tuple(parts)


def _base(base: Base, cuda: CudaChoice) -> Part:
    name = f"base {base.reference}"
    if base.flavor in ("custom", "rootfs"):
        return Part(name, None, None, "the spec's own base is not measured")
    flavor = f"cudnn-{base.flavor}" if base.cudnn else base.flavor
    size = tables.base_size(flavor, cuda.minor or str(cuda.major or ""))
    if isinstance(size, Unknown):
        return Part(name, None, None, size.reason)
    return Part(name, size.low, size.high, size.basis)


def _locked(lock: Lock) -> list[Part]:
    """Wheels of 20 MB and more one by one, the others together."""
    floor = 20_000_000
    big = [p for p in lock.packages if (p.installed_bytes or p.download_bytes or 0) >= floor]
    small = [p for p in lock.packages if p not in big]
    parts = [
        Part(
            f"{p.name} {p.version}", p.installed_bytes, p.installed_bytes,
            "the archive's own directory, read from the index" if p.installed_bytes else "the index does not tell its unpacked size",
        )
        for p in sorted(big, key=lambda p: -(p.installed_bytes or p.download_bytes or 0))
    ]  # fmt: skip
    if small:
        known = [p.installed_bytes for p in small if p.installed_bytes is not None]
        whole = len(known) == len(small)
        parts.append(
            Part(
                f"{len(small)} smaller wheels",
                sum(known) if whole else None,
                sum(known) if whole else None,
                "the archives' own directories, read from the index"
                if whole
                else "the index does not tell all their sizes",
            )
        )
    return parts


def _app(draft: Draft) -> Part:
    total = 0
    for pattern in draft.spec.app.copy if draft.spec.app else ():
        for path in draft.file.directory.glob(pattern.removeprefix("./").rstrip("/")):
            files = (
                [path]
                if path.is_file()
                else [p for p in path.rglob("*") if p.is_file() and not p.is_symlink()]
            )
            total += sum(p.stat().st_size for p in files)
    return Part("code", total, total, "measured on disk")
