"""What engines that are commands have in common: a context directory with extra files, and the options of a build."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuimage.engine.context import inside, load_ignore, walk
from gpuimage.engine.types import BuildRequest
from gpuimage.errors import SpecError


@contextmanager
def staged(request: BuildRequest) -> Iterator[Path]:
    """Yield a directory that holds the request's context and its extra files; removed afterwards.

    Without extra files that is the context itself. Else it is a copy made of hard links, which costs no
    bytes; where the file system does not allow them, the files are copied.
    """
    if not request.context.is_dir():
        raise SpecError(f"the build context {request.context} is not a directory")
    if not request.extra_files:
        yield request.context
        return
    with tempfile.TemporaryDirectory(prefix=".gpuimage-context-", dir=_home(request.context)) as name:
        root = Path(name)
        _fill(root, request)
        yield root


def ignore_file(request: BuildRequest) -> str:
    """Return the ignore file to hand to the engine; empty: the context's own counts."""
    # In a staged context the patterns have done their work, and must not act on the extra files.
    return "# applied already\n" if request.extra_files else request.ignore


def _home(context: Path) -> Path | None:
    """Return a directory on the context's file system, where hard links work; None: the system's own."""
    device = context.stat().st_dev
    for candidate in (Path(tempfile.gettempdir()), context.parent):
        if candidate.stat().st_dev == device and os.access(candidate, os.W_OK):
            return candidate
    return None


def _fill(root: Path, request: BuildRequest) -> None:
    ignore = load_ignore(request.context, request.ignore)
    times: list[tuple[Path, os.stat_result]] = []
    for entry in walk(request.context, ignore):
        target = root / entry.path
        if stat.S_ISDIR(entry.status.st_mode):
            target.mkdir(mode=stat.S_IMODE(entry.status.st_mode) | 0o700)
            times.append((target, entry.status))
        else:
            _link(entry.source, target)
    for name, data in request.extra_files.items():
        target = root / inside(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Never through a link: the name may be a hard link to the user's own file.
        target.unlink(missing_ok=True)
        target.write_bytes(data)
        os.utime(target, (0, 0))
    for target, status in reversed(times):
        with contextlib.suppress(OSError):
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def build_options(request: BuildRequest) -> Iterator[str]:
    """Yield the options that every build command spells alike; the network is each engine's own."""
    for tag in request.tags:
        yield from ("--tag", tag)
    for name, value in request.build_args.items():
        yield from ("--build-arg", f"{name}={value}")
    for name, value in request.labels.items():
        yield from ("--label", f"{name}={value}")
    for secret in request.secrets:
        yield from ("--secret", secret)
    if request.platform:
        yield from ("--platform", request.platform)
    if request.target:
        yield from ("--target", request.target)
    if request.no_cache:
        yield "--no-cache"
