"""The project's own files: those that an old Dockerfile copies, or the Python code that lies here."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpuimage.errors import SpecError
from gpuimage.facts import Copy
from gpuimage.init.dockerfiles import Old
from gpuimage.init.notes import Notes, plain
from gpuimage.init.packages import BUILD_ONLY
from gpuimage.patterns import pattern

_MOST_ENTRIES = 60  # of a directory that is copied whole; more is no project's root
_DEPENDENCY_FILES = pattern(r"(requirements|constraints)[^/]*\.(txt|in)|pyproject\.toml|(uv|poetry|pdm)\.lock|pylock[^/]*\.toml|Pipfile(\.lock)?|environment[^/]*\.ya?ml|conda[^/]*\.(ya?ml|lock|txt)|setup\.(py|cfg)")  # fmt: skip
# What lies in a project and does not run.
_NO_CODE = pattern(r"\..*|.*\.egg-info|__pycache__|s?venv|env|build|dist|node_modules|tests?|docs?|examples?|Dockerfile.*|.*\.[Dd]ockerfile|Containerfile.*|docker-compose.*|compose\.ya?ml|spec\.(ya?ml|lock)|(?i:.*\.(md|rst|ipynb|cff))|(?i:README|LICEN[CS]E|CHANGELOG|NOTICE|AUTHORS|MANIFEST)(\..*)?|Makefile|tox\.ini|noxfile\.py|conftest\.py")  # fmt: skip


def take_files(notes: Notes, old: Old) -> None:
    """The project's files that the image holds, and the directory that they and the command start from."""
    landed = [
        (copy, path, _landing(copy, source, path))
        for copy in old.file.chain_copies(old.stage)
        for source, path in _sources(notes, old, copy)
        if path.resolve() not in notes.files
    ]
    root = _root(notes, old, [(notes.relative(path), place) for _, path, place in landed])
    for copy, path, place in landed:
        name, where = notes.relative(path), old.at(copy.step.instruction.line)
        if name is None:
            notes.leave(
                str(path), where, "it lies outside of the spec's directory, which is the build's context"
            )
            continue
        for entry in _whole(notes, path) if name == "." else [name]:
            notes.add(("app", "copy"), entry, where)
        if place is not None and place != posixpath.normpath(posixpath.join(root, name)):
            notes.miss(
                f"the place of {'what is copied' if name == '.' else name}: {place} in the old image ({where}), under {root} "
                "in the new one, with the path that it has beside the spec",
                "write the command, and paths in the code, for the new place",
            )


def _sources(notes: Notes, old: Old, copy: Copy) -> Iterator[tuple[str, Path]]:
    where = old.at(copy.step.instruction.line)
    if copy.from_:
        return
    for source in copy.sources:
        if source is None:
            notes.leave("a COPY", where, BUILD_ONLY)
        elif "://" in source:
            notes.leave(f"ADD {plain(source)}", where, "a spec fetches nothing: put the file beside it")
        elif not _DEPENDENCY_FILES.fullmatch(posixpath.basename(source)):
            path = _on_disk(notes, old, source)
            if path is None:
                notes.leave(f"COPY {source}", where, "there is no such file here")
            else:
                yield source, path


def _on_disk(notes: Notes, old: Old, source: str) -> Path | None:
    clean = posixpath.normpath(source.lstrip("/") or ".")
    if clean.startswith("..") or "\0" in clean:
        return None
    for directory in dict.fromkeys((notes.project, *old.file.context.directories)):
        try:
            if (directory / clean).exists() or (
                any(c in clean for c in "*?[") and next(directory.glob(clean), None)
            ):
                return directory / clean
        except (OSError, ValueError, NotImplementedError):
            return None
    return None


def _landing(copy: Copy, source: str, path: Path) -> str | None:
    """Where a source lies in the old image: a file at its place, a directory's contents in the target."""
    if copy.target is None or path.is_dir():
        return copy.target
    into = copy.into or any(c in source for c in "*?[")
    return posixpath.join(copy.target, path.name) if into else copy.target


def _root(notes: Notes, old: Old, placed: Sequence[tuple[str | None, str | None]]) -> str:
    """The directory of the old image under which the files lay as they lie here: its own, or the one most agree on."""
    votes = Counter(
        place.removesuffix(f"/{name}") or "/"
        for name, place in placed
        if place and place.endswith(f"/{name}")
    )
    votes.update(place for name, place in placed if place and name == ".")
    own = old.stage.end.workdir if old.stage.end.workdir != "/" else None
    root = (
        own
        if own is not None and (own in votes or not votes)
        else votes.most_common(1)[0][0]
        if votes
        else "/app"
    )
    where = old.last("WORKDIR" if root == own else "COPY")
    if f"{root}/".startswith("/root/"):
        notes.leave(
            f"the directory {root}",
            where,
            "it is root's home, which another user may not enter: the files go to /app",
        )
    elif root != "/app":
        notes.put(("app", "workdir"), root, where)
    if own is not None and root != own:
        notes.miss(
            f"the command ran in {own}, and the files lie under {root}",
            "write the command's paths for app.workdir",
        )
    return root


def take_code(notes: Notes) -> None:
    """Without a Dockerfile: the modules and packages at the top of the project, or below `src`."""
    for top in (notes.project, notes.project / "src"):
        found = [name for name in sorted(_names(top)) if _is_code(top / name)]
        for name in found:
            entry = notes.relative(top / name)
            if entry is not None:
                notes.add(("app", "copy"), entry, "", "the project's Python code")
        if found:
            take_source_layout(notes)
            return


def take_source_layout(notes: Notes) -> None:
    """Let Python find the packages below `src`, which an install would have put on its path."""
    src = notes.relative(notes.project / "src")
    copied = [
        entry for entry in notes.get(("app", "copy"), []) if entry == src or entry.startswith(f"{src}/")
    ]
    if src and copied and notes.get(("env", "PYTHONPATH")) is None:
        workdir = notes.get(("app", "workdir"), "/app")
        notes.put(
            ("env", "PYTHONPATH"), posixpath.join(workdir, src), src, "the code is copied, not installed"
        )


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir() if not _NO_CODE.fullmatch(path.name)]
    except OSError:
        return []


def _is_code(path: Path) -> bool:
    if path.suffix == ".py":
        return not _DEPENDENCY_FILES.fullmatch(path.name)
    return (path / "__init__.py").is_file()


def _whole(notes: Notes, directory: Path) -> list[str]:
    """What of a directory that is copied whole belongs to the service, by name; a spec names what it copies."""
    from gpuimage.engine.context import load_ignore  # noqa: PLC0415  # engines are loaded where one is asked for

    try:
        ignore = load_ignore(directory)
    except (OSError, SpecError):
        return []
    names = [name for name in sorted(_names(directory)) if not ignore.ignores(name)]
    kept = [name for name in names if not _DEPENDENCY_FILES.fullmatch(name)]
    if len(kept) > _MOST_ENTRIES:
        notes.miss(
            f"which of the {len(kept)} files and directories here the service needs",
            "name them under app.copy",
        )
        return []
    return kept
