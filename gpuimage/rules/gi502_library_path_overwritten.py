"""ENV LD_LIBRARY_PATH drops what the base image had in it.

## Why
The CUDA images, and those of PyTorch and NGC that stand on them, set LD_LIBRARY_PATH to
`/usr/local/nvidia/lib:/usr/local/nvidia/lib64` and to directories of their own (Dockerfiles of the CUDA container
sources). An ENV without the old value takes its place. Where the host puts the driver into /usr/local/nvidia, as the
device plugin of GKE does, libcuda.so.1 is no longer found; on NGC images the vendor's own libraries are lost too.

## Cost
No bytes: the GPU, or a library, is not found at run time.

## Instead
Keep the old value behind the new one.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
ENV LD_LIBRARY_PATH=/opt/lib
CMD ["/app"]
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04
ENV LD_LIBRARY_PATH=/opt/lib${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}
CMD ["/app"]
```

## Not judged
Bases that set no LD_LIBRARY_PATH or that nobody knows, stages that do not ship, an empty value, values that only the
build knows, values that name the CUDA or NVIDIA directories themselves, and a reset that a comment above explains.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.environment import Setting, comment_above, settings

_VARIABLE = "LD_LIBRARY_PATH"
_KINDS = ("cuda", "pytorch", "ngc", "ngc-torch")
_KEEPS = pattern(r"/usr/local/(nvidia|cuda[^/]*)/")
_EXPLAINED = pattern(
    r"(?i)reset|overrid|overwrit|replac|on purpose|deliberate|intention|\bdrop|\bclear|instead of|without the|not the"
)


def check(file: FileFacts) -> Iterator[Hit]:
    """The ENV that loses the base's value for good, in each image."""
    if _VARIABLE not in file.source.text:
        return
    for stage in file.targets:
        if stage.root.kind not in _KINDS or _VARIABLE not in stage.root.env:
            continue
        lost = _lost(stage)
        if lost is None or _EXPLAINED.search(comment_above(file, lost.step)):
            continue
        old = stage.root.env[_VARIABLE]
        yield Hit(
            Span(lost.name.span.start, lost.given.span.end),
            f"LD_LIBRARY_PATH loses the value that {stage.root.text} sets ({old or 'its own libraries, as far as known'}): "
            "hosts that mount the driver there no longer find libcuda.so.1",
            f"keep it: {_VARIABLE}={lost.text}{_BEHIND}",
            fix=_kept(lost),
        )


def _lost(stage: StageFacts) -> Setting | None:
    """The setting behind which nothing of the base's value is left."""
    lost = None
    for setting in settings(stage, _VARIABLE):
        value = setting.value
        if not setting.uses(_VARIABLE):
            known = value is not None and value.strip(": ") != ""
            lost = setting if known else None
        if lost is not None and (
            value is None or any(_KEEPS.search(f"{part.value or part.raw}/") for part in setting.parts(":"))
        ):
            lost = None
    return lost


_BEHIND = "${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}"


def _kept(setting: Setting) -> Fix:
    """The old value behind the new one, inside double quotes where the value has them."""
    end = setting.given.span.end - (1 if setting.text.endswith('"') else 0)
    return Fix("keep the old LD_LIBRARY_PATH", (Edit(Span(end, end), _BEHIND),), safe=True)


RULE = Rule("GI502", "library-path-overwritten", "warning", check, fix="safe")
