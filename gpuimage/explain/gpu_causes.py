"""What in a spec causes errors of architectures, drivers and CUDA versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gpuimage.arch import ComputeCapability
from gpuimage.explain.case import Case
from gpuimage.explain.types import Cause, Diagnosis
from gpuimage.tables import (
    Unknown,
    cuda_range_for,
    driver_cuda,
    driver_need,
    driver_verdict,
    nvcc_capabilities,
)


def _no_code(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """The GPU is none that the spec asks for, or torch has no code for it, or another wheel has none."""
    if stop := tuple(case.stopped("arch", "gpus", "cuda", "wheels")):
        yield from stop
        return
    archs, promised = case.archs(one), case.promised
    if not archs:
        served = f"it serves {promised}" if promised else "it names neither arch nor gpus"
        yield case.unknown(f"{served}, and the message names no GPU", "name it: --gpu NAME")
    for capability in archs:
        if promised is not None and promised.code_for(capability) == "none":
            key = "arch" if case.spec.arch else "gpus"
            yield case.cause(
                key,
                f"it asks for {promised}, and nothing of that runs on {capability}",
                _served(case, capability),
            )
        else:
            yield _by_torch(case, capability)


def _served(case: Case, capability: ComputeCapability) -> str:
    """What to change so that the spec serves a GPU, and what a plan says to that."""
    wanted = f"{case.promised};{capability}" if case.promised else str(capability)
    trouble = case.with_change(arch=wanted)
    change = f'arch: "{wanted}"' if case.spec.arch else f'add the GPU to gpus, or arch: "{wanted}"'
    return f"{change}; then {trouble}" if trouble else change


def _by_torch(case: Case, capability: ComputeCapability) -> Cause:
    code, torch = case.torch_archs(), case.torch
    if code is None or torch is None or case.plan is None:
        return case.unknown(
            f"no table knows which of its wheels has code for {capability}; `--image` shows it"
        )
    name = f"torch {torch.version} ({case.plan.variant})"
    if code.code_for(capability) == "native":
        return case.unknown(
            f"{name} has machine code for {capability}: another wheel has none; `--image` names the file"
        )
    key = case.key_of("cuda", case.wheel("torch") or "wheels")
    lacks = "only PTX" if code.code_for(capability) == "jit" else "no code"
    return case.cause(
        key, f"{name} is compiled for {code} and has {lacks} for {capability}", _served(case, capability)
    )


def _driver(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """The image needs a newer driver than the host has: which key decides that, and what the spec promises."""
    if stop := tuple(case.stopped("driver", "cuda", "wheels", "gpus")):
        yield from stop
        return
    made = case.plan
    if made is None or made.cuda is None or made.driver is None:
        yield case.unknown("its plan names no CUDA version")
        return
    spoken, promised = one.named.driver_cuda, case.spec.driver
    host = f"the host's driver speaks CUDA {spoken}" if spoken else "the host's driver is older"
    if warnings := case.warnings("driver"):
        yield from (case.cause(said.key or "driver", f"{said.choice}: {said.because}") for said in warnings)
        return
    if promised is not None:
        speaks = driver_cuda(promised)
        less = (
            ""
            if spoken and not isinstance(speaks, Unknown) and _key(spoken) >= _key(speaks)
            else ", older than that"
        )
        yield case.not_here(
            f"it promises driver {promised}, which runs its CUDA {made.cuda}; {host}{less}",
            _lower(case, spoken),
        )
        return
    key = case.key_of("cuda", "cuda")
    yield case.cause(
        key, f"it takes CUDA {made.cuda}, which needs a driver from {made.driver.floor} on, and no `driver` says what the host has; {host}",
        _lower(case, spoken),
    )  # fmt: skip


def _feature(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """A feature that is newer than the driver, under minor-version compatibility."""
    made, promised = case.plan, case.spec.driver
    if made is None or made.cuda is None or made.driver is None or made.driver.full is None:
        return
    full = made.driver.full
    if promised is None:
        because = f"it takes CUDA {made.cuda}, every feature of which needs a driver from {full} on, and no `driver` says what the host has"
        yield case.cause(case.key_of("cuda", "cuda"), because, _lower(case, None))
        return
    verdict = driver_verdict(made.cuda, promised)
    if verdict.outcome == "minor-version":
        yield case.cause("driver", verdict.because, f'driver: "{full.partition(".")[0]}", or an older `cuda`')
    elif verdict.outcome == "full":
        yield case.not_here(
            f"it promises driver {promised}, which runs every feature of its CUDA {made.cuda}; the host's is older"
        )


def _lower(case: Case, spoken: str | None) -> str:
    """`driver` as the host has it, and what a plan says to that."""
    need = driver_need(spoken) if spoken else None
    if need is None or isinstance(need, Unknown) or not need.full:
        return 'driver: "…", the one that nvidia-smi shows on the host'
    branch = need.full.partition(".")[0]
    trouble = case.with_change(driver=branch)
    return f'driver: "{branch}"' + (
        f"; then {trouble}" if trouble else ", and the plan takes a CUDA that it runs"
    )


def _key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _ptx(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """PTX of a newer CUDA than the driver's."""
    ptx = [str(entry) for entry in case.promised.entries if entry.ptx] if case.promised else []
    made = case.plan
    if ptx and made and made.cuda and made.driver:
        yield case.cause(
            "arch", f"it asks for PTX ({' '.join(ptx)}), made by CUDA {made.cuda}, and drivers below {made.driver.full} cannot compile it",
            "machine code for every GPU: name them in gpus, without +PTX",
        )  # fmt: skip
    elif made:
        yield case.unknown("it asks for no PTX itself; `--image` shows which file has nothing else for a GPU")


def _requirement(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """NVIDIA_REQUIRE_CUDA: the spec's own, the plan's, or the base's."""
    condition = one.named.condition or ""
    for key, value in case.environment("NVIDIA_REQUIRE_CUDA"):
        yield case.cause(key, f"it asks for {value}", "lower or remove it")
        return
    own = case.plan.driver.require if case.plan and case.plan.driver else None
    if own and condition in own:
        key = case.key_of("cuda", "cuda")
        yield case.cause(
            key, f"the image carries NVIDIA_REQUIRE_CUDA={own}, for its CUDA {case.plan.cuda if case.plan else ''}",
            'driver: "…" as the host has it, and the plan takes a CUDA that it runs',
        )  # fmt: skip
    elif case.plan and own is None:
        key = "base" if case.spec.base != "auto" else case.key_of("base", "base")
        yield case.cause(
            key,
            f"{case.plan.base} carries a NVIDIA_REQUIRE_CUDA of its own",
            "a base of an older CUDA, or a newer driver",
        )
    elif case.plan:
        yield case.not_here(f"its image asks for {own}, not for {condition}: another image was started")


def _refused_arch(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """An architecture that the compiler does not take: the spec's own, or a package's."""
    archs = one.named.archs
    for capability in archs:
        for key, value in case.environment(
            "TORCH_CUDA_ARCH_LIST", "CUDAARCHS", "FLASH_ATTN_CUDA_ARCHS", "NVCC_APPEND_FLAGS"
        ):
            if capability.number in value or capability.dotted in value:
                yield case.cause(
                    key, f"it asks for {capability}", f"take {capability} out, or a CUDA that knows it"
                )
                return
    if stop := tuple(case.stopped("arch", "gpus", "cuda")):
        yield from stop
        return
    promised = case.promised
    for capability in archs:
        if promised is None or capability not in promised.capabilities:
            asked = f"it asks for {promised}" if promised else "it names no architecture"
            yield case.not_here(f"{asked}; {capability.compute} comes from the package's own build files")
            continue
        cuda = case.plan.cuda if case.plan else None
        support = nvcc_capabilities(cuda) if cuda else None
        takes = support is not None and not isinstance(support, Unknown) and capability in support.real
        known = cuda_range_for(capability)
        span = "" if isinstance(known, Unknown) else f"; it needs {known.span}"
        if takes:
            yield case.not_here(f"nvcc of its CUDA {cuda} takes {capability}: another nvcc was run")
        else:
            yield case.cause(
                "arch" if case.spec.arch else "gpus", f"it asks for {capability}{span}", f"leave {capability} out, or another `cuda`"
            )  # fmt: skip


def _list(case: Case, one: Diagnosis) -> Iterator[Cause]:
    for key, value in case.environment("TORCH_CUDA_ARCH_LIST"):
        yield case.cause(
            key, f"it is {value}, instead of the list that the plan writes from arch or gpus", f"remove {key}"
        )
        return
    if one.error.id == "arch-list-unset" and case.plan:
        yield case.not_here("its builder stage sets TORCH_CUDA_ARCH_LIST before anything compiles")


def _two_cudas(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """Nvcc and torch of two CUDA versions."""
    for key, value in case.environment("CUDA_HOME", "PATH"):
        yield case.cause(key, f"it is {value}, so another nvcc than the plan's comes first", f"remove {key}")
        return
    cuda = case.plan.cuda if case.plan else None
    if case.spec.base != "auto" and not case.spec.compile:
        yield case.cause("base", f"the toolkit of {case.spec.base} is the one that is found", "base: auto")
    elif cuda and one.named.cuda and not one.named.cuda[0].startswith(cuda.partition(".")[0] + "."):
        yield case.not_here(
            f"its builder stage has nvcc of CUDA {cuda}, and the one that ran is of {one.named.cuda[0]}"
        )


GPU_CAUSES: Mapping[str, Callable[[Case, Diagnosis], Iterator[Cause]]] = {
    **dict.fromkeys(
        ("no-kernel-image", "invalid-device-function", "torch-sm-incompatible", "torch-cc-too-old"), _no_code
    ),
    **dict.fromkeys(("insufficient-driver", "torch-driver-too-old"), _driver),
    "call-requires-newer-driver": _feature,
    **dict.fromkeys(("unsupported-ptx", "ptx-jit-failed"), _ptx),
    "ctk-requirement": _requirement,
    **dict.fromkeys(("nvcc-unsupported-arch", "ptxas-unknown-arch"), _refused_arch),
    **dict.fromkeys(("unknown-cuda-arch", "arch-list-unset"), _list),
    "cuda-version-mismatch": _two_cudas,
}
