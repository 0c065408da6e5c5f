"""A project's own lock: taken whole, or left with the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuimage.init.notes import Notes
from gpuimage.init.projects import parse_toml
from gpuimage.spec.files import read_text

_LARGEST = 32_000_000  # bytes
LOCKS = ("uv.lock", "pylock.toml")
_ELSEWHERE = ("git", "vcs", "directory", "editable", "path")
_FOREIGN = {"poetry.lock": "poetry export", "pdm.lock": "pdm export", "Pipfile.lock": "pipenv requirements"}


def lock_file(notes: Notes, path: Path, where: str = "") -> bool:
    """Take a uv.lock or pylock.toml as `lock`; False where a spec cannot, which is noted."""
    name = notes.relative(path)
    data = parse_toml(read_text(path, "lock", _LARGEST), path)
    place = where or name or path.name
    if name is None:
        notes.leave(path.name, place, "it lies outside of the spec's directory")
        return False
    reason = _unfit(data, path.name)
    if reason is None and notes.get(("requirements",)):
        reason = "a spec takes a lock or a requirements file, not both"
    if reason is not None:
        notes.leave(path.name, place, reason)
        return False
    return notes.put(("lock",), name, place)


def _unfit(data: dict[str, Any], name: str) -> str | None:
    """Why a lock cannot be taken; None where it can."""
    rows = data.get("package" if name == "uv.lock" else "packages")
    if not isinstance(rows, list) or not rows:
        return "it names no package"
    for row in rows:
        source = row.get("source") if name == "uv.lock" else row
        kinds = [kind for kind in _ELSEWHERE if isinstance(source, dict) and not _is_own(source.get(kind))]
        if kinds:
            place = "a repository" if kinds[0] in ("git", "vcs") else "a directory"
            return f"{row.get('name')} comes from {place}, which no lock of gpuimage can pin"
    if name == "uv.lock" and any("conflicts" in key for key in data):
        return "it holds groups that exclude each other, and a spec names none: `uv export` one of them and name that file as `requirements`"
    return None


def _is_own(place: object) -> bool:
    """Whether a source is not there, or is the project itself."""
    path = place.get("path") if isinstance(place, dict) and "path" in place else place
    return path in (None, ".")


def foreign_locks(notes: Notes) -> None:
    """Say of the locks of other tools how they become a file that a spec takes."""
    for name, command in _FOREIGN.items():
        if (notes.project / name).is_file():
            notes.leave(
                name,
                name,
                f"a spec takes requirements, uv.lock or pylock.toml; `{command}` writes requirements from it",
            )
