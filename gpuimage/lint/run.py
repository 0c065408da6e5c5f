"""Lints files: finds them, their config, and runs the rules, in several processes where there are many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.dockerfile import Source
from gpuimage.finding import FileReport, Report
from gpuimage.lint.check import check, findings_of
from gpuimage.lint.config import Config, check_archs, check_driver, check_names, load
from gpuimage.rules import NAMES as KNOWN

_MANY = 48  # files from which on another process is worth its start


class Overrides(Struct, frozen=True):
    """What the command line says over the config."""

    config: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    target: str | None = None
    driver: str | None = None
    archs: tuple[str, ...] = ()
    deploy: str | None = None
    build_args: Mapping[str, str] | None = None
    exclude: tuple[str, ...] = ()

    def checked(self) -> Overrides:
        """The same with lists taken apart; SpecError for what is no rule, driver or architecture."""
        check_names((*self.select, *self.ignore), KNOWN)
        if self.driver:
            check_driver(self.driver)
        return replace(self, archs=check_archs(self.archs))

    def on(self, config: Config) -> Config:
        """The config with these in it."""
        settings = config.settings
        for name in ("target", "driver", "archs", "deploy"):
            value = getattr(self, name)
            settings = replace(settings, **{name: value}) if value else settings
        if self.build_args:
            settings = replace(settings, build_args={**settings.build_args, **self.build_args})
        return replace(
            config,
            settings=settings,
            select=self.select or config.select,
            ignore=(*config.ignore, *self.ignore),
        )


def config_for(path: Path, overrides: Overrides) -> Config:
    """The config of a file: the nearest one upward, what it says for this path, and the command line's words."""
    return overrides.on(load(overrides.config or path.parent, known=KNOWN).for_path(path))


def excluded(overrides: Overrides) -> tuple[str, ...]:
    """The patterns that a search of directories leaves out."""
    return (*overrides.exclude, *config_for(Path("Dockerfile"), overrides).exclude)


def lint(paths: Iterable[Path], overrides: Overrides | None = None, *, jobs: int | None = None) -> Report:
    """Lint files. A file that cannot be read is a failure of its own, and never hides the others."""
    files = list(paths)
    given = overrides or Overrides()
    configs = {folder: config_for(folder / "Dockerfile", given) for folder in {path.parent for path in files}}
    workers = min(
        jobs or os.process_cpu_count() if hasattr(os, "process_cpu_count") else jobs or os.cpu_count() or 1, 8
    )
    if len(files) < _MANY or workers < 2:
        return Report(tuple(_one(path, given) for path in files))
    del configs  # a wrong config stops the run here, not in a worker
    # Loaded only here: one file must not wait for them.
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415
    from multiprocessing import get_context  # noqa: PLC0415

    with ProcessPoolExecutor(workers, get_context("fork")) as pool:
        try:
            reports = tuple(
                pool.map(_one, files, [given] * len(files), chunksize=max(len(files) // (workers * 8), 1))
            )
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Report(reports)


def _one(path: Path, overrides: Overrides) -> FileReport:
    try:
        data = path.read_bytes()
    except OSError as error:
        return FileReport(str(path), Source(""), failure=error.strerror or str(error))
    return check(Source.decode(data), str(path), config_for(path, overrides), path.parent)


def lint_bytes(data: bytes, path: Path, overrides: Overrides | None = None) -> Report:
    """Lint a text that is not read from its file; `path` says whose it is."""
    config = config_for(path, overrides or Overrides())
    folder = path.parent if path.parent.is_dir() else None
    return Report((check(Source.decode(data), str(path), config, folder),))


def fixed(data: bytes, path: Path, overrides: Overrides, *, unsafe: bool) -> tuple[bytes, Sequence[str]]:
    """A file's bytes with its fixes in them, and what they do."""
    config = config_for(path, overrides)
    folder = path.parent if path.parent.is_dir() else None
    from gpuimage.lint.fixes import fix  # noqa: PLC0415  # most runs only look

    done = fix(Source.decode(data), lambda source: findings_of(source, config, folder), unsafe=unsafe)
    return (done.source.encode() if done.says else data), done.says
