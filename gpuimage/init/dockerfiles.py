"""What an old Dockerfile says of the image it builds: its Python, CUDA and architectures, and what it installs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpuimage.arch import ArchEntry, ArchError, ArchList
from gpuimage.dockerfile import Source, Span, parse
from gpuimage.errors import Location, SpecError
from gpuimage.facts import FileFacts, Settings, StageFacts
from gpuimage.init.notes import Notes
from gpuimage.init.packages import (
    BUILD_ONLY,
    has,
    want,
)
from gpuimage.patterns import pattern
from gpuimage.rules.arch_lists import CMAKE, FLASH, TORCH, Given, cmake_entries, cmake_entry, given
from gpuimage.spec.files import read_text
from gpuimage.tables import Unknown, os_python

_LARGEST = 4_000_000  # bytes
_PYTHON_PACKAGE = pattern(r"python(?P<minor>3\.\d+)(?:-\S+)?")
_PYTHON_OPTION = pattern(r"(?:cpython-?)?(?P<minor>3\.\d+)(?:\.\d+)?")


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
                "torch's wheels bring their CUDA along and need none of the base",
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
