"""Lints files: finds them, their config, and runs the rules, in several processes where there are many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.dockerfile import Source
from gpuimage.files import write_atomic
from gpuimage.finding import FileReport, Report, Severity
from gpuimage.lint.check import check, findings_of
from gpuimage.lint.config import Config, check_archs, check_driver, check_names, load, parse_size
from gpuimage.lint.discover import find
from gpuimage.rules import NAMES as KNOWN

_MANY = 48  # files from which on another process is worth its start


class LintOptions(Struct, frozen=True):
    """What is said over the config, by the command line or a program; what is left out is the config's."""

    config: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    target: str | None = None
    driver: str | None = None
    archs: tuple[str, ...] = ()
    deploy: str | None = None
    build_args: Mapping[str, str] | None = None
    exclude: tuple[str, ...] = ()
    fail_on: Severity | Literal["never"] | None = None
    max_waste: int | str | None = None

    def checked(self) -> LintOptions:
        """The same with lists and sizes taken apart; SpecError for what is no rule, driver, architecture or size."""
        check_names((*self.select, *self.ignore), KNOWN)
        if self.driver:
            check_driver(self.driver)
        waste = parse_size(self.max_waste) if isinstance(self.max_waste, str) else self.max_waste
        return replace(self, archs=check_archs(self.archs), max_waste=waste)

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
            fail_on=self.fail_on or config.fail_on,
            max_waste=self.max_waste if self.max_waste is not None else config.max_waste,
        )


def config_for(path: Path, options: LintOptions) -> Config:
    """The config of a file: the nearest one upward, what it says for this path, and the command line's words."""
    return options.on(load(options.config or path.parent, known=KNOWN).for_path(path))


def _given(options: LintOptions | None) -> LintOptions:
    return options.checked() if options else LintOptions()


def find_dockerfiles(paths: Iterable[str | Path], options: LintOptions | None = None) -> list[Path]:
    """Every Dockerfile that files, directories (searched) and patterns name; SpecError for what is not there.

    What options and config exclude is left out of a search; a file that is named is taken.
    """
    named = [str(path) for path in paths]
    searched = not all(Path(path).is_file() for path in named)
    return list(find(named, exclude=_excluded(options or LintOptions()) if searched else ()))


def _excluded(options: LintOptions) -> tuple[str, ...]:
    return (*options.exclude, *config_for(Path("Dockerfile"), options).exclude)


def lint(
    paths: Iterable[str | Path] = (".",), options: LintOptions | None = None, *, jobs: int | None = None
) -> Report:
    """Lint files; directories are searched. A file that cannot be read is a failure of its own and hides no other.

    `jobs` is the number of processes, by default one a core where there are many files. SpecError for a path that does
    not exist and for a wrong config.

        >>> from gpuimage import lint
        >>> report = lint(["examples/quickstart"])
        >>> [file.path for file in report.files], [finding.rule.code for _, finding in report.findings]
        (['examples/quickstart/Dockerfile'], [])
    """
    given = _given(options)
    files = find_dockerfiles(paths, given)
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


def _one(path: Path, options: LintOptions) -> FileReport:
    try:
        data = path.read_bytes()
    except OSError as error:
        return FileReport(str(path), Source(""), failure=error.strerror or str(error))
    return check(Source.decode(data), str(path), config_for(path, options), path.parent)


def lint_bytes(data: bytes, path: str | Path = "Dockerfile", options: LintOptions | None = None) -> Report:
    r"""Lint a text that is not read from its file; `path` says whose it is.

    >>> from gpuimage import lint_bytes
    >>> report = lint_bytes(b"FROM python:3.13-slim\nRUN pip install torch==2.9.1\n")
    >>> [(finding.line, finding.rule.name) for _, finding in report.findings][0]
    (2, 'package-cache-kept')
    """
    path = Path(path)
    config = config_for(path, _given(options))
    folder = path.parent if path.parent.is_dir() else None
    return Report((check(Source.decode(data), str(path), config, folder),))


class FixedFile(Struct, frozen=True):
    """A file's bytes before and after its fixes, and what they do; nothing is written yet."""

    path: Path
    before: bytes
    after: bytes
    says: Sequence[str]

    @property
    def difference(self) -> str:
        """The fixes as a unified diff, which `patch -p1` takes."""
        import difflib  # noqa: PLC0415  # most runs only look

        name = str(self.path).lstrip("/")
        old, new = (Source.decode(data).text.splitlines(keepends=True) for data in (self.before, self.after))
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
        )

    def write(self) -> None:
        """Put the fixed text in the file's place; SpecError where that cannot be written."""
        write_atomic(self.path, self.after)


def fixes(
    paths: Iterable[str | Path], options: LintOptions | None = None, *, unsafe: bool = False
) -> Iterator[FixedFile]:
    """The files that have something to fix, one after the other; with `unsafe` also what changes the image."""
    given = _given(options)
    for path in find_dockerfiles(paths, given):
        try:
            data = path.read_bytes()
        except OSError:
            continue  # lint says it
        done = fixed(data, path, given, unsafe=unsafe)
        if done.after != data:
            yield done


def fixed(data: bytes, path: Path, options: LintOptions | None = None, *, unsafe: bool = False) -> FixedFile:
    """A text that is not read from its file with its fixes in it; `path` says whose it is."""
    config = config_for(path, _given(options))
    folder = path.parent if path.parent.is_dir() else None
    from gpuimage.lint.fixes import fix  # noqa: PLC0415  # most runs only look

    done = fix(Source.decode(data), lambda source: findings_of(source, config, folder), unsafe=unsafe)
    return FixedFile(path, data, done.source.encode() if done.says else data, done.says)
