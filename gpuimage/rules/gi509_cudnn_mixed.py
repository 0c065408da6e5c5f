"""LD_LIBRARY_PATH mixes another cuDNN into the one that the wheels bring.

## Why
`libcudnn.so.9` of the wheels finds its parts (ops, cnn, graph, engines …) by DT_RUNPATH, which LD_LIBRARY_PATH beats
(measured with torch 2.14.1, notes on linting 6.4): the first part comes from the wheel, those that are opened later from
the other copy, and calls fail with CUDNN_STATUS errors. A cuDNN by apt that nothing reads beside the wheels' own is dead
weight.

## Cost
cuDNN 9 takes 1,005 MiB unpacked (the wheel of torch 2.9.1, measured).

## Instead
Let the wheels find their own: keep directories with another cuDNN off LD_LIBRARY_PATH, and leave the package out.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-cudnn-runtime-ubuntu22.04
RUN pip install --no-cache-dir torch==2.8.0
ENV LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:${LD_LIBRARY_PATH}
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN pip install --no-cache-dir torch==2.8.0
ENV LD_LIBRARY_PATH=/opt/app/lib:${LD_LIBRARY_PATH}
```

## Not judged
Copies of different majors (libcudnn.so.8 beside .so.9), images that hold TensorRT, that compile, or that hold other
users of a system's cuDNN (onnxruntime-gpu, CTranslate2, CuPy …), the wheels' own directory on the path, and stages that
do not ship.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.facts import FileFacts, Package, PythonInstall, StageFacts, Wanted
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.costs import typical
from gpuimage.rules.environment import Part, settings
from gpuimage.rules.shared import brings_cuda
from gpuimage.tables import Unknown, torch_release

_APT = pattern(r"(?:lib)?cudnn(?P<major>\d+)(?:-.*)?")
_SYSTEM = pattern(r"/usr/lib/(x86_64|aarch64|sbsa)-linux(-gnu)?/?|/usr/lib64/?")
_WHEELS = pattern(r"(site|dist)-packages")
# Others that open the system's cuDNN by themselves.
_USERS = frozenset(
    "onnxruntime-gpu onnxruntime-genai-cuda ctranslate2 faster-whisper whisperx cupy cupy-cuda11x cupy-cuda12x cupy-cuda13x "
    "paddlepaddle-gpu mxnet-cu112 mxnet tensorflow tensorflow-gpu jax jaxlib tensorrt tf-nightly mxnet-cu117 dlib".split()
)
_COMPILES = frozenset({"nvcc", "cmake", "make", "ninja", "bazel", "bazelisk", "trtexec", "cargo", "meson"})


def check(file: FileFacts) -> Iterator[Hit]:
    """The path of each image, then its packages."""
    if "cudnn" not in file.source.text and "conda" not in file.source.text:
        return
    for stage in file.targets:
        found = _wheels(file, stage)
        if found is not None and not _read_by_others(file, stage):
            path = list(_on_path(file, stage, found[1]))
            yield from path
            if not path:
                yield from _beside(file, stage, found)


def _wheels(file: FileFacts, stage: StageFacts) -> tuple[Wanted, int | None] | None:
    """The project that brings a cuDNN of its own, and that one's major."""
    for install in file.shipped_python(stage):
        for one in install.wanted:
            named = re.fullmatch(r"nvidia-cudnn-cu\d+", one.name)
            if named or (one.name == "torch" and brings_cuda(install, one)):
                return one, _major(install, one)
            if one.name == "tensorflow" and "and-cuda" in one.extras:
                return one, None
    return None


def _major(install: PythonInstall, wanted: Wanted) -> int | None:
    """The cuDNN that a wheel brings; torch's is the one that its metadata on PyPI names."""
    if wanted.name != "torch":
        return int(wanted.public.partition(".")[0]) if wanted.public and wanted.public[0].isdigit() else None
    release = torch_release(wanted.public) if wanted.public else None
    if release is None or isinstance(release, Unknown):
        return None
    variant = install.variant(wanted)
    if variant is not None and variant != release.default_variant:
        return None
    text = " ".join(release.requires)
    match = re.search(r"nvidia-cudnn-cu\d+ ?\(?==(\d+)", text)
    return int(match[1]) if match else None


def _packages(file: FileFacts, stage: StageFacts) -> list[Package]:
    """The cuDNN packages of apt and dnf in an image."""
    return [
        one
        for call in file.system_of(stage)
        if call.installs
        for one in call.packages
        if _APT.fullmatch(one.name)
    ]


def _on_path(file: FileFacts, stage: StageFacts, major: int | None) -> Iterator[Hit]:
    if "LD_LIBRARY_PATH" not in file.source.text:
        return
    parts: list[Part] = []
    for setting in settings(stage, "LD_LIBRARY_PATH"):
        if not setting.uses("LD_LIBRARY_PATH"):
            parts.clear()
        parts += setting.parts(":")
    for part in parts:
        what = _other(file, stage, part.value or "", major)
        if what:
            yield Hit(
                part.span,
                f"LD_LIBRARY_PATH names {part.value}, where {what} lies, while the wheels bring cuDNN too: parts of the two "
                "get mixed and calls fail with CUDNN_STATUS errors",
                "leave that directory off LD_LIBRARY_PATH",
            )


def _other(file: FileFacts, stage: StageFacts, path: str, major: int | None) -> str:
    """What other cuDNN a directory holds, "" for none."""
    if not path or _WHEELS.search(path):
        return ""
    if _SYSTEM.fullmatch(path):
        for package in _packages(file, stage):
            match = _APT.fullmatch(package.name)
            if match and major in (None, int(match["major"])):
                return f"the {package.name} of the distribution"
        tag = stage.root.cuda_tag
        if tag is None or not tag.cudnn:
            return ""
        base = int(tag.cudnn[5:]) if tag.cudnn[5:].isdigit() else None
        return "the cuDNN of the base" if base is None or major in (None, base) else ""
    if path.rstrip("/").endswith("/lib"):
        prefix = path.rstrip("/").removesuffix("/lib")
        for install in file.conda_of(stage):
            at = install.environment or "/opt/conda"
            same = at == prefix or prefix.endswith((f"/envs/{at}", "/conda", "/miniconda3"))
            if same and install.find("cudnn"):
                return "the cuDNN of conda"
    return ""


def _beside(file: FileFacts, stage: StageFacts, found: tuple[Wanted, int | None]) -> Iterator[Hit]:
    """A package of cuDNN that nothing in sight reads."""
    packages = _packages(file, stage)
    if not packages or stage.env.get("LD_LIBRARY_PATH", "") is None:
        return
    one = packages[0]
    yield Hit(
        one.span,
        f"{one.name} is installed beside {found[0].name}, whose wheels bring their cuDNN along and do not read this one",
        "leave the package out, unless a program of yours links with it",
        cost=typical("cudnn", of="cudnn"),
        severity="note",
    )


def _read_by_others(file: FileFacts, stage: StageFacts) -> bool:
    for install in file.shipped_python(stage):
        if not install.complete or any(one.name in _USERS or one.from_source for one in install.wanted):
            return True
    if any(call.name in _COMPILES or "setup.py" in call.text for call in file.calls_of(stage)):
        return True
    copied = any(copy.from_stage is not None for copy in file.chain_copies(stage))
    infer = any(
        "nvinfer" in one.name or "tensorrt" in one.name
        for call in file.system_of(stage)
        for one in call.packages
    )
    return copied or infer


RULE = Rule("GI509", "cudnn-mixed", "warning", check)
