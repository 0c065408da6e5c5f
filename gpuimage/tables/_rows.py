"""The shape of the rows in `gpuimage/data/*.json`: only the keys that a question needs.

Rows carry many more keys (notes, dates, evidence); they stay in the files for people to read. A required key
that is missing or has another type makes decoding fail and names file and row.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

# As much of PEP 440 as versions and specifiers in tables use.
_PEP440 = r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?"
_SPECIFIER = rf"(~=|[<>=!]=|<|>)\s*{_PEP440}(\.\*)?"

Text = Annotated[str, msgspec.Meta(min_length=1)]
Bytes = Annotated[int, msgspec.Meta(ge=0)]
CudaVersion = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+(\.\d+)?$")]
CudaMinor = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+$")]
Dotted = Annotated[str, msgspec.Meta(pattern=r"^\d+(\.\d+)*$")]
TorchVersion = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+\.\d+$")]
Pep440 = Annotated[str, msgspec.Meta(pattern=rf"^{_PEP440}$")]
Specifiers = Annotated[str, msgspec.Meta(pattern=rf"^({_SPECIFIER}(\s*,\s*{_SPECIFIER})*)?$")]
Driver = Annotated[str, msgspec.Meta(pattern=r"^\d{3}(\.\d+){0,2}$")]
Capability = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d$")]
Variant = Annotated[str, msgspec.Meta(pattern=r"^cu\d{2,3}$")]
Date = Annotated[str, msgspec.Meta(pattern=r"^\d{4}(-\d{2}){0,2}$")]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row that names its source itself."""

    source: Text


class Checked(Row, frozen=True, kw_only=True):
    """A row that also says whether its source was read, not recalled."""

    verified: bool


# cuda_releases.json


class ReleaseRow(Checked, frozen=True, kw_only=True):
    """One toolkit release."""

    cuda: CudaVersion
    label: Text
    minor: CudaMinor
    linux_x86_64_driver_min: Driver | None
    note: str = ""


class FloorRow(Checked, frozen=True, kw_only=True):
    """Minor-version compatibility of one CUDA major."""

    major: Text
    min_linux: Driver
    max_branch_exclusive: Driver | None
    table_min: Driver


class MinorRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the compiler of one toolkit minor takes."""

    cuda: CudaMinor
    real_archs: tuple[Text, ...]
    virtual_archs: tuple[Text, ...]
    arch_source: Text
    arch_verified: bool
    host_gcc_max_major: int
    host_gcc_source: Text
    host_gcc_verified: bool
    host_clang_max_major: int | None
    ptx_isa: str | None


class ArchEventRow(msgspec.Struct, frozen=True, kw_only=True):
    """An architecture that came or went with a toolkit minor."""

    event: Text
    cuda: CudaMinor


class BranchEndRow(Row, frozen=True, kw_only=True):
    """End of life of one driver branch."""

    branch: Annotated[str, msgspec.Meta(pattern=r"^R\d{3}$")]
    kind: Text
    eol: Date


class CudaReleases(msgspec.Struct, frozen=True, kw_only=True):
    """cuda_releases.json."""

    releases: tuple[ReleaseRow, ...]
    minor_version_compat: tuple[FloorRow, ...]
    minors: tuple[MinorRow, ...]
    arch_events: tuple[ArchEventRow, ...]
    arch_events_source: Text
    driver_branch_eol: tuple[BranchEndRow, ...]


# forward_compat.json


class NativeCudaRow(msgspec.Struct, frozen=True, kw_only=True):
    """The CUDA that a driver branch was released with."""

    branch: Driver
    native_cuda: CudaMinor


class CompatRow(Checked, frozen=True, kw_only=True):
    """One cuda-compat package against the driver branches of the guide."""

    package: Text
    cuda: CudaMinor
    status: dict[str, Literal["compatible", "not_compatible", "not_applicable"]]


class RequireBranchesRow(Row, frozen=True, kw_only=True):
    """The older branches that an nvidia/cuda image accepts, its cuda-compat included."""

    cuda: CudaVersion
    branches_accepted_with_compat: tuple[int, ...]


class ForwardCompat(msgspec.Struct, frozen=True, kw_only=True):
    """forward_compat.json."""

    applies_to: tuple[Text, ...]
    applies_to_source: Text
    branches: tuple[NativeCudaRow, ...]
    matrix: tuple[CompatRow, ...]
    image_require_branches: tuple[RequireBranchesRow, ...]


# gpus.json


class GpuRow(Checked, frozen=True, kw_only=True):
    """One product."""

    name: Text
    compute_capability: Capability
    architecture: Text
    gpu_class: Literal["data-center", "workstation", "consumer", "jetson"] = msgspec.field(name="class")
    aliases: tuple[Text, ...] = ()
    memory_gb: tuple[float, ...] = ()
    note: str = ""


class Gpus(msgspec.Struct, frozen=True, kw_only=True):
    """gpus.json."""

    gpus: tuple[GpuRow, ...]


# torch_wheels.json


class TorchPypiRow(Row, frozen=True, kw_only=True):
    """The Linux x86_64 wheels that PyPI has of one torch release."""

    default_cuda: Variant
    python_tags: tuple[Text, ...]
    platform_tags: tuple[Text, ...]
    wheel_bytes: Bytes
    uploaded: Date


class TorchArchRow(msgspec.Struct, frozen=True, kw_only=True):
    """TORCH_CUDA_ARCH_LIST of one variant; unknown where `x86_64` is null."""

    variant: Variant
    x86_64: str | None
    ptx: bool
    source: str | None
    verified: bool


class TorchRow(msgspec.Struct, frozen=True, kw_only=True):
    """One torch release."""

    torch: TorchVersion
    pypi_linux_x86_64: TorchPypiRow
    requires_python: str | None
    cuda_variants: tuple[Variant, ...]
    cuda_variants_source: Text
    cuda_variants_verified: bool
    arch_lists: tuple[TorchArchRow, ...]
    requires_dist_nvidia: tuple[Text, ...]
    triton: str | None
    torchvision: str | None
    torchvision_verified: bool
    torchaudio: str | None
    torchaudio_verified: bool
    notes: tuple[Text, ...] = ()


class TorchWheels(msgspec.Struct, frozen=True, kw_only=True):
    """torch_wheels.json."""

    releases: tuple[TorchRow, ...]


# other_wheels.json, wheel_needs.json


class WheelRow(Checked, frozen=True, kw_only=True):
    """One project of PyPI and its newest version."""

    name: Text
    newest: Pep440 | None
    kind: Text
    newest_cuda_major: int | None
    needs: str
    needs_nvcc: bool
    wheel_bytes_linux_x86_64: int | None = None
    sdist_only: bool = False
    requires_dist_cuda: tuple[Text, ...] = ()
    note: str = ""


class OtherWheels(msgspec.Struct, frozen=True, kw_only=True):
    """other_wheels.json."""

    wheels: tuple[WheelRow, ...]


class NeedsRow(Checked, frozen=True, kw_only=True):
    """How one wheel (of these versions, with these extras) comes to its CUDA libraries."""

    name: Text
    versions: Specifiers = ""  # of PEP 440; empty is every version
    extras: tuple[Text, ...] = ()  # all of these must have been asked for
    cuda: Literal["bundled", "wheels", "system", "framework", "none"]
    cuda_major: int | None = None
    libraries: tuple[Text, ...] = ()
    needs_nvcc: Literal["no", "build", "run"] = "no"
    note: str = ""
    date: Date


class WheelNeeds(msgspec.Struct, frozen=True, kw_only=True):
    """wheel_needs.json."""

    wheels: tuple[NeedsRow, ...]


# nvidia_wheels.json


class NvidiaWheelRow(Checked, frozen=True, kw_only=True):
    """One version of one CUDA wheel of NVIDIA."""

    name: Text
    version: Dotted
    cuda_major: int
    wheel_bytes: Bytes
    unpacked_bytes: Bytes | None = None
    libraries: tuple[Text, ...] = ()
    libraries_source: str | None = None
    libraries_verified: bool = True


class TorchSetRow(Checked, frozen=True, kw_only=True):
    """What one torch wheel pulls in, in bytes."""

    torch: Text
    variant: Variant
    torch_wheel_bytes: Bytes
    torch_unpacked_bytes: Bytes | None
    nvidia_wheel_bytes: Bytes
    nvidia_unpacked_bytes: Bytes | None
    triton_unpacked_bytes: Bytes | None = None


class NvidiaWheels(msgspec.Struct, frozen=True, kw_only=True):
    """nvidia_wheels.json."""

    torch_sets: tuple[TorchSetRow, ...]
    wheels: tuple[NvidiaWheelRow, ...]


# base_images.json, cuda_tags_seen.json, flavor_libraries.json, os_python.json


class ImageRow(Checked, frozen=True, kw_only=True):
    """The nvidia/cuda images of one CUDA release, as their sources list them."""

    cuda: CudaVersion
    in_end_of_life_folder: bool
    os_flavours: dict[str, tuple[Text, ...]]
    require_cuda_first: Annotated[str, msgspec.Meta(pattern=r"^cuda>=\d+\.\d+$")]
    require_driver_branches_allowed: tuple[int, ...]
    require_brands: tuple[Text, ...]


class CudaImages(msgspec.Struct, frozen=True, kw_only=True):
    """The nvidia/cuda part of base_images.json."""

    tag_regex: Text
    eol_policy: tuple[Text, ...]
    eol_policy_source: Text
    flavours: dict[str, tuple[Text, ...]]
    flavours_source: Text
    releases: tuple[ImageRow, ...]


class RequireGrammar(Checked, frozen=True, kw_only=True):
    """The grammar of NVIDIA_REQUIRE_*."""

    text: Text


class BaseImages(msgspec.Struct, frozen=True, kw_only=True):
    """base_images.json."""

    nvidia_cuda: CudaImages
    require_grammar: RequireGrammar


class SeenRow(Checked, frozen=True, kw_only=True):
    """Tags of nvidia/cuda seen somewhere after the copy of the container sources was made."""

    cuda: CudaVersion
    os: Text
    flavours: tuple[Text, ...]


class TagsSeen(msgspec.Struct, frozen=True, kw_only=True):
    """cuda_tags_seen.json."""

    tags: tuple[SeenRow, ...]


class PackageLibrariesRow(Checked, frozen=True, kw_only=True):
    """The library families that one package of the nvidia/cuda flavours holds."""

    package: Text
    libraries: tuple[Text, ...]


class FamilyRow(Checked, frozen=True, kw_only=True):
    """Libraries whose name starts with one of the prefixes belong to the family."""

    family: Text
    prefixes: tuple[Text, ...]


class FlavorLibraries(msgspec.Struct, frozen=True, kw_only=True):
    """flavor_libraries.json."""

    packages: tuple[PackageLibrariesRow, ...]
    families: tuple[FamilyRow, ...]


class OsPythonRow(Checked, frozen=True, kw_only=True):
    """The Python that a distribution release carries as `python3`."""

    os: Text
    python: CudaMinor
    date: Date


class OsPython(msgspec.Struct, frozen=True, kw_only=True):
    """os_python.json."""

    rows: tuple[OsPythonRow, ...]


# sizes.json, stand_ins.json, edition.json


class MeasuredRow(msgspec.Struct, frozen=True, kw_only=True):
    """A size measured by hand on the day named."""

    what: Text
    date: Date
    source: str = ""
    verified: bool
    disk_mb: int | tuple[int, int] | None = None


class EstimateRow(msgspec.Struct, frozen=True, kw_only=True):
    """A range of sizes of one flavor, and the figures it rests on."""

    flavor: Text
    cuda: Annotated[str, msgspec.Meta(pattern=r"^\d+(-\d+|\.\d+|\.x)$")]
    disk_mb: tuple[int, int]
    basis: tuple[Text, ...]
    source: str = ""
    verified: bool


class Sizes(msgspec.Struct, frozen=True, kw_only=True):
    """sizes.json."""

    measured: tuple[MeasuredRow, ...]
    estimates: tuple[EstimateRow, ...]


class StandInRow(Checked, frozen=True, kw_only=True):
    """A base that was not measured itself, and the measured rows that stand in for it."""

    flavor: Text
    measured: tuple[Text, ...]


class StandIns(msgspec.Struct, frozen=True, kw_only=True):
    """stand_ins.json."""

    bases: tuple[StandInRow, ...]


class Edition(Row, frozen=True, kw_only=True):
    """edition.json."""

    edition: Date


# errors.json


class ErrorRow(Checked, frozen=True, kw_only=True):
    """An error message by its regular expression, and what is behind it."""

    id: Text
    regex: Text
    words: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]
    stage: Literal["build", "start", "run"]
    cause: Text
    check: Text
    fix: Text
    elsewhere: Text | None = None
    follows: tuple[Text, ...] = ()
    notice: bool = False


class Errors(msgspec.Struct, frozen=True, kw_only=True):
    """errors.json."""

    errors: tuple[ErrorRow, ...]
