"""The commands about rules: lint, rules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import click

from gpuimage.cli.options import ENGINE, HOST, note_age, pairs

if TYPE_CHECKING:
    from gpuimage import FixedFile, LintOptions, Report

FORMATS = ("text", "json", "sarif", "github", "gitlab", "checkstyle", "junit", "markdown")
FailOn = Literal["error", "warning", "note", "never"]
Prover = Callable[["FixedFile"], bool]
_NOTHING = 3  # the exit code where there was no Dockerfile at all


@click.command("lint")
@click.argument("paths", nargs=-1)
@click.option(
    "--format",
    "-f",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.option(
    "--output",
    "-o",
    "outputs",
    multiple=True,
    metavar="FORMAT=FILE",
    help="Also write the report in this form into a file.",
)
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    help="The lightest severity that makes the exit code 1.  [default: warning]",
)
@click.option(
    "--max-waste", metavar="SIZE", help="Exit 1 when one file's findings cost more than this: 500MB."
)
@click.option(
    "--select", metavar="RULES", multiple=True, help="Run these rules only: codes, prefixes (GI3), names."
)
@click.option("--ignore", metavar="RULES", multiple=True, help="Leave these rules out.")
@click.option("--fix", is_flag=True, help="Write the safe fixes into the files.")
@click.option("--unsafe", is_flag=True, help="With --fix or --diff: also those that change what is built.")
@click.option("--diff", is_flag=True, help="Show what --fix would write, and write nothing.")
@click.option(
    "--verify", is_flag=True, help="With --fix: build before and after, smoke-test both, compare sizes."
)
@click.option(
    "--config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Take this config instead of the nearest one.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Leave out files of this pattern when directories are searched.",
)
@click.option("--stdin-filename", metavar="PATH", help="Whose text comes on standard input (for `-`).")
@click.option("--target", metavar="STAGE", help="The stage that is built.")
@click.option("--build-arg", "build_args", multiple=True, metavar="KEY=VALUE", help="A build argument.")
@click.option("--driver", metavar="VERSION", help="The oldest host driver to serve: 550.")
@click.option("--archs", metavar="LIST", help="The fleet's compute capabilities: 8.0;9.0.")
@click.option(
    "--deploy",
    type=click.Choice(["inference", "training", "dev"]),
    help="What the image is for.  [default: inference]",
)
@click.option("--jobs", "-j", type=click.IntRange(1), help="Processes.  [default: one a core]")
@ENGINE
@HOST
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colours of the text form.",
)
def lint_command(
    paths: tuple[str, ...], form: str, outputs: tuple[str, ...], fail_on: FailOn | None, max_waste: str | None,
    select: tuple[str, ...], ignore: tuple[str, ...], config: Path | None, exclude: tuple[str, ...],
    stdin_filename: str | None, target: str | None, build_args: tuple[str, ...], driver: str | None, archs: str | None,
    deploy: str | None, jobs: int | None, engine: str, host: str | None, color: str, *, fix: bool, unsafe: bool, diff: bool, verify: bool,
) -> None:  # fmt: skip
    """Find bloat and GPU mistakes in Dockerfiles, with the bytes each one costs.

    PATHS are files, directories to search, patterns, or `-`; the current directory by default.

    \b
    Exit codes: 0 clean, or below --fail-on and --max-waste · 1 findings
                2 usage or config, or a file could not be read · 3 nothing to lint
    """  # noqa: D301  # click's own mark for "do not wrap"
    from msgspec.structs import replace

    from gpuimage import LintOptions, gate, lint, lint_bytes

    _together(paths, fix=fix, unsafe=unsafe, diff=diff, verify=verify, stdin_filename=stdin_filename)
    files = [_output(one) for one in outputs]
    options = LintOptions(
        config, _listed(select), _listed(ignore), target, driver, (archs,) if archs else (), deploy,
        pairs(build_args, "--build-arg"), exclude, fail_on, max_waste,
    )  # fmt: skip
    searched = paths or (".",)
    if "-" in paths and (fix or diff):
        _fix_stdin(stdin_filename, options, diff=diff, unsafe=unsafe)
        return
    if diff:
        _show(searched, options, unsafe=unsafe)
        return
    if "-" in paths:
        report = lint_bytes(sys.stdin.buffer.read(), Path(stdin_filename or "-"), options)
    else:
        prove = _prover(engine, host, target) if verify else None
        written = _fix(searched, options, prove, unsafe=unsafe) if fix else 0
        report = replace(lint(searched, options, jobs=jobs), fixed=written)
    if not report.files:
        click.echo("nothing to lint: no Dockerfile was found", err=True)
        sys.exit(_NOTHING)
    note_age()
    _write(report, form, files, color)
    judged = gate(report, options)
    for line in judged.says:
        click.echo(line, err=True)
    sys.exit(2 if judged.unread else 0 if judged.passed else 1)


def _together(
    paths: Sequence[str], *, fix: bool, unsafe: bool, diff: bool, verify: bool, stdin_filename: str | None
) -> None:
    """Refuse options that do not go together."""
    if unsafe and not (fix or diff):
        raise click.UsageError("--unsafe says which fixes --fix or --diff take: give one of them.")
    if verify and not fix:
        raise click.UsageError("--verify proves what --fix writes: give --fix too.")
    if fix and diff:
        raise click.UsageError("--fix writes and --diff only shows: give one of them.")
    if "-" in paths and len(paths) > 1:
        raise click.UsageError("`-` stands alone: standard input is one file.")
    if "-" in paths and verify:
        raise click.UsageError("--verify needs a file with its context, not standard input.")
    if stdin_filename and "-" not in paths:
        raise click.UsageError("--stdin-filename names what comes on standard input: give `-` as the path.")


def _output(text: str) -> tuple[str, Path]:
    form, equals, path = text.partition("=")
    if not equals or not path or form not in FORMATS:
        raise click.BadParameter(
            f"{text!r} is not FORMAT=FILE, with a format of {', '.join(FORMATS)}", param_hint="--output"
        )
    return form, Path(path)


def _listed(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for value in values for part in value.replace(",", " ").split())


def _fix_stdin(name: str | None, options: LintOptions, *, diff: bool, unsafe: bool) -> None:
    """Write the fixed text of standard input to standard output, with --diff the difference."""
    from gpuimage import fixed

    done = fixed(sys.stdin.buffer.read(), Path(name or "-"), options, unsafe=unsafe)
    if diff:
        click.echo(done.difference, nl=False)
    else:
        sys.stdout.buffer.write(done.after)


def _show(paths: Sequence[str], options: LintOptions, *, unsafe: bool) -> None:
    """Print what --fix would write."""
    from gpuimage import fixes

    for one in fixes(paths, options, unsafe=unsafe):
        click.echo(one.difference, nl=False)


def _fix(paths: Sequence[str], options: LintOptions, prove: Prover | None, *, unsafe: bool) -> int:
    """Write the fixes, those that are proven where that is asked for; how many there were."""
    from gpuimage import fixes

    written = 0
    for one in fixes(paths, options, unsafe=unsafe):
        if prove is None or prove(one):
            one.write()
            written += len(one.says)
            for text in one.says:
                click.echo(f"fixed {one.path}: {text}", err=True)
    return written


def _prover(engine: str, host: str | None, target: str | None) -> Prover:
    """Build and smoke-test both; the fixed file is only written where nothing got worse."""
    from gpuimage import select_engine, verify

    chosen = select_engine(engine, host=host)

    def prove(one: FixedFile) -> bool:
        proof = verify(one.path, one.before, one.after, chosen, target=target)
        click.echo(proof.text, err=True)
        return proof.holds

    return prove


def _write(report: Report, form: str, files: Sequence[tuple[str, Path]], color: str) -> None:
    from gpuimage.reporters.lint import LINT_REPORTERS
    from gpuimage.reporters.save import save

    if form == "text":
        from gpuimage.reporters.lint_text import lint_text

        wanted = color == "always" or (color == "auto" and sys.stdout.isatty())
        click.echo(lint_text(report, colour=wanted), nl=False, color=True)
    else:
        click.echo(LINT_REPORTERS[form](report), nl=False)
    for name, path in files:
        save(path, LINT_REPORTERS[name](report))


@click.command("rules")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Form of the list; markdown holds every page.",
)
def rules_command(form: str) -> None:
    """List the rules of the linter."""
    from gpuimage import all_rules
    from gpuimage.reporters.rules import RULES_REPORTERS

    click.echo(RULES_REPORTERS[form](all_rules()), nl=False)
