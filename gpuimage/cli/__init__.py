"""The command line: arguments, one library call, a reporter, an exit code.

Nothing heavy is imported before a command runs: `--help` and `lint` must answer at once.
"""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import ClassVar, NoReturn

import click

from gpuimage import BuildError, GpuImageError, __version__


class _Commands(click.Group):
    """Loads the module of a command when it is asked for."""

    _places: ClassVar[dict[str, str]] = {
        "init": "init", "plan": "build", "lock": "build", "render": "build", "build": "build", "smoke": "smoke", "inspect": "inspect",
        "compat": "compat", "doctor": "doctor", "data": "data", "schema": "build",
        "lint": "lint", "rules": "lint", "explain": "explain",
    }  # fmt: skip

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = self._places.get(cmd_name)
        if place is None:
            return None
        found: click.Command = getattr(import_module(f"gpuimage.cli.{place}"), f"{cmd_name}_command")
        return found


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="gpuimage")
def cli() -> None:
    """Plan, render, build and prove the smallest correct image for a GPU service.

    \b
    Exit codes: 0 clean · 1 findings, budget or smoke failed · 2 usage or spec
                3 engine, registry or index unavailable · 4 build failed
    """  # noqa: D301  # click's own mark for "do not wrap"


def _note(text: str) -> None:
    click.echo(text, err=True)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, as CI servers send it to a job that is cancelled: cleaned up after like Ctrl-C."""


def _terminate(_number: int, _frame: object) -> NoReturn:
    raise _Terminated


def main() -> NoReturn:
    """Run the command line; every error of ours becomes a few lines and its exit code, never a traceback."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt) as stop:
        cancelled = isinstance(stop.__cause__ or stop, _Terminated)  # click wraps it into an Abort
        _note(f"{'terminated' if cancelled else 'interrupted'}: nothing was left behind")
        sys.exit(143 if cancelled else 130)
    except GpuImageError as error:
        _note(f"error: {error}")
        if isinstance(error, BuildError):
            for line in error.log:
                _note(f"  | {line}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader left; Python would complain about the unflushed rest
        sys.exit(141)
    sys.exit(0)
