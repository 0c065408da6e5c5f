"""A first spec, from what a project holds already: an old Dockerfile, requirements, pyproject.toml, a lock, conda.

`draft_spec` reads and writes nothing; what it gives has been read by the spec's own reader, and was planned offline.
"""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from msgspec import Struct

from gpuimage.errors import GpuImageError, Location, SpecError
from gpuimage.files import write_atomic
from gpuimage.init.choices import choose_image, choose_python
from gpuimage.init.command import find_command
from gpuimage.init.conda import environment_file
from gpuimage.init.dockerfiles import (
    Old,
    take_archs,
    take_base,
    take_cuda,
    take_python,
)
from gpuimage.init.document import document
from gpuimage.init.files import take_code, take_source_layout
from gpuimage.init.installs import Installs, left_builds, take_packages
from gpuimage.init.locks import LOCKS, foreign_locks, lock_file
from gpuimage.init.notes import Left, Missing, Notes, Taken
from gpuimage.init.packages import index, requirements_file, want
from gpuimage.init.projects import Project, read_project
from gpuimage.init.service import take_service
from gpuimage.init.sizes import Won, won
from gpuimage.plan import Plan, plan
from gpuimage.spec import SpecFile, parse_spec

__all__ = ["Draft", "Left", "Missing", "Taken", "Won", "draft_spec"]

_DOCKERFILES = ("Dockerfile", "Containerfile", "docker/Dockerfile", ".docker/Dockerfile", "Dockerfile.gpu", "Dockerfile.cuda", "Dockerfile.cu")  # fmt: skip
_PROJECTS = ("pyproject.toml", "setup.cfg", "setup.py")
_ENVIRONMENTS = ("environment.yml", "environment.yaml", "conda.yml", "conda.yaml")


class Draft(Struct, frozen=True):
    """A spec that was made of other files: its text, and an account of it.

    `plan` is what follows from it without a lock, None where `problem` says why nothing does. `sources` are the files
    that were read, `won` the bytes of an old image beside those of the plan.
    """

    path: Path
    text: str
    file: SpecFile
    sources: tuple[str, ...]
    taken: tuple[Taken, ...]
    left: tuple[Left, ...]
    missing: tuple[Missing, ...]
    plan: Plan | None
    problem: GpuImageError | None
    won: Won | None

    def write(self, *, force: bool = False) -> None:
        """Write the spec; SpecError where a file stands in its place and `force` does not say that it may go."""
        if not force and (self.path.exists() or self.path.is_symlink()):
            raise SpecError(
                "this file is there already, and nothing was written", where=Location(self.path),
                hint="--force writes over it, --output FILE writes another, --output - shows it",
            )  # fmt: skip
        write_atomic(self.path, self.text)


def draft_spec(directory: Path, *, dockerfile: Path | None = None, output: Path | None = None) -> Draft:
    """Make a spec for the project in a directory, to stand at `output` (spec.yaml in it).

    `dockerfile` names an old one; without it the usual names are looked for. SpecError where there is nothing to make a
    spec from, or a file cannot be read. Nothing is written or fetched, and nothing of the project is run.
    """
    if not directory.is_dir():
        hint = "name its directory, and the file with --from" if directory.exists() else None
        raise SpecError("this is no directory", where=Location(directory), hint=hint)
    path = output or directory / "spec.yaml"
    notes = Notes(directory, path.parent)
    usual = (directory / name for name in _DOCKERFILES)
    found = dockerfile or next((one for one in usual if one.is_file()), None)
    old = Old(found, notes.relative(found) or str(found)) if found is not None else None
    project = read_project(directory)
    there = _sources(notes, old, project)
    if not there:
        raise _nothing(directory)
    _fill(notes, old, project)
    named = dict.fromkeys(one.where.partition(":")[0] for one in notes.taken)
    sources = (
        tuple(name for name in named if name in there or (name and (directory / name).is_file())) or there
    )
    text = document(notes, sources)
    file = parse_spec(text, path)
    made, problem = _planned(file)
    return Draft(
        path, text, file, sources, tuple(notes.taken), tuple(notes.left), tuple(notes.missing), made, problem,
        won(old, made) if old is not None else None,
    )  # fmt: skip


def _nothing(directory: Path) -> SpecError:
    return SpecError(
        "there is nothing here to make a spec from", where=Location(directory),
        why="no Dockerfile, requirements.txt, setup.py, uv.lock, pylock.toml, environment.yml, and no pyproject.toml or setup.cfg that names a project",
        hint="name a Dockerfile with --from, or write a spec by hand: image, wheels, gpus, app",
    )  # fmt: skip


def _sources(notes: Notes, old: Old | None, project: Project | None) -> tuple[str, ...]:
    """The files that a spec can be made from."""
    names = [*LOCKS, "requirements.txt", *_ENVIRONMENTS]
    there = [name for name in names if (notes.project / name).is_file()]
    says = _says_something(project) or (notes.project / "setup.py").is_file()
    projects = [name for name in _PROJECTS if (notes.project / name).is_file()] if says else []
    return (*([old.name] if old is not None else []), *there, *projects)


def _says_something(project: Project | None) -> bool:
    return project is not None and bool(
        project.name or project.dependencies or project.files or project.requires_python
    )


def _fill(notes: Notes, old: Old | None, project: Project | None) -> None:
    """Take from each source what it says; the first that gives a value counts."""
    choose_image(notes, project)
    installs = Installs()
    if old is not None:
        take_python(notes, old)
        installs = take_packages(notes, old)
        take_base(notes, old)
        left_builds(notes, old)
    if installs.project and project is not None:
        _project_packages(notes, project, installs.extras)
    if installs.any:
        _not_installed(notes)
    else:
        _own_packages(notes, project)
    if old is not None:
        take_cuda(notes, old)
        take_archs(notes, old)
        take_service(notes, old, project)
    if not any(notes.get((key,)) for key in ("wheels", "requirements", "lock", "compile")):
        notes.miss("what the service needs: nothing here names a package", "wheels: [NAME==VERSION]")
    choose_python(notes, project)
    if notes.get(("app", "copy")) is None:
        take_code(notes)
    elif installs.project:
        take_source_layout(notes)
    if notes.get(("app", "command")) is None:
        find_command(notes, project)


def _own_packages(notes: Notes, project: Project | None) -> None:
    """What the project's own files ask for: its lock, else its requirements and what pyproject.toml says beside them."""
    directory = notes.project
    lock = next((directory / name for name in LOCKS if (directory / name).is_file()), None)
    locked = lock is not None and lock_file(notes, lock)
    file = directory / "requirements.txt"
    if locked and file.is_file():
        notes.leave(file.name, file.name, "the lock holds what is installed")
    elif file.is_file():
        requirements_file(notes, file, file.name)
    elif not locked:
        _other_requirements(notes)
    if project is not None and not locked:
        _project_packages(notes, project)
    foreign_locks(notes)
    for name in _ENVIRONMENTS:
        if (directory / name).is_file():
            environment_file(notes, directory / name)


def _project_packages(notes: Notes, project: Project, extras: Set[str] = frozenset()) -> None:
    """What pyproject.toml or its elders ask for, with these of the extras and groups."""
    for name in project.files:
        if (notes.project / name).is_file() and notes.get(("requirements",)) != name:
            requirements_file(notes, notes.project / name, name)
    for line in project.indexes:
        index(notes, line.text, line.where, extra=True)
    for line in project.dependencies:
        want(notes, line.text, line.where)
    for line in project.hidden if not notes.get(("requirements",)) else ():
        notes.miss(
            f"{line.text} ({line.where})",
            "add what it needs to `wheels`, or name a file under `requirements`",
        )
    for group in project.groups:
        if group.name in extras:
            for line in group.dependencies:
                want(notes, line.text, line.where, f"{group.kind} {group.name}")
        else:
            notes.leave(
                f"{group.kind} {group.name}", group.where,
                "it is not installed unless it is asked for: add what the service needs of it to `wheels`",
            )  # fmt: skip


def _not_installed(notes: Notes) -> None:
    """Say of the files that could be installed from and that the Dockerfile does not use."""
    used = {one.where.partition(":")[0] for one in notes.taken}
    used |= {one.where.partition(":")[0] for one in notes.left}
    used |= {notes.get(("requirements",)), notes.get(("lock",)), *(one.what for one in notes.left)}
    for name in (*LOCKS, "requirements.txt", *_ENVIRONMENTS):
        if (notes.project / name).is_file() and name not in used:
            notes.leave(
                name,
                name,
                "the Dockerfile does not name it: name it in the spec where one of its commands installs from it",
            )


def _other_requirements(notes: Notes) -> None:
    """Ask which of several requirements files counts, where none has the usual name."""
    found = [
        *sorted(notes.project.glob("requirements?*.txt")),
        *sorted(notes.project.glob("requirements/*.txt")),
    ]
    names = [name for path in found if path.is_file() and (name := notes.relative(path))]
    if names:
        notes.miss(f"which of {', '.join(names[:8])} the service needs", f"requirements: {names[0]}")


def _planned(file: SpecFile) -> tuple[Plan | None, GpuImageError | None]:
    try:
        return plan(file, None), None
    except GpuImageError as error:
        return None, error
