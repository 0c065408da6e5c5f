"""A step of the build asks for a GPU that a build does not have.

## Why
A RUN sees no device and no driver unless BuildKit gives it one. `nvidia-smi` comes with the driver of the host and is not
found; `torch.cuda.get_device_name()` and its like raise; `torch.cuda.is_available()` says False, and a script takes the
branch for machines without a GPU (rahul-goel/fused-ssim#19, cartesia-one/csm.rs#3).

## Cost
No bytes: the build fails, or makes an image for no GPU.

## Instead
Ask when the container starts; give the build what it needs to know (GI401); or, where it must have a card, use
`RUN --device=nvidia.com/gpu=all` with BuildKit's labs syntax.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
RUN nvidia-smi
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
CMD ["sh", "-c", "nvidia-smi && exec /app/run"]
```

## Not judged
Steps with `--device`, queries that may fail (`|| true`, `if`), text that is only written somewhere, scripts in files, and
builders whose default runtime lends the GPU to every build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import Call, FileFacts, Step
from gpuimage.finding import Hit, Rule, Severity
from gpuimage.patterns import pattern
from gpuimage.rules.compiling import inner
from gpuimage.rules.shared import built_steps

_PROGRAMS = frozenset({"nvidia-smi", "deviceQuery", "bandwidthTest", "nvidia-settings", "gpustat", "nvitop"})
# What needs a device to answer at all.
_RAISES = pattern(
    r"torch\.cuda\.(?:get_device_(?:name|capability|properties)|current_device|set_device|mem_get_info|synchronize)\s*\("
    r"|assert\s+[^;\n]*(?:is_available|device_count|is_gpu_available|list_physical_devices)\s*\("
    r"|sys\.exit\s*\(\s*(?:0\s+if|not)\s+[^;\n]*cuda\.is_available\s*\("
    r"|\.cuda\.runtime\.getDevice(?:Count|Properties)\s*\(|nvmlInit\s*\(|\.cuda\s*\(\s*\)|\.to\s*\(\s*['\"]cuda"
    r"|device\s*=\s*['\"]cuda|jax\.devices\s*\(\s*['\"](?:gpu|cuda)"
)
# What answers no.
_ASKS = pattern(
    r"cuda\.(?:is_available|device_count)\s*\(|is_gpu_available\s*\(|list_physical_devices\s*\(\s*['\"]GPU"
    r"|is_built_with_gpu_support\s*\(|get_available_providers\s*\("
)
_BOTH_WAYS = pattern(r"\bif\s+(?:not\s+)?[\w.]*cuda\.is_available\s*\(\s*\)")
_HINT = pattern(r"nvidia-smi|cuda|nvcc|gpu|GPU|deviceQuery|bandwidthTest|nvml|gpustat|nvitop|nvidia-settings")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every command of every build step."""
    for step in built_steps(file):
        one = step.instruction
        if one.keyword != "RUN" or step.has_device or not _HINT.search(file.source[one.span]):
            continue
        for call in step.calls:
            if not call.tolerated:
                yield from _judge(file, step, call)


def _judge(file: FileFacts, step: Step, call: Call) -> Iterator[Hit]:
    name, values = call.name, call.values
    if name in _PROGRAMS:
        yield _hit(call.span, name, "error", "no driver is there, and the step fails")
    elif name == "nvcc" and {"-run", "--run"} & set(values):
        yield _hit(call.span, "nvcc --run", "error", "what is compiled cannot run there")
    elif name == "nvcc" and _native(values):
        yield _hit(call.span, "nvcc -arch=native", "warning", "nvcc takes its default architecture instead")
    elif re.fullmatch(r"(?:python|pypy)[\d.]*", name):
        for code, span in _code(file, step, call):
            yield from _python(code, span)


def _native(values: tuple[str, ...]) -> bool:
    text = " ".join(values)
    return "-arch=native" in text or "-arch native" in text or "gpu-architecture=native" in text


def _code(file: FileFacts, step: Step, call: Call) -> Iterator[tuple[str, Span]]:
    """The Python that a command is given: behind `-c`, or in a heredoc."""
    for at, argument in enumerate(call.arguments[:-1]):
        if re.fullmatch(r"-[bBdEiIOPqsSuvx]*c", str(argument)):
            code = call.arguments[at + 1]
            yield str(code), inner(file, call, code, code.raw)
            return
        if not str(argument).startswith("-"):
            return
    if any(str(argument) not in ("-", "-u") for argument in call.arguments):
        return
    for redirection in call.program.command.redirections:
        if redirection.operator.lstrip("0").startswith("<<") and "<<<" not in redirection.operator:
            for heredoc in step.instruction.heredocs:
                if heredoc.marker.name == str(redirection.target).strip("'\"\\"):
                    yield file.source[heredoc.body], heredoc.body


def _python(code: str, span: Span) -> Iterator[Hit]:
    if "cuda" not in code and "gpu" not in code.lower() and "nvml" not in code:
        return
    raises = _RAISES.search(code)
    if _BOTH_WAYS.search(code) or "try:" in code:
        return
    if raises:
        yield _hit(span, _shown(raises[0]), "error", "the step fails")
        return
    asks = _ASKS.search(code)
    if asks:
        yield _hit(span, _shown(asks[0]), "note", "the answer is always no")


def _shown(text: str) -> str:
    found = re.search(
        r"[\w.]*\b(?:is_available|device_count|is_gpu_available|list_physical_devices|get_device_\w+|\w+)\s*\(",
        text,
    )
    return (found[0].rstrip("( ") if found else text).lstrip(".")


def _hit(span: Span, what: str, severity: Severity, follows: str) -> Hit:
    return Hit(
        span,
        f"{what} queries the GPU at build time, and a build has none: {follows}",
        "ask when the container starts, or give the step a device (RUN --device)",
        severity=severity,
    )


RULE = Rule("GI409", "gpu-queried-at-build", "error", check)
