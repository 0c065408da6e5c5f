"""The types of a spec: what msgspec decodes, and what the JSON Schema is made from.

Descriptions and patterns live here, beside the fields. What a pattern cannot say (a file that must exist, a
requirement that must parse) and the words of the errors are in `checks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from gpuimage.arch import ArchList
from gpuimage.reference import ImageReference

_UNITS = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SIZE = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,6})?) ?(?P<unit>[A-Za-z]*)", re.ASCII)
_LARGEST = 2**60  # bytes; an exbibyte is no image


class BadValueError(ValueError):
    """A value that cannot be right: the reason, and the smallest change that helps."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{reason} ({hint})" if hint else reason)
        self.reason = reason
        self.hint = hint


class ByteSize(int):
    """A number of bytes, written `4.5GB` (powers of 1000), `3GiB` (powers of 1024) or as plain bytes."""

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> ByteSize:
        """Read a size; `BadValueError` (a ValueError) for anything else, zero included."""
        match = _SIZE.fullmatch(text)
        if not match:
            raise BadValueError(
                f"{text[:40]!r} is no size", "write a number and a unit, such as 4.5GB or 3GiB"
            )
        number, unit = match["number"], match["unit"]
        if unit not in _UNITS:
            raise BadValueError(f"{unit!r} is no unit of bytes", _unit_hint(number, unit))
        size = int(Decimal(number) * _UNITS[unit])
        if not 0 < size <= _LARGEST:
            reason = "no size" if not size else "too large"
            raise BadValueError(f"{text!r} is {reason} for an image", "for no limit, leave it out")
        return cls(size)

    def __str__(self) -> str:
        for unit in ("TB", "GB", "MB", "kB"):
            if self >= _UNITS[unit]:
                return f"{round(self / _UNITS[unit], 2):g}{unit}"
        return f"{int(self)}B"


def _unit_hint(number: str, unit: str) -> str:
    letter = unit[:1].upper()
    if letter in {"K", "M", "G", "T"}:
        return f"write {number}{letter}B (powers of 1000) or {number}{letter}iB (powers of 1024)"
    return "the units are B, kB, MB, GB, TB and KiB, MiB, GiB, TiB"


EnvName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
LabelName = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9]([a-zA-Z0-9._/-]*[a-zA-Z0-9])?$")]
CudaVersion = Annotated[str, Meta(pattern=r"^[1-9][0-9]\.[0-9]{1,2}(\.[0-9]{1,2})?$", examples=["12.8"])]
PythonVersion = Annotated[str, Meta(pattern=r"^3\.([6-9]|[1-9][0-9])$", examples=["3.12"])]
DriverVersion = Annotated[str, Meta(pattern=r"^[1-9][0-9]{2}(\.[0-9]{1,3}){0,2}$", examples=["550"])]
AptPackage = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$")]
ModuleName = Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$")]
UserName = Annotated[
    str, Meta(pattern=r"^([a-z_][a-z0-9_-]{0,31}|[0-9]{1,10})(:([a-z_][a-z0-9_-]{0,31}|[0-9]{1,10}))?$")
]
AbsolutePath = Annotated[str, Meta(pattern=r"^/.*$")]
Text = Annotated[str, Meta(min_length=1)]
Environment = dict[EnvName, str]
Platform = Literal["linux/amd64", "linux/arm64"]


class Compile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A package built from source in a builder stage, for exactly the capabilities in `arch`."""

    package: Annotated[Text, Meta(description="A requirement, or a source directory beside the spec (./ext)")]
    env: Annotated[Environment, Meta(description="Environment of its build, such as MAX_JOBS")] = field(
        default_factory=dict
    )


class App(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The service itself: its files, and how it starts."""

    copy: Annotated[
        tuple[Text, ...], Meta(description="Files and folders beside the spec; globs are taken")
    ] = ()
    workdir: Annotated[AbsolutePath, Meta(description="Where they go, and where the command runs")] = "/app"
    command: Annotated[tuple[str, ...], Meta(description="The command, one entry a word")] = ()
    user: Annotated[UserName, Meta(description="Who runs it: a name, or UID[:GID]")] = "app"


class Build(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What only concerns the building host; nothing here changes the image."""

    mirrors: Annotated[
        dict[str, str], Meta(description="Registry (or registry/path) to the mirror that serves it")
    ] = field(default_factory=dict)
    ca: Annotated[Text | None, Meta(description="PEM file of a company's certificate authority")] = None
    secrets: Annotated[
        tuple[Text, ...],
        Meta(description="As docker build --secret: id=NAME,src=FILE or id=NAME,env=VARIABLE"),
    ] = ()
    cache: Annotated[Literal["auto", "none"], Meta(description="Whether steps may use cache mounts")] = "auto"


class Smoke(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the built image must prove."""

    imports: Annotated[tuple[ModuleName, ...], Meta(description="Modules that must import")] = field(
        default=(), name="import"
    )
    run: Annotated[tuple[Text, ...], Meta(description="Commands that must succeed in the image")] = ()
    require: Annotated[tuple[Literal["gpu"], ...], Meta(description="What may not be skipped")] = ()


class Budget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most bytes the image may take: 4.5GB, 500MB, 3GiB."""

    image: Annotated[ByteSize | None, Meta(description="All layers, unpacked")] = None
    layer: Annotated[ByteSize | None, Meta(description="The largest layer")] = None
    wheel: Annotated[ByteSize | None, Meta(description="The largest installed wheel")] = None


class Matrix(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One image for each combination; the tag gets -cu126-py312."""

    cuda: tuple[CudaVersion, ...] = ()
    python: tuple[PythonVersion, ...] = ()


class Spec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the image shall be. `image` is the only key that must be given."""

    image: Annotated[ImageReference, Meta(description="The name the image gets")]
    flavor: Annotated[
        Literal["runtime", "devel"],
        Meta(description="runtime runs the service; devel also has the compilers"),
    ] = "runtime"
    python: Annotated[PythonVersion, Meta(description="Python's version, in quotes")] = "3.12"
    cuda: Annotated[
        CudaVersion | None, Meta(description="CUDA's version, in quotes; left out: the framework's")
    ] = None
    arch: Annotated[
        ArchList | None, Meta(description="Compute capabilities as in TORCH_CUDA_ARCH_LIST: 8.0;8.6+PTX")
    ] = None
    gpus: Annotated[
        tuple[Text, ...], Meta(description="GPUs to serve, instead of arch or checked against it")
    ] = ()
    driver: Annotated[DriverVersion | None, Meta(description="The oldest host driver to serve")] = None
    wheels: Annotated[
        tuple[Text, ...], Meta(description="Requirements, and wheel files beside the spec (./dist/x.whl)")
    ] = ()
    requirements: Annotated[Text | None, Meta(description="A requirements file")] = None
    lock: Annotated[Text | None, Meta(description="A lock to install from: uv.lock or pylock.toml")] = None
    index: Annotated[Text, Meta(description="auto, pypi, cpu, a CUDA variant such as cu128, or a URL")] = (
        "auto"
    )
    apt: Annotated[tuple[AptPackage, ...], Meta(description="Distribution packages to install")] = ()
    compile: Annotated[tuple[Compile, ...], Meta(description="Packages built from source for arch")] = ()
    jit: Annotated[
        Literal["none", "triton", "nvcc"],
        Meta(description="What compiles at run time and needs its compiler"),
    ] = "none"
    base: Annotated[Text, Meta(description="auto, an image reference, oci:PATH or rootfs:PATH")] = "auto"
    app: App | None = None
    env: Annotated[Environment, Meta(description="Environment of the service")] = field(default_factory=dict)
    labels: Annotated[dict[LabelName, str], Meta(description="Labels of the image")] = field(
        default_factory=dict
    )
    platforms: Annotated[tuple[Platform, ...], Meta(min_length=1)] = ("linux/amd64",)
    build: Build = field(default_factory=Build)
    smoke: Smoke = field(default_factory=Smoke)
    budget: Budget = field(default_factory=Budget)
    matrix: Matrix | None = None


# Fields of these types hold text in the file. msgspec would decode a Struct from a mapping, so `reader`
# puts the values in before msgspec sees the data.
PARSERS: Mapping[type, Callable[[str], object]] = {
    ArchList: ArchList.parse,
    ImageReference: ImageReference.parse,
    ByteSize: ByteSize.parse,
}

_TEXT_SCHEMAS: dict[str, dict[str, object]] = {
    "ArchList": {"type": "string", "minLength": 1, "examples": ["8.0;8.6+PTX"]},
    "ImageReference": {
        "type": "string",
        "minLength": 1,
        "examples": ["registry.example.com/team/infer:1.4.0"],
    },
}


def decode(data: object) -> Spec:
    """Make a Spec of data whose texts are parsed (`PARSERS`); msgspec.ValidationError if it does not fit."""
    return msgspec.convert(data, Spec)


def encode(value: object) -> Any:
    """Make plain data of a Spec, defaults included: what the digest is made from, and what `plan` shows."""
    if isinstance(value, ImageReference):
        return value.full
    if isinstance(value, ArchList):
        return str(value)
    if isinstance(value, Struct):
        return {f.encode_name: encode(getattr(value, f.name)) for f in msgspec.structs.fields(value)}
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return int(value) if isinstance(value, ByteSize) else value


def json_schema() -> dict[str, object]:
    """Give the JSON Schema (draft 2020-12) of a spec file, made from these types."""
    schema = msgspec.json.schema(Spec, schema_hook=_schema)
    definitions = schema["$defs"]
    definitions.update(_TEXT_SCHEMAS)
    for part in ("ArchEntry", "ComputeCapability"):  # what an ArchList is made of is not written in a file
        definitions.pop(part, None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "gpuimage spec", **schema}


def _schema(kind: type) -> dict[str, object]:
    if kind is not ByteSize:
        raise NotImplementedError(f"no schema for {kind.__name__}")
    units = "|".join(unit for unit in _UNITS if unit)
    return {
        "anyOf": [
            {"type": "string", "pattern": rf"^[0-9]{{1,15}}(\.[0-9]{{1,6}})? ?({units})?$"},
            {"type": "integer", "minimum": 1},
        ]
    }
