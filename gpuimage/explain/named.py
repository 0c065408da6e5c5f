"""What a message names: architectures, CUDA versions, a driver, a library, a package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from gpuimage.arch import ArchError, ComputeCapability
from gpuimage.explain.types import Named

_CUDA = r"(\d{1,2}\.\d{1,2})"


def named(error: str, before: str, after: str) -> Named:
    """Read what a message names: `before` stands before the match in its line, `after` is the match and what follows."""
    read = _READERS.get(error, _nothing)
    return read(before, after)


def _nothing(_before: str, _after: str) -> Named:
    return Named()


def _capabilities(text: str) -> tuple[ComputeCapability, ...]:
    """Every sm_90a, compute_120 of a text, and every 8.6 after the word capability."""
    return tuple(dict.fromkeys(_each_capability(text)))


def _each_capability(text: str) -> Iterator[ComputeCapability]:
    for found in re.findall(r"(?:sm|compute)_\d{2,3}[af]?", text):
        try:
            yield ComputeCapability.parse(found)
        except ArchError:  # compute_native
            continue


def _code(_before: str, after: str) -> Named:
    return Named(archs=_capabilities(after.split("\n", 1)[0])[:1])


def _sm_incompatible(_before: str, after: str) -> Named:
    line, _, rest = after.partition("\n")
    listed = re.search(r"supports CUDA capabilities\s([sm_\d a-z]{3,200})", rest)
    return Named(archs=_capabilities(line)[:1], compiled=_capabilities(listed[1]) if listed else ())


def _torch_range(_before: str, after: str) -> Named:
    own = re.search(r"capability (\d{1,2})\.(\d)", after)
    return Named(archs=(ComputeCapability(int(own[1]), int(own[2])),) if own else ())


def _unknown_arch(_before: str, after: str) -> Named:
    found = re.search(r"Unknown CUDA arch \(([^)]{1,60})\)", after)
    return Named(version=found[1] if found else None)


def _driver(_before: str, after: str) -> Named:
    found = re.search(r"found version (\d{4,6})", after)
    return Named(driver_cuda=f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}" if found else None)


def _two_cudas(_before: str, after: str) -> Named:
    found = re.search(rf"detected CUDA version \({_CUDA}[^)]{{0,8}}\)", after)
    other = re.search(rf"PyTorch \({_CUDA}[^)]{{0,8}}\)", after)
    return Named(cuda=tuple(one[1] for one in (found, other) if one))


def _pair(_before: str, after: str) -> Named:
    return Named(cuda=tuple(re.findall(rf"CUDA [Vv]ersion[ =]{_CUDA}", after[:400])[:2]))


def _library(before: str, after: str) -> Named:
    """`libGL.so.1: cannot open`, `Could not load library X`, `Unable to load any of {X.9.1.0, X.9.1, X.9, X}`."""
    line = after.split("\n", 1)[0]
    listed = re.search(r"Unable to load any of \{([^}]{1,300})\}", line)
    if listed:
        names = [name.strip() for name in listed[1].split(",")]
        short = [name for name in names if re.search(r"\.so\.\d+$", name)]
        return Named(library=(short or names)[0])
    found = re.search(r"(lib[\w.+-]{1,80}\.so[.\d]*)(?<!\.)", line)
    wants = re.search(r"(/[^\s:'\"]{1,300}): error while loading|while loading shared libraries", before)
    return Named(library=found[1] if found else None, file=wants[1] if wants else None)


def _symbol(before: str, after: str) -> Named:
    """`FILE: undefined symbol: S, version LIB`, `FILE: symbol S version LIB not defined in file LIB`."""
    line = after.split("\n", 1)[0]
    found = re.search(r"symbol:? (\w{1,400})(?:,? version (lib[\w.+-]{1,80}))?", line)
    file = re.search(r"(/[^\s:'\"]{1,300}|lib[\w.+-]{1,80}): $", before)
    return Named(
        symbol=found[1] if found else None,
        library=found[2] if found else None,
        file=file[1] if file else None,
    )


def _version(before: str, after: str) -> Named:
    """`LIB: version 'GLIBC_2.38' not found (required by FILE)`."""
    found = re.search(r"((?:GLIBC|GLIBCXX|CXXABI)_[\d.]{1,12})", after)
    file = re.search(r"\(required by (\S{1,300})\)", after.split("\n", 1)[0])
    library = re.search(r"(/[^\s:'\"]{1,300}): version", before)
    return Named(
        version=found[1] if found else None,
        file=file[1] if file else None,
        library=library[1] if library else None,
    )


def _condition(_before: str, after: str) -> Named:
    found = re.search(r"unsatisfied condition: ([^\s,]{1,200})", after)
    return Named(condition=found[1] if found else None)


def _requirement(before: str, after: str) -> Named:
    line = after.split("\n", 1)[0]
    found = re.search(r"(?:requirement|found for|no version of) ([A-Za-z0-9][^\s(,'\"]{0,120})", line)
    wheel = re.search(r"([A-Za-z0-9][\w.+-]{1,200}\.whl) is not", before + line)
    one = found or wheel
    return Named(package=one[1].rstrip(".") if one else None)


def _apt(_before: str, after: str) -> Named:
    found = re.search(r"package ([a-z0-9][a-z0-9+.-]{0,80})|Package '?([a-z0-9][a-z0-9+.-]{0,80})", after)
    return Named(package=(found[1] or found[2]) if found else None)


def _image(before: str, after: str) -> Named:
    found = re.search(r"(nvidia/cuda:[\w.-]{1,128})", after) or re.search(
        r"manifest for (\S{1,200}) not found", before + after
    )
    return Named(image=found[1] if found else None)


def _gcc(_before: str, after: str) -> Named:
    found = re.search(r"versions later than (\d{1,2})", after)
    return Named(version=found[1] if found else None)


def _isa(_before: str, after: str) -> Named:
    found = re.search(r"Unsupported \.version ([\d.]{1,5}); current version is '?([\d.]{1,5})", after)
    return Named(version=found[1].rstrip(".") if found else None)


_READERS: Mapping[str, Callable[[str, str], Named]] = {
    **dict.fromkeys(("nvcc-unsupported-arch", "ptxas-unknown-arch"), _code),
    "torch-sm-incompatible": _sm_incompatible,
    "torch-cc-too-old": _torch_range,
    "unknown-cuda-arch": _unknown_arch,
    "torch-driver-too-old": _driver,
    "cuda-version-mismatch": _two_cudas,
    "torchvision-mismatch": _pair,
    **dict.fromkeys(
        (
            "libcuda-missing", "libcudart-missing", "libcudnn-missing", "libcublas-missing", "libnvrtc-missing",
            "libnccl-missing", "libgl-missing", "library-missing", "torch-cuda-library-missing",
        ), _library,
    ),
    **dict.fromkeys(("libnvjitlink-symbol", "cuda-symbol", "nccl-symbol", "torch-abi-symbol", "mkl-symbol"), _symbol),
    **dict.fromkeys(("glibc-too-old", "glibcxx-too-old"), _version),
    "ctk-requirement": _condition,
    "no-matching-wheel": _requirement,
    "apt-no-package": _apt,
    "manifest-unknown": _image,
    "host-gcc-too-new": _gcc,
    "ptxas-version": _isa,
}  # fmt: skip
