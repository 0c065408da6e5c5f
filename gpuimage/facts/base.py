"""What is known of the image that a stage stands on, from its reference alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct, field

from gpuimage.patterns import pattern
from gpuimage.reference import CudaTag, ImageReference, ReferenceSyntaxError
from gpuimage.tables import raw_rows

_CODENAMES = {
    "buster": "debian10", "bullseye": "debian11", "bookworm": "debian12", "trixie": "debian13",
    "xenial": "ubuntu16.04", "bionic": "ubuntu18.04", "focal": "ubuntu20.04", "jammy": "ubuntu22.04", "noble": "ubuntu24.04",
}  # fmt: skip
_STUBS = "/usr/local/cuda/lib64/stubs"  # facts: base_images.json, env_common
_LOOSE_VERSION = pattern(r"(\d+\.\d+(?:\.\d+)?)(?:-|$)")


class Base(Struct, frozen=True):
    """A base image; what its name does not tell is None.

    `kind` is one of scratch, cuda, pytorch, ngc-torch, ngc, tensorflow, python, conda, rocm, plain (an operating
    system or a language without CUDA), other (a name nobody knows), unknown (only the build knows the name). `cuda` is
    the toolkit's version as the tag writes it, `flavor` base, runtime or devel. `os` is `ubuntu22.04`, `debian12` …
    `env` holds what the image is known to set, None for a value that is not known.
    """

    kind: str
    text: str | None = None
    reference: ImageReference | None = None
    cuda_tag: CudaTag | None = None
    cuda: str | None = None
    flavor: str | None = None
    cudnn: bool = False
    os: str | None = None
    python: str | None = None
    torch: str | None = None
    slim: bool = False
    env: Mapping[str, str | None] = field(default_factory=dict)
    user: str | None = None
    workdir: str | None = None

    @property
    def has_cuda(self) -> bool | None:
        """Whether CUDA libraries are in it; None where nobody knows."""
        if self.kind in ("cuda", "ngc", "ngc-torch", "pytorch"):
            return True
        return None if self.kind in ("other", "unknown", "tensorflow") else False

    @property
    def has_nvcc(self) -> bool | None:
        """Whether nvcc is in it; None where nobody knows."""
        if self.kind in ("cuda", "pytorch") and self.flavor:
            return self.flavor == "devel"
        if self.kind == "ngc-torch":
            return True
        return None if self.has_cuda or self.has_cuda is None else False

    @property
    def cuda_minor(self) -> str | None:
        """`12.4` of `12.4.1`."""
        return ".".join(self.cuda.split(".")[:2]) if self.cuda else None

    @property
    def cuda_major(self) -> int | None:
        """12 of `12.4.1`."""
        return int(self.cuda.partition(".")[0]) if self.cuda else None


@cache
def _rows() -> tuple[tuple[re.Pattern[str], re.Pattern[str] | None, dict[str, Any]], ...]:
    return tuple(
        (pattern(row["repository"]), pattern(row["tag"]) if row["tag"] else None, row)
        for row in raw_rows("known_bases", "bases")
    )


@cache
def read_base(text: str | None) -> Base:
    """What a reference tells; None is a reference that only the build knows."""
    if text is None:
        return Base("unknown")
    if text == "scratch":
        return Base("scratch", text, user="", workdir="/")
    try:
        reference = ImageReference.parse(text)
    except ReferenceSyntaxError:
        return Base("unknown", text)
    name = reference.name.removeprefix("docker.io/")
    for repository, tag, row in _rows():
        if repository.fullmatch(name):
            found = tag.fullmatch(reference.tag or "") if tag else None
            return _base(text, reference, row, found.groupdict() if found else {})
    return Base("other", text, reference)


def _base(text: str, reference: ImageReference, row: dict[str, Any], parts: Mapping[str, str | None]) -> Base:
    kind, tag = row["kind"], reference.tag or ""
    os = _CODENAMES.get(parts.get("codename") or "")
    if kind == "plain" and parts.get("version"):
        os = f"{reference.repository.rpartition('/')[2]}{parts['version']}"
    common: dict[str, Any] = {
        "kind": kind, "text": text, "reference": reference,
        "env": row["env"], "user": row["user"], "workdir": row["workdir"],
    }  # fmt: skip
    if kind == "cuda":
        return _cuda(tag, common)
    cuda = parts.get("cuda")
    return Base(
        **common, cuda=cuda, flavor=parts.get("flavor"), cudnn=bool(parts.get("cudnn")), os=os,
        python=parts.get("python"), torch=parts.get("torch"), slim=bool(parts.get("slim")),
    )  # fmt: skip


def _cuda(tag: str, common: dict[str, Any]) -> Base:
    try:
        parsed = CudaTag.parse(tag)
    except ReferenceSyntaxError:
        version = _LOOSE_VERSION.match(tag)
        flavor = next((part for part in tag.split("-") if part in ("base", "runtime", "devel")), None)
        return Base(**common, cuda=version[1] if version else None, flavor=flavor, cudnn="cudnn" in tag)
    common["env"] = {**common["env"], **_cuda_env(parsed)}
    return Base(
        **common,
        cuda_tag=parsed,
        cuda=parsed.version,
        flavor=parsed.flavor,
        cudnn=parsed.cudnn is not None,
        os=parsed.os,
    )


def _cuda_env(tag: CudaTag) -> dict[str, str]:
    """What a tag tells of the variables: the full version, and where devel images find the stubs to link with."""
    found = {"CUDA_VERSION": tag.version} if tag.version.count(".") == 2 else {}
    return found | ({"LIBRARY_PATH": _STUBS} if tag.flavor == "devel" else {})
