"""From a spec to a proven image: plan, render, build, smoke-test and measure.

One function, so that the command line and a program get the same steps in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from gpuimage.engine import BuildEvent, BuildRequest, Engine, ImageInfo, check_disk, select_engine
from gpuimage.errors import BuildError, Location, SpecError
from gpuimage.plan import LockPolicy, Plan, prepare
from gpuimage.render import Rendered, render
from gpuimage.smoke import Expectation, SmokeReport, Verdict, smoke
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
    """What a build may change without touching the spec; `mirrors` and `ca` add to those of the spec."""

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


@dataclass(frozen=True, slots=True)
class BuildResult:
    """A built image: its plan, what the engine says of it, and the smoke report (None where not asked)."""

    plan: Plan
    image: ImageInfo
    engine: str
    tags: tuple[str, ...]
    report: SmokeReport | None
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return self.report is None or self.report.passed


def build(
    file: SpecFile,
    engine: Engine | None = None,
    options: BuildOptions | None = None,
    display: Display | None = None,
) -> BuildResult:
    """Build and prove the image of a spec, with the engine that `select_engine` finds where none is given.

    PlanError and SpecError (2) before anything is built; UnavailableError (3) where the engine, a registry or an
    index does not answer or the disk is too small; BuildError (4) with the failing step and its spec key.

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
    display.stage("plan")
    plan = prepare(file, options.policy)
    predicted = plan.predicted_bytes
    health = engine.health()
    if predicted:
        check_disk(health, predicted[1])
    rendered, request = _request(file, plan, options)
    display.stage("build")
    try:
        image = engine.build(request, display.event)
    except BuildError as error:
        raise _located(error, file, rendered) from error
    report = None
    if options.smoke:
        display.stage("smoke")
        report = smoke(engine, request.tags[0], expectation(plan, require=options.require), display.verdict)
    result = BuildResult(plan, image, engine.name, request.tags, report)
    if options.push and result.passed:
        display.stage("push")
        return replace(result, digests={tag: engine.push(tag, display.event) for tag in request.tags})
    return result


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
