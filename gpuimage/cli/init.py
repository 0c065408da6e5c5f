"""The command that makes a first spec: init."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gpuimage.cli.options import form_option


@click.command("init")
@click.argument("directory", type=click.Path(path_type=Path), default=".", metavar="[DIR]")
@click.option(
    "--from",
    "dockerfile",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="An old Dockerfile.  [default: the one in DIR, where there is one]",
)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    help="Where the spec goes; - is standard output.  [default: DIR/spec.yaml]",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@form_option("Form of the account.", "text", "json")
def init_command(
    directory: Path, dockerfile: Path | None, output: str | None, form: str, *, force: bool
) -> None:
    """Make a first spec of what DIR holds: an old Dockerfile, requirements, pyproject.toml, a lock, conda.

    The account says what was taken from where, what stays out and why, and what is missing; with --output - it goes to
    standard error. Exit 1 where the spec was written and does not plan yet.
    """
    from gpuimage import draft_spec
    from gpuimage.reporters.init import init_json, init_text

    shown = output == "-"
    made = draft_spec(directory, dockerfile=dockerfile, output=Path(output) if output and not shown else None)
    if shown:
        click.echo(made.text, nl=False)
    else:
        made.write(force=force)
    account = init_json if form == "json" else init_text
    click.echo(account(made, written=not shown), nl=False, err=shown)
    sys.exit(0 if made.plan is not None else 1)
