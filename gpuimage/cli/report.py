"""Options of `build` about its reports: where they go, and what an image may grow by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpuimage import GpuImageError

if TYPE_CHECKING:
    from gpuimage import Baseline, BuildReport, GrowthLimit, SpecFile
    from gpuimage.reporters.build_files import ReportDirectory, StepSummary

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--report",
        "directory",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Write report.json, .md and .html, junit.xml, plan, Dockerfile and lock there, also when the build fails.",
    ),
    click.option("--summary", is_flag=True, help="Append the report to the file GITHUB_STEP_SUMMARY names."),
    click.option(
        "--baseline",
        type=click.Path(path_type=Path),
        metavar="REPORT",
        help="Show what grew since a former report.json, and exit 1 where it is too much.",
    ),
    click.option(
        "--max-growth",
        metavar="SIZE|PERCENT",
        help="How much an image may grow: 50MB, 2%.  [default: 5%]",
    ),
)


def report_options(command: _Command) -> _Command:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


class Outputs:
    """Where reports go besides standard output; made before a build, so that it is refused before one."""

    def __init__(self, directory: Path | None, *, summary: bool) -> None:
        self._directory: ReportDirectory | None = None
        self._summary: StepSummary | None = None
        if directory is not None or summary:
            from gpuimage.reporters.build_files import ReportDirectory, StepSummary

            self._directory = ReportDirectory.prepare(directory) if directory is not None else None
            self._summary = StepSummary.prepare() if summary else None

    def write(self, reports: Sequence[BuildReport], unbuilt: Sequence[str]) -> None:
        """Write what there is; then raise the failure that ended the last build, if one did."""
        failure = reports[-1].failure
        try:
            if self._directory:
                self._directory.write(reports, unbuilt)
            if self._summary and (undone := self._summary.append(reports, unbuilt)):
                click.echo(f"note: {undone}", err=True)
        except GpuImageError as error:
            if failure is None:
                raise
            click.echo(f"error: {error}", err=True)
        if failure:
            raise failure


def growth_limit(text: str | None, baseline: Path | None) -> GrowthLimit:
    """Read `--max-growth`."""
    from gpuimage import GrowthLimit

    if text is None:
        return GrowthLimit()
    if baseline is None:
        raise click.UsageError("--max-growth says how much more than a --baseline: give one.")
    try:
        return GrowthLimit.parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--max-growth") from error


def baseline_of(path: Path | None, file: SpecFile) -> Baseline | None:
    """Read the baseline of a spec: a report.json, or the directory that `--report` wrote.

    A variant that its directory does not know is new, which is said.
    """
    from gpuimage import read_baseline

    if path is None:
        return None
    if path.is_dir():
        path = path / file.variant / "report.json"
        if file.variant and not path.exists():
            click.echo(f"note: there is no {path}: {file.spec.image} has no baseline", err=True)
            return None
    return read_baseline(path, file)
