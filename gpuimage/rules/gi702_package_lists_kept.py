"""The package lists of apt, dnf or apk stay in a layer.

## Why
`apt-get update` fills /var/lib/apt/lists, `dnf` and `yum` keep metadata below /var/cache, `apk` below /var/cache/apk. Only
the package manager reads them, and they are out of date the next day. A later step that deletes them saves nothing:
layers only add.

## Cost
About 20 MB for Debian 12 (measured 2026-12), up to about 60 MB for Ubuntu, once for each layer.

## Instead
Delete them at the end of the same RUN (`rm -rf /var/lib/apt/lists/*`, `dnf clean all`, `apk add --no-cache`), or mount
caches over /var/lib/apt and /var/cache/apt.

## Bad
```dockerfile
FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends curl
```

## Good
```dockerfile
FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends curl && rm -rf /var/lib/apt/lists/*
```

## Not judged
Stages whose layers do not ship. `apt-get clean` and the hooks of Debian's images remove packages, not the lists.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.dockerfile import Span
from gpuimage.facts import FileFacts, StageFacts, Step, SystemCall
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.caches import cleans_up, mounted, removes
from gpuimage.rules.costs import typical
from gpuimage.rules.shared import shipped_steps

_PATHS = {
    "apt": "/var/lib/apt/lists",
    "dnf": "/var/cache",
    "apk": "/var/cache/apk",
    "zypper": "/var/cache/zypp",
}
_CLEAN = {
    "apt": "rm -rf /var/lib/apt/lists/*",
    "dnf": "dnf clean all",
    "apk": "apk add --no-cache",
    "zypper": "zypper clean --all",
}


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every step of a layer that ships and calls a package manager."""
    for stage, step in shipped_steps(file):
        calls = file.system(step)
        for manager in dict.fromkeys(call.manager for call in calls):
            own = [call for call in calls if call.manager == manager]
            filling = [call for call in own if _fills(call)]
            if filling and not _cleaned(file, step, own, filling[-1]):
                yield _hit(file, stage, step, own, filling)


def _fills(call: SystemCall) -> bool:
    if call.manager == "apt":
        return call.verb == "update"
    if call.manager == "apk":
        return (call.verb in ("update", "add") and not call.given.has("--no-cache")) and (
            call.verb == "update" or call.given.has("-U", "--update-cache", "--update")
        )
    return call.installs


def _cleaned(file: FileFacts, step: Step, own: list[SystemCall], last: SystemCall) -> bool:
    path = _PATHS[last.manager]
    if cleans_up(file, step, last.call):
        return True
    if mounted(step, path) or (
        last.manager == "dnf" and (mounted(step, "/var/cache/dnf") or mounted(step, "/var/cache/yum"))
    ):
        return True
    if last.manager in ("dnf", "zypper") and any(call.verb == "clean" for call in own):
        return True
    paths = (path, "/var/cache/dnf", "/var/cache/yum") if last.manager == "dnf" else (path,)
    if any(removes(file, step, last.call, one) for one in paths):
        return True
    return last.manager == "dnf" and "microdnf" in last.call.name and any(c.verb == "clean" for c in own)


def _hit(
    file: FileFacts, stage: StageFacts, step: Step, own: list[SystemCall], filling: list[SystemCall]
) -> Hit:
    manager = filling[0].manager
    return Hit(
        filling[0].call.span,
        f"the package lists of {filling[0].call.name} stay in the layer",
        f"end this RUN with `{_CLEAN[manager]}`" if manager != "apk" else "write `apk add --no-cache`",
        typical("apt-lists") if manager == "apt" else None,
        _fix(step, own) if manager == "apt" else None,
    )


def _fix(step: Step, own: list[SystemCall]) -> Fix | None:
    """Delete the lists behind the last command, where all of the step is one chain of `&&`."""
    calls = step.calls
    if step.instruction.json or step.instruction.heredocs or own[-1].call.script.heredoc:
        return None
    if any(
        call.program.command.before not in ("", "&&") or call.program.command.inside or call.program.through
        for call in calls
    ):
        return None
    end = max(call.span.end for call in calls)
    redirected = max((len(call.program.command.redirections) for call in calls), default=0)
    if redirected:
        return None
    return Fix(
        "delete the package lists in the same layer",
        (Edit(Span(end, end), " && rm -rf /var/lib/apt/lists/*"),),
        safe=True,
    )


RULE = Rule(
    "GI702", "package-lists-kept", "note", check, "safe", ("DL3009", "DL3019", "DL3032", "DL3036", "DL3040")
)
