"""What grew from one inspection to another, and why: wheels, files outside them, GPU code by architecture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from gpuimage.inspect.sizes import Share, shares
from gpuimage.inspect.types import GpuFile, Inspection


class Change(Struct, frozen=True):
    """Something whose bytes differ; None where it was not there, or is not there any more.

    `kind`: wheel, file (outside every wheel), code (GPU code of one architecture, within all files).
    `because` says what differs inside: a version, GPU code of further architectures.
    """

    kind: str
    name: str
    before: int | None
    after: int | None
    because: str = ""

    @property
    def grown(self) -> int:
        """Bytes more than before; negative for less."""
        return (self.after or 0) - (self.before or 0)


class Comparison(Struct, frozen=True):
    """Two inspections side by side; the changes that matter most come first, whichever way they go.

    Each byte counts once in `changes` (wheels and files); `architectures` counts the GPU code among them again.
    """

    before: int
    after: int
    hidden_before: int
    hidden_after: int
    changes: tuple[Change, ...]
    architectures: tuple[Change, ...]


def compare(before: Inspection, after: Inspection) -> Comparison:
    """Compare two inspections, of whatever kind."""
    changes = [*_wheels(before, after), *_files(before, after)]
    return Comparison(
        before.bytes,
        after.bytes,
        sum(one.bytes for one in before.hidden),
        sum(one.bytes for one in after.hidden),
        _sorted(changes),
        _sorted(_code(shares(before.gpu), shares(after.gpu))),
    )


def _sorted(changes: list[Change]) -> tuple[Change, ...]:
    differing = (one for one in changes if one.before != one.after or one.because)
    return tuple(sorted(differing, key=lambda one: (-abs(one.grown), one.kind, one.name)))


class _Wheel(Struct, frozen=True):
    version: str
    bytes: int
    gpu: tuple[GpuFile, ...]


def _by_name(found: Inspection) -> dict[str, _Wheel]:
    gpu: dict[int, list[GpuFile]] = {}
    for file in found.gpu:
        owner = found.owners.get(file.path)
        if owner is not None:
            gpu.setdefault(owner, []).append(file)
    # A file that two wheels name belongs to the first, so that sums stay true.
    owned: dict[int, int] = {}
    for path, owner in found.owners.items():
        owned[owner] = owned.get(owner, 0) + found.sizes.get(path, 0)
    count = Counter(wheel.name for wheel in found.wheels)
    return {
        # An environment of its own may hold a second one of the same name.
        wheel.name if count[wheel.name] == 1 else f"{wheel.name} in {wheel.location}": _Wheel(
            wheel.version, owned.get(number, 0), tuple(gpu.get(number, ()))
        )
        for number, wheel in enumerate(found.wheels)
    }


def _wheels(before: Inspection, after: Inspection) -> Iterator[Change]:
    old, new = _by_name(before), _by_name(after)
    for name in {**old, **new}:
        was, now = old.get(name), new.get(name)
        if was is None and now is not None:
            yield Change("wheel", name, None, now.bytes, f"{now.version}, new")
        elif was is not None and now is None:
            yield Change("wheel", name, was.bytes, None, f"{was.version}, gone")
        elif was is not None and now is not None and was != now:
            version = f"{was.version} to {now.version}" if was.version != now.version else ""
            why = "; ".join(filter(None, (version, _why(was.gpu, now.gpu))))
            yield Change("wheel", name, was.bytes, now.bytes, why)


def _files(before: Inspection, after: Inspection) -> Iterator[Change]:
    old, new = _outside(before), _outside(after)
    gpu = [{file.path: file for file in found.gpu} for found in (before, after)]
    for path in {**old, **new}:
        if old.get(path) != new.get(path):
            was, now = ([found[path]] if path in found else [] for found in gpu)
            yield Change("file", path, old.get(path), new.get(path), _why(was, now) if was and now else "")


def _outside(found: Inspection) -> Mapping[str, int]:
    return {path: size for path, size in found.sizes.items() if size and path not in found.owners}


def _why(before: tuple[GpuFile, ...] | list[GpuFile], after: tuple[GpuFile, ...] | list[GpuFile]) -> str:
    """The architectures that came and went."""
    was = {(share.kind, share.arch) for share in shares(before)}
    now = {(share.kind, share.arch) for share in shares(after)}
    parts = []
    for word, found in (("with", now - was), ("without", was - now)):
        if found:
            parts.append(f"{word} {', '.join(f'{kind} {arch}' for kind, arch in sorted(found))}")
    return "GPU code " + " and ".join(parts) if parts else ""


def _code(before: tuple[Share, ...], after: tuple[Share, ...]) -> list[Change]:
    old = {(share.kind, share.arch): share.bytes for share in before}
    new = {(share.kind, share.arch): share.bytes for share in after}
    return [
        Change("code", f"{kind} {arch}", old.get((kind, arch)), new.get((kind, arch)))
        for kind, arch in {**old, **new}
        if old.get((kind, arch)) != new.get((kind, arch))
    ]
