"""Packages of conda: what PyPI has under a name that is known for sure, the Python, and the CUDA."""

from __future__ import annotations

import re
from pathlib import Path

from gpuimage.errors import Location, SpecError
from gpuimage.facts.conda import EnvironmentSyntaxError, environment
from gpuimage.init.notes import Notes
from gpuimage.init.packages import index, requirements_file, want
from gpuimage.patterns import pattern
from gpuimage.spec.files import read_text

_LARGEST = 4_000_000  # bytes
_ENTRY = pattern(
    r"(?:[^\s:]+::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)\s*(?:\[[^\]]*\])?\s*(?P<spec>(?:[=<>!~].*|\d.*)?)",
    re.DOTALL,
)
# A version with a build behind it, and bounds.
_EXACT = pattern(r"(?P<sign>={0,2})\s*(?P<version>\d+(?:\.\d+)*)(?P<star>\.?\*)?(?:[=\s]+\S+)?")
_RANGE = pattern(r"(?:[<>]=?|!=|~=)\s*[\w.*]+(?:\s*,\s*(?:[<>]=?|!=|~=)\s*[\w.*]+)*")
# Projects with another name on PyPI.
_OTHER_NAMES = {
    "pytorch": "torch",
    "pytorch-gpu": "torch",
    "pysoundfile": "soundfile",
    "huggingface_hub": "huggingface-hub",
}
# Projects with the same name there, whose wheels stand alone.
_SAME_NAMES = frozenset(
    "accelerate aiohttp albumentations click datasets diffusers einops fastapi filelock fsspec gdown gradio h5py httpx "
    "huggingface-hub hydra-core imageio jinja2 joblib kornia librosa lightning loguru matplotlib networkx nltk numba "
    "numpy omegaconf onnx onnxruntime packaging pandas peft pillow plotly protobuf psutil pyarrow pydantic pydub pytest "
    "python-dateutil pytorch-lightning pyyaml regex requests rich safetensors scikit-image scikit-learn scipy seaborn "
    "sentencepiece six soundfile sympy tensorboard tifffile timm tokenizers torchaudio torchmetrics torchvision tqdm "
    "transformers typer uvicorn wandb websockets xformers".split()
)
_CUDA = frozenset({"pytorch-cuda", "cudatoolkit", "cuda-version", "cuda", "cuda-toolkit"})
_NEEDLESS = pattern(
    r"conda|mamba|pip|setuptools|wheel|cuda-.*|cudnn|nccl|lib(cu|nv)\S*|pytorch-mutex|mkl.*|blas|_\S*"
)


def environment_file(notes: Notes, path: Path) -> None:
    """Take what an environment.yml asks for; SpecError with the place for what is none."""
    name = notes.relative(path) or path.name
    text = read_text(path, "conda environment", _LARGEST)
    try:
        found = environment(text)
    except EnvironmentSyntaxError as error:
        where = Location(path, error.line or None, error.column or None)
        raise SpecError(f"this is no conda environment: {error.reason}", where=where) from None
    lines = text.splitlines()

    def place(entry: str) -> str:
        number = next((number for number, line in enumerate(lines, start=1) if entry in line), None)
        return f"{name}:{number}" if number else name

    for entry in found.conda:
        conda_entry(notes, entry, place(entry))
    for entry in found.pip:
        pip_entry(notes, path.parent, entry, place(entry))


def pip_entry(notes: Notes, directory: Path, entry: str, where: str) -> None:
    """Take what an environment hands to pip: a requirement, or an option."""
    option, _, value = (
        entry.replace("=", " ", 1).partition(" ") if entry.startswith("--") else entry.partition(" ")
    )
    if option in ("-r", "--requirement"):
        requirements_file(notes, directory / value.strip(), where)
    elif option in ("-i", "--index-url", "--extra-index-url", "-f", "--find-links"):
        index(notes, value.strip(), where, extra=option not in ("-i", "--index-url"))
    elif option in ("-e", "--editable"):
        want(notes, value.strip(), where)
    elif not entry.startswith("-"):
        want(notes, entry, where)
    else:
        notes.leave(entry, where, "an option of pip")


def conda_entry(notes: Notes, entry: str, where: str) -> None:
    """Take one package: `numpy=1.26`, `conda-forge::pytorch>=2.1`."""
    match = _ENTRY.fullmatch(entry.strip())
    name = match["name"].lower() if match else ""
    version = pip_version(match["spec"]) if match else None
    pypi = _OTHER_NAMES.get(name, name if name in _SAME_NAMES else None)
    if name == "python":
        _python(notes, match["spec"] if match else "", where)
    elif name in _CUDA:
        _cuda(notes, name, match["spec"] if match else "", where)
    elif _NEEDLESS.fullmatch(name):
        notes.leave(name, where, "the wheels bring their own libraries, and the build its own pip")
    elif pypi is None:
        notes.leave(
            name or entry, where, "no name of it on PyPI is known for sure: add it to `wheels`, or to `apt`"
        )
    elif version is None:
        notes.leave(entry, where, "this version of conda's cannot be written for pip")
    else:
        want(notes, pypi + version, where, f"conda's {name}" if pypi != name else "")


def pip_version(spec: str) -> str | None:
    """A version as conda writes it for pip: `=1.2` is `==1.2.*`; None for what pip has no words for."""
    text = spec.strip()
    if not text or _RANGE.fullmatch(text):
        return text.replace(" ", "")
    exact = _EXACT.fullmatch(text)
    if exact is None:
        return None
    whole = exact["sign"] == "==" or exact["version"].count(".") >= 2
    return f"=={exact['version']}" if whole and not exact["star"] else f"=={exact['version']}.*"


def _minor(spec: str) -> str | None:
    match = re.match(r"\s*(?:=|==)?\s*(\d+\.\d+)", spec)
    return match[1] if match else None


def _python(notes: Notes, spec: str, where: str) -> None:
    minor = _minor(spec)
    if minor is None:
        notes.leave(f"python{spec}", where, "it names no one version") if spec else None
    elif notes.get(("python",)) is None:
        notes.put(("python",), minor, where)


def _cuda(notes: Notes, name: str, spec: str, where: str) -> None:
    minor = _minor(spec)
    if minor is None:
        notes.leave(name, where, "the wheels bring CUDA along")
    elif notes.get(("cuda",)) is None:
        notes.put(("cuda",), minor, where, f"conda's {name}")
