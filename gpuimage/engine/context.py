"""The build context as a tar stream: read from disk while it is sent, in bounded memory.

Order, owners (root) and header fields do not depend on the machine, so that the same files give the same
bytes; times are kept in whole seconds. Sockets, pipes and devices have no place in an image and are left
out with a note.
"""

from __future__ import annotations

import os
import posixpath
import stat
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuimage.engine.ignore import IgnoreList
from gpuimage.errors import SpecError

CHUNK = 1 << 20
IGNORE_FILE = ".dockerignore"


@dataclass(frozen=True, slots=True)
class Entry:
    """One file, directory or link of a context; `path` is relative, with slashes."""

    path: str
    source: Path
    status: os.stat_result


def load_ignore(context: Path, ignore: str = "") -> IgnoreList:
    """Return the patterns in force: those given, else the context's own .dockerignore."""
    if ignore:
        return IgnoreList.parse(ignore)
    try:
        return IgnoreList.parse((context / IGNORE_FILE).read_text("utf-8", "surrogateescape"))
    except FileNotFoundError:
        return IgnoreList()
    except OSError as problem:
        raise _unreadable(context / IGNORE_FILE, problem) from None


def walk(context: Path, ignore: IgnoreList, on_note: Callable[[str], None] | None = None) -> Iterator[Entry]:
    """List what of a context is sent, in a stable order, each directory before what it holds."""
    if not context.is_dir():
        raise SpecError(f"the build context {context} is not a directory")
    yield from _walk(context, "", ignore, on_note or (lambda _note: None))


def _walk(directory: Path, prefix: str, ignore: IgnoreList, note: Callable[[str], None]) -> Iterator[Entry]:
    try:
        with os.scandir(directory) as found:
            names = sorted(entry.name for entry in found)
    except OSError as problem:
        raise _unreadable(directory, problem) from None
    for name in names:
        source = directory / name
        path = f"{prefix}{name}"
        try:
            entry = Entry(path, source, source.lstat())
        except OSError as problem:
            raise _unreadable(source, problem) from None
        mode = entry.status.st_mode
        ignored = ignore.ignores(path)
        if stat.S_ISDIR(mode):
            yield from _directory(entry, ignored, ignore, note)
        elif ignored:
            continue
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield entry
        else:
            note(f"left out of the build context: {path} is a socket, pipe or device")


def _directory(
    entry: Entry, ignored: bool, ignore: IgnoreList, note: Callable[[str], None]
) -> Iterator[Entry]:
    if ignored and not ignore.may_hold_exceptions(entry.path):
        return
    # An ignored directory is sent only as the parent of something that is taken back.
    pending = ignored
    if not pending:
        yield entry
    for child in _walk(entry.source, entry.path + "/", ignore, note):
        if pending:
            yield entry
            pending = False
        yield child


def tar_context(
    context: Path,
    *,
    ignore: str = "",
    files: Mapping[str, bytes] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Iterator[bytes]:
    """Yield a tar archive of a context, with `files` (name to content) put in or in place of its own.

    The files come first, in the order given: BuildKit decides by the first 512 bytes whether a body is an
    archive, and an archive that starts with an extended header does not pass.
    """
    extra = {inside(name): data for name, data in (files or {}).items()}
    for name, data in extra.items():
        info = _header(name, size=len(data))
        yield info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
        yield data + _padding(len(data))
    for entry in walk(context, load_ignore(context, ignore), on_note):
        if entry.path not in extra:
            yield from _member(entry)
    yield bytes(2 * tarfile.BLOCKSIZE)


def inside(name: str) -> str:
    """Return a name as a clean path inside the context; SpecError for one that leaves it."""
    clean = posixpath.normpath(name)
    if clean.startswith(("/", "../")) or clean in (".", ".."):
        raise SpecError(f"`{name}` is not a name inside the build context")
    return clean


def _header(path: str, *, size: int = 0, mode: int = 0o644, mtime: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.size, info.mode, info.mtime = size, mode, mtime
    return info


def _member(entry: Entry) -> Iterator[bytes]:
    status = entry.status
    info = _header(entry.path, mode=stat.S_IMODE(status.st_mode), mtime=max(0, int(status.st_mtime)))
    if stat.S_ISREG(status.st_mode):
        yield from _file(entry, info)
        return
    if stat.S_ISDIR(status.st_mode):
        info.type = tarfile.DIRTYPE
    else:
        info.type = tarfile.SYMTYPE
        try:
            info.linkname = str(entry.source.readlink())
        except OSError as problem:
            raise _unreadable(entry.source, problem) from None
    yield info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def _file(entry: Entry, info: tarfile.TarInfo) -> Iterator[bytes]:
    try:
        file = entry.source.open("rb", buffering=0)
    except OSError as problem:
        raise _unreadable(entry.source, problem) from None
    with file:
        info.size = os.fstat(file.fileno()).st_size
        yield info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
        left = info.size
        while left:
            chunk = file.read(min(CHUNK, left))
            if not chunk:
                raise SpecError(
                    f"{entry.source} became shorter while it was sent to the engine",
                    hint="build when nothing writes into the context, or put the file into .dockerignore",
                )
            left -= len(chunk)
            yield chunk
    yield _padding(info.size)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)


def _unreadable(path: Path, problem: OSError) -> SpecError:
    return SpecError(
        f"cannot read {path} of the build context",
        why=problem.strerror or str(problem),
        hint="make it readable, or put it into .dockerignore",
    )
