"""Dockerfiles like those of GPU services, made by chance from a seed: twenty lines, several RUN each."""

from __future__ import annotations

import random
from pathlib import Path

_BASES = (
    "nvidia/cuda:12.4.1-devel-ubuntu22.04", "nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04", "python:3.12-slim",
    "pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "ubuntu:22.04", "nvidia/cuda:13.0.1-base-ubuntu24.04",
    "python:3.11-slim-bookworm", "nvcr.io/nvidia/pytorch:25.03-py3",
)  # fmt: skip
_WHEELS = (
    "torch==2.8.0 --index-url https://download.pytorch.org/whl/cu128", "transformers accelerate", "vllm==0.11.0",
    "flash-attn==2.8.3 --no-build-isolation", "numpy==2.3.5 pandas scipy", "onnxruntime-gpu", "fastapi uvicorn[standard]",
    "'jax[cuda12]'", "-r requirements.txt", "xformers --extra-index-url https://download.pytorch.org/whl/cu126",
)  # fmt: skip
_PACKAGES = (
    "git",
    "curl",
    "wget",
    "build-essential",
    "python3-pip",
    "libgl1",
    "ffmpeg",
    "cmake",
    "ninja-build",
    "vim",
)
_ENVS = (
    "CUDA_HOME=/usr/local/cuda", 'TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"', "LD_LIBRARY_PATH=/usr/local/cuda/lib64",
    "PYTHONUNBUFFERED=1", "NVIDIA_VISIBLE_DEVICES=all", "HF_HOME=/models", "PATH=/opt/venv/bin:$PATH",
)  # fmt: skip


def dockerfile(chance: random.Random, lines: int = 20) -> str:
    """One Dockerfile of about so many lines; every third has two stages."""
    two = chance.random() < 1 / 3
    out = [f"FROM {chance.choice(_BASES)}{' AS build' if two else ''}"]
    while len(out) < lines - 3:
        out += _step(chance)
        if two and len(out) >= lines // 2:
            out.append(f"FROM {chance.choice(_BASES)}")
            out.append("COPY --from=build /opt/venv /opt/venv")
            two = False
    return "\n".join([*out, "COPY . /app", "WORKDIR /app", 'CMD ["python3", "-m", "app"]']) + "\n"


def _step(chance: random.Random) -> list[str]:
    kind = chance.randrange(6)
    if kind == 0:
        names = chance.sample(_PACKAGES, chance.randint(2, 6))
        clean = chance.choice(("", " \\", ""))
        lines = ["RUN apt-get update && apt-get install -y \\", f"      {' '.join(names)}{clean}"]
        return [*lines, " && rm -rf /var/lib/apt/lists/*"] if clean else lines
    if kind in (1, 2):
        tool = chance.choice(
            ("pip install", "pip install --no-cache-dir", "uv pip install --system", "python3 -m pip install")
        )
        return [f"RUN {tool} {chance.choice(_WHEELS)}"]
    if kind == 3:
        return [f"ENV {chance.choice(_ENVS)}"]
    if kind == 4:
        return [
            "RUN git clone https://example.com/ext.git /src && cd /src && python3 setup.py install && rm -rf /src"
        ]
    return [f"RUN wget -q https://example.com/model-{chance.randrange(99)}.bin -O /models/m.bin || true"]


def write(folder: Path, count: int, seed: int = 1) -> list[Path]:
    """Write so many Dockerfiles, each in a directory of its own."""
    chance = random.Random(seed)  # the same files in every run
    paths = []
    for number in range(count):
        path = folder / f"service-{number:04d}" / "Dockerfile"
        path.parent.mkdir(parents=True)
        path.write_text(dockerfile(chance), encoding="utf-8")
        paths.append(path)
    return paths
