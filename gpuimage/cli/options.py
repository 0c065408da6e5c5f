"""Options that several commands take, and how they are read."""

from __future__ import annotations

import click

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


def pairs(values: tuple[str, ...], option: str) -> dict[str, str]:
    """Read `KEY=VALUE` texts."""
    pairs: dict[str, str] = {}
    for value in values:
        key, equals, rest = value.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{value!r} has no `=`", param_hint=option)
        pairs[key] = rest
    return pairs
