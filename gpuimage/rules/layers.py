"""What the steps of an image put where, and what that weighs as far as it can be known."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from gpuimage.dockerfile import Span
from gpuimage.facts import Copy, FileFacts, StageFacts, Step
from gpuimage.finding import Cost
from gpuimage.patterns import pattern
from gpuimage.tables import Unknown, torch_release

ARCHIVE = pattern(r"(?i).*\.(whl|deb|rpm|run|tar|tar\.(gz|xz|bz2|zst)|tgz|txz|zip|conda)")
_TORCH = pattern(r"torch-(?P<version>[^-]+)-")


class Made(Struct, frozen=True):
    """A path that a step makes: by COPY or ADD, a download, a clone, an unpacked archive."""

    path: str
    step: Step
    span: Span
    kind: str
    source: str = ""
    copy: Copy | None = None


def made(file: FileFacts, stage: StageFacts) -> Iterator[Made]:
    """The paths that a stage's parents and the stage itself make, in order."""
    copies = {id(copy.step): copy for copy in file.chain_copies(stage)}
    for step in stage.chain:
        copy = copies.get(id(step))
        if copy is not None:
            for source, path in copy.places():
                yield Made(path, step, copy.span, "copied", source, copy)
        for change in file.changes(step):
            if change.kind in ("fetched", "cloned", "unpacked") and change.path:
                yield Made(change.path, step, change.span, change.kind, change.source)


def bytes_of(file: FileFacts, one: Made, *, of: str = "") -> Cost | None:
    """What a copied path weighs: as it lies beside the Dockerfile, or the wheel of a known torch."""
    if one.copy is not None and not one.copy.from_:
        size = file.context.bytes_of(one.source)
        if size:
            return Cost(size, size, f"{one.source} beside the Dockerfile", of)
    match = _TORCH.search(one.source) if one.source.endswith(".whl") else None
    release = torch_release(match["version"].partition("+")[0]) if match else None
    if release is None or isinstance(release, Unknown):
        return None
    return Cost(
        release.wheel_bytes,
        release.wheel_bytes,
        f"the wheel of torch {release.version} ({release.source})",
        of,
    )


def key(step: Step) -> str:
    """Names the bytes of a step, for findings that speak of the same ones."""
    return f"layer:{step.instruction.line}"
