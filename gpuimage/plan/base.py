"""The image underneath, and the Python on it."""

from __future__ import annotations

from dataclasses import dataclass

from gpuimage import tables
from gpuimage.plan.draft import Draft
from gpuimage.plan.types import Apt, CopyPython
from gpuimage.plan.wheels import CudaChoice
from gpuimage.reference import ImageReference
from gpuimage.tables import CudaImage, Unknown

# The suite whose glibc is not older than that of the Ubuntu base a builder stage uses: what is compiled there
# must load here.
SUITE = "trixie"
# An interpreter copied onto an Ubuntu base must not want a newer glibc than that base has; this suite's is older.
DONOR_SUITE = "bookworm"
_DONOR_OS = "ubuntu24.04"
# What the interpreter of the official image links to beyond the C library, by its Ubuntu 24.04 package.
_DONOR_LIBRARIES = (
    "ca-certificates",
    "libbz2-1.0",
    "libexpat1",
    "libffi8",
    "liblzma5",
    "libsqlite3-0",
    "libssl3t64",
    "zlib1g",
)
# Preferred first: newest Ubuntu, newest glibc.
_UBUNTUS = ("ubuntu24.04", "ubuntu22.04", "ubuntu20.04")


@dataclass(frozen=True, slots=True)
class Base:
    """An image, why it was chosen, and how Python comes onto it.

    `python` is `own` (the image has Python and pip), `apt` (the distribution's, the right version) or `copy`
    (from the official image). `flavor` is python-slim, base, runtime, devel, custom or rootfs.
    """

    reference: ImageReference
    because: str
    flavor: str
    python: str
    cudnn: bool = False
    rootfs: str | None = None


def slim(python: str, suite: str = SUITE) -> ImageReference:
    """The official slim image of a Python version."""
    return ImageReference.parse(f"python:{python}-slim-{suite}")


def choose_base(draft: Draft, cuda: CudaChoice) -> Base:
    """Decide the image under the stage that ships."""
    base = (
        _explicit(draft)
        or _devel(draft, cuda)
        or _system(draft, cuda)
        or _nvcc(draft, cuda)
        or _slim(draft, cuda)
    )
    draft.decide("base", str(base.reference), base.because, key="base")
    return base


def _explicit(draft: Draft) -> Base | None:
    text = draft.spec.base
    if text == "auto":
        return None
    if text.startswith("oci:"):
        raise draft.error(
            "an OCI layout cannot be a base of a Dockerfile",
            "base",
            why="FROM takes a reference that the engine can resolve, and not every engine reads a layout",
            hint="copy it to a registry or into the engine (skopeo copy oci:PATH docker-daemon:NAME:TAG) and name that",
        )
    if text.startswith("rootfs:"):
        path = text.removeprefix("rootfs:")
        if not (draft.file.directory / path).is_file():
            raise draft.error(
                f"there is no file {path}",
                "base",
                hint="name a tar archive of a root file system beside the spec",
            )
        return Base(
            ImageReference.parse("scratch"),
            "the spec names a root file system; it must hold Python and pip",
            "rootfs",
            "own",
            rootfs=path,
        )
    try:
        reference = ImageReference.parse(text)
    except ValueError as error:
        raise draft.error(f"`base: {text}` is not an image reference", "base", why=str(error)) from error
    if reference.tag is None and reference.digest is None:
        draft.warn(
            "base", f"{text} floats", "a base without a tag or digest changes under the image", key="base"
        )
    return Base(reference, "the spec names it; it must hold Python and pip", "custom", "own")


def _devel(draft: Draft, cuda: CudaChoice) -> Base | None:
    if draft.spec.flavor != "devel":
        return None
    image, python = cuda_image(draft, cuda, "devel", cudnn=False, key="flavor")
    draft.refuse(
        "a CUDA toolkit by apt",
        "the devel base has it already; a second one would only be dead bytes",
        key="flavor",
    )
    return Base(
        ImageReference.parse(image.reference),
        "a devel image is for compiling: this base brings compiler, headers and libraries, once",
        "devel", python,
    )  # fmt: skip


def _system(draft: Draft, cuda: CudaChoice) -> Base | None:
    if cuda.kind != "system":
        return None
    wanted = frozenset(cuda.libraries)
    for flavor, cudnn in (("base", False), ("runtime", False), ("runtime", True)):
        if wanted <= tables.flavor_libraries(flavor, cudnn) and (cudnn or not cuda.cudnn):
            image, python = cuda_image(draft, cuda, flavor, cudnn=cudnn, key="wheels")
            draft.refuse(
                "a slim Python base",
                f"these wheels link to system CUDA: {', '.join(cuda.libraries)}",
                key="base",
            )
            return Base(
                ImageReference.parse(image.reference),
                f"the smallest flavor of nvidia/cuda that holds what the wheels link to: {', '.join(cuda.libraries)}",
                flavor, python, cudnn,
            )  # fmt: skip
    missing = ", ".join(sorted(wanted - tables.flavor_libraries("runtime", True)))
    raise draft.error(
        f"no flavor of nvidia/cuda holds {missing}",
        "wheels",
        hint="take the extra of the package that brings CUDA as wheels, or name a `base`",
    )


def _nvcc(draft: Draft, cuda: CudaChoice) -> Base | None:
    """CUDA 12 and older have no nvcc as wheels, so its packages come from the repository of a CUDA base."""
    if draft.spec.jit != "nvcc" or cuda.major is None or cuda.major >= 13:
        return None
    image, python = cuda_image(draft, cuda, "base", cudnn=False, key="jit")
    return Base(
        ImageReference.parse(image.reference),
        f"jit: nvcc needs the compiler at run time, and CUDA {cuda.major} has it as packages only; the base flavor brings their repository",
        "base", python,
    )  # fmt: skip


def _slim(draft: Draft, cuda: CudaChoice) -> Base:
    if cuda.kind == "wheels":
        because = "the wheels bring CUDA along and find it by their own search path; a CUDA base would be a second, dead copy"
        draft.refuse("an nvidia/cuda base", "nothing in this image would load its libraries", key="base")
    elif cuda.kind == "none" and cuda.minor is None:
        because = "no CUDA is needed, so the smallest image with this Python"
    else:
        because = "what is compiled links CUDA statically or brings it as wheels; the smallest image with this Python"
    return Base(slim(draft.spec.python), because, "python-slim", "own")


def cuda_image(
    draft: Draft, cuda: CudaChoice, flavor: str, *, cudnn: bool, key: str
) -> tuple[CudaImage, str]:
    """The nvidia/cuda image for a flavor and how the spec's Python comes onto it (`apt` or `copy`)."""
    minors = (
        [cuda.minor]
        if cuda.minor
        else [m for m in reversed(tables.cuda_minors()) if m.startswith(f"{cuda.major}.")]
    )
    python = draft.spec.python
    reasons: list[str] = []
    for minor in minors:
        found = {os: _tag(minor, flavor, os, cudnn=cudnn, shipped=key != "compile") for os in _UBUNTUS}
        images = {os: image for os, image in found.items() if not isinstance(image, Unknown)}
        for os, image in images.items():
            if tables.os_python(os) == python:
                return _noted(draft, image, key), "apt"
        if _DONOR_OS in images:
            draft.decide(
                "python",
                f"copied from {slim(python, DONOR_SUITE)}",
                f"{_DONOR_OS} carries Python {tables.os_python(_DONOR_OS)}, not {python}",
                key="python",
            )
            return _noted(draft, images[_DONOR_OS], key), "copy"
        if images:
            have = ", ".join(f"{tables.os_python(os)} ({os})" for os in images)
            reasons.append(
                f"the {flavor} images of CUDA {minor} carry Python {have}, and a copied interpreter needs {_DONOR_OS}"
            )
        else:
            reasons.extend(image.reason for image in list(found.values())[:1] if isinstance(image, Unknown))
    raise draft.error(
        f"no nvidia/cuda image fits: {flavor}{' with cuDNN' if cudnn else ''}, CUDA {cuda.minor or cuda.major}, Python {python}",
        key,
        why="; ".join(reasons[:2]),
        hint="choose another `cuda` or `python`, or name a `base`",
    )


def _tag(minor: str, flavor: str, os: str, *, cudnn: bool, shipped: bool) -> CudaImage | Unknown:
    """The smallest fitting tag; for a stage that does not ship, a larger one that is still supported rather."""
    plain = tables.cuda_tag(minor, flavor, cudnn=cudnn, os=os)
    if shipped or cudnn or (not isinstance(plain, Unknown) and not plain.end_of_life):
        return plain
    larger = tables.cuda_tag(minor, flavor, cudnn=True, os=os)
    return plain if isinstance(larger, Unknown) or larger.end_of_life else larger


def _noted(draft: Draft, image: CudaImage, key: str) -> CudaImage:
    if image.end_of_life:
        draft.warn(
            "base",
            f"{image.reference} is end of life",
            f"{image.end_of_life_because}; NVIDIA deletes such tags six months later",
            key=key,
            source=image.source,
            verified=image.verified,
        )
    elif not image.verified:
        draft.warn(
            "base",
            f"{image.reference} is not verified",
            "the tables infer this tag; the registry may not have it",
            key=key,
            source=image.source,
            verified=False,
        )
    return image


def python_steps(draft: Draft, base: Base, *, building: bool) -> tuple[Apt | CopyPython, ...]:
    """The steps that put the spec's Python onto a CUDA base; none where the base has it."""
    if base.python == "own":
        return ()
    version = draft.spec.python
    if base.python == "apt":
        packages = ("ca-certificates", "python3") + (("python3-dev", "python3-venv") if building else ())
        return (Apt(packages, f"the distribution's Python is {version}, the one the spec asks for"),)
    return (
        Apt(_DONOR_LIBRARIES, "the libraries that the copied interpreter links to"),
        CopyPython(slim(version, DONOR_SUITE), f"this base carries another Python than {version}"),
    )
