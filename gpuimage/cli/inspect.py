"""The command that looks inside: inspect."""

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
    arch_list,
    form_option,
    products,
    selected,
    single,
)

if TYPE_CHECKING:
    from gpuimage import Examination, Expectation


@click.command("inspect")
@click.argument("target")
@click.option("--arch", metavar="LIST", help='Exit 1 where a file has no code for one of these: "8.6;12.0".')
@click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="A GPU to serve by its name: A10G.")
@click.option(
    "--driver", metavar="VERSION", help="The oldest host driver: what it cannot load counts as nothing."
)
@click.option("--spec", type=click.Path(path_type=Path), help="Hold the image against this spec.")
@click.option("--against", metavar="TARGET", help="Show what grew since this other one, and why.")
@form_option("Form of the report.", "text", "json")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), help="Also write a page to look at: one file."
)
@click.option("--all-sections", is_flag=True, help="Look for GPU code in every section of an ELF file.")
@click.option("--image", metavar="NAME", help="Which image of an archive that holds several.")
@click.option("--platform", metavar="OS/ARCH", help="Which platform of an image for several.")
@ENGINE
@HOST
@PROGRESS
@QUIET
def inspect_command(
    target: str, arch: str | None, gpus: tuple[str, ...], driver: str | None, spec: Path | None, against: str | None,
    form: str, html: Path | None, image: str | None, platform: str | None, engine: str, host: str | None,
    progress: str, *, all_sections: bool, quiet: bool,
) -> None:  # fmt: skip
    """Show which GPU code, which CUDA and which bytes something carries; no GPU, no toolkit, no unpacking.

    TARGET is an image of the engine, an archive of one (docker save, OCI; `-` reads it from standard input), an OCI
    layout, a directory, a wheel, a library or a static library.
    """
    from functools import partial

    from gpuimage import compare, inspect, tables
    from gpuimage.reporters.inspect_json import compare_json, inspect_json
    from gpuimage.reporters.inspect_text import compare_text, inspect_text
    from gpuimage.reporters.progress import progress_display

    if driver is not None and isinstance(wrong := tables.driver_cuda(driver), tables.Unknown):
        raise click.BadParameter(wrong.reason, param_hint="--driver")
    listed = arch_list(arch)
    named = {gpu.capability for gpu in products(gpus)}
    targets = tuple(sorted(named.union(listed.capabilities if listed else ())))
    promised = _promised(spec) if spec else None
    with progress_display("quiet" if quiet else progress, target) as display:

        def look(name: str) -> Examination:
            display.stage(f"reading {name}")
            return inspect(
                name, targets=targets, driver=driver, expectation=promised,
                engine=partial(selected, engine, host), image=image, platform=platform, every_section=all_sections,
                on_bytes=partial(display.transfer, name),
            )  # fmt: skip

        found = look(target)
        other = look(against) if against else None
    if other is None:
        click.echo(inspect_json(found) if form == "json" else inspect_text(found), nl=False)
    else:
        made = compare(other.inspection, found.inspection)
        click.echo(
            compare_json(made, found) if form == "json" else compare_text(made, other, found), nl=False
        )
    if html is not None:
        from gpuimage.reporters.inspect_html import inspect_html
        from gpuimage.reporters.save import save

        save(html, inspect_html(found))
    sys.exit(0 if found.passed else 1)


def _promised(spec: Path) -> Expectation:
    """What a spec says of the image."""
    from gpuimage import expectation, lock_beside, plan

    file = single(spec)
    return expectation(plan(file, lock_beside(file)))
