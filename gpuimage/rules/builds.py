"""Which steps compile CUDA code, for which architectures, with which toolkit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, PythonInstall, StageFacts, Step, Wanted
from gpuimage.facts.runs import Call
from gpuimage.rules.environment import settings_of

TORCH_LIST = "TORCH_CUDA_ARCH_LIST"

# Names of projects and repositories whose build calls torch's extension builder (their setup.py).
EXTENSIONS = frozenset(
    "apex pytorch3d detectron2 gsplat fused-ssim diff-gaussian-rasterization simple-knn nvdiffrast pointnet2-ops causal-conv1d "
    "mamba mamba-ssm torch-scatter torch-sparse torch-cluster torch-spline-conv natten sageattention xformers mmcv mmdetection3d "
    "minkowskiengine torchsparse spconv exllama exllamav2 autogptq auto-gptq gptq-for-llama vllm flashinfer transformer-engine "
    "transformerengine groundingdino grounded-segment-anything openpcdet kaolin deformable-detr fairseq megablocks grouped-gemm".split()
)  # fmt: skip
# Projects whose setup.py passes its own -gencode flags: the variable that they read instead (their setup.py).
OWN_VARIABLE = {
    "flash-attn": "FLASH_ATTN_CUDA_ARCHS",
    "flash-attention": "FLASH_ATTN_CUDA_ARCHS",
    "tiny-cuda-nn": "TCNN_CUDA_ARCHITECTURES",
}
_TOOLKIT = re.compile(
    r"cuda-(?:toolkit|nvcc|minimal-build|compiler|command-line-tools|libraries-dev)?-?(?P<major>\d+)-(?P<minor>\d+)"
)
_SETUP = re.compile(r"(\S*/)?setup\.py")
_VERBS = frozenset({"install", "bdist_wheel", "build", "build_ext", "develop", "bdist_egg"})


@dataclass(frozen=True, slots=True)
class Build:
    """A command that compiles an extension: `name` of the project where it is known, `sure` that it is CUDA code."""

    call: Call
    name: str
    sure: bool
    install: PythonInstall | None = None
    wanted: Wanted | None = None


@dataclass(frozen=True, slots=True)
class ListSetting:
    """A place that sets a list of architectures for what follows: ENV or ARG (`step`), or a command's own environment."""

    variable: str
    raw: str
    value: str | None
    span: Span
    step: Step
    call: Call | None = None

    @property
    def exact(self) -> bool:
        """Whether the source holds the value as it is, so that an edit may replace it."""
        text = self.step.source[self.span].strip("'\"")
        return self.value is not None and text == self.value


def builds(file: FileFacts, stage: StageFacts) -> Iterator[Build]:
    """The commands of a stage that build a Python extension."""
    for step in stage.steps:
        installs = {id(one.call): one for one in file.python(step)}
        for call in step.calls:
            forced = call.is_set("FORCE_CUDA") or call.is_set("MMCV_WITH_OPS") or call.is_set("DS_BUILD_OPS")
            if _builds_setup(call):
                name = _directory_name(file, call)
                yield Build(call, name, forced or name in EXTENSIONS)
            install = installs.get(id(call))
            for wanted in install.wanted if install else ():
                name = wanted.name or (_directory_name(file, call) if wanted.from_source else "")
                own = name in OWN_VARIABLE
                built = (
                    wanted.from_source
                    or (own and _forced(call, install))
                    or (forced and name in ("mmcv", "deepspeed"))
                )
                if built and not wanted.file:
                    yield Build(call, name, forced or name in EXTENSIONS or own, install, wanted)


def _forced(call: Call, install: PythonInstall | None) -> bool:
    forced = call.is_set("FLASH_ATTENTION_FORCE_BUILD")
    return forced or (install is not None and install.given.has("--no-binary"))


def _builds_setup(call: Call) -> bool:
    values = call.values
    return (
        call.name.startswith("python")
        and bool(values)
        and bool(_SETUP.fullmatch(values[0]))
        and bool(_VERBS & set(values[1:]))
    )


def _directory_name(file: FileFacts, call: Call) -> str:
    """The repository that was cloned to where the command runs, in the same step."""
    for change in file.changes(call.step):
        if (
            change.kind == "cloned"
            and change.path
            and call.directory
            and (call.directory + "/").startswith(change.path + "/")
        ):
            return change.source.rstrip("/").rpartition("/")[2].removesuffix(".git").lower().replace("_", "-")
    return ""


def has_torch(file: FileFacts, stage: StageFacts, before: Call) -> bool | None:
    """Whether torch is there when a command runs; None where nobody knows."""
    if stage.root.kind in ("pytorch", "ngc-torch"):
        return True
    at = before.span.start
    if any(
        one.find("torch", "vllm", "torchvision") for one in file.python_of(stage) if one.call.span.start <= at
    ):
        return True
    if any(one.find("pytorch", "pytorch-gpu") for one in file.conda_of(stage) if one.call.span.start <= at):
        return True
    hidden = any(not one.complete for one in file.python_of(stage) if one.call.span.start <= at)
    return None if hidden or stage.root.kind in ("other", "unknown") else False


def cuda_of(file: FileFacts, stage: StageFacts) -> str | None:
    """The toolkit's minor version in a stage: of its base, or of the packages that it installs."""
    for call in file.system_of(stage):
        for package in call.packages if call.installs else ():
            match = _TOOLKIT.fullmatch(package.name)
            if match:
                return f"{match['major']}.{match['minor']}"
    return stage.root.cuda_minor if stage.root.kind in ("cuda", "pytorch") else None


def list_settings(file: FileFacts, stage: StageFacts, *variables: str) -> Iterator[ListSetting]:
    """Every place of a stage itself that sets one of these variables."""
    for step in stage.steps:
        for setting in settings_of(step):
            if setting.name.text in variables:
                yield ListSetting(setting.name.text, setting.text, setting.value, setting.given.span, step)
        if step.instruction.keyword == "ARG" and not step.instruction.onbuild:
            for value in step.instruction.values:
                name, equals, default = value.text.partition("=")
                if name in variables and equals:
                    span = Span(value.span.start + len(name) + 1, value.span.end)
                    yield ListSetting(name, default, step.expand(default).value, span, step)
        yield from _of_commands(step, variables)


def _of_commands(step: Step, variables: tuple[str, ...]) -> Iterator[ListSetting]:
    for call in step.calls:
        for name, value in call.program.command.assignments:
            if name in variables:
                yield ListSetting(name, value.raw, value.value, call.script.place(value.span), step, call)
        if call.name == "export":
            for word in call.arguments:
                name, equals, raw = word.raw.partition("=")
                if equals and name in variables:
                    place = call.place(word)
                    known = word.value.partition("=")[2] if word.value is not None else None
                    yield ListSetting(
                        name, raw, known, Span(place.start + len(name) + 1, place.end), step, call
                    )
