"""Whose CUDA the wheels use that are asked for, and which index has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from gpuimage import tables
from gpuimage.arch import ComputeCapability
from gpuimage.lock import Lock
from gpuimage.plan.draft import Draft
from gpuimage.plan.wanted import Wanted
from gpuimage.tables import TorchRelease, Unknown, WheelFacts

_CUDA_TAG = re.compile(r"^cu(\d{2})(\d)$")


@dataclass(frozen=True, slots=True)
class CudaChoice:
    """Whose CUDA the image's GPU code uses.

    `kind`: `wheels` (CUDA comes as wheels), `system` (wheels link to a CUDA base's libraries) or `none`.
    `minor` is "12.8", or None where only the major is known; `variant` and `backend` are torch's.
    """

    kind: str
    minor: str | None
    major: int | None
    variant: str | None = None
    backend: str | None = None
    torch: str | None = None
    release: TorchRelease | None = None
    libraries: tuple[str, ...] = ()
    cudnn: bool = False
    needs_nvcc_at_run: tuple[str, ...] = ()


def choose_cuda(draft: Draft, want: Wanted, lock: Lock | None, gpus: Sequence[tables.Gpu]) -> CudaChoice:
    """Decide CUDA version and index from the wheels, the spec's `cuda` and `index`, its GPUs and its driver."""
    spec = draft.spec
    _check_index(draft)
    facts = _facts(draft, want, lock)
    cpu_asked = spec.index == "cpu"
    torch = want.find("torch")
    if cpu_asked:
        return _cpu_only(draft, facts, torch, want, lock)
    if torch is not None:
        return _torch(draft, want, torch, lock, gpus, facts)
    gpu_wheels = {name: fact for name, fact in facts.items() if fact.cuda in ("wheels", "system", "bundled")}
    if not gpu_wheels and not spec.compile and not spec.gpus and spec.arch is None and spec.cuda is None:
        if spec.flavor == "devel" or spec.jit == "nvcc":
            key = "flavor" if spec.flavor == "devel" else "jit"
            raise draft.error(
                f"{key}: {getattr(spec, key)} needs to know which CUDA to bring",
                key,
                why="no wheel of this spec names a CUDA version and `cuda` is not set",
                hint=f'add cuda: "{tables.cuda_minors()[-1]}" or another version',
            )
        draft.decide(
            "cuda",
            "none",
            "no wheel of this spec uses CUDA and neither cuda, arch nor gpus is set",
            key="wheels",
        )
        return CudaChoice("none", None, None)
    return _other(draft, want, gpu_wheels, lock)


def _check_index(draft: Draft) -> None:
    index = draft.spec.index
    if (
        index in ("auto", "pypi", "cpu")
        or _CUDA_TAG.match(index)
        or index.startswith(("https://", "http://"))
    ):
        return
    raise draft.error(
        f"`index: {index}` is neither a name nor an URL",
        "index",
        hint="use auto, pypi, cpu, a CUDA variant such as cu128, or an URL that starts with https://",
    )


def _facts(draft: Draft, want: Wanted, lock: Lock | None) -> dict[str, WheelFacts]:
    facts: dict[str, WheelFacts] = {}
    for requirement in want.requirements:
        name = canonicalize_name(requirement.name)
        fact = tables.wheel(name, _version(requirement, lock), frozenset(requirement.extras))
        if not isinstance(fact, Unknown):
            facts[name] = fact
            if fact.needs_nvcc == "build" and fact.sdist_only and name != "torch":
                draft.problem(
                    "wheels", f"{requirement.name} has no wheel and compiles CUDA code when it is installed",
                    want.key(name), why="a runtime image has no compiler, and pip would need one here",
                    hint=f"move it to `compile:` (- package: {requirement})", source=fact.source, verified=fact.verified,
                )  # fmt: skip
    return facts


def _version(requirement: Requirement, lock: Lock | None) -> str | None:
    locked = lock.version(requirement.name) if lock else None
    return locked or pinned(requirement.specifier)


def pinned(specifier: SpecifierSet) -> str | None:
    """The version of an exact pin (`==2.9.1`), None for anything else."""
    for clause in specifier:
        if clause.operator in ("==", "===") and not clause.version.endswith(".*"):
            return clause.version
    return None


def _cpu_only(
    draft: Draft, facts: dict[str, WheelFacts], torch: Requirement | None, want: Wanted, lock: Lock | None
) -> CudaChoice:
    for other in ("cuda", "gpus", "arch", "driver"):
        if getattr(draft.spec, other):
            raise draft.error(
                f"`{other}` asks for a GPU and `index: cpu` for none",
                other,
                hint=f"remove `{other}` or `index`",
            )
    if draft.spec.jit != "none":
        raise draft.error(
            f"`jit: {draft.spec.jit}` compiles for a GPU and `index: cpu` asks for none",
            "jit",
            hint="remove `jit` or `index`; a C++ compiler alone is apt: [g++]",
        )
    gpu_only = [name for name, fact in facts.items() if fact.cuda in ("wheels", "system") and name != "torch"]
    if gpu_only:
        raise draft.error(
            f"{gpu_only[0]} is a GPU wheel, but this spec asks for a CPU image",
            want.key(gpu_only[0]),
            hint="name its CPU twin, or remove `index`",
        )
    backend = None
    if torch is not None:
        backend = "cpu"
        draft.decide(
            "index", "cpu", "PyPI's torch for Linux x86_64 brings CUDA along; the CPU build is on PyTorch's own index",
            key="index", source="torch_wheels.json rules",
        )  # fmt: skip
    draft.decide("cuda", "none", "`index: cpu` asks for an image without a GPU", key="index")
    version = _torch_version(draft, want, torch, lock) if torch is not None else None
    return CudaChoice("none", None, None, variant="cpu" if torch else None, backend=backend, torch=version)


def _torch_version(draft: Draft, want: Wanted, torch: Requirement, lock: Lock | None) -> str:
    """The torch version the plan reasons about: locked, pinned, or the newest the tables know."""
    known = _version(torch, lock)
    if known:
        return Version(known).base_version if Version(known).pre is None else known
    tag = "cp" + draft.spec.python.replace(".", "")
    for version in reversed(tables.torch_versions()):
        release = tables.torch_release(version)
        if (
            not isinstance(release, Unknown)
            and torch.specifier.contains(version)
            and tag in release.python_tags
        ):
            return version
    raise draft.error(
        f"no torch release satisfies `{torch}` for Python {draft.spec.python}",
        want.key("torch"),
        why=f"the tables know {tables.torch_versions()[0]} to {tables.torch_versions()[-1]} (edition {tables.edition()})",
        hint="pin a release, for example torch==" + tables.torch_versions()[-1],
    )


def _torch(
    draft: Draft, want: Wanted, torch: Requirement, lock: Lock | None, gpus: Sequence[tables.Gpu],
    facts: dict[str, WheelFacts],
) -> CudaChoice:  # fmt: skip
    spec = draft.spec
    version = _torch_version(draft, want, torch, lock)
    release = tables.torch_release(version)
    at_run = tuple(name for name, fact in facts.items() if fact.needs_nvcc == "run")
    if isinstance(release, Unknown):
        draft.warn(
            "torch", version, f"{release.reason}; nothing about it could be checked", key=want.key("torch")
        )
        variant = _asked_variant(draft, torch)
        if variant is None:
            raise draft.error(
                f"the tables do not know torch {version}, so its CUDA version is unknown",
                want.key("torch"),
                why=release.reason,
                hint='set cuda: "X.Y" to say which CUDA its wheel is built for',
            )
        return CudaChoice(
            "wheels", _minor(variant), int(_minor(variant).split(".")[0]), variant, variant, version
        )
    _check_python(draft, want, release)
    variant = _variant(draft, want, release, gpus, _asked_variant(draft, torch))
    from_pypi = variant == release.default_variant and spec.index in ("auto", "pypi")
    custom = spec.index.startswith(("https://", "http://"))
    draft.decide(
        "index", spec.index if custom else "pypi" if from_pypi else variant,
        f"PyPI's torch {version} is the {variant} build" if from_pypi
        else "the spec names it" if custom
        else f"PyPI's torch {version} is the {release.default_variant} build; {variant} is on PyTorch's own index",
        key="index", source=release.source, verified=release.verified,
    )  # fmt: skip
    minor = _minor(variant)
    return CudaChoice(
        "wheels", minor, int(minor.split(".")[0]), variant, None if from_pypi or custom else variant, version, release,
        needs_nvcc_at_run=at_run,
    )  # fmt: skip


def _asked_variant(draft: Draft, torch: Requirement) -> str | None:
    """The torch variant the spec names itself: by `cuda`, by `index: cu126` or by a local version."""
    spec = draft.spec
    if spec.cuda:
        return "cu" + "".join(spec.cuda.split(".")[:2])
    if _CUDA_TAG.match(spec.index):
        return spec.index
    exact = pinned(torch.specifier)
    local = Version(exact).local if exact else None
    return local if local and _CUDA_TAG.match(local) else None


def _minor(variant: str) -> str:
    found = _CUDA_TAG.match(variant)
    return f"{found[1]}.{found[2]}" if found else variant


def _check_python(draft: Draft, want: Wanted, release: TorchRelease) -> None:
    tag = "cp" + draft.spec.python.replace(".", "")
    if not release.python_tags or tag in release.python_tags:
        return
    there = [f"{t[2]}.{t[3:]}" for t in release.python_tags if not t.endswith("t") and len(t) > 3]
    draft.problem(
        "python", f"torch {release.version} has no wheel for Python {draft.spec.python}", "python",
        why=f"its wheels are for Python {', '.join(there)}", hint=f'set python: "{there[-1]}" or take another torch',
        source=release.source, verified=release.verified,
    )  # fmt: skip


def _variant(
    draft: Draft, want: Wanted, release: TorchRelease, gpus: Sequence[tables.Gpu], asked: str | None
) -> str:
    spec = draft.spec
    if asked:
        if asked not in release.variants and release.variants:
            key = "cuda" if spec.cuda else "index" if _CUDA_TAG.match(spec.index) else want.key("torch")
            minors = ", ".join(_minor(v) for v in release.variants)
            last = next(
                (v for v in reversed(tables.torch_versions())
                 if not isinstance(r := tables.torch_release(v), Unknown) and asked in r.variants), None,
            )  # fmt: skip
            draft.problem(
                "cuda", f"torch {release.version} has no build for CUDA {_minor(asked)} ({asked})", key,
                why=f"its builds are {', '.join(release.variants)} (CUDA {minors})",
                hint=f'set cuda: "{_minor(_fitting(release, gpus, spec.driver))}"' + (f", or torch=={last}, the last with {asked}" if last else ""),
                source=release.source, verified=release.variants_verified,
            )  # fmt: skip
        draft.decide("cuda", _minor(asked), "the spec names it", key="cuda" if spec.cuda else "index")
        return asked
    default = release.default_variant
    reason = ""
    if default is None:
        raise draft.error(
            f"the tables do not know which CUDA torch {release.version} on PyPI is built for",
            want.key("torch"),
            hint="set `cuda`",
        )
    for variant in (default, *(v for v in reversed(release.variants) if v != default)):
        why_not = _unfit(release, variant, gpus, spec.driver)
        if why_not is None:
            because = (
                "PyPI's default build of it"
                if variant == default
                else f"PyPI's default {default} does not fit: {reason}"
            )
            draft.decide(
                "cuda",
                _minor(variant),
                f"taken from torch {release.version}: {because}",
                key=want.key("torch"),
                source=release.source,
            )
            return variant
        if variant == default:
            reason = why_not or ""
    draft.decide(
        "cuda",
        _minor(default),
        f"taken from torch {release.version}: PyPI's default build of it",
        key=want.key("torch"),
        source=release.source,
    )
    return default


def _fitting(release: TorchRelease, gpus: Sequence[tables.Gpu], driver: str | None) -> str:
    """The newest build that the spec's GPUs and driver run, else the newest."""
    newest_first = tuple(reversed(release.variants))
    return next((v for v in newest_first if _unfit(release, v, gpus, driver) is None), newest_first[0])


def _unfit(release: TorchRelease, variant: str, gpus: Sequence[tables.Gpu], driver: str | None) -> str | None:
    """Why a variant cannot serve the spec's GPUs and driver; None when nothing speaks against it."""
    archs = release.archs(variant)
    if not isinstance(archs, Unknown):
        for gpu in gpus:
            if archs.code_for(gpu.capability) == "none":
                return f"it has no code for {gpu.name} ({gpu.capability.dotted})"
    if driver:
        for target in (*gpus,) or (None,):
            verdict = tables.driver_verdict(_minor(variant), driver, target)
            if verdict.outcome in ("refused", "forward"):
                return verdict.because
    return None


def _other(draft: Draft, want: Wanted, gpu_wheels: dict[str, WheelFacts], lock: Lock | None) -> CudaChoice:
    """CUDA for sets without torch: cupy, onnxruntime, jax … or only `compile:`."""
    spec = draft.spec
    majors = {fact.cuda_major: name for name, fact in gpu_wheels.items() if fact.cuda_major}
    if len(majors) > 1:
        names = ", ".join(f"{name} (CUDA {major})" for major, name in sorted(majors.items()))
        raise draft.error(
            "these wheels want different CUDA majors",
            "wheels",
            why=names,
            hint="pick the builds of one CUDA major",
        )
    major = next(iter(majors), None)
    minor = spec.cuda or _locked_minor(lock)
    if minor and major and not minor.startswith(f"{major}."):
        name = majors[major]
        raise draft.error(
            f"{name} is built for CUDA {major}, not {minor}",
            "cuda" if spec.cuda else want.key(name),
            why=gpu_wheels[name].source,
            hint=f"set cuda to a {major}.x version, or take the build of {name} for CUDA {minor.split('.')[0]}",
        )
    if major is None and minor:
        major = int(minor.split(".")[0])
    system = {name: fact for name, fact in gpu_wheels.items() if fact.cuda == "system"}
    if spec.cuda:
        draft.decide("cuda", spec.cuda, "the spec names it", key="cuda")
    elif minor:
        draft.decide("cuda", minor, "the version of the CUDA wheels in the lock", key="wheels")
    elif major:
        name = majors[major]
        draft.decide(
            "cuda",
            f"{major}.x",
            f"{name} is built for CUDA {major}; the lock decides the minor version",
            key=want.key(name),
            source=gpu_wheels[name].source,
        )
    elif spec.compile or spec.flavor == "devel" or spec.jit == "nvcc":
        raise draft.error(
            "which CUDA compiles this is not said",
            "compile" if spec.compile else "flavor" if spec.flavor == "devel" else "jit",
            why="no wheel of this spec names a CUDA version",
            hint=f'add cuda: "{tables.cuda_minors()[-1]}" or another version',
        )
    libraries = tuple(sorted({lib for fact in system.values() for lib in fact.system_libraries}))
    kind = "system" if system else "wheels" if gpu_wheels else "none"
    return CudaChoice(
        kind, minor, major, libraries=libraries, cudnn=any(fact.needs_cudnn for fact in system.values()),
        needs_nvcc_at_run=tuple(name for name, fact in gpu_wheels.items() if fact.needs_nvcc == "run"),
    )  # fmt: skip


def _locked_minor(lock: Lock | None) -> str | None:
    """The CUDA minor version of the runtime wheel in the lock."""
    for package in lock.packages if lock else ():
        if re.fullmatch(r"nvidia-cuda-runtime(-cu\d\d)?", package.name):
            return ".".join(package.version.split(".")[:2])
    return None


def capabilities(gpus: Sequence[tables.Gpu]) -> tuple[ComputeCapability, ...]:
    """The distinct capabilities of some GPUs, in order."""
    return tuple(sorted({gpu.capability for gpu in gpus}))
