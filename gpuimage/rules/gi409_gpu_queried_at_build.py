"""A step asks for a GPU while the image is built.

## Why
`docker build` gives no device to its steps. nvidia-smi is not there or fails, `torch.cuda.is_available()` is False, and what
needs a device raises: the build stops, or goes the way that was meant for machines without a GPU.

## Cost
No bytes: the build fails, or makes an image for no GPU.

## Instead
Ask when the container starts. Where a build really needs a card: `RUN --device=nvidia.com/gpu=all` with BuildKit's labs syntax
and CDI.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN nvidia-smi
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
CMD ["sh", "-c", "nvidia-smi && exec /app"]
```

## Not judged
Steps with `RUN --device`, commands that may fail (`|| true`, conditions), text that is only written into files, and scripts
that are not in the Dockerfile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.facts.runs import Call
from gpuimage.finding import Hit, Rule
from gpuimage.rules.shared import built_steps

_TOOLS = frozenset({"nvidia-smi", "deviceQuery", "bandwidthTest", "nvtop", "gpustat"})
_RAISES = re.compile(
    r"torch\.cuda\.(get_device_(name|capability|properties)|current_device|set_device|synchronize|mem_get_info)\(|\.(cuda\(\)|to\(['\"]cuda)"
    r"|device=['\"]cuda|assert .*is_available\(\)|cupy\.cuda\.(Device|runtime)|pynvml\.nvmlInit|jax\.devices\(['\"](gpu|cuda)"
)
_ASKS = re.compile(
    r"torch\.cuda\.(is_available|device_count)\(|list_physical_devices\(['\"]GPU|is_gpu_available\(|jax\.(devices|local_device_count)\(\)"
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at what every step runs."""
    for step in built_steps(file):
        if step.has_device:
            continue
        for call in step.calls:
            if not call.tolerated:
                yield from _judge(call)


def _judge(call: Call) -> Iterator[Hit]:
    if call.name in _TOOLS and not {"--help", "--version", "-h"} & set(call.values):
        yield _hit(call, call.name, "error")
    elif call.name == "nvcc" and ({"--run", "-run"} & set(call.values) or "-arch=native" in call.values):
        yield _hit(call, "nvcc --run" if "-arch=native" not in call.values else "nvcc -arch=native", "error")
    elif call.name.startswith("python") and "-c" in call.values:
        code = " ".join(call.values[call.values.index("-c") + 1 : call.values.index("-c") + 2])
        raising, asking = _RAISES.search(code), _ASKS.search(code)
        if raising:
            yield _hit(call, _shown(raising[0]), "error")
        elif asking:
            yield _hit(call, _shown(asking[0]), "warning")


def _shown(text: str) -> str:
    return text.strip("(.'\"")


def _hit(call: Call, what: str, severity: str) -> Hit:
    follows = "the step fails" if severity == "error" else "the answer is always no"
    return Hit(
        call.span,
        f"{what} queries the GPU during the build, and a build has no GPU: {follows}",
        "ask when the container starts, or give the step a device (RUN --device)",
        severity="error" if severity == "error" else "warning",
    )


RULE = Rule("GI409", "gpu-queried-at-build", "error", check)
