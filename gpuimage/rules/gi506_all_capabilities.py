"""NVIDIA_DRIVER_CAPABILITIES=all where nothing but compute is used.

## Why
`all` mounts the driver's OpenGL, Vulkan, video and display libraries and their devices into the container beside what
CUDA needs; a service that only computes has no use for them, and more of the host is in reach (documentation of the
container toolkit).

## Cost
No bytes: a wider surface, and a start that does more than it must.

## Instead
`compute,utility`, which is the default of the toolkit and of the CUDA images.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
ENV NVIDIA_DRIVER_CAPABILITIES=all
RUN pip install --no-cache-dir torch==2.6.0
CMD ["/app"]
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install --no-cache-dir torch==2.6.0
CMD ["/app"]
```

## Not judged
Images of which too little is known to say that they only compute: on other bases, without any known CUDA project, or
with installs that hang on files or variables. Images with any package of graphics, video, X11 or desktops, and images for
development (`deploy = "dev"`).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.capabilities import may_need_more
from gpuimage.rules.environment import last_settings
from gpuimage.rules.shared import brings_cuda

_VARIABLE = "NVIDIA_DRIVER_CAPABILITIES"
_KNOWN = ("cuda", "pytorch", "python", "plain", "conda", "tensorflow")


def check(file: FileFacts) -> Iterator[Hit]:
    """The value that counts in each image."""
    if _VARIABLE not in file.source.text or file.settings.deploy == "dev":
        return
    for stage, setting in last_settings(file, _VARIABLE):
        words = [part.strip() for part in (setting.value or "").split(",")]
        if "all" not in words or "$" in setting.text or stage.root.kind not in _KNOWN:
            continue
        if not _computes(file, stage) or may_need_more(file, stage):
            continue
        yield Hit(
            setting.given.span,
            "all driver capabilities are asked for and nothing here uses more than compute: graphics, video and display "
            "libraries of the host come into the container too",
            f"{_VARIABLE}=compute,utility",
            fix=Fix("ask for compute and utility", (Edit(setting.given.span, "compute,utility"),)),
        )


def _computes(file: FileFacts, stage: StageFacts) -> bool:
    """Whether all that is installed is known, and CUDA is among it."""
    found = list(file.shipped_python(stage))
    return all(one.complete for one in found) and any(
        brings_cuda(one, wanted) for one in found for wanted in one.wanted
    )


RULE = Rule("GI506", "all-capabilities", "note", check, fix="suggested")
