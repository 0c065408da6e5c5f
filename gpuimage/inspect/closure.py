"""What the loader would find, and what it would not: glibc's search, over files instead of a running process."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpuimage.inspect.types import Inspection, Library
from gpuimage.tables import driver_libraries, opened_by_name, optional_plugin

_TRIPLETS = {"EM_X86_64": "x86_64-linux-gnu", "EM_AARCH64": "aarch64-linux-gnu"}
_EXTENSION = re.compile(r"\.(cpython-\w+|abi3)[\w-]*\.so$")
_PROGRAM_DIRS = (
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/usr/local/cuda/bin/",
)


@dataclass(frozen=True, slots=True)
class Missing:
    """A name that a library needs and the loader would not find; `elsewhere` are files of that name off its path."""

    library: str
    needed: str
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingVersion:
    """A symbol version that a library wants and the one that the loader finds for it does not have (GLIBC_2.38)."""

    library: str
    needed: str
    version: str
    found: str


@dataclass(frozen=True, slots=True)
class Twice:
    """One soname in several files, each with the libraries for which the loader takes it."""

    soname: str
    taken_by: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Closure:
    """Every library's needs, sorted by what a missing one means.

    `missing`: nowhere in the image, and needed by what Python or a program loads. `optional`: nowhere, but only
    plug-ins that nothing here links to want it. `off_path`: there, where the loader does not look by itself (its
    package loads it first). `driver`: injected from the host when the container starts. `versions`: symbol versions
    that are not in the library found. `twice`: files of one soname. `checked` counts libraries.
    """

    checked: int
    missing: tuple[Missing, ...]
    optional: tuple[Missing, ...]
    off_path: tuple[Missing, ...]
    driver: tuple[Missing, ...]
    versions: tuple[MissingVersion, ...] = ()
    twice: tuple[Twice, ...] = ()


def closure(inspection: Inspection, *, env: Mapping[str, str] | None = None) -> Closure:
    """Resolve what every library needs, each as if it were loaded first in a process of its own.

    A container's environment gives LD_LIBRARY_PATH. Linear in libraries times what they need.
    """
    loader = _Loader(inspection, (env or {}).get("LD_LIBRARY_PATH", ""))
    loaded = loader.reached_from_roots()
    groups: dict[str, dict[tuple[str, str], Missing]] = {
        "missing": {},
        "optional": {},
        "off_path": {},
        "driver": {},
    }
    for library in inspection.libraries:
        for owner, needed in loader.unresolved(library):
            elsewhere = loader.named(needed, owner)
            if needed in driver_libraries():
                kind = "driver"
            elif elsewhere:
                kind = "off_path"
            else:
                kind = "missing" if owner.path in loaded else "optional"
            groups[kind][owner.path, needed] = Missing(owner.path, needed, elsewhere)
    return Closure(
        checked=len(inspection.libraries),
        **{kind: tuple(found[key] for key in sorted(found)) for kind, found in groups.items()},
        versions=tuple(_missing_versions(loader.edges, loaded)),
        twice=tuple(_twice(inspection, loader.edges)),
    )


def _missing_versions(edges: _Edges, loaded: set[str]) -> Iterator[MissingVersion]:
    """As ld.so: a library without versions of its own is taken as it is."""
    for library, needed, found in sorted(edges, key=lambda edge: (edge[0].path, edge[1])):
        if library.path not in loaded or not found.defines:
            continue
        for provider, version in library.wants:
            if provider == needed and version not in found.defines:
                yield MissingVersion(library.path, needed, version, found.path)


def _twice(inspection: Inspection, edges: _Edges) -> Iterator[Twice]:
    files: dict[tuple[str, str, int], list[str]] = {}
    for library in inspection.libraries:
        if library.soname:
            files.setdefault((library.soname, library.machine, library.bits), []).append(library.path)
    users: dict[str, set[str]] = {}
    for library, _, found in edges:
        users.setdefault(found.path, set()).add(library.path)
    for (soname, *_), paths in sorted(files.items()):
        if len(paths) > 1:
            yield Twice(soname, {path: tuple(sorted(users.get(path, ()))) for path in paths})


# A library, and the directory it was found in: its $ORIGIN, which for a file that is a link is the link's directory.
_Loaded = tuple[Library, str]

# Who needs what, and which library the loader takes for it.
_Edges = set[tuple[Library, str, Library]]


class _Loader:
    """glibc's rules for one image."""

    def __init__(self, inspection: Inspection, library_path: str) -> None:
        self._image = inspection
        self._library_path = tuple(entry for entry in re.split("[:;]", library_path) if entry)
        self._by_name: dict[str, list[Library]] = {}
        for library in inspection.libraries:
            for name in {library.name, library.soname or library.name}:
                self._by_name.setdefault(name, []).append(library)
        for link in inspection.links:
            target = inspection.library(link)
            name = link.rsplit("/", 1)[-1]
            if target is not None and target not in self._by_name.setdefault(name, []):
                self._by_name[name].append(target)
        self.edges: _Edges = set()
        self._found: dict[tuple[str, tuple[str, ...], str, int], _Loaded | None] = {}

    def named(self, name: str, like: Library) -> tuple[str, ...]:
        """Files of a name that a library could load, wherever they are."""
        return tuple(other.path for other in self._by_name.get(name, ()) if _fits(other, like))

    def reached_from_roots(self) -> set[str]:
        """Paths of all libraries that extension modules and programs load, by search path or from elsewhere."""
        todo = [lib for lib in self._image.libraries if _is_root(lib.path)]
        reached: set[str] = set()
        while todo:
            library = todo.pop()
            if library.path in reached:
                continue
            reached.add(library.path)
            for needed in library.needed:
                todo.extend(other for other in self._by_name.get(needed, ()) if _fits(other, library))
        return reached

    def unresolved(self, root: Library) -> list[tuple[Library, str]]:
        """What stays unfound when `root` is loaded: (library, name), breadth first as the loader goes."""
        loaded = {root.soname}
        queue: list[tuple[_Loaded, tuple[_Loaded, ...]]] = [((root, posixpath.dirname(root.path)), ())]
        missing: list[tuple[Library, str]] = []
        seen = {root.path}
        while queue:
            owner, chain = queue.pop(0)
            library = owner[0]
            for needed in library.needed:
                if needed in loaded or needed.startswith("ld-linux"):
                    continue
                found = self._search(needed, owner, chain)
                if found is None:
                    missing.append((library, needed))
                    continue
                self.edges.add((library, needed, found[0]))
                loaded |= {needed, found[0].soname}
                if found[0].path not in seen:
                    seen.add(found[0].path)
                    queue.append((found, (owner, *chain)))
        return missing

    def _search(self, needed: str, owner: _Loaded, chain: tuple[_Loaded, ...]) -> _Loaded | None:
        library = owner[0]
        if "/" in needed:
            [path] = _expand((needed,), owner)
            return self._in(posixpath.basename(path), [posixpath.dirname(path)], library)
        directories: list[str] = []
        if (
            not library.runpath
        ):  # DT_RPATH counts only without DT_RUNPATH, and is inherited from who loaded this
            for loader in (owner, *chain):
                if not loader[0].runpath:
                    directories += _expand(loader[0].rpath, loader)
        directories += self._library_path
        directories += _expand(library.runpath, owner)
        key = (needed, tuple(directories), library.machine, library.bits)
        if key not in self._found:
            self._found[key] = self._in(
                needed, [*directories, *self._image.ld_so_conf, *_default(library)], library
            )
        return self._found[key]

    def _in(self, needed: str, directories: list[str], like: Library) -> _Loaded | None:
        for directory in dict.fromkeys(directories):
            found = self._image.library(f"{directory}/{needed}")
            if found is not None and _fits(found, like):
                return found, self._image.resolve(directory) or directory
        return None


def _is_root(path: str) -> bool:
    """Whether something loads this file first: Python an extension module, a shell a program, a table row the rest."""
    if optional_plugin(path):
        return False
    return bool(_EXTENSION.search(path)) or path.startswith(_PROGRAM_DIRS) or opened_by_name(path)


def _fits(library: Library, like: Library) -> bool:
    return (library.machine, library.bits) == (like.machine, like.bits)


def _expand(entries: tuple[str, ...], owner: _Loaded) -> list[str]:
    """$ORIGIN is the directory of the library that carries the entry; $LIB and $PLATFORM are the usual ones."""
    library, origin = owner
    triplet = _TRIPLETS.get(library.machine, "")
    names = {"ORIGIN": origin, "LIB": f"lib/{triplet}", "PLATFORM": triplet.partition("-")[0]}
    return [
        re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda m: names.get(m[1] or m[2], m[0]), entry)
        for entry in entries
        if entry
    ]


def _default(library: Library) -> list[str]:
    triplet = _TRIPLETS.get(library.machine)
    wide = ["/lib64", "/usr/lib64"] if library.bits == 64 else []
    local = [f"/lib/{triplet}", f"/usr/lib/{triplet}", f"/usr/local/lib/{triplet}"] if triplet else []
    return [*local, *wide, "/lib", "/usr/lib"]
