"""A recursive chown or chmod stores a second copy of what earlier layers hold.

## Why
To change the owner or mode of a file of a lower layer, the storage driver copies the whole file into the new one. Run
recursively over an installed environment, the step stores all of it again.

## Cost
The size of the tree: 9 GB in one project (topoteretes/cognee#3753), 3.8 GiB in another (stackabletech/docker-images#961).

## Instead
`COPY --chown=…` or `--chmod=…`, `USER` before the install, or the chown in the RUN that made the files.

## Bad
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir --target /opt/site torch==2.9.1
RUN chown -R 1000:1000 /opt/site
```

## Good
```dockerfile
FROM python:3.12-slim
RUN pip install --no-cache-dir --target /opt/site torch==2.9.1 && chown -R 1000:1000 /opt/site
COPY --chown=1000:1000 app /app
```

## Not judged
Stages whose layers do not ship, paths that nothing here fills, and trees that are known to be small.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import Call, Change, FileFacts, StageFacts, covers
from gpuimage.finding import Cost, Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.costs import torch_bytes
from gpuimage.rules.layers import bytes_of, key, made

_SYSTEM = pattern(
    r"/(usr|usr/local|opt|opt/conda|opt/venv|usr/local/lib(/python[\d.]+(/(site|dist)-packages)?)?)(/\*)?"
)
_SMALL = 10**7  # bytes


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every recursive change of owner or mode in a layer that ships."""
    for stage in file.targets:
        for step in stage.chain:
            for change in file.changes(step):
                if change.kind == "owned" and change.path and change.path not in ("/tmp", "/var/tmp"):
                    yield from _judge(file, stage, change)


def _judge(file: FileFacts, stage: StageFacts, change: Change) -> Iterator[Hit]:
    path, here = change.path or "", change.call.step
    start = here.instruction.span.start
    if any(mount.covers(path) for mount in here.mounts):
        return
    installs = [one for one in file.python_of(stage) if one.call.span.start < start and not one.builds]
    inside = [one for one in installs if one.target and covers(path, one.target)]
    inside += [one for one in installs if not one.target and _SYSTEM.fullmatch(path)]
    if inside:
        torch = next(
            (
                cost
                for one in inside
                if (w := one.find("torch", "vllm")) and (cost := torch_bytes(w, one, of=key(here)))
            ),
            None,
        )
        yield _hit(
            change,
            f"the packages that line {inside[-1].call.step.instruction.line} installed",
            torch,
            "warning",
        )
        return
    filled = [
        one for one in made(file, stage) if one.step.instruction.span.start < start and covers(path, one.path)
    ]
    costs = [cost for one in filled if (cost := bytes_of(file, one))]
    if not filled:
        return
    total = sum(cost.high for cost in costs)
    if costs and len(costs) == len(filled) and total < _SMALL:
        return
    cost = Cost(total, total, "what lies beside the Dockerfile", key(here)) if total >= _SMALL else None
    heavy = total >= 10 * _SMALL or any(one.copy is not None and one.copy.from_ for one in filled)
    lines = ", ".join(dict.fromkeys(str(one.step.instruction.line) for one in filled[:3]))
    yield _hit(change, f"what line {lines} put there", cost, "warning" if heavy else "note")


def _may_not_run(call: Call) -> bool:
    """Whether it stands in a branch, so that a build may pass it by."""
    return bool({"if", "case"} & set(call.program.command.inside))


def _hit(change: Change, what: str, cost: Cost | None, severity: str) -> Hit:
    name = change.call.name
    return Hit(
        change.call.span,
        f"{name} -R on {change.path} in a layer of its own stores {what} a second time",
        f"use COPY --{'chmod' if name == 'chmod' else 'chown'}, or run {name} in the RUN that makes the files",
        cost,
        severity="warning" if severity == "warning" and not _may_not_run(change.call) else "note",
    )


RULE = Rule("GI603", "recursive-ownership", "warning", check)
