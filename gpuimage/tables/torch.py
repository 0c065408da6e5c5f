"""PyTorch releases: variants, Python versions, and the GPU code compiled into each wheel."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from gpuimage.arch import ArchError, ArchList
from gpuimage.patterns import pattern
from gpuimage.tables import _load
from gpuimage.tables._answers import Unknown, did_you_mean, dotted, known
from gpuimage.tables._rows import TorchRow

# "3.7;5.0;9.0 (compute_37 PTX)": the one way in which the table writes PTX of another entry than the last.
_PTX_NOTE = pattern(r"(?P<archs>[\d.;]+) \(compute_(?P<major>\d+)(?P<minor>\d) PTX\)")

# cu92 is 9.2, cu128 is 12.8: majors below 10 have one digit.
_VARIANT = pattern(r"cu(?P<major>[1-9][0-9]|[7-9])(?P<minor>[0-9])", re.ASCII)


class _Archs(Struct, frozen=True):
    variant: str
    text: str | None
    source: str | None
    verified: bool


class TorchRelease(Struct, frozen=True):
    """A torch release for Linux x86_64; sizes, tags and `requires` are those of the wheels on PyPI."""

    version: str
    python_tags: tuple[str, ...]
    platform_tags: tuple[str, ...]
    requires_python: str | None
    default_variant: str
    variants: tuple[str, ...]
    variants_source: str
    variants_verified: bool
    wheel_bytes: int
    torchvision: str | None
    torchvision_verified: bool
    torchaudio: str | None
    torchaudio_verified: bool
    triton: str | None
    requires: tuple[str, ...]
    notes: tuple[str, ...]
    source: str
    verified: bool
    _archs: tuple[_Archs, ...]

    def archs(self, variant: str) -> ArchList | Unknown:
        """Return the compiled architectures of a variant (`cu128`) as a TORCH_CUDA_ARCH_LIST."""
        if variant == "cpu":
            return Unknown(f"torch {self.version}+cpu holds no GPU code")
        row = self._row(variant)
        if row is None:
            known = ", ".join(self.variants)
            return Unknown(f"torch {self.version} has no variant {variant} in the tables, which know {known}")
        if row.text is None:
            return Unknown(f"the architectures of torch {self.version}+{variant} are not in the tables")
        try:
            return ArchList.parse(_ptx_in_place(row.text))
        except ArchError as error:
            return Unknown(f"the architectures of torch {self.version}+{variant} cannot be read: {error}")

    def archs_source(self, variant: str) -> str | None:
        """Return where the architectures of a variant were read."""
        row = self._row(variant)
        return row.source if row else None

    def archs_verified(self, variant: str) -> bool:
        """Whether the architectures of a variant were measured or read at the source."""
        row = self._row(variant)
        return row is not None and row.verified

    def _row(self, variant: str) -> _Archs | None:
        return next((row for row in self._archs if row.variant == variant), None)


def _ptx_in_place(text: str) -> str:
    if match := _PTX_NOTE.fullmatch(text):
        arch = f"{match['major']}.{match['minor']}"
        return ";".join(f"{a}+PTX" if a == arch else a for a in match["archs"].split(";"))
    return text


def _release(row: TorchRow) -> TorchRelease:
    pypi = row.pypi_linux_x86_64
    return TorchRelease(
        version=row.torch,
        python_tags=pypi.python_tags,
        platform_tags=pypi.platform_tags,
        requires_python=row.requires_python,
        default_variant=pypi.default_cuda,
        variants=row.cuda_variants,
        variants_source=row.cuda_variants_source,
        variants_verified=row.cuda_variants_verified,
        wheel_bytes=pypi.wheel_bytes,
        torchvision=row.torchvision,
        torchvision_verified=row.torchvision_verified,
        torchaudio=row.torchaudio,
        torchaudio_verified=row.torchaudio_verified,
        triton=row.triton,
        requires=row.requires_dist_nvidia,
        notes=row.notes,
        source=pypi.source,
        verified=True,  # the PyPI half was read from PyPI; variants and archs say for themselves
        _archs=tuple(_Archs(a.variant, a.x86_64, a.source, a.verified) for a in row.arch_lists),
    )


@cache
def _by_version() -> dict[tuple[int, ...], TorchRelease]:
    return {known(row.torch): _release(row) for row in _load.torch_wheels().releases}


def torch_versions() -> tuple[str, ...]:
    """Return every torch release in the tables, oldest first."""
    return tuple(release.version for _, release in sorted(_by_version().items(), key=lambda item: item[0]))


def torch_release(version: str) -> TorchRelease | Unknown:
    """Return a torch release; `2.9` is 2.9.0 as for pip, and a local part (`+cu128`) does not matter."""
    wanted = dotted(version.strip().removeprefix("v").partition("+")[0])
    if wanted is not None:  # nearly every version asked for: no need of all that PEP 440 knows
        found = _by_version().get((*wanted, 0, 0, 0)[:3]) if not any(wanted[3:]) else None
        if found is not None:
            return found
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415  # slow to load

    try:
        public = Version(version).public
    except InvalidVersion:
        return Unknown(f"{version!r} is no version of torch")
    names = torch_versions()
    hint = did_you_mean(public, names)
    return Unknown(f"torch {public} is not in the tables, which know {names[0]} to {names[-1]}{hint}")


def cuda_of_variant(variant: str) -> str | Unknown:
    """Return the toolkit minor of a variant: `cu128` is 12.8, `cu92` 9.2."""
    match = _VARIANT.fullmatch(variant)
    if match is None:
        return Unknown(f"{variant!r} is no CUDA variant of torch (cu128)")
    return f"{match['major']}.{match['minor']}"
