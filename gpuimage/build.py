"""From a spec to a proven image: plan, render, build, smoke-test and measure.

One function, so that the command line and a program get the same steps in the same order.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from gpuimage.engine import BuildEvent, BuildRequest, Engine, ImageInfo, check_disk, select_engine
from gpuimage.errors import BuildError, Location, SpecError
from gpuimage.growth import Baseline, Growth, GrowthLimit, growth
from gpuimage.inspect import WheelInfo
from gpuimage.plan import LockPolicy, Plan, prepare
from gpuimage.render import Rendered, render
from gpuimage.smoke import Expectation, Measure, SmokeReport, Verdict, measure, smoke
from gpuimage.spec import SpecFile

_CA = ".gpuimage-ca.pem"


class Display(Protocol):
    """Where progress goes while an image is built and tested."""

    def stage(self, text: str) -> None:
        """Say which part of the work begins."""

    def event(self, event: BuildEvent) -> None:
        """Show what the engine does."""

    def verdict(self, verdict: Verdict) -> None:
        """Show a verdict as soon as it is known."""


class _Silent:
    """Shows nothing."""

    def stage(self, text: str) -> None:
        """Ignore it."""

    def event(self, event: BuildEvent) -> None:
        """Ignore it."""

    def verdict(self, verdict: Verdict) -> None:
        """Ignore it."""


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What a build may change without touching the spec; `mirrors` and `ca` add to those of the spec.

    With a `baseline`, an image that grew by more than `max_growth` has not passed.
    """

    policy: LockPolicy = "update"
    tags: tuple[str, ...] = ()
    push: bool = False
    build_args: Mapping[str, str] = field(default_factory=dict)
    mirrors: Mapping[str, str] = field(default_factory=dict)
    ca: Path | None = None
    network: str | None = None
    no_cache: bool = False
    smoke: bool = True
    require: frozenset[str] = frozenset()
    baseline: Baseline | None = None
    max_growth: GrowthLimit = field(default_factory=GrowthLimit)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A built image: its plan, what the engine says of it, the smoke report and the growth (None where not asked)."""

    plan: Plan
    image: ImageInfo
    engine: str
    tags: tuple[str, ...]
    report: SmokeReport | None
    digests: Mapping[str, str] = field(default_factory=dict)
    growth: Growth | None = None

    @property
    def wheels(self) -> tuple[WheelInfo, ...] | None:
        """The distributions found in the image, None where the smoke test did not read its files."""
        return self.report.wheels if self.report else None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Image, layers and wheels against the budgets of the spec, also where no smoke test was asked for."""
        return measure(self.image, self.wheels, expectation(self.plan))

    @property
    def passed(self) -> bool:
        """Whether no probe failed, every budget holds, and the image did not grow too much."""
        smoked = self.report is None or self.report.passed
        grown = self.growth is not None and self.growth.exceeded
        return smoked and not grown and all(one.status != "failed" for one in self.measures)


@dataclass(slots=True)
class Course:
    """How far a build has come: filled in by `build` step by step, so that one that fails can be reported.

    `seconds` holds the wall time of each stage that began.
    """

    plan: Plan | None = None
    rendered: Rendered | None = None
    result: BuildResult | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str, display: Display) -> Iterator[None]:
        """Announce a stage and take its time."""
        display.stage(name)
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = time.monotonic() - began


def build(
    file: SpecFile,
    engine: Engine | None = None,
    options: BuildOptions | None = None,
    display: Display | None = None,
    course: Course | None = None,
) -> BuildResult:
    """Build and prove the image of a spec, with the engine that `select_engine` finds where none is given.

    PlanError and SpecError (2) before anything is built; UnavailableError (3) where the engine, a registry or an
    index does not answer or the disk is too small; BuildError (4) with the failing step and its spec key. What
    there is by then stands in `course`.

        >>> from gpuimage import build, load_spec
        >>> result = build(load_spec("spec.yaml"))
        >>> result.passed, result.engine, result.tags
        (True, 'docker', ('gpuimage-test/library:1',))
        >>> [verdict.reason for verdict in result.report.verdicts if verdict.probe == "nvcc-as-promised"]
        ['flavor: runtime and jit: none promise no nvcc, and there is none']
    """
    engine = engine or select_engine()
    options = options or BuildOptions()
    display = display or _Silent()
    course = course or Course()
    with course.stage("plan", display):
        plan = course.plan = prepare(file, options.policy)
        if plan.predicted_bytes:
            check_disk(engine.health(), plan.predicted_bytes[1])
        rendered, request = _request(file, plan, options)
        course.rendered = rendered
    with course.stage("build", display):
        try:
            image = engine.build(request, display.event)
        except BuildError as error:
            raise _located(error, file, rendered) from error
    result = course.result = _weighed(BuildResult(plan, image, engine.name, request.tags, None), options)
    if options.smoke:
        with course.stage("smoke", display):
            wanted = expectation(plan, require=options.require)
            report = smoke(engine, request.tags[0], wanted, display.verdict)
        result = course.result = _weighed(replace(result, report=report), options)
    if options.push and result.passed:
        with course.stage("push", display):
            digests = {tag: engine.push(tag, display.event) for tag in request.tags}
        result = course.result = replace(result, digests=digests)
    return result


def _weighed(result: BuildResult, options: BuildOptions) -> BuildResult:
    """The result beside its baseline, where there is one."""
    if options.baseline is None:
        return result
    return replace(result, growth=growth(options.baseline, result.image, result.wheels, options.max_growth))


def expectation(plan: Plan, *, require: frozenset[str] = frozenset()) -> Expectation:
    """What a plan promises of its image, as the smoke tests check it."""
    spec = plan.spec.spec
    return Expectation(
        flavor=spec.flavor,
        jit=spec.jit,
        arch=plan.arch,
        driver=spec.driver,
        cuda=plan.cuda,
        cpu_only=plan.cuda is None and plan.driver is None,
        frameworks=plan.frameworks,
        imports=spec.smoke.imports,
        run=spec.smoke.run,
        require=frozenset(spec.smoke.require) | require,
        image_budget=spec.budget.image,
        layer_budget=spec.budget.layer,
        wheel_budget=spec.budget.wheel,
    )


def _request(file: SpecFile, plan: Plan, options: BuildOptions) -> tuple[Rendered, BuildRequest]:
    spec = file.spec
    extra: dict[str, bytes] = {}
    ca = spec.build.ca
    given = options.ca or (file.directory / ca if ca else None)
    if given is not None and (options.ca or not given.resolve().is_relative_to(file.directory.resolve())):
        try:
            extra[_CA] = given.read_bytes()
        except OSError as error:
            raise SpecError(
                f"the CA bundle cannot be read: {error.strerror}", where=Location(given)
            ) from error
        ca = _CA
    mirrors = {**spec.build.mirrors, **options.mirrors}
    rendered = render(plan, mirrors=mirrors, ca=ca)
    request = BuildRequest(
        dockerfile=rendered.dockerfile,
        context=file.directory,
        ignore=rendered.dockerignore,
        tags=options.tags or (str(spec.image),),
        build_args=options.build_args,
        platform=None if spec.platforms[0] == "linux/amd64" else spec.platforms[0],
        extra_files=extra,
        insecure_registries=tuple(host for host in mirrors.values() if _loopback(host)),
        no_cache=options.no_cache,
        secrets=spec.build.secrets,
        network=options.network,
    )
    return rendered, request


def _loopback(host: str) -> bool:
    """A registry on this machine is reached without TLS, as Docker does by itself."""
    return host.split("/", maxsplit=1)[0].rsplit(":", 1)[0] in ("localhost", "127.0.0.1", "[::1]")


def _located(error: BuildError, file: SpecFile, rendered: Rendered) -> BuildError:
    """The engine's error with the spec key that asked for the failing step."""
    line = error.where.line if error.where else None
    if line is None:
        return error
    key = rendered.key_at(line)
    why = f"Dockerfile line {line}{f', from `{key}`' if key else ''}" + (
        f": {error.why}" if error.why else ""
    )
    return BuildError(
        error.what, where=file.at(key) if key else error.where, why=why, hint=error.hint, log=error.log
    )
