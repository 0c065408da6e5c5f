"""The commands about the tables: data, data show, data refresh."""

from __future__ import annotations

import sys
from typing import Literal, get_args

import click

from gpuimage.cli.options import QUIET, form_option

Part = Literal["torch", "nvidia", "wheels", "nvcc"]
FORM = form_option("Form of the answer.", "text", "json")


@click.group("data", invoke_without_command=True)
@FORM
@click.pass_context
def data_command(context: click.Context, form: str) -> None:
    """Say what the tables hold: edition, age, rows, what nobody verified, and your own rows.

    Own rows stand in ~/.config/gpuimage/data/TABLE.json, or in the directory that GPUIMAGE_DATA names.
    """
    if context.invoked_subcommand is not None:
        return
    from gpuimage import tables
    from gpuimage.reporters.data_json import overview_json
    from gpuimage.reporters.data_text import overview_text

    found = tables.overview()
    click.echo(overview_json(found) if form == "json" else overview_text(found), nl=False)


@data_command.command("show")
@click.argument("kind")
@click.argument("name", nargs=-1, required=True)
@FORM
def show_command(kind: str, name: tuple[str, ...], form: str) -> None:
    """Print the rows about one thing with their sources.

    \b
    KIND  NAME, for example
    torch 2.9.1          cuda 12.8           driver 550          gpu A10G
    wheel flash-attn     nvidia-wheel nvidia-cublas              image nvidia/cuda:12.8.1-base-ubuntu24.04
    apt cuda-nvcc-12-8   os ubuntu24.04      library cuBLAS      error no-kernel-image
    Exit 1 where the tables know nothing of it.
    """  # noqa: D301  # click's own mark for "do not wrap"
    from gpuimage import tables
    from gpuimage.reporters.data_json import rows_json
    from gpuimage.reporters.data_text import rows_text

    wanted = " ".join(name)
    found = tables.show(kind, wanted)
    if isinstance(found, tables.Unknown):
        click.echo(f"not known: {found.reason}", err=True)
        sys.exit(1)
    click.echo(rows_json(kind, wanted, found) if form == "json" else rows_text(kind, wanted, found), nl=False)


@data_command.command("refresh")
@click.option(
    "--only", "only", multiple=True, type=click.Choice(get_args(Part)),
    help="Ask about these only.  [default: all]",
)  # fmt: skip
@click.option("--since", metavar="VERSION", help="The oldest torch looked at.  [default: the tables' newest]")
@click.option(
    "--nvcc", "compilers", multiple=True, metavar="MINOR",
    help="Download NVIDIA's nvcc of this CUDA (13.5) and run its ptxas to learn its architectures.",
)  # fmt: skip
@click.option(
    "--index", metavar="URL", help="The package index.  [default: UV_DEFAULT_INDEX, PIP_INDEX_URL, PyPI]"
)
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(0.1), default=30.0, show_default=True,
              help="How long the index may be silent.")  # fmt: skip
@click.option("--write", "keep", is_flag=True, help="Keep the differences as your own rows.")
@click.option("--check", is_flag=True, help="Exit 1 where there are differences.")
@FORM
@QUIET
def refresh_command(
    only: tuple[Part, ...], since: str | None, compilers: tuple[str, ...], index: str | None, timeout: float,
    form: str, *, keep: bool, check: bool, quiet: bool,
) -> None:  # fmt: skip
    """Ask the package index what is new, and show the difference to the tables.

    Nothing is changed without --write, and then only your own rows: all of them, or none.
    """
    from gpuimage import keep_rows, package_index, refresh
    from gpuimage.reporters.data_json import refresh_json
    from gpuimage.reporters.data_text import refresh_text

    found = refresh(
        package_index(index, timeout=timeout),
        only=only,
        since=since,
        compilers=compilers,
        say=(lambda _: None) if quiet else (lambda text: click.echo(text, err=True)),
    )
    files = keep_rows(found) if keep else ()
    click.echo(refresh_json(found, files) if form == "json" else refresh_text(found, files), nl=False)
    sys.exit(1 if check and found.changes else 0)
