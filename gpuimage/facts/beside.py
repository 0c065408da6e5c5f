"""The files beside a Dockerfile that it copies or names, and what ends up where in the image."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from msgspec import Struct

from gpuimage.dockerfile import Dockerfile, Span
from gpuimage.facts.stages import StageFacts, Step

_LARGEST = 4_000_000  # bytes; no file that names packages by hand is larger, and a lock seldom is
_MOST = 20_000  # files that are counted of one directory
_HIGHEST = 6  # directories above the Dockerfile that may be the build's context


class Copy(Struct, frozen=True, dict=True):
    """A COPY or ADD: `sources` and `target` with variables resolved, None for what is not known.

    `target` is absolute; `into` says that it is a directory. `from_` names a stage or an image, "" the build context.
    """

    step: Step
    sources: tuple[str | None, ...]
    target: str | None
    into: bool
    from_: str
    from_stage: int | None

    @property
    def span(self) -> Span:
        """The place of the instruction's words."""
        one = self.step.instruction
        return Span(one.keyword_span.start, one.values[-1].span.end) if one.values else one.keyword_span

    def places(self) -> Iterator[tuple[str, str]]:
        """Each source with the absolute path that it has in the image (the directory's, for its contents)."""
        for source in self.sources:
            if source is None or self.target is None:
                continue
            name = posixpath.basename(source.rstrip("/"))
            whole = source.endswith("/") or name in ("", ".", "..")
            if self.into and not whole and not any(char in name for char in "*?["):
                yield source, posixpath.join(self.target, name)
            else:
                yield source, self.target


def copies(stage: StageFacts, dockerfile: Dockerfile) -> Iterator[Copy]:
    """What a stage's own COPY and ADD bring."""
    for step in stage.steps:
        one = step.instruction
        if one.keyword in ("COPY", "ADD") and not one.onbuild and not one.problem and len(one.values) > 1:
            yield _copy(step, dockerfile)


def _copy(step: Step, dockerfile: Dockerfile) -> Copy:
    one = step.instruction
    *texts, last = one.texts
    heredocs = {heredoc.marker.name for heredoc in one.heredocs}
    sources = tuple(
        step.expand(text).value
        for text in texts
        if not (text.startswith("<<") and text.strip("<-\"'\\") in heredocs)
    )
    target = step.expand(last).value
    into = len(sources) > 1 or last.endswith(("/", "/.")) or last in (".", "./")
    if target is not None and not target.startswith("/"):
        target = posixpath.join(step.workdir, target) if step.workdir is not None else None
    from_ = one.flag("from") or ""
    known = (step.expand(from_).value or from_) if from_ else ""
    path = posixpath.normpath(target) if target is not None else None
    return Copy(step, sources, path, into, known, dockerfile.find(known) if known else None)


class Context:
    """The build's context, as far as it can be found: the Dockerfile's directory, or one above it."""

    def __init__(self, directory: Path | None) -> None:
        self.directories = tuple(_upward(directory)) if directory is not None else ()

    def read(self, path: str) -> str | None:
        """The text of a file of the context; None where there is none, or it is too large to be one for people."""
        return next(
            (text for directory in self.directories if (text := _read(directory, path)) is not None), None
        )

    def exists(self, path: str) -> bool:
        """Whether the context has such a file or directory."""
        return any(_inside(directory, path) for directory in self.directories)

    def holds(self, path: str) -> bool:
        """Whether such a file or directory lies right beside the Dockerfile."""
        return bool(self.directories) and _inside(self.directories[0], path) is not None

    def bytes_of(self, path: str) -> int | None:
        """What a file, a directory or a pattern of the context weighs; None where there is none of it."""
        return next((found for one in self.directories if (found := _bytes(one, path)) is not None), None)


def _upward(directory: Path) -> Iterator[Path]:
    """The directory and those above it, up to the one that holds the repository."""
    for number, one in enumerate((directory, *directory.parents)):
        yield one
        if number == _HIGHEST or (one / ".git").exists():
            return


@cache
def _inside(directory: Path, path: str) -> Path | None:
    clean = posixpath.normpath(path.lstrip("/"))
    if clean.startswith("..") or "\0" in clean:
        return None
    found = directory / clean
    try:
        return found if found.exists() else None
    except OSError:
        return None


@cache
def _bytes(directory: Path, path: str) -> int | None:
    clean = posixpath.normpath(path.lstrip("/"))
    if clean.startswith("..") or "\0" in clean:
        return None
    try:
        roots = list(directory.glob(clean)) if any(c in clean for c in "*?[") else [directory / clean]
        files = [
            file for root in roots for file in (_walk(root) if root.is_dir() else [root]) if file.is_file()
        ]
        return sum(file.lstat().st_size for file in files) if files else None
    except (OSError, ValueError, NotImplementedError):
        return None


def _walk(root: Path) -> Iterator[Path]:
    """The files below a directory, up to a number that tells enough."""
    return islice((file for file in root.rglob("*") if not file.is_symlink()), _MOST)


@cache
def _read(directory: Path, path: str) -> str | None:
    found = _inside(directory, path)
    try:
        if found is None or not found.is_file() or found.stat().st_size > _LARGEST:
            return None
        return found.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def find(path: str, step: Step, before: Sequence[Copy], context: Context) -> tuple[str, str] | None:
    """The text of a file of the image that came from the context, and its path there.

    `path` is absolute; what a RUN mounts counts first, then the last COPY before it, a heredoc's body included.
    """
    for mount in step.mounts:
        if mount.kind == "bind" and not mount.from_:
            target = posixpath.normpath(posixpath.join(step.workdir or "/", mount.target))
            rest = _below(path, target)
            if rest is not None:
                return _text(posixpath.join(mount.source or ".", rest) if rest else mount.source, context)
    for copy in reversed(before):
        if copy.from_:
            continue
        written = _written(copy, path)
        if written is not None:
            return written, path
        for source, place in copy.places():
            found = _from(source, place, path, context)
            if found is not None:
                return found
    return None


def _from(source: str, place: str, path: str, context: Context) -> tuple[str, str] | None:
    name = posixpath.basename(source)
    if any(char in name for char in "*?["):
        directory, file = posixpath.split(path)
        if directory == place and fnmatch.fnmatch(file, name):
            return _text(posixpath.join(posixpath.dirname(source), file), context)
        return None
    rest = _below(path, place)
    if rest is None:
        return None
    return _text(posixpath.join(source, rest) if rest else source, context)


def _text(source: str, context: Context) -> tuple[str, str] | None:
    text = context.read(source)
    return (text, posixpath.normpath(source)) if text is not None else None


def _below(path: str, place: str) -> str | None:
    """The part of a path below another one: "" for the same, None for one that lies elsewhere."""
    if path == place:
        return ""
    prefix = place.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _written(copy: Copy, path: str) -> str | None:
    """The body of a heredoc that a COPY writes to a path."""
    one = copy.step.instruction
    for heredoc in one.heredocs:
        target = copy.target
        if target is not None and copy.into:
            target = posixpath.join(target, heredoc.marker.name)
        if target == path:
            return copy.step.source[heredoc.body]
    return None
