"""Which GPUs the image is for, which code they run, and which driver the host needs."""

from __future__ import annotations

from collections.abc import Sequence

from gpuimage import tables
from gpuimage.arch import ArchEntry, ArchList, ComputeCapability
from gpuimage.plan.draft import Draft
from gpuimage.plan.types import DriverPlan
from gpuimage.plan.wheels import CudaChoice, capabilities
from gpuimage.tables import Gpu, Unknown


def read_gpus(draft: Draft) -> tuple[Gpu, ...]:
    """The spec's `gpus` as rows of the table; PlanError with a did-you-mean for an unknown one."""
    found: list[Gpu] = []
    for index, name in enumerate(draft.spec.gpus):
        gpu = tables.gpu(name)
        if isinstance(gpu, Unknown):
            raise draft.error(
                f"the tables know no GPU called {name}",
                f"gpus[{index}]",
                why=gpu.reason,
                hint="use a product name such as A100, L4 or GeForce RTX 4090, or give `arch` instead",
            )
        found.append(gpu)
    return tuple(found)


def choose_arch(draft: Draft, cuda: CudaChoice, gpus: Sequence[Gpu]) -> ArchList | None:
    """The architectures to serve, checked in every direction that the tables allow."""
    spec = draft.spec
    if cuda.kind == "none" and not spec.compile and spec.flavor != "devel" and spec.jit == "none":
        if spec.arch or spec.gpus:
            draft.warn(
                "arch", "unused", "no wheel of this spec holds GPU code", key="arch" if spec.arch else "gpus"
            )
        return spec.arch
    arch = spec.arch
    if arch is None and gpus:
        arch = ArchList(tuple(ArchEntry(capability, ptx=False) for capability in capabilities(gpus)))
        named = ", ".join(f"{gpu.name} {gpu.capability.dotted}" for gpu in gpus)
        draft.decide(
            "arch",
            str(arch),
            f"the compute capabilities of the spec's GPUs: {named}",
            key="gpus",
            source=gpus[0].source,
        )
    elif arch is not None:
        draft.decide("arch", str(arch), "the spec names it", key="arch")
    if arch is None and spec.compile:
        raise draft.error(
            "something is compiled, but for which GPUs is not said",
            "compile",
            why="a build machine without a GPU cannot find out, and torch's extension builder stops there",
            hint='add gpus: [L4] or arch: "8.9"',
        )
    if arch is not None:
        _check_nvcc(draft, arch, cuda, gpus)
        _check_gpus(draft, arch, gpus)
        _check_framework(draft, arch, cuda, gpus)
    return arch


def _check_nvcc(draft: Draft, arch: ArchList, cuda: CudaChoice, gpus: Sequence[Gpu]) -> None:
    """Every architecture must be one the CUDA version's compiler takes."""
    if cuda.minor is None:
        return
    support = tables.nvcc_capabilities(cuda.minor)
    if isinstance(support, Unknown):
        draft.warn("arch", f"not checked against CUDA {cuda.minor}", support.reason, key="cuda")
        return
    for entry in arch.entries:
        if entry.capability in support.real:
            continue
        key, target = "arch", entry.capability.dotted
        if draft.spec.arch is None:
            at = next(i for i, gpu in enumerate(gpus) if gpu.capability == entry.capability)
            key, target = f"gpus[{at}]", f"{gpus[at].name} ({entry.capability.dotted})"
        span = tables.cuda_range_for(entry.capability)
        if isinstance(span, Unknown):
            hint, why = f"remove {target}", span.reason
        else:
            until = f"CUDA {span.last} is the last" if span.last else "every later one takes it"
            why = f"nvcc takes {entry.capability.dotted} from CUDA {span.first} on; {until}"
            fitting = span.last or span.first
            hint = f'remove {target}, or set cuda: "{fitting}"'
        draft.problem(
            "arch", f"CUDA {cuda.minor} cannot make code for {target}", key,
            why=why, hint=hint, source=support.source, verified=support.verified,
        )  # fmt: skip


def _check_gpus(draft: Draft, arch: ArchList, gpus: Sequence[Gpu]) -> None:
    """A GPU without code is an error; code that no GPU runs is wasted bytes."""
    if draft.spec.arch is None or not gpus:
        return
    for index, gpu in enumerate(gpus):
        code = arch.code_for(gpu.capability)
        if code == "none":
            draft.problem(
                "arch", f"`arch: {arch}` has no code that runs on {gpu.name} ({gpu.capability.dotted})", f"gpus[{index}]",
                why="code for a capability runs on the same major and an equal or higher minor only",
                hint=f"add {gpu.capability.dotted} to arch, or remove {gpu.name}", source=gpu.source, verified=gpu.verified,
            )  # fmt: skip
        elif code == "jit":
            draft.warn(
                "arch", f"{gpu.name} runs PTX only", "the driver compiles it at first use: slow, and the driver must know this CUDA's PTX",
                key=f"gpus[{index}]",
            )  # fmt: skip
    for entry in arch.entries:
        if not entry.ptx and not any(entry.capability.cubin_runs_on(gpu.capability) for gpu in gpus):
            draft.warn(
                "arch",
                f"{entry.capability.dotted} serves no GPU of this spec",
                "its code is wasted bytes",
                key="arch",
            )


def _check_framework(draft: Draft, arch: ArchList, cuda: CudaChoice, gpus: Sequence[Gpu]) -> None:
    """What the framework's wheel was compiled for, against the targets."""
    if cuda.release is None or cuda.variant is None:
        return
    compiled = cuda.release.archs(cuda.variant)
    name = f"torch {cuda.release.version} ({cuda.variant})"
    if isinstance(compiled, Unknown):
        draft.warn("arch", f"{name} not checked", compiled.reason, key="wheels")
        return
    verified = cuda.release.archs_verified(cuda.variant)
    targets = [(gpu.name, gpu.capability) for gpu in gpus] or [
        (entry.capability.dotted, ComputeCapability(entry.capability.major, entry.capability.minor))
        for entry in arch.entries
    ]
    key = "gpus" if gpus else "arch"
    for label, capability in targets:
        if compiled.code_for(capability) == "none":
            others = [
                v
                for v in cuda.release.variants
                if not isinstance(a := cuda.release.archs(v), Unknown) and a.code_for(capability) != "none"
            ]
            hint = (
                f"take CUDA {others[-1][2:4]}.{others[-1][4:]} ({others[-1]})"
                if others
                else "take another torch version, or leave that target out"
            )
            draft.problem(
                "arch", f"{name} holds no code for {label}" + (f" ({capability.dotted})" if label != capability.dotted else ""), key,
                why=f"its wheel is compiled for {compiled} and without PTX for later ones" if not any(e.ptx for e in compiled.entries) else f"its wheel is compiled for {compiled}",
                hint=hint, source=cuda.release.source, verified=verified,
            )  # fmt: skip
    wasted = [
        e.capability.dotted
        for e in compiled.entries
        if not any(e.capability.cubin_runs_on(c) for _, c in targets)
    ]
    draft.decide(
        "framework code", str(compiled), f"{name} is compiled for these and covers every target"
        + (f"; {', '.join(wasted)} serve no target of this spec, which only a build from source could leave out" if wasted else ""),
        key=key, source=cuda.release.source, verified=verified,
    )  # fmt: skip


def choose_driver(
    draft: Draft, cuda: CudaChoice, arch: ArchList | None, gpus: Sequence[Gpu]
) -> DriverPlan | None:
    """The driver the image needs, the start-time check it carries, and the verdict for the spec's `driver`."""
    spec = draft.spec
    minor = cuda.minor or (f"{cuda.major}.0" if cuda.major else None)
    if minor is None and cuda.kind == "none":
        if spec.driver:
            draft.warn("driver", "not checked", "this image uses no CUDA", key="driver")
        return None
    if minor is None:
        because = "which CUDA these wheels use is not known; `cuda` in the spec would say it"
        draft.warn("driver", "unknown", because, key="driver" if spec.driver else "wheels")
        return DriverPlan(None, None, None)
    need = tables.driver_need(minor)
    if isinstance(need, Unknown):
        draft.warn("driver", "unknown", need.reason, key="cuda")
        return DriverPlan(None, None, None)
    jit = arch is not None and any(arch.code_for(gpu.capability) == "jit" for gpu in gpus)
    full = need.full if cuda.minor else None
    draft.decide(
        "driver", f">= {need.floor}" + (f", in full >= {full}" if full else ""),
        f"CUDA {minor}: minor-version compatibility from {need.floor} on" + (f", every feature from {full} on" if full else ""),
        key="cuda", source=need.source, verified=need.verified,
    )  # fmt: skip
    require = _require(draft, minor, cuda, gpus, jit=jit)
    return DriverPlan(full, need.floor, require, _verdicts(draft, minor, gpus, jit=jit))


def _check_start(draft: Draft, minor: str, gpus: Sequence[Gpu]) -> None:
    """Warn where the container toolkit would refuse to start a CUDA base on the spec's driver."""
    driver = draft.spec.driver
    for gpu in ((*gpus,) or (None,)) if driver else ():
        verdict = tables.start_verdict(minor, driver or "", gpu)
        if verdict.outcome == "refused":
            on = f" on {gpu.name}" if gpu else ""
            draft.warn(
                "start check",
                f"the base refuses driver {driver}{on}",
                f"{verdict.because}; NVIDIA_DISABLE_REQUIRE=1 lifts the check",
                key="driver",
                source=verdict.source,
                verified=verdict.verified,
            )
            return


def _require(draft: Draft, minor: str, cuda: CudaChoice, gpus: Sequence[Gpu], *, jit: bool) -> str | None:
    """NVIDIA_REQUIRE_CUDA for a base that does not bring one."""
    if cuda.kind == "system" or draft.spec.flavor == "devel":
        draft.decide(
            "start check",
            "the base image's NVIDIA_REQUIRE_CUDA",
            "nvidia/cuda images bring their own and it is kept",
            key="base",
        )
        _check_start(draft, minor, gpus)
        return None
    text = f"cuda>={minor}" if jit else f"cuda>={minor.split('.', maxsplit=1)[0]}.0"
    draft.decide(
        "start check", f"NVIDIA_REQUIRE_CUDA={text}",
        f"code that the driver must compile needs a driver of CUDA {minor} or later" if jit
        else f"every driver of CUDA {minor.split('.', maxsplit=1)[0]}.0 or later runs this image's machine code; without the check an older one fails only at the first CUDA call",
        key="driver",
    )  # fmt: skip
    return text


def _verdicts(draft: Draft, minor: str, gpus: Sequence[Gpu], *, jit: bool) -> tuple[str, ...]:
    driver = draft.spec.driver
    if driver is None:
        return ()
    said: list[str] = []
    for verdict, names in _by_verdict(minor, driver, gpus, jit=jit):
        on = f" on {', '.join(names)}" if names else ""
        if verdict.outcome == "refused":
            draft.problem(
                "driver", f"driver {driver} cannot run CUDA {minor}{on}", "driver", why=verdict.because,
                hint=_driver_hint(minor), source=verdict.source, verified=verdict.verified,
            )  # fmt: skip
        elif verdict.outcome in ("forward", "unknown"):
            choice = (
                f"needs {verdict.package} on the host{on}"
                if verdict.outcome == "forward"
                else f"driver {driver}: unknown{on}"
            )
            draft.warn(
                "driver",
                choice,
                verdict.because,
                key="driver",
                source=verdict.source,
                verified=verdict.verified,
            )
        else:
            mode = {"full": "runs in full", "minor-version": "runs in minor-version compatibility"}[
                verdict.outcome
            ]
            draft.decide(
                "driver verdict",
                mode + on,
                f"driver {driver}: {verdict.because}",
                key="driver",
                source=verdict.source,
                verified=verdict.verified,
            )
        said.append(f"{driver}{on}: {verdict.outcome}")
    return tuple(said)


def _by_verdict(
    minor: str, driver: str, gpus: Sequence[Gpu], *, jit: bool
) -> list[tuple[tables.DriverVerdict, list[str]]]:
    """The distinct verdicts with the GPUs each is for; one without a GPU where the spec names none."""
    found: dict[tuple[str, str], tuple[tables.DriverVerdict, list[str]]] = {}
    for gpu in (*gpus,) or (None,):
        verdict = tables.driver_verdict(minor, driver, gpu, ptx=jit)
        _, names = found.setdefault((verdict.outcome, verdict.because), (verdict, []))
        if gpu is not None:
            names.append(gpu.name)
    return list(found.values())


def _driver_hint(minor: str) -> str:
    need = tables.driver_need(minor)
    floor = "" if isinstance(need, Unknown) else f"serve drivers from {need.floor} on, or "
    return f"{floor}choose an older CUDA (`cuda`) that this driver runs"
