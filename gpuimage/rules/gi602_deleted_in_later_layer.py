"""A step deletes what an earlier layer holds, so nothing gets smaller.

## Why
Layers only add. `rm` in a later RUN hides the files, and the image still carries them; the same holds for files of the
base image.

## Cost
The size of what was deleted; measured where it lies beside the Dockerfile.

## Instead
Delete in the RUN that made the files, or make them in a stage of its own and copy out what is wanted.

## Bad
```dockerfile
FROM python:3.12-slim
RUN git clone https://github.com/example/tool /src && pip install --no-cache-dir /src
RUN rm -rf /src
```

## Good
```dockerfile
FROM python:3.12-slim
RUN git clone --depth 1 https://github.com/example/tool /src && pip install --no-cache-dir /src && rm -rf /src
```

## Not judged
Stages whose layers do not ship; package lists and download caches (GI701, GI702 speak of those); paths that only the build
knows; single files that nobody here can see being made.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from gpuimage.facts import Change, FileFacts, covers
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.layers import ARCHIVE, Made, bytes_of, key, made

_CACHES = pattern(
    r"/var/(lib/apt|cache)(/.*)?|(/root|/home/[^/]+)/\.cache(/.*)?|/(tmp|var/tmp)(/\*)?|/opt/conda/pkgs(/.*)?|/"
)
_SMALL = pattern(
    r"(?i)\.(sh|bash|py|txt|template|tmpl|json|ya?ml|toml|cfg|conf|ini|lock|patch|diff|list|key|asc|gpg|pub|repo|md|env)$"
)
_WORTH = 10**6  # bytes
# What a build makes in a tree that was copied or cloned; it came with neither.
_BUILT = pattern(r"/(build|dist|_skbuild|__pycache__|CMakeFiles|CMakeCache\.txt|[^/]*\.egg-info)(/|$)")
# Files of the base that people delete in the hope of a smaller image.
_OF_BASE = pattern(r"/usr/local/cuda[^/]*(/.*)?|/opt/nvidia(/.*)?")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every deleted path of a layer that ships."""
    for stage in file.targets:
        earlier = list(made(file, stage))
        for step in stage.chain:
            for change in file.changes(step):
                if (
                    change.kind == "removed"
                    and change.path
                    and change.call.name != "mv"
                    and not _CACHES.fullmatch(change.path)
                ):
                    yield from _judge(file, change, earlier, bool(stage.root.has_cuda))


def _judge(file: FileFacts, change: Change, earlier: Sequence[Made], cuda_base: bool) -> Iterator[Hit]:
    path, here = change.path or "", change.call.step
    start = here.instruction.span.start
    if any(mount.covers(path) for mount in here.mounts):
        return
    if any(one.step is here and _touches(path, one.path) for one in earlier):
        return
    before = [one for one in earlier if one.step.instruction.span.start < start and _touches(path, one.path)]
    # What a step in between already deleted and made again counts by its last making.
    # A script or a list weighs nothing that is worth a word.
    if before and not (_SMALL.search(before[-1].source) and before[-1].kind == "copied"):
        last = before[-1]
        whole = covers(path, last.path)
        cost = bytes_of(file, last, of=key(last.step)) if whole else None
        if (cost is not None and cost.high < _WORTH) or (not whole and not _came_with(file, last, path)):
            return
        line = last.step.instruction.line
        what = {"copied": "copied", "fetched": "downloaded", "cloned": "cloned", "unpacked": "unpacked"}[
            last.kind
        ]
        yield Hit(
            change.span,
            f"{path} {'was' if whole else 'lies in what was'} {what} in line {line}, an earlier layer: deleting it here "
            "frees nothing",
            "delete it in the RUN that made it, or make it in a stage of its own",
            cost,
            severity="note" if not whole or (last.kind == "copied" and _is_small_file(last.source)) else None,
        )
    elif (
        not before
        and cuda_base
        and _OF_BASE.fullmatch(path)
        and not any(_touches(path, one.path) for one in earlier)
    ):
        yield Hit(
            change.span,
            f"{path} belongs to the base image: deleting it here hides it, and the image gets no smaller",
            "take a smaller base, or copy what is needed from this one in a stage",
            severity="note",
        )


def _came_with(file: FileFacts, one: Made, path: str) -> bool:
    """Whether a path below a copied or cloned tree came with it, as far as that can be told."""
    if _BUILT.search(path):
        return False
    if one.copy is None or one.copy.from_ or not file.context.holds(one.source):
        return True
    return file.context.exists(posixpath.join(one.source, posixpath.relpath(path, one.path)))


def _is_small_file(source: str) -> bool:
    """Whether a path is one file, and no archive."""
    return (
        "." in posixpath.basename(source.rstrip("/"))
        and not source.endswith("/")
        and not ARCHIVE.fullmatch(source)
    )


def _touches(path: str, made_path: str) -> bool:
    """Whether deleting a path takes what was made, or a part of it."""
    return covers(path, made_path) or (
        made_path not in ("/", "/tmp", "/usr", "/opt", "/root", "/home") and covers(made_path, path)
    )


RULE = Rule("GI602", "deleted-in-later-layer", "warning", check)
