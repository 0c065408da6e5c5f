"""The command that looks at this machine: doctor."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gpuimage.cli.options import ENGINE, HOST, form_option, pairs, variants_of


@click.command("doctor")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    default=Path("/"),
    show_default=True,
    help="Look at the files of another machine below this directory.",
)
@ENGINE
@HOST
@click.option(
    "--spec", type=click.Path(path_type=Path), help="A spec to be built here: its size, mirrors, CA, index."
)
@click.option(
    "--mirror", "mirrors", multiple=True, metavar="REGISTRY=HOST", help="A mirror to ask, as for build."
)
@click.option("--ca", type=click.Path(path_type=Path), help="CA bundle that builds get, as for build.")
@click.option("--offline", is_flag=True, help="Ask no registry and no index.")
@click.option(
    "--require", multiple=True, type=click.Choice(["gpu"]), help="Exit 1 where containers get no GPU."
)
@form_option("Form of the answer.", "text", "json")
@click.option("--json", "form", flag_value="json", help="The same as --format json.")
def doctor_command(
    root: Path, engine: str, host: str | None, spec: Path | None, mirrors: tuple[str, ...], ca: Path | None,
    require: tuple[str, ...], form: str, *, offline: bool,
) -> None:  # fmt: skip
    """Look at this machine: engine, GPU driver, container toolkit, disk, network; each with the command that mends it.

    Exit 1 where a build is not possible. Nothing is changed.
    """
    from gpuimage import doctor
    from gpuimage.reporters.doctor import doctor_json, doctor_text

    found = doctor(
        root, engine=engine, host=host, specs=variants_of(spec) if spec else (), mirrors=pairs(mirrors, "--mirror"),
        ca=ca, offline=offline, require=frozenset(require),
    )  # fmt: skip
    click.echo(doctor_json(found) if form == "json" else doctor_text(found), nl=False)
    sys.exit(0 if found.passed else 1)
