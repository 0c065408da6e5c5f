"""What an old Dockerfile says of the image it builds: its Python, CUDA and architectures, and what it installs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from pathlib import Path

from gpuimage.arch import ArchEntry, ArchError, ArchList
from gpuimage.dockerfile import Source, Span, parse
from gpuimage.errors import Location, SpecError
from gpuimage.facts import Call, FileFacts, PythonInstall, Settings, StageFacts
from gpuimage.facts.conda import CondaInstall
from gpuimage.init.conda import conda_entry, environment_file
from gpuimage.init.locks import LOCKS, lock_file
from gpuimage.init.notes import Notes
from gpuimage.init.packages import BUILD_ONLY, TOOLS, has, index, requirements_file, want, wanted_text
from gpuimage.patterns import pattern
from gpuimage.rules.arch_lists import CMAKE, FLASH, TORCH, Given, cmake_entries, cmake_entry, given
from gpuimage.rules.compiling import stage_builds
from gpuimage.spec.files import read_text
from gpuimage.tables import Unknown, os_python

_LARGEST = 4_000_000  # bytes
_PYTHON_PACKAGE = pattern(r"python(?P<minor>3\.\d+)(?:-\S+)?")
_PYTHON_OPTION = pattern(r"(?:cpython-?)?(?P<minor>3\.\d+)(?:\.\d+)?")
# What a build of an extension is told besides the architectures.
_BUILD_VARIABLES = ("MAX_JOBS", "NVCC_THREADS", "FORCE_CUDA", "FLASH_ATTENTION_FORCE_BUILD")


class Old:
    """A Dockerfile with the stage that ships; `name` is how the account calls the file."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        text = read_text(path, "Dockerfile", _LARGEST)
        self.file = FileFacts(parse(Source.decode(text.encode())), Settings(), path.parent)
        if not self.file.targets:
            raise SpecError(
                "this is no Dockerfile: it has no FROM",
                where=Location(path, 1, 1),
                hint="name another with --from",
            )
        self.stage: StageFacts = self.file.targets[-1]

    def at(self, place: Span | int) -> str:
        """A place of the file as the account writes it."""
        line = place if isinstance(place, int) else self.file.source.position(place.start)[0]
        return f"{self.name}:{line}"

    def last(self, keyword: str) -> str:
        """Where the last instruction of a kind stands, "" where there is none."""
        steps = (step for step in reversed(self.stage.chain) if step.instruction.keyword == keyword)
        return next((self.at(step.instruction.line) for step in steps), "")

    @property
    def head(self) -> str:
        """Where the base of the stage is named."""
        stage = self.stage
        while stage.parent is not None:
            stage = self.file.stages[stage.parent]
        return self.at(stage.stage.head.line)

    @property
    def feeding(self) -> Iterator[StageFacts]:
        """The stages that only give files to others."""
        return (stage for stage in self.file.stages if stage.feeds)


def take_python(notes: Notes, old: Old) -> None:
    """Which Python the image runs: of its base, of a package, of an environment's tool."""
    root = old.stage.root
    if root.python and root.python.count("."):
        notes.put(("python",), ".".join(root.python.split(".")[:2]), old.head)
        return
    for minor, where in _installed_pythons(old):
        if notes.put(("python",), minor, where):
            return
    packages = {one.name for call in old.file.system_of(old.stage) if call.installs for one in call.packages}
    distribution = (
        os_python(root.os)
        if root.os and packages & {"python3", "python3-pip", "python3-venv", "python3-dev"}
        else None
    )
    if distribution is not None and not isinstance(distribution, Unknown):
        notes.put(("python",), distribution, old.head, f"the python3 of {root.os}")


def _installed_pythons(old: Old) -> Iterator[tuple[str, str]]:
    """Versions that a package, conda or a tool of its own brings, with their places."""
    for call in old.file.system_of(old.stage):
        for package in call.packages if call.installs else ():
            if match := _PYTHON_PACKAGE.fullmatch(package.name):
                yield match["minor"], old.at(package.span)
    for conda in old.file.conda_of(old.stage):
        found = conda.find("python")
        if found is not None and found.version and "." in found.version and not conda.file:
            yield ".".join(found.version.split(".")[:2]), old.at(found.span)
    for tool in old.file.calls_of(old.stage):
        for word in tool.arguments if tool.name in ("uv", "pyenv") else ():
            if word.value and (match := _PYTHON_OPTION.fullmatch(word.value)):
                yield match["minor"], old.at(tool.place(word))


def take_base(notes: Notes, old: Old) -> None:
    """The torch that a base brings, and what is said of the base itself."""
    root, where = old.stage.root, old.head
    if root.kind == "pytorch" and root.torch and not has(notes, "torch"):
        want(notes, f"torch=={root.torch}", where, f"the base {root.text} brings it")
        if root.cuda and notes.get(("index",)) is None:
            notes.put(
                ("index",), "cu" + "".join(root.cuda.split(".")[:2]), where, "the build that the base brings"
            )
    elif root.kind in ("ngc", "ngc-torch", "tensorflow") and not has(
        notes, "torch" if root.kind == "ngc-torch" else "tensorflow"
    ):
        notes.miss(
            f"what {root.text} brings along ({where}): its tag does not name the versions",
            "add the frameworks that the service imports to `wheels`",
        )
    elif root.kind == "rocm":
        notes.miss(
            f"{root.text} ({where}) is for AMD's GPUs, and gpuimage is for NVIDIA's",
            "take the CUDA builds of its wheels",
        )
    elif root.kind in ("other", "unknown"):
        notes.miss(
            f"what the base {root.text or 'of this file'} brings along ({where}): nobody knows it by its name",
            "add what the service needs of it to `wheels` and `apt`, or name it as `base`",
        )


def take_cuda(notes: Notes, old: Old) -> None:
    """The CUDA of the base or of what compiles, where the wheels do not bring one; else why it does not count."""
    own = old.stage.root
    if own.kind == "pytorch":
        return
    if notes.get(("index",)) == "cpu":
        if own.cuda:
            notes.leave(str(own.text), old.head, "the wheels are builds for the CPU")
    elif has(notes, "torch"):
        if own.cuda:
            notes.leave(
                str(own.text),
                old.head,
                "torch's wheels bring their CUDA along: with this base it was there twice",
            )
    elif notes.get(("cuda",)) is None:
        stage = next((one for one in (old.stage, *old.feeding) if one.root.cuda_minor), None)
        if stage is not None:
            notes.put(("cuda",), stage.root.cuda_minor, old.at(stage.stage.head.line))


def take_archs(notes: Notes, old: Old) -> None:
    """The architectures that something is compiled for; the last list counts."""
    for names in ((TORCH,), (CMAKE, "CUDAARCHS"), (FLASH,)):
        for one in reversed(list(given(old.file, *names))):
            where = old.at(one.span)
            if one.value is None:
                notes.leave(one.name, where, BUILD_ONLY)
                continue
            try:
                archs = _archs(one)
            except ArchError as error:
                notes.leave(
                    f"{one.name}={one.value}",
                    where,
                    error.reason + (f" ({error.hint})" if error.hint else ""),
                )
                continue
            if archs is not None and notes.get(("arch",)) is None:
                notes.put(("arch",), str(archs), where, one.name)


def _archs(one: Given) -> ArchList | None:
    """A list as TORCH_CUDA_ARCH_LIST writes it; None for one that names no architecture."""
    value = (one.value or "").strip()
    if one.name == TORCH:
        return ArchList.parse(value) if value else None
    found = [cmake_entry(entry) for entry in cmake_entries(value.replace(",", ";"))]
    known = [ArchEntry(entry[0], ptx=entry[1] == "virtual") for entry in found if entry is not None]
    return ArchList(tuple(known)) if known and None not in found else None


# ----------------------------------------------------------------------------------------------- Python packages


def take_packages(notes: Notes, old: Old) -> bool:
    """What Python has in the image; False where the file installs nothing that can be seen."""
    installs = [*old.file.shipped_python(old.stage), *_built(old)]
    conda = [*old.file.conda_of(old.stage)]
    for one in conda:
        _conda(notes, old, one)
    for install in installs:
        _install(notes, old, install)
    return bool(installs or conda)


def _built(old: Old) -> Iterator[PythonInstall]:
    """What stages that only give files make wheels of."""
    for stage in old.feeding:
        yield from (one for one in old.file.python_of(stage) if one.builds)


def _install(notes: Notes, old: Old, install: PythonInstall) -> None:
    where = old.at(install.call.span)
    if install.index is not None:
        index(notes, install.index, where, extra=False) if install.index else notes.leave(
            "an index", where, BUILD_ONLY
        )
    for url in install.extra_indexes:
        index(notes, url, where, extra=True)
    if install.tool == "uv-sync" and _lock(notes, old, install):
        return
    for argument in install.given.arguments("-r", "--requirement", "--requirements"):
        _file(notes, old, install, str(argument), old.at(install.call.place(argument)))
    words = [one for one in install.wanted if not one.file or one.file.endswith("pyproject.toml")]
    if "if" in install.call.program.command.inside and words:
        notes.miss(
            f"what holds of a condition ({where}): under it {', '.join(map(wanted_text, words))} would be installed",
            "add it to `wheels` where the service needs it",
        )
        return
    for wanted in words:  # the others are of a requirements file or a lock, which were taken as such
        text, place = wanted_text(wanted), wanted.file or old.at(wanted.span)
        if wanted.specifier is None:
            notes.leave(text, place, BUILD_ONLY)
        elif wanted.name in TOOLS and not wanted.source:
            notes.leave(text, place, "it installs or builds others; the build has its own")
        elif not _is_built_wheel(old, wanted.source):
            want(notes, text, place, env=_variables(old, install))


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
