"""What the tables know of what a message names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from packaging.requirements import InvalidRequirement, Requirement

from gpuimage.arch import ArchError, ArchList
from gpuimage.explain.types import Named
from gpuimage.reference import CudaTag
from gpuimage.tables import (
    TorchRelease,
    Unknown,
    carriers,
    cuda_minors,
    cuda_range_for,
    cuda_tag,
    driver_need,
    glibc_releases,
    library_family,
    nvcc_capabilities,
    ptx_cuda,
    torch_release,
)


def facts(error: str, named: Named) -> tuple[str, ...]:
    """Work out what a person would look up next, one sentence each; empty where the message names nothing."""
    find = _FINDERS.get(error)
    return tuple(find(named)) if find else ()


def _compiler(named: Named) -> Iterator[str]:
    """Which nvcc takes an architecture that this one refused."""
    for capability in named.archs:
        known = cuda_range_for(capability)
        if isinstance(known, Unknown):
            yield known.reason
        else:
            yield f"{capability.compute} needs the compiler of {known.span}"


def _gpu(named: Named) -> Iterator[str]:
    for capability in named.archs:
        if named.compiled:
            yield f"the GPU is {capability}, and this build has machine code for {' '.join(map(str, named.compiled))}"
        known = cuda_range_for(capability)
        if not isinstance(known, Unknown):
            yield f"{known.span} makes machine code for {capability}"


def _list(named: Named) -> Iterator[str]:
    if named.version is None:
        return
    try:
        ArchList.parse(named.version)
    except ArchError as error:
        yield f"{error.reason}" + (f" ({error.hint})" if error.hint else "")
        return
    yield f"{named.version} is a capability, and this torch is older than it"


def _spoken(named: Named) -> Iterator[str]:
    """Which CUDA a driver speaks that torch found too old ("found version 12040")."""
    cuda = named.driver_cuda
    if cuda is None:
        return
    need = driver_need(cuda)
    branch = "" if isinstance(need, Unknown) or not need.full else f" (branch {need.full.partition('.')[0]})"
    yield (
        f"the host's driver speaks CUDA {cuda}{branch}: take a build for CUDA {cuda} or older of the same major, "
        "or a newer driver"
    )


def _two_cudas(named: Named) -> Iterator[str]:
    if len(named.cuda) < 2:
        return
    nvcc, torch = named.cuda
    yield f"nvcc is that of CUDA {nvcc}, and torch was built for CUDA {torch}"
    image = cuda_tag(torch, "devel")
    if not isinstance(image, Unknown):
        yield f"compile in {image.reference}, or take the torch build for CUDA {nvcc.partition('.')[0]}.x"


def _pair(named: Named) -> Iterator[str]:
    if len(named.cuda) == 2:
        yield f"torch is built for CUDA {named.cuda[0]}, the other one for CUDA {named.cuda[1]}"


def _library(named: Named) -> Iterator[str]:
    if named.library is None:
        return
    found = carriers(named.library)
    for kind, word in {"wheel": "wheel", "package": "package of Debian and Ubuntu"}.items():
        some = [one for one in found if one.kind == kind]
        if some:
            doubt = "" if all(one.verified for one in some) else " (not verified)"
            yield f"{named.library} is in the {word} {' or '.join(one.name for one in some)}{doubt}"
    for one in found:
        if one.kind == "flavor":
            family = library_family(named.library)
            yield f"the {one.name} flavor of nvidia/cuda brings {family}, in the version of its tag"


def _version(named: Named) -> Iterator[str]:
    if named.version is None or not named.version.startswith("GLIBC_"):
        return
    wanted = named.version.removeprefix("GLIBC_")
    releases = glibc_releases(".".join(wanted.split(".")[:2]))
    if releases:
        yield f"glibc {wanted} or newer is in {', '.join(releases)}"
    else:
        yield f"no distribution release in the tables has glibc {wanted}"


def _symbol(named: Named) -> Iterator[str]:
    if named.library and named.file:
        name = named.file.rpartition("/")[2]
        yield f"{name} wants {named.symbol} of {named.library}, and the {named.library} that was loaded has none"


def _condition(named: Named) -> Iterator[str]:
    """`cuda>=12.4` in terms of drivers."""
    name, _, version = (named.condition or "").partition(">=")
    for release in (f"{version}.0", version) if name == "cuda" else ():
        need = driver_need(release)
        if not isinstance(need, Unknown) and need.full:
            yield f"the image asks for a driver that speaks CUDA {version}: {need.full} or newer"
            return


def _requirement(named: Named) -> Iterator[str]:
    """Which builds and Pythons there are of a torch that an index does not have."""
    release, local = torch_of(named.package)
    if release is None:
        return
    if local and local != "cpu" and local not in release.variants:
        yield f"torch {release.version} has no build {local}; it has {', '.join(release.variants)}"
    elif local:
        yield f"torch {release.version}+{local} is not on PyPI, but on PyTorch's own index: --index-url with /whl/{local}"
    pythons = [
        f"{tag[2]}.{tag[3:]}" for tag in release.python_tags if tag[3:].isdigit() and tag.startswith("cp")
    ]
    yield f"torch {release.version} has wheels for Python {', '.join(pythons)}"


def torch_of(requirement: str | None) -> tuple[TorchRelease | None, str | None]:
    """The torch release that a requirement pins, and the local part of its version (`cu118`); None for any other text."""
    try:
        wanted = Requirement(requirement or "")
    except InvalidRequirement:
        return None, None
    pins = [one.version for one in wanted.specifier if one.operator in ("==", "===")]
    if wanted.name.lower() != "torch" or not pins:
        return None, None
    release = torch_release(pins[0])
    return (None if isinstance(release, Unknown) else release), pins[0].partition("+")[2] or None


def _image(named: Named) -> Iterator[str]:
    text = (named.image or "").partition("nvidia/cuda:")[2]
    try:
        tag = CudaTag.parse(text)
    except ValueError as error:
        if text:
            yield str(error)
        return
    listed = cuda_tag(tag.version, tag.flavor, cudnn=tag.cudnn is not None, os=tag.os)
    if isinstance(listed, Unknown):
        yield listed.reason


def _gcc(named: Named) -> Iterator[str]:
    """The first CUDA that takes a gcc newer than the one this nvcc stops at."""
    if named.version is None:
        return
    for minor in cuda_minors():
        support = nvcc_capabilities(minor)
        if not isinstance(support, Unknown) and support.host_gcc_max > int(named.version):
            yield f"gcc {support.host_gcc_max} is taken from CUDA {minor} on; this nvcc takes gcc {named.version} at most"
            return


def _isa(named: Named) -> Iterator[str]:
    if named.version:
        found = ptx_cuda(named.version)
        yield (
            found.reason
            if isinstance(found, Unknown)
            else f"PTX {named.version} needs ptxas of CUDA {found} or newer"
        )


_LIBRARIES = (
    "libcudart-missing", "libcudnn-missing", "libcublas-missing", "libnvrtc-missing", "libnccl-missing", "libgl-missing",
    "library-missing",
)  # fmt: skip
_FINDERS: Mapping[str, Callable[[Named], Iterator[str]]] = {
    "nvcc-unsupported-arch": _compiler,
    "ptxas-unknown-arch": _compiler,
    "torch-sm-incompatible": _gpu,
    "torch-cc-too-old": _gpu,
    "unknown-cuda-arch": _list,
    "torch-driver-too-old": _spoken,
    "cuda-version-mismatch": _two_cudas,
    "torchvision-mismatch": _pair,
    **dict.fromkeys(_LIBRARIES, _library),
    "glibc-too-old": _version,
    **dict.fromkeys(("libnvjitlink-symbol", "cuda-symbol"), _symbol),
    "ctk-requirement": _condition,
    "no-matching-wheel": _requirement,
    "manifest-unknown": _image,
    "host-gcc-too-new": _gcc,
    "ptxas-version": _isa,
}
