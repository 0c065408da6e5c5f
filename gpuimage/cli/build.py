"""The commands from a spec to an image: plan, lock, render, build, schema."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuimage.cli.options import (
    ENGINE,
    HOST,
    PROGRESS,
    QUIET,
    REQUIRE,
    SMOKE_FORMAT,
    form_option,
    note_age,
    pairs,
    single,
    variants_of,
)
from gpuimage.cli.report import Outputs, baseline_of, growth_limit, report_options

if TYPE_CHECKING:
    from gpuimage import BuildReport, LockPolicy

SPEC = click.argument("spec", type=click.Path(path_type=Path))


@click.command("plan")
@SPEC
@form_option("Form of the plan.", "text", "json")
@click.option("--offline", is_flag=True, help="Ask no index: plan from the lock and the tables alone.")
def plan_command(spec: Path, form: str, *, offline: bool) -> None:
    """Decide everything and say why; write nothing."""
    from gpuimage import lock_beside, plan, prepare
    from gpuimage.reporters.results import PLAN_REPORTERS

    note_age()
    for file in variants_of(spec):
        made = plan(file, lock_beside(file)) if offline else prepare(file, "memory")
        click.echo(PLAN_REPORTERS[form](made), nl=False)


@click.command("lock")
@SPEC
@click.option("--check", is_flag=True, help="Only say whether the lock is fresh; exit 2 when it is not.")
def lock_command(spec: Path, *, check: bool) -> None:
    """Resolve the wheels with hashes into a lock beside the spec."""
    from gpuimage import prepare
    from gpuimage.reporters.lock_text import lock_text

    note_age()
    for file in variants_of(spec):
        click.echo(lock_text(prepare(file, "locked" if check else "update")), nl=False)


@click.command("render")
@SPEC
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="Write Dockerfile and .dockerignore into this directory.",
)
@click.option(
    "--check", is_flag=True, help="Compare with the files in the output directory; exit 1 when they differ."
)
def render_command(spec: Path, output: Path | None, *, check: bool) -> None:
    """Write the Dockerfile (to standard output, or with its .dockerignore into a directory)."""
    from gpuimage import lock_beside, lock_path, plan, render

    note_age()
    file = single(spec)
    lock = lock_beside(file)
    made = plan(file, lock)
    rendered = render(made)
    if lock is None and not made.resolution.empty:
        click.echo(
            f"note: {lock_path(file).name} does not exist yet; `gpuimage lock {spec}` makes it, and a build too",
            err=True,
        )
    folder = output or (file.directory if check else None)
    if folder is None:
        click.echo(rendered.dockerfile, nl=False)
    elif check:
        stale = rendered.stale(folder)
        for path in stale:
            click.echo(f"{path}: differs from what {spec} renders; run `gpuimage render {spec} -o {folder}`")
        sys.exit(1 if stale else 0)
    else:
        for path in rendered.write(folder):
            click.echo(str(path))


@click.command("build")
@SPEC
@ENGINE
@HOST
@click.option("--tag", "-t", "tags", multiple=True, help="Tag the image so, instead of the spec's `image`.")
@click.option("--push", is_flag=True, help="Push after a passed smoke test.")
@click.option("--build-arg", "build_args", multiple=True, metavar="KEY=VALUE", help="A build argument.")
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="REGISTRY=HOST",
    help="Take bases of a registry from here, as build.mirrors does.",
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path),
    help="CA bundle for downloads during the build, as build.ca does.",
)
@click.option("--network", metavar="MODE", help="Network of the build steps, for example host.")
@click.option("--no-cache", is_flag=True, help="Use no cached step.")
@click.option("--locked", "policy", flag_value="locked", help="Stop when the lock is missing or stale.")
@click.option("--frozen", "policy", flag_value="frozen", help="Take the lock as it is, unchecked.")
@click.option("--no-smoke", is_flag=True, help="Do not smoke-test the image.")
@REQUIRE
@report_options
@SMOKE_FORMAT
@PROGRESS
@QUIET
def build_command(
    spec: Path, engine: str, host: str | None, tags: tuple[str, ...], build_args: tuple[str, ...], mirrors: tuple[str, ...],
    ca: Path | None, network: str | None, policy: str | None, require: tuple[str, ...], directory: Path | None,
    baseline: Path | None, max_growth: str | None, form: str, progress: str,
    *, push: bool, no_cache: bool, no_smoke: bool, summary: bool, quiet: bool,
) -> None:  # fmt: skip
    """Plan, render, build and smoke-test; write the report to standard output."""
    from gpuimage import BuildOptions, report_build, select_engine
    from gpuimage.reporters.progress import progress_display
    from gpuimage.reporters.results import BUILD_REPORTERS

    note_age()
    limit = growth_limit(max_growth, baseline)
    options = [
        (file, BuildOptions(
            policy=_policy(policy), tags=tags, push=push, build_args=pairs(build_args, "--build-arg"),
            mirrors=pairs(mirrors, "--mirror"), ca=ca, network=network, no_cache=no_cache, smoke=not no_smoke,
            require=frozenset(require), baseline=baseline_of(baseline, file), max_growth=limit,
        )) for file in variants_of(spec)
    ]  # fmt: skip
    outputs = Outputs(directory, summary=summary)
    chosen = select_engine(engine, host=host)
    reports: list[BuildReport] = []
    for file, wanted in options:
        with progress_display("quiet" if quiet else progress, str(file.spec.image)) as display:
            reports.append(report_build(file, chosen, wanted, display))
        if reports[-1].failure:
            break
        click.echo(BUILD_REPORTERS[form](reports[-1]), nl=False)
    outputs.write(reports, [str(file.spec.image) for file, _ in options[len(reports) :]])
    sys.exit(0 if all(report.passed for report in reports) else 1)


@click.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of the spec."""
    import json

    from gpuimage import json_schema

    click.echo(json.dumps(json_schema(), indent=2))


def _policy(text: str | None) -> LockPolicy:
    return "locked" if text == "locked" else "frozen" if text == "frozen" else "update"
