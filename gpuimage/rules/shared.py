"""What several rules ask: which projects carry CUDA, which need torch, where a base is named."""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, PythonInstall, StageFacts, Step, Wanted
from gpuimage.patterns import pattern
from gpuimage.tables import Unknown, WheelFacts, wheel

TORCH = frozenset({"torch", "torchvision", "torchaudio"})

# Projects that ask for torch themselves (their metadata on PyPI), so that an install without a version may replace it.
NEEDS_TORCH = frozenset(
    "torchvision torchaudio torchtext torchdata xformers vllm flash-attn deepspeed bitsandbytes accelerate peft timm "
    "lightning pytorch-lightning sentence-transformers ultralytics open-clip-torch openai-whisper "
    "torchmetrics trl kornia segment-anything facenet-pytorch easyocr fairseq fairscale apex sglang "
    "torch-geometric torch-scatter torch-sparse causal-conv1d mamba-ssm auto-gptq autoawq optimum-quanto whisperx "
    "pyannote-audio demucs coqui-tts tts stanza flair transformer-engine flashinfer-python lmdeploy".split()
)  # fmt: skip

# Projects whose wheels with all that they pull in weigh gigabytes.
HEAVY = frozenset(
    {
        "torch",
        "torchvision",
        "torchaudio",
        "vllm",
        "sglang",
        "tensorflow",
        "xformers",
        "deepspeed",
        "flash-attn",
    }
)

# Projects that compile CUDA code when no wheel fits, and torch's own extension builder does it.
BUILDS_EXTENSION = frozenset(
    "flash-attn apex causal-conv1d mamba-ssm transformer-engine detectron2 pytorch3d torch-scatter torch-sparse "
    "torch-cluster torch-spline-conv nvdiffrast gsplat fused-ssim diff-gaussian-rasterization simple-knn tiny-cuda-nn "
    "sageattention natten mmcv deepspeed xformers grouped-gemm".split()
)  # fmt: skip


def head_of(file: FileFacts, stage: StageFacts) -> Span:
    """The place where the base of a stage and its parents is named: the image behind FROM."""
    while stage.parent is not None:
        stage = file.stages[stage.parent]
    head = stage.stage.head
    return head.values[0].span if head.values else head.keyword_span


def place(step: Step) -> Span:
    """The place of an instruction's keyword and first words, for findings about the whole of it."""
    one = step.instruction
    return (
        Span(one.keyword_span.start, one.values[0].span.end)
        if one.values and one.keyword != "RUN"
        else one.keyword_span
    )


def brings_cuda(install: PythonInstall, wanted: Wanted) -> bool | None:
    """Whether a project brings the CUDA libraries along as wheels or within; None where nobody knows."""
    if wanted.name in TORCH:
        variant = install.variant(wanted)
        if variant == "?":
            return None
        if variant is not None:
            return variant.startswith("cu")
        if wanted.name != "torch":
            return False  # through torch, which counts itself
        return None if wanted.from_source or wanted.source.endswith(".whl") else True
    facts = wheel_facts(wanted)
    return None if facts is None else facts.cuda in ("wheels", "bundled")


def wheel_facts(wanted: Wanted) -> WheelFacts | None:
    """What the tables know of a project; None for nothing."""
    if not wanted.name or wanted.from_source:
        return None
    found = wheel(wanted.name, wanted.public, wanted.extras)
    return None if isinstance(found, Unknown) else found


def torch_installs(file: FileFacts, stage: StageFacts) -> Iterator[tuple[PythonInstall, Wanted]]:
    """Every torch that a stage and its parents install, in order."""
    for install in file.python_of(stage):
        found = install.find("torch")
        if found is not None and not install.builds:
            yield install, found


def environment_of(install: PythonInstall) -> str:
    """Names the environment that a command installs into: "" the system's, a directory, a conda environment."""
    through = install.call.program.through
    tool = next((name for name in through if name in ("conda", "mamba", "micromamba")), None)
    return install.target or (f"{tool}:{install.call.program.command.words[0].raw}" if tool else "")


def shipped_steps(file: FileFacts) -> Iterator[tuple[StageFacts, Step]]:
    """Every step whose layer is in an image, once, with the image's stage."""
    seen: set[int] = set()
    for stage in file.targets:
        for step in stage.chain:
            if step.instruction.span.start not in seen:
                seen.add(step.instruction.span.start)
                yield stage, step


def built_steps(file: FileFacts) -> Iterator[Step]:
    """Every step that is built at all, in the order of the file."""
    for stage in file.stages:
        if stage.used:
            yield from stage.steps


_TO_BUILD = pattern(r"(.*[-_])?(dev|devel|develop|build|builder)([-_].*)?")


def is_to_build(stage: StageFacts) -> bool:
    """Whether an image is for compiling, by its stage's name."""
    return _TO_BUILD.fullmatch(stage.stage.name or "") is not None


# Programs and packages that use the CUDA libraries of a base.
_USERS = pattern(r"nvcc|trtexec|ffmpeg|cmake|ninja|make|cargo|go|bazel")
_USING = pattern(
    r"(libn)?vinfer.*|tensorrt.*|ffmpeg|libopencv.*cuda.*|ollama|llama.*|.*cuda.*-dev|libcudnn.*-dev.*|vpi.*|deepstream.*|cuda-.*|libcu.*|libnccl.*"
)


def uses_base_cuda(file: FileFacts, stage: StageFacts) -> bool:
    """Whether something of an image may use the CUDA libraries of its base: compiled here, copied in, or made for it.

    What nobody can see into (a script, an unknown project, a file that is copied) may: only what is surely no user counts
    as none.
    """
    if any(
        _USERS.fullmatch(call.name) or call.name.endswith((".sh", ".run")) for call in file.calls_of(stage)
    ):
        return True
    if any(
        _USING.fullmatch(p.name) for call in file.system_of(stage) if call.installs for p in call.packages
    ):
        return True
    for copy in file.chain_copies(stage):
        if copy.from_ and not any(_is_environment(source or "?") for source in copy.sources):
            return True
        if any(
            (source or "").endswith((".so", ".deb", ".run", ".cu")) or ".so." in (source or "")
            for source in copy.sources
        ):
            return True
    return any(True for _ in file.conda_of(stage))


def _is_environment(source: str) -> bool:
    """Whether a path that is copied from a stage is a Python environment."""
    return any(
        part in source
        for part in ("venv", "site-packages", "dist-packages", "/opt/conda", "/wheels", "/root/.local")
    )
