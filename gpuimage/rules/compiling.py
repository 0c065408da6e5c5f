"""What compiles CUDA code for PyTorch in a Dockerfile."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from gpuimage.dockerfile import Span
from gpuimage.dockerfile.shell import Argument
from gpuimage.facts import Base, Call, FileFacts, PythonInstall, StageFacts, Step, Wanted
from gpuimage.patterns import pattern
from gpuimage.rules.shared import NEEDS_TORCH
from gpuimage.rules.toolkits import toolkit
from gpuimage.tables import raw_rows

_OWN_ARCHS = pattern(r"['\"]-?-?(?:arch|gencode|gpu-architecture)\b")
_VERBS = frozenset("build build_ext bdist_wheel bdist install develop editable_wheel".split())
_SOURCES = pattern(r"(?:^|[\s;&|({])(?:\.|source|eval)\s")
_INSTALLS = pattern(r"pip|setup\.py|\buv\b")
_KNOWN_KINDS = frozenset({"cuda", "pytorch", "plain", "python", "conda", "scratch"})
_WHEEL_SOURCES = pattern(r"https?://download\.pytorch\.org/")


class Build(NamedTuple):
    """A command that builds a project which compiles CUDA code for PyTorch, or may.

    `row` is what is known of the project; `sure` says that CUDA code is compiled for certain, `fetched` that a
    finished wheel may be found instead.
    """

    call: Call
    span: Span
    project: str
    row: dict[str, Any] | None
    sure: bool
    fetched: bool
    install: PythonInstall | None
    wanted: Wanted | None

    @property
    def archs(self) -> str:
        """How it comes to its architectures: list, own, default; "" where the project is not known."""
        return self.row["archs"] if self.row else ""

    @property
    def variable(self) -> str | None:
        """The variable that it reads for them; None where it reads none."""
        return self.row["variable"] if self.row and self.row["archs"] == "own" else "TORCH_CUDA_ARCH_LIST"


@cache
def projects() -> dict[str, dict[str, Any]]:
    """The known projects by name."""
    rows = raw_rows("extensions", "rows")
    return {name: row for row in reversed(rows) for name in row["names"]}


@cache
def default_gcc(os: str) -> int | None:
    """The major version behind `g++` of a distribution; None where the table does not tell."""
    rows = raw_rows("default_compilers", "rows")
    return next((row["gcc"] for row in rows if row["os"] == os and row["verified"]), None)


def root_of(file: FileFacts, step: Step) -> Base:
    """What is known of the image below a step."""
    return file.stages[step.stage].root


# What compiles for PyTorch.


def builds(file: FileFacts, step: Step) -> tuple[Build, ...]:
    """The builds of a RUN."""
    if step.instruction.keyword != "RUN" or root_of(file, step).kind == "rocm":
        return ()
    return file.once("builds", step, lambda: tuple(_builds(file, step)))


def stage_builds(file: FileFacts, stage: StageFacts) -> tuple[Build, ...]:
    """The builds of a stage and its parents, in order."""
    return file.once(
        "stage builds",
        stage.steps[0],
        lambda: tuple(one for step in stage.chain for one in builds(file, step)),
    )


def ancestry(file: FileFacts, stage: StageFacts) -> set[int]:
    """The numbers of a stage and its parents."""
    found = {stage.index}
    while stage.parent is not None:
        stage = file.stages[stage.parent]
        found.add(stage.index)
    return found


def _builds(file: FileFacts, step: Step) -> Iterator[Build]:
    if "PYTORCH_ROCM_ARCH" in step.variables or step.has_device:
        return
    if not _INSTALLS.search(file.source.text, step.instruction.span.start, step.instruction.span.end):
        return
    for install in file.python(step):
        if install.tool in ("pip", "uv") and not install.given.has("--only-binary"):
            yield from _installed(file, install)
    for call in step.calls:
        if call.name.startswith("python") and "setup.py" in call.text:
            found = _setup(file, call)
            if found is not None:
                yield found


def _installed(file: FileFacts, install: PythonInstall) -> Iterator[Build]:
    call = install.call
    if str(install.given.words[0]) == "download":
        return
    for wanted in install.wanted:
        local = wanted.from_source and "://" not in wanted.source
        name = (_directory(file, call, wanted.source) if local else wanted.name) or ""
        row = projects().get(name)
        if row is None:
            if wanted.file or not wanted.from_source or not install.no_isolation:
                continue
            text = _setup_text(file, call, wanted.source) if local else None
            if text is not None and "cpp_extension" not in text:
                continue
            needs = _needs_archs(text) if text is not None else None
            if needs is False:
                continue
            sure = bool(needs)
            yield Build(
                call, wanted.span, name or wanted.source, None, sure or _forced(call), False, install, wanted
            )
            continue
        if not wanted.from_source and (wanted.source or row["pypi"] != "sdist" or _wheels_elsewhere(install)):
            continue
        forced = row["force"] is not None and call.variable(row["force"]) == "TRUE"
        fetched = row["fetches"] and not forced
        sure = not fetched and _compiles(row, call) and not wanted.file
        yield Build(call, wanted.span, row["names"][0], row, sure, fetched, install, wanted)


def _wheels_elsewhere(install: PythonInstall) -> bool:
    """Whether a page or an index is given that may have finished wheels; PyTorch's own has none of these."""
    given = (*install.extra_indexes, "unknown" if install.index == "" else install.index or "")
    return any(one and not _WHEEL_SOURCES.match(one) for one in given)


def _compiles(row: dict[str, Any], call: Call) -> bool:
    if call.variable("BUILD_NO_CUDA") == "1" or call.variable("FORCE_ONLY_CPU") == "1":
        return False
    return row["when"] == "always" or _forced(call)


def _forced(call: Call) -> bool:
    return (
        call.variable("FORCE_CUDA") in ("1", "ON", "TRUE", "True", "true")
        or call.variable("FORCE_ONLY_CUDA") == "1"
    )


def _setup(file: FileFacts, call: Call) -> Build | None:
    """`python setup.py install` and its like."""
    values = call.values
    at = next(
        (i for i, value in enumerate(values) if value == "setup.py" or value.endswith("/setup.py")), None
    )
    if at is None or at > 2 or not _VERBS & set(values[at + 1 :]):
        return None
    source = posixpath.dirname(values[at]) or "."
    name = _directory(file, call, source) or ""
    row = projects().get(name)
    span = call.span
    if row is not None:
        return Build(call, span, row["names"][0], row, _compiles(row, call), False, None, None)
    if _inside_clone(file, call, source):
        return None  # one part of a repository is as likely a binding without CUDA code
    text = _setup_text(file, call, source)
    needs = _needs_archs(text) if text is not None else None
    if needs is False:
        return None
    sure = bool(needs) or _forced(call)
    return Build(call, span, name, None, sure, False, None, None)


def _directory(file: FileFacts, call: Call, source: str) -> str | None:
    """The name of the repository that a directory of the image is a clone of."""
    path = call.absolute(source.partition("[")[0])
    if path is None:
        return None
    return next((name for place, name in _clones(file, call.step) if place == path), None)


def _clones(file: FileFacts, step: Step) -> Iterator[tuple[str, str]]:
    """The clones that a step finds, its own included: their paths, and the names of their repositories."""
    stage = file.stages[step.stage]

    def read() -> Iterator[tuple[int, str, str]]:
        for one in stage.chain:
            for change in file.changes(one):
                if change.kind == "cloned" and change.path:
                    name = re.sub(r"\.git$", "", posixpath.basename(change.source.rstrip("/")))
                    yield one.instruction.span.start, change.path, re.sub(r"[-_.]+", "-", name).lower()

    start = step.instruction.span.start
    found = file.once("clones", stage.steps[0], lambda: tuple(read()))
    return ((path, name) for at, path, name in found if at <= start)


def _inside_clone(file: FileFacts, call: Call, source: str) -> bool:
    """Whether a directory lies below the root of a clone."""
    path = call.absolute(source)
    return path is not None and any(
        path.startswith(place.rstrip("/") + "/") for place, _ in _clones(file, call.step)
    )


def _needs_archs(setup: str) -> bool | None:
    """Whether a setup.py has torch's builder choose the architectures; None where that hangs on the machine."""
    if "CUDAExtension" not in setup or _OWN_ARCHS.search(setup):
        return False
    return None if "is_available" in setup else True


def _setup_text(file: FileFacts, call: Call, source: str) -> str | None:
    """The setup.py of a directory that came from the context; None where it is not beside the Dockerfile."""
    path = call.absolute(source.partition("[")[0])
    if path is None:
        return None
    found = file.read(call.step, posixpath.join(path, "setup.py"))
    if found is not None:
        return found[0]
    project = file.read(call.step, posixpath.join(path, "pyproject.toml"))
    return project[0] if project is not None else None


def torch_before(file: FileFacts, call: Call) -> bool | None:
    """Whether torch with CUDA is there when a command runs; None where nobody knows."""
    root, stage = root_of(file, call.step), file.stages[call.step.stage]
    if root.kind in ("pytorch", "ngc-torch"):
        return True
    start = call.step.instruction.span.start
    known = root.kind in _KNOWN_KINDS
    for at, found in file.once("torch", stage.steps[0], lambda: tuple(_torch(file, stage))):
        if at > start:
            break
        if found != "hidden":
            return found == "cuda" if found != "unknown" else None
        known = False
    return False if known else None


def _torch(file: FileFacts, stage: StageFacts) -> Iterator[tuple[int, str]]:
    """Where torch comes in: cuda, other, unknown; and what may hide one. The first that tells ends it."""
    for step in stage.chain:
        start, hidden = (
            step.instruction.span.start,
            bool(step.instruction.keyword == "COPY" and step.instruction.flag("from")),
        )
        for install in file.python(step):
            torch = install.find("torch")
            if torch is not None:
                variant = install.variant(torch)
                if variant == "?":
                    yield start, "unknown"
                    return
                yield start, "cuda" if variant is None or variant.startswith("cu") else "other"
                return
            if not install.no_deps and any(
                one.name in NEEDS_TORCH and not one.from_source for one in install.wanted
            ):
                yield start, "cuda"
                return
            hidden = hidden or not install.complete
        for conda in file.conda(step):
            if conda.find("pytorch", "torch", "pytorch-gpu"):
                yield start, "unknown" if conda.find("cpuonly") else "cuda"
                return
            hidden = hidden or not conda.complete
        if hidden:
            yield start, "hidden"


def needs_list(file: FileFacts, build: Build) -> str | None:
    """The variable without which a build stops where no GPU is seen; None for one that goes on, or may not compile."""
    row, present = build.row, toolkit(file, build.call.step).present
    if present is False or build.call.tolerated:
        return None
    if row is not None and row["required"]:
        return str(row["variable"])
    if row is not None:
        return "TORCH_CUDA_ARCH_LIST" if row["archs"] == "list" and build.sure else None
    if build.sure:
        return "TORCH_CUDA_ARCH_LIST"
    # A project that nobody knows: only where everything is there to compile CUDA code for torch.
    return "TORCH_CUDA_ARCH_LIST" if present and torch_before(file, build.call) else None


def scope(call: Call, root: Base, name: str) -> bool | None:
    """Whether a variable is set where a command runs; None where a base or a sourced file may set it."""
    if call.is_set(name):
        return True
    if _declared(call, name) or root.kind not in _KNOWN_KINDS or _sourced(call):
        return None
    return False


def _declared(call: Call, name: str) -> bool:
    """Whether an ARG waits for a value, or the script sets it to nothing."""
    return name in call.step.variables or name in call.assigned


def _sourced(call: Call) -> bool:
    """Whether the script reads variables from a file before a command."""
    if not _SOURCES.search(call.script.text):
        return False
    for other in call.step.calls:
        if other.program is call.program:
            return False
        if other.name in (".", "source", "eval"):
            return True
    return False


# Places.


def inner(file: FileFacts, call: Call, argument: Argument, text: str) -> Span:
    """The place of a piece of a word; that of the whole word where it is not written as it reads."""
    at = argument.raw.find(text)
    if at >= 0 and text:
        span = call.script.place(Span(argument.span.start + at, argument.span.start + at + len(text)))
        if file.source[span] == text:
            return span
    return call.place(argument)
