"""Where reports of builds are kept: a directory, and the summary of a GitHub job. Both are tried before a build."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuimage.errors import Location, SpecError
from gpuimage.files import write_atomic
from gpuimage.lock import lock_path
from gpuimage.report import BuildReport
from gpuimage.reporters.build_html import build_html
from gpuimage.reporters.build_json import build_json
from gpuimage.reporters.build_markdown import build_markdown
from gpuimage.reporters.junit import build_junit
from gpuimage.reporters.plan_json import plan_json

SUMMARY = "GITHUB_STEP_SUMMARY"
_MOST = 1024 * 1024  # bytes of a step's summary; GitHub drops one that is longer


@dataclass(frozen=True, slots=True)
class ReportDirectory:
    """A directory of reports: new, empty, or that of a former report."""

    path: Path

    @classmethod
    def prepare(cls, path: Path) -> ReportDirectory:
        """Try it, and leave nothing behind; SpecError where nothing can be written, or what is there is not ours."""
        try:
            place = _nearest(path)
            with tempfile.TemporaryFile(dir=place):
                pass
            strange = place == path and any(path.iterdir()) and not (path / "report.md").is_file()
        except OSError as error:
            raise _unwritable("no report can be written into this directory", path, error) from error
        if strange:
            raise SpecError(
                "this directory holds other files",
                where=Location(path),
                why="a report writes files such as Dockerfile and junit.xml over those of the same name",
                hint="name a new or empty directory, or that of a former report",
            )
        return cls(path)

    def write(self, reports: Sequence[BuildReport], unbuilt: Sequence[str] = ()) -> None:
        """Write all files of each report, variants of a matrix into directories of their own; each file whole or not at all.

        Files of a former report that this one has not are removed.
        """
        if reports[0].spec.variant:
            whole = {
                "report.md": build_markdown(*reports, unbuilt=unbuilt),
                "junit.xml": build_junit(*reports),
            }
            _write(self.path, whole)
        for report in reports:
            _write(self.path / report.spec.variant, _files(report))


def _nearest(path: Path) -> Path:
    """The path itself where there is something, else the nearest above it."""
    try:
        path.lstat()
    except FileNotFoundError:
        return _nearest(path.parent)
    return path


def _unwritable(what: str, path: Path, error: OSError) -> SpecError:
    return SpecError(f"{what}: {error.strerror or error}", where=Location(path))


def _files(report: BuildReport) -> Mapping[str, str | None]:
    """The files of one report by name; None for what it has not."""
    plan, rendered = report.plan, report.rendered
    return {
        "report.md": build_markdown(report),
        "report.json": build_json(report),
        "report.html": build_html(report),
        "junit.xml": build_junit(report),
        "plan.json": plan_json(plan) if plan else None,
        "Dockerfile": rendered.dockerfile if rendered else None,
        # BuildKit takes it for a Dockerfile of this name, wherever the context is.
        "Dockerfile.dockerignore": rendered.dockerignore if rendered else None,
        lock_path(report.spec).name: plan.lock.text() if plan and plan.lock else None,
    }


def _write(folder: Path, files: Mapping[str, str | None]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            if content is None:
                (folder / name).unlink(missing_ok=True)
            else:
                write_atomic(folder / name, content.encode("utf-8", "replace"))
    except OSError as error:
        raise _unwritable("the report cannot be written", folder, error) from error


@dataclass(frozen=True, slots=True)
class StepSummary:
    """The file whose Markdown GitHub shows on the page of a job."""

    path: Path

    @classmethod
    def prepare(cls) -> StepSummary:
        """Find it by its environment variable; SpecError where there is none, or nothing can be appended to it."""
        name = os.environ.get(SUMMARY)
        if not name:
            raise SpecError(
                f"{SUMMARY} is not set",
                why="--summary appends to the file it names, as GitHub's runners set it",
                hint="leave --summary out, or take --report DIR, whose report.md is the same text",
            )
        path = Path(name)
        try:
            if path.exists() and not path.is_file():
                raise SpecError(f"{SUMMARY} names no file", where=Location(path))
            with path.open("ab") if path.exists() else tempfile.TemporaryFile(dir=path.parent):
                pass
        except OSError as error:
            raise _unwritable("the summary cannot be written", path, error) from error
        return cls(path)

    def append(self, reports: Sequence[BuildReport], unbuilt: Sequence[str] = ()) -> str | None:
        """Append the reports as Markdown; what was left undone, where the step's summary has no room for them."""
        data = build_markdown(*reports, unbuilt=unbuilt).encode("utf-8", "replace")
        try:
            with self.path.open("ab") as file:
                if file.tell() + len(data) + 1 > _MOST:
                    return f"{self.path}: the report is not in the summary, which would pass GitHub's 1 MiB with it"
                file.write(b"\n" + data if file.tell() else data)
        except OSError as error:
            raise _unwritable("the summary cannot be written", self.path, error) from error
        return None
