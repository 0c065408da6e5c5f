"""The command that says what is behind a message, a log, a rule or a decision: explain."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuimage import SpecError
from gpuimage.cli.options import ENGINE, HOST, form_option, products, selected, single

if TYPE_CHECKING:
    from gpuimage import ComputeCapability, Diagnosis, Rule

_PART = 1 << 20  # bytes of standard input that are read at once
_KEY = re.compile(r"(?P<path>[^\s#]+)#(?P<key>[^\s#][^#\n]*)")


@click.command("explain")
@click.argument("text")
@click.option("--spec", type=click.Path(path_type=Path), help="Name what in this spec causes the errors.")
@click.option(
    "--image",
    metavar="TARGET",
    help="Name what in these files causes them: an image, an archive of one, a directory, a wheel.",
)
@click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="A GPU that the messages are about: A10G.")
@form_option("Form of the answer.", "text", "json")
@ENGINE
@HOST
def explain_command(
    text: str, spec: Path | None, image: str | None, gpus: tuple[str, ...], form: str, engine: str, host: str | None
) -> None:  # fmt: skip
    """Say what is behind an error message, a whole log, a decision or a rule.

    TEXT is a message, `-` for a log on standard input, spec.yaml#KEY for what a plan decides because of a key (or of
    a topic, such as spec.yaml#lock), or a rule's code or name. Exit 1 where nothing in it is known.
    """
    if text != "-":
        if asked := _asked(text):
            _key(*asked, form)
            return
        if rule := _rule(text):
            _show_rule(rule, form)
            return
    from gpuimage import explain, explain_log, lock_beside, spec_causes

    targets = tuple(sorted({gpu.capability for gpu in products(gpus)}))
    found: Sequence[Diagnosis] = explain_log(_standard_input()) if text == "-" else explain(text)
    if not found and text != "-":
        _near(text)
    if spec is not None:
        file = single(spec)
        found = spec_causes(found, file, lock=lock_beside(file), targets=targets)
    if image is not None and found:
        found = _in_image(found, image, targets, engine, host)
    _show(found, form)
    if not found:
        click.echo(f"not known: {_unknown(text)}", err=True)
        sys.exit(1)


def _asked(text: str) -> tuple[Path, str] | None:
    """The spec and the key of `spec.yaml#key`."""
    match = _KEY.fullmatch(text.strip())
    if match is None or not (match["path"].endswith((".yaml", ".yml")) or Path(match["path"]).is_file()):
        return None
    return Path(match["path"]), match["key"].strip()


def _key(path: Path, key: str, form: str) -> None:
    from gpuimage import explain_key
    from gpuimage.reporters.explain_key import key_json, key_text

    answers = explain_key(path, key)
    click.echo(key_json(answers) if form == "json" else key_text(answers), nl=False)


def _show(found: Sequence[Diagnosis], form: str) -> None:
    if form == "json":
        from gpuimage.reporters.explain_json import explain_json

        click.echo(explain_json(found), nl=False)
    elif found:
        from gpuimage.reporters.explain_text import explain_text

        click.echo(explain_text(found), nl=False)


def _standard_input() -> Iterator[bytes]:
    while part := sys.stdin.buffer.read(_PART):
        yield part


def _in_image(
    found: Sequence[Diagnosis],
    image: str,
    targets: Sequence[ComputeCapability],
    engine: str,
    host: str | None,
) -> Sequence[Diagnosis]:
    from functools import partial

    from gpuimage import image_causes, inspect

    if image == "-":
        raise click.BadParameter("standard input holds the log; name a file", param_hint="--image")
    examined = inspect(image, engine=partial(selected, engine, host))
    return image_causes(found, examined, targets=targets)


def _rule(text: str) -> Rule | None:
    from gpuimage import all_rules

    wanted = text.strip().lower()
    return next((one for one in all_rules() if wanted in (one.code.lower(), one.name)), None)


def _show_rule(rule: Rule, form: str) -> None:
    from gpuimage.reporters.rules import page, rules_json

    click.echo(rules_json([rule]) if form == "json" else page(rule), nl=False)


def _near(text: str) -> None:
    """One word that is nearly a rule's name is a slip, and no message."""
    from difflib import get_close_matches

    from gpuimage import all_rules

    wanted = text.strip().lower()
    names = [name for one in all_rules() for name in (one.code.lower(), one.name)]
    if (
        len(wanted) <= 100
        and not re.search(r"\s", wanted)
        and (near := get_close_matches(wanted, names, 1, 0.6))
    ):
        name = near[0].upper() if near[0].startswith("gi") else near[0]
        raise SpecError(f"there is no rule {text.strip()}", hint=f"did you mean {name}?")


def _unknown(text: str) -> str:
    if text != "-" and "\n" not in text and len(text) < 1000 and Path(text.strip()).is_file():
        return f"no rule has this name; to read the file: gpuimage explain - < {text.strip()}"
    return (
        "no rule has this name, and no known error is in this text"
        if text != "-"
        else "no known error is in this log"
    )
