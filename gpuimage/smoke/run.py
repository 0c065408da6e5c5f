"""All tiers on one image, in order, with one report."""

from __future__ import annotations

import json
import platform
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Literal, Protocol

import msgspec

from gpuimage import process
from gpuimage.engine import Engine, ImageInfo, RunResult
from gpuimage.errors import UnavailableError
from gpuimage.inspect import InspectError, Inspection, inspect_tar
from gpuimage.smoke.probe import BEGIN, END
from gpuimage.smoke.static import static_verdicts
from gpuimage.smoke.verdict import Expectation, SmokeReport, Verdict
from gpuimage.units import size

PROBE_SECONDS = 1800.0
"""How long the probe may take in all; each of its children has a limit of its own."""

COMMAND_SECONDS = 600.0
"""How long each of the user's commands may take."""

_TAIL = 12
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SHELL = re.compile(r"[|&;<>()$`*?~\n]")

OnVerdict = Callable[[Verdict], None]


def smoke(
    engine: Engine,
    image: str,
    expectation: Expectation | None = None,
    on_verdict: OnVerdict | None = None,
) -> SmokeReport:
    """Smoke-test an image: T0 over its files, T1 and T2 by the probe in a container, T3 the user's commands.

    Containers run as the image's user, without its entry point and without a network. SpecError where the
    engine has no such image, UnavailableError where it stops answering; all else that goes wrong is a verdict.
    Without an expectation only what every image must keep is judged.

        >>> from gpuimage import Expectation, select_engine, smoke
        >>> report = smoke(select_engine(), "gpuimage-test/library:1", Expectation(run=("python3 --version",)))
        >>> report.passed, [verdict.status for verdict in report.verdicts if verdict.tier == "T3"]
        (True, ['passed'])
    """
    expectation = expectation or Expectation()
    told = _Teller(expectation, on_verdict)
    info = engine.inspect(image)
    inspection = _files(engine, image, info, expectation, told)
    place = _Container(engine, image)
    python = "python3" if inspection is None else _find_python(inspection, info)
    if python is None:
        line = None
        _no_python(expectation, told)
    else:
        line = _probe(place, python, expectation, told)
    _commands(place, expectation, told)
    wheels = inspection.wheels if inspection else None
    return SmokeReport(image, engine.name, tuple(told.verdicts), line, wheels)


def smoke_here(expectation: Expectation, on_verdict: OnVerdict | None = None) -> SmokeReport:
    """Run the probe on this machine, with the Python that runs gpuimage; its files are not judged."""
    told = _Teller(expectation, on_verdict)
    told(Verdict("files", "T0", "skipped", "this is a machine, not an image: its files are not judged"))
    place = _Here()
    line = _probe(place, sys.executable, expectation, told)
    _commands(place, expectation, told)
    return SmokeReport("this machine", f"Python {platform.python_version()}", tuple(told.verdicts), line)


def probe_source() -> bytes:
    """The probe, as it is fed to a Python's standard input."""
    return files("gpuimage").joinpath("smoke/probe.py").read_bytes()


class _Teller:
    """Keeps verdicts and tells each as soon as it is known; what is required and was skipped has failed."""

    def __init__(self, expectation: Expectation, on_verdict: OnVerdict | None) -> None:
        self.verdicts: list[Verdict] = []
        self._gpu_required = "gpu" in expectation.require
        self._tell = on_verdict

    def __call__(self, verdict: Verdict) -> None:
        if self._gpu_required and verdict.tier == "T2" and verdict.status == "skipped":
            verdict = replace(verdict, status="failed", reason=f"a GPU is required, but {verdict.reason}")
        self.verdicts.append(verdict)
        if self._tell:
            self._tell(verdict)


class _Place(Protocol):
    """Where commands run."""

    no_gpu: str

    def run(
        self, command: Sequence[str], *, stdin: bytes, env: Mapping[str, str], timeout: float
    ) -> RunResult: ...


@dataclass(slots=True)
class _Container:
    """Containers of one image, with the GPU where the engine can give it to them."""

    engine: Engine
    image: str
    gpus: bool = False
    no_gpu: str = ""

    def __post_init__(self) -> None:
        self.gpus = "gpu" in self.engine.health().features
        if not self.gpus:
            self.no_gpu = f"{self.engine.name} has no GPU to give to a container"

    def run(
        self, command: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str], timeout: float
    ) -> RunResult:
        """Run a command; where the container does not start with a GPU, once more without."""
        if self.gpus:
            try:
                return self.engine.run(self.image, command, stdin=stdin, env=env, timeout=timeout, gpus=True)
            except UnavailableError as error:
                said = error.why or error.what
                self.no_gpu = f"{self.engine.name} cannot give a GPU to a container: {said.splitlines()[0]}"
                self.gpus = False
        return self.engine.run(self.image, command, stdin=stdin, env=env, timeout=timeout)


class _Here:
    """This machine."""

    no_gpu = ""

    def run(
        self, command: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str], timeout: float
    ) -> RunResult:
        try:
            done = process.run(command, input=stdin, env=env, timeout=timeout)
        except process.ProcessTimeoutError as late:
            return RunResult(-1, late.stdout, late.stderr, timed_out=True)
        return RunResult(done.returncode, done.stdout, done.stderr)


# T0


def _files(
    engine: Engine, image: str, info: ImageInfo, expectation: Expectation, told: _Teller
) -> Inspection | None:
    began = time.monotonic()
    try:
        with engine.export(image) as stream:
            inspection = inspect_tar(stream)
    except InspectError as error:
        reason = f"the image's files cannot be read: {error.what}"
        told(Verdict("files", "T0", "failed", reason, time.monotonic() - began))
        return None
    reason = f"read {inspection.files} files of {size(inspection.bytes)}, {len(inspection.libraries)} are libraries"
    told(Verdict("files", "T0", "passed", reason, time.monotonic() - began, inspection.problems))
    for verdict in static_verdicts(inspection, info, expectation):
        told(verdict)
    return inspection


# T1 and T2


def _find_python(inspection: Inspection, info: ImageInfo) -> str | None:
    """The Python that the image's PATH finds, None where there is none."""
    path = next((entry[5:] for entry in info.env if entry.startswith("PATH=")), "") or _PATH
    for name in ("python3", "python"):
        for folder in path.split(":"):
            candidate = f"{folder.rstrip('/')}/{name}"
            if folder.startswith("/") and inspection.resolve(candidate) in inspection.executables:
                return candidate
    return None


def _no_python(expectation: Expectation, told: _Teller) -> None:
    promised = expectation.imports or sorted(expectation.frameworks)
    if promised:
        told(
            Verdict(
                "python", "T1", "failed", f"no Python on the image's PATH, but {promised[0]} was promised"
            )
        )
    else:
        told(
            Verdict(
                "python",
                "T1",
                "skipped",
                "no Python on the image's PATH, and nothing that needs one was promised",
            )
        )
    told(Verdict("gpu", "T2", "skipped", "the image has no Python to look for a GPU with"))


class _Row(msgspec.Struct, frozen=True):
    """A verdict as the probe writes it."""

    tier: Literal["T1", "T2"]
    probe: str
    status: Literal["passed", "failed", "skipped"]
    reason: str
    seconds: float
    evidence: tuple[str, ...]


class _Document(msgspec.Struct, frozen=True):
    """What the probe writes between its markers."""

    verdicts: tuple[_Row, ...]
    line: str | None = None


def _probe(place: _Place, python: str, expectation: Expectation, told: _Teller) -> str | None:
    """Feed the probe to a Python and pass its verdicts on; the familiar line where there is torch."""
    began = time.monotonic()
    result = place.run(
        [python, "-"],
        stdin=probe_source(),
        env={"GPUIMAGE_PROBE": json.dumps(_question(expectation, place.no_gpu))},
        timeout=PROBE_SECONDS,
    )
    document = _document(result.stdout)
    if document is None:
        ended = (
            f"did not end within {PROBE_SECONDS:.0f} seconds"
            if result.timed_out
            else f"ended with status {result.returncode}"
        )
        reason = f"the probe gave no answer, {python} {ended}"
        told(Verdict("python", "T1", "failed", reason, time.monotonic() - began, _tail(result)))
        told(Verdict("gpu", "T2", "skipped", "the probe gave no answer"))
        return None
    for row in document.verdicts:
        told(Verdict(row.probe, row.tier, row.status, row.reason, row.seconds, row.evidence))
    return document.line


def _question(expectation: Expectation, no_gpu: str) -> dict[str, object]:
    """The probe's expectations; its docstring names the keys."""
    return {
        "imports": list(expectation.imports),
        "frameworks": dict(expectation.frameworks),
        "arch": str(expectation.arch) if expectation.arch else "",
        "cuda": expectation.cuda,
        "cpu_only": expectation.cpu_only,
        "jit": expectation.jit or "none",
        "no_gpu": no_gpu,
    }


def _document(output: str) -> _Document | None:
    """The probe's document; what else an image prints stands before or behind it."""
    _, mark, rest = output.rpartition(f"{BEGIN}\n")
    text, end, _ = rest.partition(f"\n{END}")
    if not mark or not end:
        return None
    try:
        return msgspec.json.decode(text, type=_Document)
    except msgspec.DecodeError:  # ValidationError is one
        return None


# T3


def _commands(place: _Place, expectation: Expectation, told: _Teller) -> None:
    if not expectation.run:
        told(Verdict("commands", "T3", "skipped", "no commands were given (smoke.run in the spec)"))
    for command in expectation.run:
        told(_command(place, command))


def _command(place: _Place, command: str) -> Verdict:
    """Run one command: directly, or by the image's shell where it needs one."""
    began = time.monotonic()
    try:
        words = ["/bin/sh", "-c", command] if _SHELL.search(command) else shlex.split(command)
        result = place.run(words, stdin=b"", env={}, timeout=COMMAND_SECONDS)
    except ValueError as error:  # an unclosed quote
        return Verdict(command, "T3", "failed", f"this is no command: {error}")
    except UnavailableError as error:
        return Verdict(
            command, "T3", "failed", f"it does not start: {error.why or error.what}", time.monotonic() - began
        )
    took = time.monotonic() - began
    if result.returncode == 0 and not result.timed_out:
        last = _tail(result)[-1:]
        return Verdict(command, "T3", "passed", "ended with status 0", took, last)
    ended = (
        f"did not end within {COMMAND_SECONDS:.0f} seconds"
        if result.timed_out
        else f"ended with status {result.returncode}"
    )
    return Verdict(command, "T3", "failed", ended, took, _tail(result))


def _tail(result: RunResult) -> tuple[str, ...]:
    lines = f"{result.stdout}\n{result.stderr}".splitlines()
    return tuple(line.rstrip() for line in lines if line.strip())[-_TAIL:]
