"""Bytes on disk, measured or quoted; what nobody measured is unknown."""

from __future__ import annotations

from msgspec import Struct

from gpuimage.patterns import pattern
from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, dotted
from gpuimage.tables._rows import EstimateRow, MeasuredRow, TorchSetRow
from gpuimage.tables.torch import torch_release

_MB = 10**6  # sizes.json counts in these
_TORCH_SET = pattern(r"torch (?P<version>[\d.]+)\+(?P<variant>cu\d+)\b.*\ball dependencies\b.*")


class SizeFact(Struct, frozen=True):
    """Bytes on disk from `low` to `high` (equal when measured), and what they rest on."""

    low: int
    high: int
    basis: str
    source: str
    verified: bool


def _disk_mb(row: MeasuredRow) -> tuple[int, int] | None:
    return (row.disk_mb, row.disk_mb) if isinstance(row.disk_mb, int) else row.disk_mb


def _source(row: MeasuredRow) -> str:
    return f"measured {row.date}" + (f", {row.source}" if row.source else "")


def torch_set_bytes(version: str, variant: str) -> SizeFact | Unknown:
    """Return what torch and everything it pulls in take once installed, without Python itself."""
    release = torch_release(version)
    if isinstance(release, Unknown):
        return release
    for row in _load.sizes().measured:
        match, mb = _TORCH_SET.fullmatch(row.what), _disk_mb(row)
        if match and mb and (match["version"], match["variant"]) == (release.version, variant):
            return SizeFact(mb[0] * _MB, mb[1] * _MB, row.what, _source(row), row.verified)
    for part in _load.nvidia_wheels().torch_sets:
        if (part.torch, part.variant) == (release.version, variant):
            return _from_parts(part)
    return Unknown(f"the installed size of torch {release.version}+{variant} was not measured")


def _from_parts(part: TorchSetRow) -> SizeFact | Unknown:
    if part.torch_unpacked_bytes is None or part.nvidia_unpacked_bytes is None:
        gb = (part.torch_wheel_bytes + part.nvidia_wheel_bytes) / 10**9
        size = f"the installed size of torch {part.torch}+{part.variant} was not measured"
        return Unknown(f"{size}; its wheels are {gb:.1f} GB to download")
    total = part.torch_unpacked_bytes + part.nvidia_unpacked_bytes + (part.triton_unpacked_bytes or 0)
    return SizeFact(total, total, "unpacked sizes of torch and its nvidia wheels", part.source, part.verified)


def pip_cache_bytes() -> SizeFact | Unknown:
    """Return what pip's download cache keeps of a torch with CUDA."""
    for row in _load.sizes().measured:
        mb = _disk_mb(row)
        if row.what.startswith("pip cache left") and mb:
            return SizeFact(mb[0] * _MB, mb[1] * _MB, row.what, _source(row), row.verified)
    return Unknown("what pip's cache keeps of torch was not measured")


def _covers(span: str, cuda: str) -> bool:
    """Whether `11-13`, `12.x` or `11.8` covers a CUDA version, or a whole major (`12`)."""
    version = dotted(cuda)
    if version is None or len(version) > 3:
        return False
    if "-" in span:
        first, _, last = span.partition("-")
        return int(first) <= version[0] <= int(last)
    if span.endswith(".x"):
        return version[0] == int(span.removesuffix(".x"))
    return dotted(span) == version[:2]


def base_size(flavor: str, cuda: str = "") -> SizeFact | Unknown:
    """Return the bytes of an unpacked base image.

    `flavor` is one of nvidia/cuda (`base`, `runtime`, `devel`, `cudnn-devel`, for a `cuda` version), or
    `python-slim`, whose stand-in was measured.
    """
    for stand_in in _load.stand_ins().bases:
        if stand_in.flavor == flavor:
            return _stand_in(stand_in.measured, stand_in.source, stand_in.verified)
    rows = [row for row in _load.sizes().estimates if row.flavor == flavor and _covers(row.cuda, cuda)]
    if not rows:
        return Unknown(f"no source gives the size of the {flavor} flavor of CUDA {cuda or '(none given)'}")
    return _estimate(rows[0])


def _estimate(row: EstimateRow) -> SizeFact:
    low, high = row.disk_mb
    basis = "; ".join(row.basis)
    source = row.source or "sizes.json estimates, figures quoted in public threads"
    return SizeFact(low * _MB, high * _MB, basis, source, row.verified)


def _stand_in(names: tuple[str, ...], source: str, verified: bool) -> SizeFact | Unknown:
    spans = [mb for row in _load.sizes().measured if row.what in names and (mb := _disk_mb(row))]
    if len(spans) != len(names):
        return Unknown(
            f"stand_ins.json names a measurement that sizes.json does not have: {', '.join(names)}"
        )
    return SizeFact(
        min(low for low, _ in spans) * _MB,
        max(high for _, high in spans) * _MB,
        "measured: " + "; ".join(names),
        source,
        verified,
    )
