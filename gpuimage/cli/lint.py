"""The commands about rules: lint, rules, explain."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpuimage.cli.options import ENGINE, HOST, pairs
from gpuimage.errors import SpecError

if TYPE_CHECKING:
    from gpuimage.finding import Report
    from gpuimage.lint.run import Overrides

FORMATS = ("text", "json", "sarif", "github", "gitlab", "checkstyle", "junit", "markdown")
FAIL_ON = ("error", "warning", "note", "never")
Prover = Callable[[Path, bytes, bytes], bool]
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
    type=click.Choice(FAIL_ON),
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
    paths: tuple[str, ...], form: str, outputs: tuple[str, ...], fail_on: str | None, max_waste: str | None,
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
    from gpuimage.lint.config import parse_size
    from gpuimage.lint.run import Overrides

    _together(paths, fix=fix, unsafe=unsafe, diff=diff, verify=verify, stdin_filename=stdin_filename)
    files = [_output(one) for one in outputs]
    limit = parse_size(max_waste) if max_waste else None
    overrides = Overrides(
        config, _listed(select), _listed(ignore), target, driver, (archs,) if archs else (), deploy,
        pairs(build_args, "--build-arg"), exclude,
    ).checked()  # fmt: skip
    if "-" in paths:
        report = _stdin(stdin_filename, overrides, fix=fix, diff=diff, unsafe=unsafe)
    else:
        prove = _prover(engine, host, target) if verify else None
        report = _files(paths, overrides, jobs, prove, fix=fix, diff=diff, unsafe=unsafe)
    if report is None:
        return
    if not report.files:
        click.echo("nothing to lint: no Dockerfile was found", err=True)
        sys.exit(_NOTHING)
    _write(report, form, files, color)
    sys.exit(_exit_code(report, fail_on, limit, overrides))


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


def _stdin(name: str | None, overrides: Overrides, *, fix: bool, diff: bool, unsafe: bool) -> Report | None:
    """Lint standard input; with --fix the fixed text goes to standard output, with --diff the difference."""
    from gpuimage.lint.run import fixed, lint_bytes

    data = sys.stdin.buffer.read()
    path = Path(name or "-")
    if not (fix or diff):
        return lint_bytes(data, path, overrides)
    new, _ = fixed(data, path, overrides, unsafe=unsafe)
    if diff:
        click.echo(_difference(data, new, str(path)), nl=False)
    else:
        sys.stdout.buffer.write(new)
    return None


def _files(
    paths: Sequence[str], overrides: Overrides, jobs: int | None, prove: Prover | None,
    *, fix: bool, diff: bool, unsafe: bool,
) -> Report | None:  # fmt: skip
    """Lint files; fix them first where that is asked for."""
    from msgspec.structs import replace

    from gpuimage.lint.discover import find
    from gpuimage.lint.run import excluded, fixed, lint

    searched = not paths or not all(Path(path).is_file() for path in paths)
    found = list(find(paths or ["."], exclude=excluded(overrides) if searched else ()))
    said: list[str] = []
    if fix or diff:
        for path in found:
            try:
                data = path.read_bytes()
            except OSError:
                continue  # lint says it
            new, says = fixed(data, path, overrides, unsafe=unsafe)
            if new == data:
                continue
            if diff:
                click.echo(_difference(data, new, str(path)), nl=False)
            elif prove is None or prove(path, data, new):
                _replace(path, new, says)
                said += says
    if diff:
        return None
    return replace(lint(found, overrides, jobs=jobs), fixed=len(said))


def _replace(path: Path, new: bytes, says: Sequence[str]) -> None:
    from gpuimage.files import write_atomic

    write_atomic(path, new)
    for one in says:
        click.echo(f"fixed {path}: {one}", err=True)


def _prover(engine: str, host: str | None, target: str | None) -> Prover:
    """Build and smoke-test both; the fixed file is only written where nothing got worse."""
    from gpuimage.engine import select
    from gpuimage.verify import verify

    chosen = select(engine, host=host)

    def prove(path: Path, before: bytes, after: bytes) -> bool:
        proof = verify(path, before, after, chosen, target=target)
        click.echo(proof.text, err=True)
        return proof.holds

    return prove


def _difference(before: bytes, after: bytes, path: str) -> str:
    import difflib

    from gpuimage.dockerfile import Source

    old, new = (Source.decode(data).text.splitlines(keepends=True) for data in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _write(report: Report, form: str, files: Sequence[tuple[str, Path]], color: str) -> None:
    from gpuimage.reporters.lint import LINT_REPORTERS

    if form == "text":
        from gpuimage.reporters.lint_text import lint_text

        wanted = color == "always" or (color == "auto" and sys.stdout.isatty())
        click.echo(lint_text(report, colour=wanted), nl=False, color=True)
    else:
        click.echo(LINT_REPORTERS[form](report), nl=False)
    for name, path in files:
        from gpuimage.files import write_atomic

        write_atomic(path, LINT_REPORTERS[name](report))


def _exit_code(report: Report, fail_on: str | None, limit: int | None, overrides: Overrides) -> int:
    from gpuimage.finding import SEVERITIES
    from gpuimage.lint.run import config_for

    if any(file.failure for file in report.files):
        return 2
    failed = False
    for file in report.files:
        config = config_for(Path(file.path), overrides)
        lightest = fail_on or config.fail_on or "warning"
        counted = () if lightest == "never" else SEVERITIES[SEVERITIES.index(lightest) :]
        failed |= any(one.severity in counted for one in file.findings)
        most = limit if limit is not None else config.max_waste
        if most is not None and file.waste.high > most:
            from gpuimage.units import size

            failed = True
            said = f"{size(file.waste.high)} can go, more than --max-waste {size(most)}"
            click.echo(f"{file.path}: {said}", err=True)
    return 1 if failed else 0


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
    from gpuimage.reporters.rules import RULES_REPORTERS
    from gpuimage.rules import every

    click.echo(RULES_REPORTERS[form](every()), nl=False)


@click.command("explain")
@click.argument("text")
def explain_command(text: str) -> None:
    """Say what is behind a rule of the linter or an error message.

    TEXT is a rule's code or name, a message, or `-` for a whole log on standard input. Exit 1 where nothing in it is
    known.
    """
    from difflib import get_close_matches

    from gpuimage.explain import explain
    from gpuimage.reporters.explain_text import explain_text
    from gpuimage.reporters.rules import page
    from gpuimage.rules import every

    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    wanted = text.strip().lower()
    for one in every():
        if wanted in (one.code.lower(), one.name):
            click.echo(page(one), nl=False)
            return
    if found := explain(text):
        click.echo(explain_text(found), nl=False)
        return
    near = get_close_matches(
        wanted[:100], [name for one in every() for name in (one.code.lower(), one.name)], 1, 0.6
    )
    if near and " " not in wanted:
        name = near[0].upper() if near[0].startswith("gi") else near[0]
        raise SpecError(f"there is no rule {text}", hint=f"did you mean {name}?")
    click.echo("not known: no rule has this name, and no known error is in this text", err=True)
    sys.exit(1)
