"""Files are written whole or not at all, one alone or several together."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gpuimage.errors import Location, SpecError


def write_atomic(path: Path, content: str | bytes) -> None:
    """Replace `path` in one step, keeping the permissions a plain write would give; a link's target is replaced.

    Raises SpecError where it cannot be written.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Replace several files as `write_atomic` replaces one: all of them or none, whatever stops it (Ctrl-C too).

    Each new one is on the disk before the first takes its place, and until the last has done so the old ones can be put back.
    """
    path, staged = Path(), dict[Path, Path]()
    try:
        for path, content in contents.items():
            goal = path.resolve()
            staged[goal] = _stage(goal, content.encode() if isinstance(content, str) else content)
        _swap(staged)
    except OSError as error:
        what = f"cannot write this file: {error.strerror or error}"
        raise SpecError(what, where=Location(path)) from error
    finally:
        for new in staged.values():
            new.unlink(missing_ok=True)


def _stage(goal: Path, data: bytes) -> Path:
    with tempfile.NamedTemporaryFile("wb", dir=goal.parent, prefix=f".{goal.name}.", delete=False) as file:
        new = Path(file.name)
        try:
            file.write(data)
            file.flush()
            mask = os.umask(0)
            os.umask(mask)
            new.chmod(goal.stat().st_mode & 0o777 if goal.exists() else 0o666 & ~mask)
        except BaseException:
            new.unlink(missing_ok=True)
            raise
    return new


def _swap(staged: Mapping[Path, Path]) -> None:
    """Put the new files in the place of their goals; one alone needs no way back."""
    old = {goal: goal.read_bytes() if goal.exists() else None for goal in staged} if len(staged) > 1 else {}
    try:
        for goal, new in staged.items():
            new.replace(goal)
    except BaseException:
        for goal, data in old.items():
            with contextlib.suppress(OSError):
                if data is None:
                    goal.unlink(missing_ok=True)
                else:
                    goal.write_bytes(data)
        raise
