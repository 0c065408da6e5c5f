"""From a spec to a plan: pure, so that the same spec, lock and tables always give the same plan.

`plan` decides; `prepare` is plan with the lock kept beside the spec, resolved where that is missing or stale.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from gpuimage.errors import Location, PlanError, UnavailableError
from gpuimage.lock import Lock, Resolution, lock_beside, lock_path, resolve, write_lock
from gpuimage.plan.base import choose_base
from gpuimage.plan.draft import Draft
from gpuimage.plan.jit import with_nvcc
from gpuimage.plan.parts import predict
from gpuimage.plan.stages import build_stages, is_source_tree
from gpuimage.plan.targets import choose_arch, choose_driver, read_gpus
from gpuimage.plan.types import Decision, DriverPlan, Part, Plan, Refusal, Stage, Step
from gpuimage.plan.wanted import Wanted, wanted
from gpuimage.plan.wheels import CudaChoice, choose_cuda
from gpuimage.spec import SpecFile
from gpuimage.tables import edition, own_rows
from gpuimage.units import size

__all__ = [
    "Decision",
    "DriverPlan",
    "LockPolicy",
    "Part",
    "Plan",
    "Refusal",
    "Stage",
    "Step",
    "plan",
    "prepare",
]

LockPolicy = Literal["update", "locked", "frozen", "memory"]
"""`update` resolves where the lock is missing or stale and writes it; `locked` stops there instead; `frozen`
takes what is there, unchecked; `memory` resolves for the answer only and goes on without where no index answers."""

_PLATFORMS = {"linux/amd64": "x86_64-manylinux_2_36", "linux/arm64": "aarch64-manylinux_2_36"}


def plan(file: SpecFile, lock: Lock | None = None) -> Plan:
    """Plan the image a spec asks for. PlanError says why no correct image follows from it.

    Every decision carries its reason; the same spec, lock and tables always give the same plan.

        >>> from gpuimage import load_spec, lock_beside, plan
        >>> spec = load_spec("examples/quickstart/spec.yaml")
        >>> made = plan(spec, lock_beside(spec))
        >>> made.cuda, str(made.arch), made.driver.floor
        ('13.0', '8.0;8.9', '580.65.06')
        >>> [decision.because for decision in made.decisions if decision.topic == "base"]
        ['the wheels bring CUDA along and find it by their own search path; a CUDA base would be a second, dead copy']
    """
    draft = Draft(file)
    if len(file.spec.platforms) != 1:
        raise draft.error(
            "one build makes an image for one platform",
            "platforms",
            hint="write a spec for each platform and join the images with a manifest",
        )
    gpus = read_gpus(draft)
    want = wanted(draft)
    cuda = choose_cuda(draft, want, lock, gpus)
    arch = choose_arch(draft, cuda, gpus)
    driver = choose_driver(draft, cuda, arch, gpus)
    base = choose_base(draft, cuda)
    want = with_nvcc(draft, want, cuda, base)
    stages = build_stages(draft, want, cuda, base, arch, driver, lock)
    resolution = _resolution(draft, want, cuda)
    _note_lock(draft, lock, resolution)
    _note_own_rows(draft)
    return Plan(
        spec=file,
        cuda=cuda.minor,
        variant=cuda.variant,
        arch=arch,
        driver=driver,
        resolution=resolution,
        lock=lock,
        stages=stages,
        decisions=tuple(draft.decisions),
        warnings=tuple(draft.warnings),
        refusals=tuple(draft.refusals),
        parts=predict(draft, want, cuda, base, lock),
        frameworks=_frameworks(cuda, lock),
    )


def _resolution(draft: Draft, want: Wanted, cuda: CudaChoice) -> Resolution:
    spec = draft.spec
    lines = list(want.lines)
    if spec.cuda and cuda.kind == "wheels" and cuda.torch is None:
        lines.append(f"cuda-toolkit=={cuda.minor}.*")
    return Resolution(
        requirements=tuple(lines),
        local=want.local,
        files=want.files,
        sources=tuple(entry.package for entry in spec.compile if not is_source_tree(entry.package)),
        python=spec.python,
        platform=_PLATFORMS[spec.platforms[0]],
        torch_backend=cuda.backend,
        index=spec.index if spec.index.startswith(("https://", "http://")) else None,
    )


def _frameworks(cuda: CudaChoice, lock: Lock | None) -> dict[str, str]:
    """What the smoke tests expect to find installed: the locked versions, else torch's alone."""
    if lock is not None:
        return {package.name: package.version for package in lock.packages}
    return {"torch": cuda.torch} if cuda.torch else {}


def _note_lock(draft: Draft, lock: Lock | None, resolution: Resolution) -> None:
    name = lock_path(draft.file).name
    if lock is None:
        if not resolution.empty:
            draft.warn(
                "lock",
                "none yet",
                f"`gpuimage lock` or a build resolves the wheels into {name}",
                key="wheels",
            )
        return
    draft.decide(
        "lock",
        f"{name}: {len(lock.packages)} wheels, {size(lock.download_bytes)} to download",
        f"resolved {lock.resolved}, every file pinned by hash",
        key="wheels",
    )
    if lock.digest != resolution.digest:
        draft.warn(
            "lock",
            f"{name} is stale",
            "the wheels, Python or index of the spec changed since it was resolved",
            key="wheels",
        )


def _note_own_rows(draft: Draft) -> None:
    """Say that this plan rests on more than the shipped tables: elsewhere it may come out otherwise."""
    own = own_rows()
    if own:
        files = ", ".join(f"{count} of {name}" for name, count in own.items())
        draft.decide(
            "tables", edition(), f"rows of the user's own take part: {files}; `gpuimage data` says where"
        )


def prepare(file: SpecFile, policy: LockPolicy = "update") -> Plan:
    """Plan with a lock, by policy.

    The first plan decides the index to ask; its answer may name versions that change a decision (an unpinned
    torch has another CUDA build than the tables' newest), so the plan is made once more with it.
    """
    path = lock_path(file)
    lock = lock_beside(file)
    first = plan(file, lock)
    if first.resolution.empty:
        return first
    if lock is not None and (policy == "frozen" or lock.digest == first.resolution.digest):
        return first
    if policy in ("locked", "frozen"):
        stale = lock is not None
        raise PlanError(
            f"the lock {path.name} is {'stale' if stale else 'missing'}",
            where=Location(file.path),
            why="the wheels, Python or index of the spec changed since it was resolved"
            if stale
            else "this build was asked to take an existing one",
            hint=f"run `gpuimage lock {file.path.name}` and commit the result",
        )
    if lock is not None:
        first = plan(file, None)  # a stale lock must not decide which index is asked
    try:
        answer = resolve(first.resolution, directory=file.directory)
    except UnavailableError as error:
        if policy != "memory":
            raise
        draft = plan(file, None)
        note = Decision("lock", "not resolved", f"{error.what}: {error.why}")
        return _with_warning(draft, note)
    second = plan(file, answer)
    if second.resolution.digest != first.resolution.digest:
        answer = resolve(second.resolution, directory=file.directory)
        second = plan(file, answer)
    if policy == "update":
        write_lock(answer, path)
    return second


def _with_warning(made: Plan, note: Decision) -> Plan:
    return replace(made, warnings=(*(w for w in made.warnings if w.topic != "lock"), note))
