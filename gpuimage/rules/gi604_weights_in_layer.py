"""Model weights are downloaded into a layer.

## Why
Weights in a layer are pushed and pulled with the image, and again whenever a step before them changes. They seldom change
with the code, and a node that already has them cannot share them between images.

## Cost
The size of the weights: 0.1 to 140 GB by the model (notes on linting, 2026-12). The sum is not known here.

## Instead
Mount them when the container runs (a volume, a bucket), or fetch them at the first start into a volume. An image that must
work without network keeps them in a stage or layer of their own, before the code.

## Bad
```dockerfile
FROM python:3.12-slim
RUN huggingface-cli download acme/writer-8b --local-dir /models/writer
```

## Good
```dockerfile
FROM python:3.12-slim
ENV HF_HOME=/models
VOLUME /models
```

## Not judged
Downloads into a cache mount, tokenizers and configurations alone, and scripts that fetch without saying so here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.facts import Change, FileFacts, Step
from gpuimage.facts.runs import Call
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.caches import removes
from gpuimage.rules.shared import shipped_steps

_WEIGHTS = pattern(
    r"(?i)[^?]*\.(safetensors|gguf|ggml|ckpt|pth|pt|onnx|engine|h5|tflite|caffemodel|weights|pdparams)(\?.*)?"
)
_BIN = pattern(r"(?i)[^?]*(huggingface\.co|hf-mirror\.com|model)[^?]*\.bin(\?.*)?")
_LOADS = pattern(
    r"snapshot_download\(|hf_hub_download\(|\bload_model\(|whisper\.load|torch\.hub\.load\(|hub\.download|pipeline\(|from_pretrained\("
    r"|SentenceTransformer\(|WhisperModel\(|spacy\.cli\.download"
)
_SMALL = pattern(r"(Auto)?(\w*Tokenizer\w*|\w*Config|\w*Processor|\w*FeatureExtractor)\.from_pretrained\(")
_LFS = "what git lfs holds"
_HOSTS = pattern(
    r"https?://(\S*@)?(huggingface\.co|hf-mirror\.com|www\.modelscope\.cn)/(?!docs|spaces|datasets)"
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every download in a layer that ships."""
    for _, step in shipped_steps(file):
        if step.instruction.keyword == "ADD" and not step.instruction.onbuild:
            yield from _added(step)
        for call in step.calls:
            what = _by_tool(call)
            if what and not _elsewhere(step, call):
                yield _hit(call, what)
        for change in file.changes(step):
            if (
                _fetched(change)
                and change.path
                and not _mounted(step, change.path)
                and not removes(file, step, change.call, change.path)
            ):
                yield _hit(change.call, change.source.partition("?")[0].rpartition("/")[2] or change.source)


def _fetched(change: Change) -> bool:
    if change.kind == "cloned":
        return bool(_HOSTS.match(change.source))
    return change.kind == "fetched" and bool(
        _WEIGHTS.fullmatch(change.source) or _BIN.fullmatch(change.source)
    )


def _by_tool(call: Call) -> str | None:
    """What a tool of model hosts, or a line of Python, downloads."""
    words = [value for value in call.values if not value.startswith("-")]
    if call.name in ("huggingface-cli", "hf") and words[:1] == ["download"]:
        files = [word for word in words[2:] if "." in word]
        small = files and all(re.fullmatch(r".*\.(json|txt|md|model|vocab)", name) for name in files)
        return words[1] if len(words) > 1 and not small and "--repo-type=dataset" not in call.text else None
    if call.name == "ollama" and words[:1] == ["pull"]:
        return words[1] if len(words) > 1 else None
    if call.name == "git" and words[:2] == ["lfs", "pull"]:
        return _LFS
    if call.name.startswith("python") and "-c" in call.values:
        code = call.values[call.values.index("-c") + 1] if call.values[-1] != "-c" else ""
        loads = len(_LOADS.findall(code))
        return "the model that this Python loads" if loads > len(_SMALL.findall(code)) else None
    return None


def _mounted(step: Step, path: str) -> bool:
    return any(mount.kind in ("cache", "tmpfs") and mount.covers(path) for mount in step.mounts)


def _elsewhere(step: Step, call: Call) -> bool:
    """Whether it goes into a mount: where an option or a variable says, or the hub's cache."""
    for name in ("--local-dir", "--cache-dir"):
        for at, value in enumerate(call.values):
            if value == name and at + 1 < len(call.values):
                return _mounted(step, call.absolute(call.values[at + 1]) or "")
            if value.startswith(f"{name}="):
                return _mounted(step, call.absolute(value.partition("=")[2]) or "")
    for variable in ("HF_HUB_CACHE", "HF_HOME", "TRANSFORMERS_CACHE", "TORCH_HOME", "XDG_CACHE_HOME"):
        home = call.variable(variable)
        if isinstance(home, str) and home:
            return _mounted(step, home)
    cache = f"{step.home}/.cache/"
    return any(_mounted(step, cache + one) for one in ("huggingface", "torch", "whisper"))


def _added(step: Step) -> Iterator[Hit]:
    for value in step.instruction.values[:-1]:
        if value.text.startswith("http") and (_WEIGHTS.fullmatch(value.text) or _BIN.fullmatch(value.text)):
            name = value.text.partition("?")[0].rpartition("/")[2]
            yield Hit(
                value.span,
                f"the weights {name} become a layer of the image",
                "mount them when the container runs",
            )


def _hit(call: Call, what: str) -> Hit:
    shown = re.sub(r"//[^/@\s]+@", "//", what)
    return Hit(
        call.span,
        f"{'large files' if what == _LFS else 'model weights'} ({shown}) are downloaded into a layer: they are pushed and pulled with every image",
        "mount them when the container runs, or keep them in a layer of their own before the code",
    )


RULE = Rule("GI604", "weights-in-layer", "warning", check)
