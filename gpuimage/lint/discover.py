"""Which files are Dockerfiles."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuimage.errors import Location, SpecError
from gpuimage.patterns import pattern

# .pre-commit-hooks.yaml holds the same two; a test compares them.
FILES = r"(^|/)([Dd]ockerfile|[Cc]ontainerfile)([._-][^/]*)?$|\.([Dd]ockerfile|[Cc]ontainerfile)$"
EXCLUDE = (
    r"\.(dockerignore|containerignore|md|rst|py|pyc|sh|txt|ya?ml|json|toml|j2|jinja2?|tmpl|tpl|template|in|erb|html|js|ts|go|rs"
    r"|orig|rej|bak|swp|lock|log|patch|diff)$|~$"
)
_FILES, _EXCLUDE = pattern(FILES), pattern(EXCLUDE)
_SKIPPED = frozenset(
    ".git .hg .svn node_modules .venv venv .tox .nox __pycache__ site-packages .mypy_cache .pytest_cache .ruff_cache .cache".split()
)


def is_dockerfile(path: str) -> bool:
    """Whether a file's name is that of a Dockerfile; templates and texts about Dockerfiles are none."""
    return bool(_FILES.search(path)) and not _EXCLUDE.search(path)


def find(paths: Sequence[str], *, exclude: Sequence[str] = ()) -> Iterator[Path]:
    """Every Dockerfile that the paths name, each once.

    A file that is named is taken whatever it is called; directories are searched; a pattern that no shell expanded is
    expanded. `exclude` holds patterns for what a search finds. Raises SpecError for a path that does not exist.
    """
    seen: set[str] = set()
    for text in paths:
        for path in _named(text, exclude):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path


def _named(text: str, exclude: Sequence[str]) -> Iterator[Path]:
    path = Path(text)
    if path.is_dir():
        yield from _search(path, exclude)
    elif path.exists() or path.is_symlink():
        yield path
    elif any(char in text for char in "*?["):
        import glob  # noqa: PLC0415  # the shell expands most patterns

        found = sorted(glob.glob(text, recursive=True))  # noqa: PTH207  # an absolute pattern must work too
        for one in found:
            yield from _named(one, exclude) if Path(one).is_dir() else [Path(one)]
    else:
        raise _missing(path)


def _search(folder: Path, exclude: Sequence[str]) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if name not in _SKIPPED and not _out(folder, Path(top, name), exclude)
        )
        for name in sorted(names):
            path = Path(top, name)
            if is_dockerfile(name) and not _out(folder, path, exclude):
                yield path


def _out(folder: Path, path: Path, exclude: Sequence[str]) -> bool:
    below = path.relative_to(folder).as_posix()
    return any(fnmatch.fnmatch(below, one) or fnmatch.fnmatch(path.name, one) for one in exclude)


def _missing(path: Path) -> SpecError:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        names = []
    from difflib import get_close_matches  # noqa: PLC0415  # only for an error

    near = get_close_matches(path.name, names, 1, 0.6)
    hint = f"did you mean {path.parent / near[0]}?" if near else None
    return SpecError("there is no such file or directory", where=Location(path), hint=hint)
