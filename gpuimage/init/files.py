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
_NO_CODE = pattern(r"\..*|.*\.egg-info|__pycache__|s?venv|env|build|dist|node_modules|tests?|docs?|examples?|Dockerfile.*|.*\.[Dd]ockerfile|Containerfile.*|docker-compose.*|compose\.ya?ml|spec\.(ya?ml|lock)|(README|LICENSE|CHANGELOG|CONTRIBUTING|CODE_OF_CONDUCT|SECURITY|NOTICE|AUTHORS|MANIFEST)(\..*)?|Makefile|tox\.ini|noxfile\.py|conftest\.py")  # fmt: skip


def take_files(notes: Notes, old: Old) -> None:
    """The project's files that the image holds, and the directory that they and the command start from."""
    found = [
        (copy, source, path)
        for copy in old.file.chain_copies(old.stage)
        for source, path in _sources(notes, old, copy)
    ]
    landings = [(copy, path, _landing(copy, source, path)) for copy, source, path in found]
    root = _root(notes, old, [(notes.relative(path) or "", place) for _, path, place in landings if place])
    for copy, path, place in landings:
        name, where = notes.relative(path), old.at(copy.step.instruction.line)
        if path.resolve() in notes.files:
            continue
        if name is None:
            notes.leave(
                str(path), where, "it lies outside of the spec's directory, which is the build's context"
            )
            continue
        entries = _whole(notes, path) if name == "." else [name]
        for entry in entries:
            notes.add(("app", "copy"), entry, where)
        if name != "." and place is not None and place != posixpath.join(root, name):
            notes.miss(
                f"{name} lands in {posixpath.join(root, name)}, and the old image had it in {place} ({where}): a spec keeps paths as they are beside it",
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


def _root(notes: Notes, old: Old, placed: Sequence[tuple[str, str]]) -> str:
    """The directory under which the spec puts every file: the old one, else the one that most files agree on."""
    end = old.stage.end.workdir
    own = end if end != "/" else None
    votes = Counter(place[: -len(name) - 1] or "/" for name, place in placed if place.endswith(f"/{name}"))
    votes.update(place for name, place in placed if name == ".")
    root = own if own in votes or not votes else votes.most_common(1)[0][0]
    if root is None or not notes.put(
        ("app", "workdir"), root, old.last("WORKDIR" if root == own else "COPY")
    ):
        root = "/app"
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
            if top != notes.project and (where := notes.relative(top)):
                notes.put(("env", "PYTHONPATH"), f"/app/{where}", where, "the code is copied, not installed")
            return


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
