"""What no file says in so many words: the image's name, and the Python that the project and its wheels agree on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import structs
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from gpuimage.init.notes import Notes
from gpuimage.init.packages import Line, asked
from gpuimage.init.projects import Project
from gpuimage.patterns import pattern
from gpuimage.spec import Spec
from gpuimage.spec.files import read_text
from gpuimage.tables import Unknown, torch_release, torch_versions

_TAG = pattern(r"cp3(?P<minor>\d+)")
_DEFAULT_PYTHON = next(str(field.default) for field in structs.fields(Spec) if field.name == "python")


def choose_image(notes: Notes, project: Project | None) -> None:
    """The project's name and version, else the directory's name, as a registry takes them."""
    given = project.name if project is not None else None
    version = project.version if project is not None else None
    name = repository(given.text if given else notes.project.resolve().name)
    tag = re.sub(r"[^A-Za-z0-9_.-]", "_", version.text)[:128].lstrip(".-") if version else ""
    where = given.where if given else "the directory's name"
    notes.put(("image",), f"{name}:{tag}" if tag else name, where, "put your registry in front of it")


def repository(name: str) -> str:
    """A name as an image may have it."""
    parts = [part for part in re.split(r"[^a-z0-9]+", name.lower(), flags=re.ASCII) if part]
    return "-".join(parts)[:120].rstrip("-") or "service"


def choose_python(notes: Notes, project: Project | None) -> None:
    """The Python of `.python-version`, else of those that the project allows and torch has wheels for: the newest it names, or ours."""
    if notes.get(("python",)) is not None:
        _check_python(notes, project)
        return
    pinned = notes.project / ".python-version"
    if pinned.is_file():
        text = read_text(pinned, ".python-version file", 4096).strip()
        match = re.match(r"(?:cpython-?)?(3\.\d+)", text)
        if match and notes.put(("python",), match[1], ".python-version"):
            return
    required = project.requires_python if project is not None else None
    torch = _torch_pythons(notes)
    if required is None and torch is None:
        return
    allowed = [minor for minor in torch or _every_python() if minor in _allowed(required)]
    if not allowed:
        notes.miss(
            "a Python that the project allows and torch has wheels for", "set `python`, or take another torch"
        )
        return
    # What names only Pythons that the newest torch has left behind was written before those that followed.
    current = _minors(_tags(torch_versions()[-1])) if _DEFAULT_PYTHON in allowed else allowed
    named = [one for one in allowed if project is not None and one in project.pythons and one in current]
    best = named[-1] if named else _DEFAULT_PYTHON if _DEFAULT_PYTHON in allowed else allowed[-1]
    because = [f"the project allows {required.text}"] if required else []
    because += ["the newest it names"] if named else []
    if torch:
        first = named or best == _DEFAULT_PYTHON
        because.append("torch has wheels for it" if first else "the newest that torch has wheels for")
    notes.put(("python",), best, required.where if required else "", ", ".join(because))


def _check_python(notes: Notes, project: Project | None) -> None:
    required = project.requires_python if project is not None else None
    if required is not None and notes.get(("python",)) not in _allowed(required):
        notes.miss(
            f"a Python for both: the image has {notes.get(('python',))}, and {required.where} wants {required.text}",
            "set `python`",
        )


def _every_python() -> list[str]:
    """Every Python that a torch of the tables has wheels for, oldest first."""
    return _minors(tag for version in torch_versions() for tag in _tags(version))


def _tags(version: str) -> Iterable[str]:
    release = torch_release(version)
    return () if isinstance(release, Unknown) else release.python_tags


def _minors(tags: Iterable[str]) -> list[str]:
    found = {int(match["minor"]) for tag in tags if (match := _TAG.fullmatch(tag))}
    return [f"3.{minor}" for minor in sorted(found)]


def _allowed(required: Line | None) -> list[str]:
    """The Pythons that a project allows."""
    try:
        specifier = SpecifierSet(required.text if required is not None else "")
    except InvalidSpecifier:
        specifier = SpecifierSet()
    return [
        minor for minor in _every_python() if specifier.contains(f"{minor}.99") or specifier.contains(minor)
    ]


def _torch_pythons(notes: Notes) -> list[str] | None:
    """The Pythons of every torch that fits what is asked for; None where none is asked for, or none fits."""
    torch = next((one for one in asked(notes) if canonicalize_name(one.name) == "torch"), None)
    if torch is None:
        return None
    return (
        _minors(tag for one in torch_versions() if torch.specifier.contains(one) for tag in _tags(one))
        or None
    )
