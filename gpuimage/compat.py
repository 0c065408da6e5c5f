"""Whether a driver, a CUDA, GPUs, a torch, an arch list and an image go together: each rule, its reason, the smallest change.

Any of them may be left out: what can be asked of those given is asked. The tables hold the rules of NVIDIA's
compatibility guide; this module asks them the right questions and turns their answers into advice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from msgspec import Struct

from gpuimage.arch import ArchList, ComputeCapability
from gpuimage.errors import SpecError
from gpuimage.reference import CudaTag, ImageReference
from gpuimage.tables import (
    DriverVerdict,
    Gpu,
    TorchRelease,
    Unknown,
    cuda_minors,
    cuda_of_variant,
    cuda_range_for,
    cuda_release,
    cuda_tag,
    cuda_tags_complete,
    driver_branches,
    driver_need,
    driver_verdict,
    nvcc_capabilities,
    parse_driver,
    start_verdict,
    torch_release,
    torch_versions,
)

Outcome = Literal["runs", "minor-version", "jit", "forward", "unknown", "refused"]
"""From best to worst. `minor-version`: machine code runs, newer features and PTX do not. `jit`: only by PTX that the
driver compiles. `forward`: only with cuda-compat, on data-centre cards. `refused`: does not run, or does not start."""

_WORST = {outcome: rank for rank, outcome in enumerate(get_args(Outcome))}
_DRIVER: dict[str, Outcome] = {
    "full": "runs",
    "minor-version": "minor-version",
    "forward": "forward",
    "refused": "refused",
    "unknown": "unknown",
}


class Check(Struct, frozen=True):
    """The answer of one rule: what was held against what, and where the rule stands; `change` is empty where it runs."""

    about: str
    outcome: Outcome
    because: str
    source: str
    verified: bool
    change: str = ""


class Compatibility(Struct, frozen=True):
    """All answers, in the order in which a container meets them. `cuda` is the one asked about or found out."""

    cuda: str | None
    checks: tuple[Check, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst answer."""
        return max((check.outcome for check in self.checks), key=_WORST.__getitem__, default="unknown")

    @property
    def refused(self) -> bool:
        """Whether something surely does not run: a row that nobody verified is never enough for that."""
        return any(check.outcome == "refused" and check.verified for check in self.checks)


class Question(Struct, frozen=True, kw_only=True):
    """What is to go together; what is None or empty is left out.

    `torch` may carry its build ("2.6+cu124"). `cuda` counts for torch and image too, which must not contradict it.
    """

    cuda: str | None = None
    driver: str | None = None
    gpus: tuple[Gpu, ...] = ()
    torch: str | None = None
    archs: ArchList | None = None
    image: str | None = None


def compat(question: Question) -> Compatibility:
    """Ask every rule that the question gives enough for.

    SpecError for a CUDA, driver, torch or image that the tables cannot place, for contradictions, and for too little to ask.

        >>> from gpuimage import Question, compat, tables
        >>> answer = compat(Question(cuda="12.4", driver="535.86.05", gpus=(tables.gpu("A10G"),)))
        >>> answer.outcome, answer.refused
        ('minor-version', False)
        >>> [check.outcome for check in answer.checks]
        ['minor-version', 'runs']
    """
    if question.driver is not None and parse_driver(question.driver) is None:
        raise SpecError(f"{question.driver!r} is no driver version (write 550 or 550.54.14)")
    image = _image_cuda(question.image) if question.image else None
    torch, variant = _torch(question, image) if question.torch else (None, None)
    cuda = _cuda(question, image, variant)
    checks = [
        *_image(question, image),
        *_build(question, torch, variant),
        *_drivers(question, cuda),
        *_gpus(question, cuda, torch, variant),
        *_archs(question, cuda),
    ]
    checks += _compiled_by_driver(question, cuda, checks)
    if not checks:
        raise SpecError(
            "there is nothing to hold against each other",
            hint="give two of --cuda, --driver, --gpu, --torch, --arch and --image",
        )
    return Compatibility(cuda, tuple(checks))


def compat_matrix() -> dict[str, dict[int, DriverVerdict]]:
    """What each driver branch runs of each CUDA minor, newest CUDA first."""
    return {
        cuda: {branch: driver_verdict(cuda, str(branch)) for branch in driver_branches()}
        for cuda in reversed(cuda_minors())
    }


# What the question says


def _image_cuda(text: str) -> CudaTag:
    try:
        reference = ImageReference.parse(text)
        if not reference.repository.endswith("nvidia/cuda"):
            raise SpecError(
                f"only images of nvidia/cuda tell their CUDA by their name, and {text} is none",
                hint="give --cuda; `gpuimage inspect` reads what an image holds",
            )
        return CudaTag.parse(reference.tag or "")
    except ValueError as error:
        raise SpecError(f"{text} cannot be read", why=str(error)) from error


def _torch(question: Question, image: CudaTag | None) -> tuple[TorchRelease, str]:
    """The release, and the build that is asked for, or that fits the CUDA, or that PyPI has."""
    release = torch_release(str(question.torch))
    if isinstance(release, Unknown):
        raise SpecError(release.reason)
    local = str(question.torch).partition("+")[2]
    if local:
        return release, local
    minor = _minor(question.cuda) if question.cuda else None
    fitting = [variant for variant in release.variants if minor and cuda_of_variant(variant) == minor]
    return release, fitting[0] if fitting else release.default_variant


def _cuda(question: Question, image: CudaTag | None, variant: str | None) -> str | None:
    cuda = question.cuda
    if cuda is not None and isinstance(found := cuda_release(cuda), Unknown):
        raise SpecError(found.reason)
    if cuda is not None and image is not None and _minor(cuda) != image.minor:
        raise SpecError(f"--cuda {cuda} and an image of CUDA {image.version} contradict each other")
    if variant is not None and cuda is None:
        # The wheels bring their CUDA along, whatever the base image holds.
        own = cuda_of_variant(variant)
        return None if isinstance(own, Unknown) else own
    return cuda or (image.version if image else None)


def _minor(cuda: str) -> str:
    return ".".join(cuda.split(".")[:2])


# The rules, in the order in which a container meets them


def _image(question: Question, tag: CudaTag | None) -> Iterator[Check]:
    if tag is None:
        return
    about = f"image nvidia/cuda:{tag}"
    listed = cuda_tag(tag.version, tag.flavor, cudnn=tag.cudnn is not None, os=tag.os)
    if isinstance(listed, Unknown):
        complete = cuda_tags_complete(tag.version)
        yield Check(
            about, "refused" if complete else "unknown", listed.reason, "base_images.json", complete,
            "take a tag that exists" if complete else "",
        )  # fmt: skip
    if question.driver is None:
        return
    start = start_verdict(tag.version, question.driver, question.gpus[0] if question.gpus else None)
    outcome: Outcome = {"accepted": "runs", "refused": "refused"}.get(start.outcome, "unknown")  # type: ignore[assignment]
    change = ""
    if outcome == "refused":
        change = f"{_newer_driver(tag.version)}, or NVIDIA_DISABLE_REQUIRE=1 where the checks below pass"
    elif start.outcome == "some-brands":
        change = "name the card with --gpu"
    yield Check(f"start of {about}", outcome, start.because, start.source, start.verified, change)


def _build(question: Question, torch: TorchRelease | None, variant: str | None) -> Iterator[Check]:
    if torch is None or variant is None:
        return
    about = f"torch {torch.version} for CUDA"
    if question.cuda is not None and cuda_of_variant(variant) != _minor(question.cuda):
        builds = ", ".join(
            str(found) for one in torch.variants if not isinstance(found := cuda_of_variant(one), Unknown)
        )
        yield Check(
            f"{about} {question.cuda}", "refused", f"there is no such build; there are builds for CUDA {builds}",
            torch.variants_source, torch.variants_verified, f"take --cuda {cuda_of_variant(torch.default_variant)}",
        )  # fmt: skip
    elif variant not in torch.variants:
        yield Check(
            f"torch {torch.version}+{variant}", "refused", f"there is no such build; there are {', '.join(torch.variants)}",
            torch.variants_source, torch.variants_verified, f"take {torch.version}+{torch.default_variant}",
        )  # fmt: skip


def _drivers(question: Question, cuda: str | None) -> Iterator[Check]:
    if question.driver is None or cuda is None:
        return
    for gpu in question.gpus or (None,):
        found = driver_verdict(cuda, question.driver, gpu)
        card = f" with {gpu.name}" if gpu else ""
        outcome = _DRIVER[found.outcome]
        yield Check(
            f"CUDA {cuda} on driver {question.driver}{card}", outcome, found.because, found.source, found.verified,
            _driver_change(question, cuda, found, gpu),
        )  # fmt: skip


def _driver_change(question: Question, cuda: str, found: DriverVerdict, gpu: Gpu | None) -> str:
    if found.outcome == "forward":
        return f"put {found.package} into the image"
    if found.outcome != "refused":
        return ""
    older = next(
        (
            minor
            for minor in reversed(cuda_minors())
            if driver_verdict(minor, str(question.driver), gpu).outcome in ("full", "minor-version")
        ),
        None,
    )
    need = driver_need(cuda)
    newer = f"driver {need.floor} or newer" if not isinstance(need, Unknown) else "a newer driver"
    return f"{newer}, or CUDA {older}" if older else newer


def _newer_driver(cuda: str) -> str:
    need = driver_need(cuda)
    return f"driver {need.full} or newer" if not isinstance(need, Unknown) and need.full else "a newer driver"


def _gpus(
    question: Question, cuda: str | None, torch: TorchRelease | None, variant: str | None
) -> Iterator[Check]:
    for gpu in question.gpus:
        if cuda is not None:
            yield from _gpu_by_cuda(gpu, cuda)
        if torch is not None and variant is not None:
            yield from _gpu_by_torch(gpu, torch, variant)
        if question.archs is not None:
            yield _gpu_by_archs(gpu, question.archs)


def _gpu_by_cuda(gpu: Gpu, cuda: str) -> Iterator[Check]:
    """Whether a CUDA has machine code for a GPU: its compiler, and with it the libraries of its release."""
    about = f"{gpu.name} ({gpu.capability}) with CUDA {cuda}"
    support = nvcc_capabilities(cuda)
    if isinstance(support, Unknown):
        yield Check(about, "unknown", support.reason, "cuda_releases.json", verified=False)
        return
    verified = support.verified and gpu.verified
    if any(one.cubin_runs_on(gpu.capability) for one in support.real):
        because = f"its compiler makes machine code for {gpu.capability}"
        yield Check(about, "runs", because, support.source, verified)
        return
    known = cuda_range_for(gpu.capability)
    if isinstance(known, Unknown):
        yield Check(about, "unknown", known.reason, support.source, verified=False)
    elif any(one.ptx_runs_on(gpu.capability) for one in support.virtual):
        because = f"it is older than the GPU: no machine code for {gpu.capability}, only PTX for the driver to compile"
        yield Check(about, "jit", because, support.source, verified, f"CUDA {known.first} or newer")
    else:
        because = f"it makes no code for {gpu.capability} any more; CUDA {known.last} was the last that did"
        yield Check(about, "refused", because, support.source, verified, f"CUDA {known.last} or older")


def _gpu_by_torch(gpu: Gpu, torch: TorchRelease, variant: str) -> Iterator[Check]:
    about = f"{gpu.name} ({gpu.capability}) with torch {torch.version}+{variant}"
    archs = torch.archs(variant)
    if isinstance(archs, Unknown):
        yield Check(about, "unknown", archs.reason, torch.source, verified=False)
        return
    source, verified = torch.archs_source(variant) or torch.source, torch.archs_verified(variant)
    code = archs.code_for(gpu.capability)
    if code == "native":
        yield Check(about, "runs", f"it has machine code for it ({archs})", source, verified)
        return
    change = _other_torch(gpu.capability, torch)
    if code == "jit":
        because = f"it has only PTX for it ({archs}): the driver compiles every kernel at first use"
        yield Check(about, "jit", because, source, verified, change)
    else:
        because = f"it has no code for it ({archs}): no kernel image is available for execution on the device"
        yield Check(about, "refused", because, source, verified, change)


def _other_torch(capability: ComputeCapability, torch: TorchRelease) -> str:
    """Another build of the same torch with machine code for a GPU, else the nearest torch that has one."""
    versions = torch_versions()
    at = versions.index(torch.version)
    nearest = sorted(range(len(versions)), key=lambda number: (abs(number - at), number < at))
    for number in nearest:
        release = torch_release(versions[number])
        if isinstance(release, Unknown):
            continue
        for variant in reversed(release.variants):
            archs = release.archs(variant)
            if not isinstance(archs, Unknown) and archs.code_for(capability) == "native":
                return f"torch {release.version}+{variant}"
    return "compile it for this GPU"


def _gpu_by_archs(gpu: Gpu, archs: ArchList) -> Check:
    about = f"{gpu.name} ({gpu.capability}) with {archs}"
    code = archs.code_for(gpu.capability)
    source = "cuda_releases.json, suffix_rules"
    if code == "native":
        return Check(about, "runs", "the list makes machine code that runs there", source, gpu.verified)
    change = f'"{archs};{gpu.capability}"'
    if code == "jit":
        return Check(about, "jit", "only its PTX serves this GPU", source, gpu.verified, change)
    return Check(about, "refused", "nothing in the list runs there", source, gpu.verified, change)


def _archs(question: Question, cuda: str | None) -> Iterator[Check]:
    """Whether nvcc of a CUDA takes the entries of a list."""
    if question.archs is None or cuda is None:
        return
    support = nvcc_capabilities(cuda)
    if isinstance(support, Unknown):
        return
    missing = [one for one in question.archs.capabilities if one not in support.real]
    about = f"{question.archs} with nvcc of CUDA {cuda}"
    if not missing:
        yield Check(about, "runs", "it takes every entry", support.source, support.verified)
        return
    ranges = [known for one in missing if not isinstance(known := cuda_range_for(one), Unknown)]
    spans = [f"{one.capability} needs {one.span}" for one in ranges]
    yield Check(
        about, "refused", f"it does not take {' '.join(map(str, missing))}", support.source, support.verified,
        ", ".join(spans) or f"leave {' '.join(map(str, missing))} out",
    )  # fmt: skip


def _compiled_by_driver(question: Question, cuda: str | None, checks: Sequence[Check]) -> Iterator[Check]:
    """PTX of a newer CUDA than the driver's own cannot be compiled by it: error 222, where machine code would run."""
    if cuda is None or question.driver is None or not any(check.outcome == "jit" for check in checks):
        return
    found = driver_verdict(cuda, question.driver, ptx=True)
    if found.outcome == "minor-version":
        yield Check(
            f"PTX of CUDA {cuda} on driver {question.driver}", "refused", found.because, found.source, found.verified,
            f"{_newer_driver(cuda)}, or machine code for the GPU",
        )  # fmt: skip
