"""The command that proves an image: smoke."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gpuimage.cli.options import ENGINE, HOST, PROGRESS, QUIET, REQUIRE, SMOKE_FORMAT, single


@click.command("smoke")
@click.argument("image", required=False)
@click.option("--here", is_flag=True, help="Probe this machine's Python instead of an image.")
@click.option("--spec", type=click.Path(path_type=Path), help="Hold the image against this spec.")
@ENGINE
@HOST
@REQUIRE
@SMOKE_FORMAT
@PROGRESS
@QUIET
def smoke_command(
    image: str | None, spec: Path | None, engine: str, host: str | None, require: tuple[str, ...], form: str,
    progress: str, *, here: bool, quiet: bool,
) -> None:  # fmt: skip
    """Smoke-test an image: its files, its imports, a GPU where there is one, your commands."""
    from gpuimage import Expectation, expectation, lock_beside, plan, select_engine, smoke, smoke_here
    from gpuimage.reporters.progress import progress_display
    from gpuimage.reporters.results import SMOKE_REPORTERS

    if here == bool(image):
        raise click.UsageError("Name an image, or give --here to probe this machine.")
    wanted = Expectation(require=frozenset(require))
    if spec is not None:
        file = single(spec)
        wanted = expectation(plan(file, lock_beside(file)), require=frozenset(require))
    chosen = None if here else select_engine(engine, host=host)
    with progress_display("quiet" if quiet else progress, image or "this machine") as display:
        display.stage("smoke")
        if chosen is None:
            report = smoke_here(wanted, display.verdict)
        else:
            report = smoke(chosen, str(image), wanted, display.verdict)
    click.echo(SMOKE_REPORTERS[form](report), nl=False)
    sys.exit(0 if report.passed else 1)
