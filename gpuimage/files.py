"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from gpuimage.errors import Location, SpecError


def write_atomic(path: Path, content: str | bytes) -> None:
    """Replace `path` in one step, keeping the permissions a plain write would give; a link's target is replaced.

    Raises SpecError where it cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        goal = path.resolve()
        with tempfile.NamedTemporaryFile(
            "wb", dir=goal.parent, prefix=f".{goal.name}.", delete=False
        ) as file:
            try:
                file.write(data)
                file.flush()
                mask = os.umask(0)
                os.umask(mask)
                Path(file.name).chmod(goal.stat().st_mode & 0o777 if goal.exists() else 0o666 & ~mask)
                Path(file.name).replace(goal)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise SpecError(f"cannot write this file: {error.strerror or error}", where=Location(path)) from error
