"""A build as it is reported: what came of it, or how far it came and why it ended there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gpuimage.build import BuildOptions, BuildResult, Course, Display, build
from gpuimage.dockerfile import Source
from gpuimage.engine import Engine
from gpuimage.errors import GpuImageError
from gpuimage.finding import FileReport
from gpuimage.lint.run import lint_bytes
from gpuimage.plan import Plan
from gpuimage.render import Rendered
from gpuimage.spec import SpecFile


@dataclass(frozen=True, slots=True)
class BuildReport:
    """One build: `result` is None where no image came of it, `failure` is the error that ended it, if one did.

    `plan` and `rendered` are None where it ended before them. `findings` are the linter's on the rendered Dockerfile.
    `seconds` is the wall time of each stage that began.
    """

    spec: SpecFile
    engine: str
    started: datetime
    plan: Plan | None = None
    rendered: Rendered | None = None
    findings: FileReport | None = None
    result: BuildResult | None = None
    failure: GpuImageError | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether there is an image and nothing failed."""
        return self.failure is None and self.result is not None and self.result.passed

    @property
    def name(self) -> str:
        """The image's first tag, or the name it was to get."""
        return self.result.tags[0] if self.result else str(self.spec.spec.image)


def report_build(file: SpecFile, engine: Engine, options: BuildOptions, display: Display) -> BuildReport:
    """Build as `build` does; an error of ours becomes the report's `failure` instead of being raised."""
    course, started, failure = Course(), datetime.now(UTC), None
    try:
        build(file, engine, options, display, course)
    except GpuImageError as error:
        failure = error
    return BuildReport(
        spec=file,
        engine=engine.name,
        started=started,
        plan=course.plan,
        rendered=course.rendered,
        findings=_findings(file, course.rendered) if course.rendered else None,
        result=course.result,
        failure=failure,
        seconds=course.seconds,
    )


def _findings(file: SpecFile, rendered: Rendered) -> FileReport:
    """What our own linter says; it fails no build, and neither does a config of it that cannot be read."""
    path = file.directory / "Dockerfile"
    try:
        [found] = lint_bytes(rendered.dockerfile.encode(), path).files
    except GpuImageError as error:
        return FileReport(str(path), Source(rendered.dockerfile), failure=str(error))
    return found
