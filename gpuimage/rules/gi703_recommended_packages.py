"""apt installs recommended packages that nobody asked for.

## Why
apt installs what a package recommends unless it is told not to. For `python3-pip` that is build-essential, for many
libraries documentation, desktop files and drivers' user space.

## Cost
50 to 400 MB, by what is asked for (an estimate from notes on linting, 2026-12).

## Instead
`apt-get install --no-install-recommends`, and name what is really needed.

## Bad
```dockerfile
FROM ubuntu:22.04
RUN apt-get update && apt-get install -y python3-pip && rm -rf /var/lib/apt/lists/*
```

## Good
```dockerfile
FROM ubuntu:22.04
RUN apt-get update && apt-get install -y --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
```

## Not judged
Stages whose layers do not ship, images that switch recommendations off in apt's configuration, and which recommended
packages are wanted after all: the fix changes what is installed, so it is only suggested.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.costs import typical
from gpuimage.rules.shared import shipped_steps

# Packages whose recommendations are known to be large.
_LARGE = frozenset(
    {
        "python3-pip",
        "build-essential",
        "git",
        "cmake",
        "ffmpeg",
        "openmpi-bin",
        "libopencv-dev",
        "python3-opencv",
    }
)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every apt install of a layer that ships."""
    for stage, step in shipped_steps(file):
        for call in file.system(step):
            if call.manager != "apt" or call.verb != "install" or not call.packages:
                continue
            if (
                call.given.has("--no-install-recommends", "--install-recommends")
                or _by_option(call.call.text)
                or _configured(file, stage)
            ):
                continue
            large = [one.name for one in call.packages if one.name in _LARGE]
            verb = call.given.words[0]
            end = call.call.place(verb).end
            edit = Edit(Span(end, end), " --no-install-recommends")
            yield Hit(
                call.call.span,
                f"{call.call.name} also installs what {', '.join(large[:3]) or 'these packages'} only "
                f"{'recommends' if len(large) == 1 else 'recommend'}",
                "add --no-install-recommends and name what is needed",
                typical("apt-recommends") if large else None,
                Fix("add --no-install-recommends", (edit,)),
            )


def _by_option(text: str) -> bool:
    lowered = text.lower()
    return "install-recommends" in lowered and (
        "=0" in lowered or "=false" in lowered or '"0"' in lowered or "=no" in lowered
    )


def _configured(file: FileFacts, stage: StageFacts) -> bool:
    """Whether a file below /etc/apt says it for all installs."""
    return file.once("recommends", stage.steps[0], lambda: _writes_option(file, stage))


def _writes_option(file: FileFacts, stage: StageFacts) -> bool:
    written = any(
        "Install-Recommends" in call.text
        and any(
            change.kind == "made" and (change.path or "").startswith("/etc/apt")
            for change in file.changes(call.step)
        )
        for call in file.calls_of(stage)
    )
    return written or any(
        "Install-Recommends" in step.source[heredoc.body]
        for step in stage.chain
        if step.instruction.keyword in ("COPY", "ADD")
        for heredoc in step.instruction.heredocs
    )


RULE = Rule("GI703", "recommended-packages", "note", check, "suggested", ("DL3015",))
