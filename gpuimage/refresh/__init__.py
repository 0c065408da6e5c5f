"""What a package index knows by now, held against the tables: differences row by row, and a user's own rows of them.

Asking changes nothing. `keep_rows` puts the derived rows into the user's own files, all of them or none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from gpuimage.errors import Location, SpecError, UnavailableError
from gpuimage.files import write_together
from gpuimage.refresh import derive, nvcc
from gpuimage.refresh.derive import Derived
from gpuimage.refresh.index import Index, Project, package_index
from gpuimage.remote import every
from gpuimage.tables import DataError, torch_versions
from gpuimage.tables import _load as tables
from gpuimage.tables import _own as own_rows
from gpuimage.tables import _own_files as own_files
from gpuimage.tables._sections import SECTIONS, Row, key_of, rows_at
from gpuimage.tables.clock import today

__all__ = [
    "PARTS",
    "Change",
    "FieldChange",
    "Index",
    "Part",
    "Refresh",
    "keep_rows",
    "package_index",
    "refresh",
]

Part = Literal["torch", "nvidia", "wheels", "nvcc"]
PARTS: tuple[Part, ...] = get_args(Part)
Say = Callable[[str], None]

# What goes with a change and is none by itself.
_BESIDE = frozenset({"source", "uploaded", "wheel", "arch_source", "host_gcc_source"})


class FieldChange(Struct, frozen=True):
    """A field of a row, before and after."""

    field: str
    before: Any
    after: Any


class Change(Struct, frozen=True):
    """A row that is new or differs; `row` is how it should be, with its source."""

    table: str
    section: str
    about: str
    kind: Literal["added", "changed"]
    fields: tuple[FieldChange, ...]
    row: Row


class Refresh(Struct, frozen=True):
    """The differences to the tables, own rows included; `asked` counts projects, `missing` are those the index has not.

    `compilers` are CUDA minors that the index has an nvcc of and the tables do not: `--nvcc` looks into them.
    """

    index: str
    asked: int
    changes: tuple[Change, ...]
    missing: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()


def refresh(
    index: Index,
    *,
    only: Collection[Part] = (),
    since: str | None = None,
    compilers: Sequence[str] = (),
    say: Say = lambda _: None,
) -> Refresh:
    """Ask an index what can be derived from it, and compare.

    `only` are the parts asked about, by default all, or the compilers alone where some are named. `since` is the oldest torch
    looked at, by default the newest in the tables; `compilers` are CUDA minors whose ptxas is downloaded and run. `say` is told what goes on. Raises UnavailableError for whatever goes wrong with the index.
    """
    oldest = _oldest(since)
    only = only or (("nvcc",) if compilers else PARTS)
    day = today().isoformat()
    names = _projects(only)
    say(f"asking {index.name} about {len(names)} projects")
    projects = dict(zip(names, every(index.project, names), strict=True))
    derived = [
        *(_torch(index, projects["torch"], oldest, day, say) if "torch" in only else ()),
        *(_nvidia(index, projects, day) if "nvidia" in only else ()),
        *(_wheels(index, projects, day) if "wheels" in only else ()),
        *_compilers(index, compilers, day, say),
    ]
    known = set(_keyed("cuda_releases", "minors", "cuda"))
    seen = nvcc.minors(projects.get(name) for name in nvcc.PROJECTS) if "nvcc" in only else set()
    return Refresh(
        index=index.name,
        asked=len(names),
        changes=tuple(change for one in derived if (change := _change(one))),
        missing=tuple(name for name in names if projects[name] is None),
        compilers=tuple(sorted(seen - known - set(compilers), key=Version)),
    )


def keep_rows(found: Refresh, directory: Path | None = None) -> tuple[Path, ...]:
    """Write the changed rows into the user's own files, all of them or none, and return the files.

    Rows of the user's that did not change stay. The whole is held to the laws of the tables first. What this process has
    read of the tables stays as it is.
    """
    if not found.changes:
        return ()
    folder = directory or own_rows.directory()
    if folder is None:
        hint = "unset it, or name a directory by it"
        raise SpecError(f"there is no place for own rows: {own_rows.VARIABLE} is empty", hint=hint)
    texts: dict[Path, str] = {}
    for table in dict.fromkeys(change.table for change in found.changes):
        path = folder / f"{table}.json"
        texts[path] = _written(path, [change for change in found.changes if change.table == table])
        try:
            tables.held(table, own_files.own_table(path, texts[path]))
        except DataError as error:
            raise UnavailableError(
                f"what {found.index} answers does not fit the tables, so nothing was written", why=str(error)
            ) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError("own rows cannot be kept here", where=Location(folder), why=error.strerror) from error
    write_together(texts)
    return tuple(texts)


def _oldest(since: str | None) -> Version:
    try:
        return Version(since or torch_versions()[-1])
    except InvalidVersion as error:
        raise SpecError(f"{since!r} is no version of torch", hint="write 2.9 or 2.9.1") from error


def _projects(only: Collection[Part]) -> list[str]:
    names: list[str] = []
    if "torch" in only:
        names.append("torch")
    if "nvidia" in only:
        names += _keyed("nvidia_wheels", "wheels", "name")
    if "wheels" in only:
        names += _keyed("other_wheels", "wheels", "name")
    if "nvcc" in only:
        names += nvcc.PROJECTS
    return list(dict.fromkeys(names))


def _keyed(table: str, section: str, field: str) -> dict[str, Row]:
    return {str(row[field]): row for row in tables.raw_rows(table, section)}


def _torch(index: Index, project: Project | None, oldest: Version, day: str, say: Say) -> Iterator[Derived]:
    if project is None:
        raise UnavailableError(f"{index.name} has no torch")
    known = {Version(name): row for name, row in _keyed("torch_wheels", "releases", "torch").items()}
    # The tables begin where they begin: older releases are not to be added.
    first = max(oldest, min(known))
    wanted = sorted(
        v for v in project.releases if v >= first and not (v.is_prerelease or v.is_postrelease or v.local)
    )
    say(f"reading the metadata of {len(wanted)} releases of torch")
    rows = every(lambda v: derive.torch(index, project, v, known.get(v), day), wanted)
    yield from (row for row in rows if row is not None)


def _nvidia(index: Index, projects: Mapping[str, Project | None], day: str) -> Iterator[Derived]:
    by_name: dict[str, list[Row]] = {}
    for row in tables.raw_rows("nvidia_wheels", "wheels"):
        by_name.setdefault(row["name"], []).append(row)
    there = [(project, rows) for name, rows in by_name.items() if (project := projects[name])]
    for found in every(lambda pair: list(derive.nvidia(index, *pair, day)), there):
        yield from found


def _wheels(index: Index, projects: Mapping[str, Project | None], day: str) -> Iterator[Derived]:
    # A project without a version in the tables is another one on the index, or none: its name alone says nothing.
    rows = [row for row in _keyed("other_wheels", "wheels", "name").values() if row["newest"]]
    there = [(project, row) for row in rows if (project := projects[row["name"]])]
    found = every(lambda pair: derive.wheel(index, *pair, day), there)
    yield from (row for row in found if row is not None)


def _compilers(index: Index, minors: Sequence[str], day: str, say: Say) -> Iterator[Derived]:
    releases = tables.raw_rows("cuda_releases", "releases")
    known = _keyed("cuda_releases", "minors", "cuda")
    for minor in dict.fromkeys(minors):
        say(f"downloading nvcc of CUDA {minor} and running its ptxas")
        yield from nvcc.compiler(index, minor, known, releases, day)


def _change(derived: Derived) -> Change | None:
    before = derived.before or {}
    fields = tuple(_differences(before, derived.row))
    if not fields:
        return None
    kind: Literal["added", "changed"] = "changed" if derived.before else "added"
    row = own_files.unmarked(derived.row, derived.table)
    return Change(derived.table, derived.section, derived.about, kind, fields, row)


def _differences(before: Row, after: Row, prefix: str = "") -> Iterator[FieldChange]:
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict | None):
            yield from _differences(old or {}, value, f"{prefix}{name}.")
        elif value != old and name not in _BESIDE:
            yield FieldChange(prefix + name, old, value)


def _written(path: Path, changes: Sequence[Change]) -> str:
    """The text of a user's file with the changed rows put into it."""
    document: dict[str, Any] = {}
    if path.exists():
        document = json.loads(own_files.read_own(path).text)
    for change in changes:
        fields = SECTIONS[change.table][change.section]
        key = key_of(change.row, fields)
        *above, last = change.section.split(".")
        holder = document
        for part in above:
            holder = holder.setdefault(part, {})
        rows = rows_at(document, change.section)
        if any(key_of(row, fields) == key for row in rows):
            holder[last] = [change.row if key_of(row, fields) == key else row for row in rows]
        else:
            holder[last] = [*rows, change.row]
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
