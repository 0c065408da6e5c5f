"""What in a spec causes errors of wheels: libraries that are missing, releases that do not go together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from packaging.utils import canonicalize_name

from gpuimage.explain.case import Case, extras, project
from gpuimage.explain.facts import torch_of
from gpuimage.explain.types import Cause, Diagnosis
from gpuimage.tables import Unknown, carriers, library_family, wheel

_OPENCV = ("opencv-python", "opencv-contrib-python")


def _library(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """A library that is missing: a package of the distribution, or a CUDA that no wheel brings."""
    library = one.named.library
    if library is None:
        return
    packages = [row.name for row in carriers(library) if row.kind == "package"]
    if packages:
        yield from _package(case, library, packages[0])
    elif family := library_family(library):
        yield from _cuda_library(case, library, family)


def _package(case: Case, library: str, package: str) -> Iterator[Cause]:
    if package in {name.split("=")[0] for name in case.spec.apt}:
        yield case.not_here(f"its `apt` has {package}, which carries {library}")
        return
    for name in _OPENCV:
        key = case.wheel(name)
        if key and library.startswith(("libGL", "libgthread", "libglib", "libSM", "libX")):
            yield case.cause(
                key, f"{name} draws windows and wants {library}", f"{name.replace('-python', '-python-headless')} instead, which does not"
            )  # fmt: skip
    yield case.cause(
        "apt", f"no package of it brings {library}", f"apt: [{', '.join((*case.spec.apt, package))}]"
    )


def _cuda_library(case: Case, library: str, family: str) -> Iterator[Cause]:
    """A wheel that wants CUDA from the image, or a CUDA of another major than the rest."""
    made = case.plan
    major = made.cuda.partition(".")[0] if made and made.cuda else None
    for n, text in enumerate(case.spec.wheels):
        name = project(text)
        facts = wheel(name, case.version(name), extras(text)) if name else None
        if (
            facts is None
            or isinstance(facts, Unknown)
            or family not in (*facts.libraries, *facts.system_libraries)
        ):
            continue
        if facts.cuda_major and major and str(facts.cuda_major) != major:
            yield case.cause(
                f"wheels[{n}]", f"{name} is built for CUDA {facts.cuda_major}, and the rest brings CUDA {major}",
                f"a release of {name} for CUDA {major}",
            )  # fmt: skip
        elif facts.cuda == "system" and case.spec.base != "auto":
            yield case.cause(
                "base", f"{name} wants {library} in the image, and base is not chosen for that", "base: auto"
            )
    if case.lock is not None:
        brought = {canonicalize_name(package.name) for package in case.lock.packages}
        held = [
            row for row in carriers(library) if row.kind == "wheel" and canonicalize_name(row.name) in brought
        ]
        if held:
            yield case.unknown(
                f"the lock has {held[0].name}, which carries {library}: the loader does not look there; `--image` shows where it is"
            )


def _pair(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """Torch and its companions, as the tables pair them."""
    torch = case.torch
    if torch is None:
        return
    sure = False
    for name, partner, verified in (
        ("torchvision", torch.torchvision, torch.torchvision_verified),
        ("torchaudio", torch.torchaudio, torch.torchaudio_verified),
    ):
        have, key = case.version(name), case.wheel(name)
        if have is None or partner is None or not verified:
            continue
        sure = True
        if _minor(have) != _minor(partner):
            yield case.cause(
                key or "wheels", f"{name} {have} is no partner of torch {torch.version}, which is {partner}", f"{name}=={partner}"
            )  # fmt: skip
            return
    if sure:
        yield case.not_here(f"its torch {torch.version} and the rest are a pair: others are in the image")


def _minor(version: str) -> list[str]:
    return version.partition("+")[0].split(".")[:2]


def _no_match(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """A requirement that an index does not have: which entry, and whether its version, Python or index is at fault."""
    if stop := tuple(case.stopped("wheels", "python", "cuda", "index")):
        yield from stop
        return
    name = (one.named.package or "").split("=")[0].split("[")[0].split("<")[0].split(">")[0].strip()
    key = case.wheel(name) if name else None
    if key is None:
        if name:
            yield case.not_here(f"it asks for no {name}")
        return
    release, local = torch_of(case.value(key) if "==" in (case.value(key) or "") else one.named.package)
    if release and local and local != "cpu" and local not in release.variants:
        yield case.cause(
            key, f"torch {release.version} has no build {local}", f"torch=={release.version}, with `cuda` for one of {', '.join(release.variants)}"
        )  # fmt: skip
    elif release and f"cp{case.spec.python.replace('.', '')}" not in release.python_tags:
        yield case.cause(
            "python", f"torch {release.version} has no wheel for it", "another Python, or another torch"
        )
    elif case.spec.index not in ("auto", "pypi"):
        yield case.cause(
            "index",
            f"this index is asked for {case.value(key)}",
            "index: auto, which asks the index that has it",
        )
    else:
        yield case.cause(
            key,
            f"no index that is asked has {case.value(key)} for Python {case.spec.python}",
            "another version",
        )


def _cpu(case: Case, one: Diagnosis) -> Iterator[Cause]:
    key = case.wheel("torch")
    if case.spec.index == "cpu":
        yield case.cause("index", "it asks for CPU builds", "index: auto")
    elif key and "+cpu" in (case.value(key) or ""):
        yield case.cause(
            key,
            "it pins a CPU build",
            f"torch=={(case.value(key) or '').partition('==')[2].partition('+')[0]}",
        )
    elif case.plan and case.plan.cuda and case.plan.variant:
        yield case.not_here(
            f"its plan takes the {case.plan.variant} build of torch: another one is in the image"
        )


def _torch_missing(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """While a package is built its isolated environment has no torch; at run time nothing asks for it."""
    key = case.wheel(one.building) if one.building else None
    if key and key.startswith("wheels"):
        yield case.cause(
            key, f"{one.building} is built when it is installed, and wants torch for that",
            f"move it to compile: [{{package: {case.value(key)}}}], which builds against the torch that ships",
        )  # fmt: skip
    elif (
        case.wheel("torch") is None
        and case.version("torch") is None
        and not (case.spec.requirements or case.spec.lock)
    ):
        yield case.cause("wheels", "nothing in it asks for torch", "add torch")


def _abi(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """An extension that was compiled against another torch: the entry whose file wants the symbol."""
    file = (one.named.file or "").partition("site-packages/")[2] or (one.named.file or "").rpartition("/")[2]
    top = canonicalize_name(file.split("/")[0].split(".")[0]) if file else ""
    for n, text in enumerate(case.spec.wheels):
        name = project(text)
        if name and name != "torch" and top.startswith(name):
            yield case.cause(
                f"wheels[{n}]", f"{name} was compiled against another torch than the one that ships",
                f"move it to compile: [{{package: {text}}}], or a release made for this torch",
            )  # fmt: skip
            return


def _numpy(case: Case, one: Diagnosis) -> Iterator[Cause]:
    version = case.version("numpy")
    if version and version.split(".")[0] != "1":
        yield case.cause(
            case.wheel("numpy") or "wheels",
            f"it brings numpy {version}",
            "numpy<2, or newer releases of the rest",
        )


WHEEL_CAUSES: Mapping[str, Callable[[Case, Diagnosis], Iterator[Cause]]] = {
    **dict.fromkeys(
        (
            "libgl-missing", "library-missing", "libcudart-missing", "libcudnn-missing", "libcublas-missing",
            "libnvrtc-missing", "libnccl-missing",
        ), _library,
    ),
    "torchvision-mismatch": _pair,
    "no-matching-wheel": _no_match,
    **dict.fromkeys(("torch-cpu-build", "torch-cuda-library-missing"), _cpu),
    "flash-attn-no-torch": _torch_missing,
    "torch-abi-symbol": _abi,
    "numpy-abi": _numpy,
}  # fmt: skip
