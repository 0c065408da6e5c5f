"""Options that several commands take, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gpuimage import SpecError

if TYPE_CHECKING:
    from gpuimage import ArchList, Engine, SpecFile, tables

_Command = TypeVar("_Command", bound=Callable[..., Any])

ENGINE = click.option(
    "--engine",
    type=click.Choice(["auto", "docker", "podman", "buildah"]),
    default="auto",
    show_default=True,
    help="Which engine to use.",
)
HOST = click.option(
    "--host",
    metavar="URL",
    help="Docker's socket, for example unix:///run/docker.sock. [default: DOCKER_HOST]",
)


PROGRESS = click.option(
    "--progress",
    type=click.Choice(["auto", "tty", "plain"]),
    default="auto",
    show_default=True,
    help="How to show progress on standard error.",
)


def form_option(text: str, *forms: str) -> Callable[[_Command], _Command]:
    """`--format`, whose first form is the default."""
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True, help=text
    )


def note_age() -> None:
    """Say on standard error that the tables are old, where they are; the answer and the exit code stay the same."""
    from gpuimage import tables

    old = tables.staleness()
    if old:
        click.echo(f"note: {old}", err=True)


QUIET = click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
REQUIRE = click.option(
    "--require",
    multiple=True,
    type=click.Choice(["gpu"]),
    help="Fail where this is missing instead of skipping.",
)
SMOKE_FORMAT = form_option("Form of the report.", "text", "json", "junit", "markdown")


def pairs(values: tuple[str, ...], option: str) -> dict[str, str]:
    """Read `KEY=VALUE` texts."""
    pairs: dict[str, str] = {}
    for value in values:
        key, equals, rest = value.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{value!r} has no `=`", param_hint=option)
        pairs[key] = rest
    return pairs


def variants_of(spec: Path) -> Sequence[SpecFile]:
    """Read a spec: one for each combination of its matrix."""
    from gpuimage import load_spec, variants

    return variants(load_spec(spec))


def single(spec: Path) -> SpecFile:
    """Read a spec that has no matrix."""
    found = variants_of(spec)
    if len(found) > 1:
        raise SpecError(
            f"{spec} describes {len(found)} variants",
            why="this command takes one",
            hint="remove `matrix`, or use plan or build",
        )
    return found[0]


def selected(name: str, host: str | None) -> Engine:
    """Find the engine of `--engine` and `--host`."""
    from gpuimage import select_engine

    return select_engine(name, host=host)


def arch_list(text: str | None) -> ArchList | None:
    """Read `--arch`, in the grammar of TORCH_CUDA_ARCH_LIST."""
    from gpuimage import ArchError, ArchList

    if text is None:
        return None
    try:
        return ArchList.parse(text)
    except ArchError as error:
        raise click.BadParameter(str(error), param_hint="--arch") from error


def products(names: tuple[str, ...]) -> tuple[tables.Gpu, ...]:
    """Read `--gpu`: products by the names people use for them."""
    from gpuimage import tables

    found = []
    for name in names:
        product = tables.gpu(name)
        if isinstance(product, tables.Unknown):
            raise click.BadParameter(product.reason, param_hint="--gpu")
        found.append(product)
    return tuple(found)
