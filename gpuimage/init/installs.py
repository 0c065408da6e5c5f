"""What an old Dockerfile installs for Python: by pip, uv, poetry and conda, word by word and by files."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from gpuimage.facts import Call, PythonInstall
from gpuimage.facts.conda import CondaInstall
from gpuimage.facts.requirements import Wanted
from gpuimage.init.choices import repository
from gpuimage.init.conda import conda_entry, environment_file
from gpuimage.init.dockerfiles import Old
from gpuimage.init.locks import LOCKS, lock_file
from gpuimage.init.notes import Notes
from gpuimage.init.packages import (
    BUILD_ONLY,
    OWN,
    TOOLS,
    TREE,
    VCS,
    index,
    requirements_file,
    want,
    wanted_text,
)
from gpuimage.rules.compiling import stage_builds

# What a build of an extension is told besides the architectures.
_BUILD_VARIABLES = ("MAX_JOBS", "NVCC_THREADS", "FORCE_CUDA", "FLASH_ATTENTION_FORCE_BUILD")


class Installs(Struct):
    """What was seen of the Python packages: anything at all, and the project itself with these of its extras."""

    any: bool = False
    project: bool = False
    extras: set[str] = field(default_factory=set)


def take_packages(notes: Notes, old: Old) -> Installs:
    """What Python has in the image."""
    found = Installs()
    for conda in old.file.conda_of(old.stage):
        found.any = True
        _conda(notes, old, conda)
    for install in (*old.file.shipped_python(old.stage), *_built(old)):
        found.any = True
        _install(notes, old, install, found)
    return found


def _built(old: Old) -> Iterator[PythonInstall]:
    """What stages that only give files make wheels of."""
    for stage in old.feeding:
        yield from (one for one in old.file.python_of(stage) if one.builds)


def _install(notes: Notes, old: Old, install: PythonInstall, found: Installs) -> None:
    where = old.at(install.call.span)
    _indexes(notes, install, where)
    if install.tool in ("uv-sync", "poetry", "pdm", "pipenv") and not install.given.words[1:]:
        if not _lock(notes, old, install):
            found.project = True
            found.extras |= _extras(install)
        return
    for argument in install.given.arguments("-c", "--constraint", "--constraints"):
        notes.leave(
            f"constraints {argument}",
            where,
            "a spec takes no options of pip: pin the versions under `wheels`",
        )
    for argument in install.given.arguments("-r", "--requirement", "--requirements"):
        _file(notes, old, install, str(argument), old.at(install.call.place(argument)))
    words = [
        one for one in install.wanted if not one.file
    ]  # the others stand in files, which are read as such
    if "if" in install.call.program.command.inside and words:
        notes.miss(
            f"what holds of a condition ({where}): under it {', '.join(map(wanted_text, words))} would be installed",
            "add it to `wheels` where the service needs it",
        )
        return
    for wanted in words:
        clone = _clone(old, install, wanted)
        own = clone is not None and repository(clone) == notes.get(("image",), "").partition(":")[0]
        if clone is not None and not own:
            notes.leave(clone, old.at(wanted.span), VCS)
        elif own or _is_project(old, install, wanted):
            found.project = True
            found.extras |= set(re.findall(r"[\w.-]+", wanted.source.partition("[")[2]))
            notes.leave(wanted.source or wanted.name, old.at(wanted.span), OWN)
        else:
            _word(notes, old, install, wanted)


def _indexes(notes: Notes, install: PythonInstall, where: str) -> None:
    if install.index == "":
        notes.leave("an index", where, BUILD_ONLY)
    elif install.index is not None:
        index(notes, install.index, where, extra=False)
    for url in install.extra_indexes:
        index(notes, url, where, extra=True)


def _word(notes: Notes, old: Old, install: PythonInstall, wanted: Wanted) -> None:
    """Take one word of an installing command."""
    text, place = wanted_text(wanted), old.at(wanted.span)
    if wanted.specifier is None:
        notes.leave(text, place, BUILD_ONLY)
    elif wanted.editable and not wanted.source:
        notes.leave(text, place, TREE)
    elif wanted.name in TOOLS and not wanted.source:
        notes.leave(text, place, "it installs or builds others; the build has its own")
    elif not _is_built_wheel(old, wanted.source):
        want(notes, text, place, env=_variables(old, install))


def _directory(old: Old, install: PythonInstall, wanted: Wanted) -> str | None:
    """The directory of the image that a word names: `.`, `-e ./ext[gpu]`."""
    written = wanted.source or (old.file.source[wanted.span].strip("'\"") if wanted.editable else "")
    path = written.partition("[")[0]
    return install.call.absolute(path) if path and "://" not in path and not path.endswith(".whl") else None


def _clone(old: Old, install: PythonInstall, wanted: Wanted) -> str | None:
    """The name of the repository that a word's directory is a clone of, or lies in."""
    path, stage = _directory(old, install, wanted), old.file.stages[install.call.step.stage]
    for step in stage.chain if path is not None else ():
        for change in old.file.changes(step):
            if (
                change.kind == "cloned"
                and change.path
                and f"{path}/".startswith(f"{change.path.rstrip('/')}/")
            ):
                return posixpath.basename(change.source.rstrip("/")).removesuffix(".git")
    return None


def _is_project(old: Old, install: PythonInstall, wanted: Wanted) -> bool:
    """Whether a word names a directory with the project's own pyproject.toml or setup.py, or that a command runs in."""
    path = _directory(old, install, wanted)
    if path is None:
        return False
    files = (
        old.file.read(install.call.step, posixpath.join(path, name))
        for name in ("pyproject.toml", "setup.py")
    )
    named = [posixpath.dirname(found[1]) for found in files if found is not None]
    return named[0] == "" if named else path == install.call.absolute(".")


def _extras(install: PythonInstall) -> set[str]:
    """The extras and groups that an installer of projects is told to take."""
    given = install.given.arguments("-E", "--extras", "--extra", "--with", "--group", "-G")
    return {name for argument in given for name in re.findall(r"[\w.-]+", str(argument))}


def _is_built_wheel(old: Old, source: str) -> bool:
    """Whether a path names what another stage built, which counts there."""
    return (
        source.endswith(".whl")
        and "://" not in source
        and ("*" in source or not (old.path.parent / source).is_file())
    )


def _variables(old: Old, install: PythonInstall) -> Mapping[str, str]:
    """What a build of an extension is told."""
    found = {name: install.call.variable(name) for name in _BUILD_VARIABLES}
    return {name: value for name, value in found.items() if isinstance(value, str) and value}


def _lock(notes: Notes, old: Old, install: PythonInstall) -> bool:
    """Take the lock of `uv sync`."""
    found = next((one.file for one in install.wanted if posixpath.basename(one.file) in LOCKS), None)
    path = _beside(notes, old, found) if found else None
    if path is None:
        return False
    return lock_file(notes, path, old.at(install.call.span))


def _file(notes: Notes, old: Old, install: PythonInstall, name: str, where: str) -> None:
    """Take a requirements file that a command names."""
    absolute = install.call.absolute(name)
    found = old.file.read(install.call.step, absolute) if absolute else None
    path = _beside(notes, old, found[1]) if found else None
    if path is None:
        notes.miss(
            f"{name}, which pip reads ({where}), is not among the files here",
            "put it beside the spec and name it as `requirements`",
        )
    else:
        requirements_file(notes, path, where)


def _beside(notes: Notes, old: Old, name: str) -> Path | None:
    """A file of the build's context on this disk."""
    for directory in dict.fromkeys((notes.project, *old.file.context.directories)):
        if (directory / name).is_file():
            return directory / name
    return None


def _conda(notes: Notes, old: Old, install: CondaInstall) -> None:
    path = _beside(notes, old, install.file) if install.file else None
    if path is not None and path.suffix in (".yml", ".yaml"):
        environment_file(notes, path)
    for argument in install.given.words[1:]:
        if argument.value and argument.value not in ("create", "install", "update"):
            conda_entry(notes, argument.value, old.at(install.call.place(argument)))
    if not install.complete:
        notes.miss(
            f"what {install.tool} installs ({old.at(install.call.span)}) hangs on a file that is not here",
            "add it to `wheels`",
        )


def left_builds(notes: Notes, old: Old) -> None:
    """What is compiled from a checkout, which no lock can pin, and the project's own wheel."""
    for stage in (old.stage, *old.feeding):
        for build in stage_builds(old.file, stage):
            if build.wanted is None and build.project:
                notes.leave(
                    build.project, old.at(build.span),
                    "it is compiled from a checkout: clone it beside the spec and name the directory under `compile`",
                )  # fmt: skip
    own = next(
        (call for stage in old.feeding for call in old.file.calls_of(stage) if _makes_own_wheel(call)), None
    )
    if own is not None:
        notes.miss(
            f"the project itself, of which the old image builds a wheel ({old.at(own.span)})",
            "build it, and name the file under `wheels`; or its directory under `compile` where it holds CUDA code",
        )


def _makes_own_wheel(call: Call) -> bool:
    """`python -m build`, `uv build`, `python setup.py bdist_wheel`, `pip wheel .`."""
    words = [value for value in call.values if not value.startswith("-")]
    if call.name == "build" or (call.name in ("uv", "poetry", "hatch", "pdm") and words[:1] == ["build"]):
        return True
    return (call.name == "pip" and words[:2] == ["wheel", "."]) or (
        "setup.py" in words and "bdist_wheel" in words
    )
