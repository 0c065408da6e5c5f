"""Projects that files and words ask for: requirements, pyproject.toml, locks."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.dockerfile import Span
from gpuimage.patterns import pattern

_REQUIREMENT = pattern(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*"
    r"\(?(?P<spec>(?:[=<>!~].*?)?)\)?\s*(?:;.*)?",
    re.DOTALL,
)
_DIRECT = pattern(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?\s*@\s*(\S+)")
_NAME = pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?=\s*(?:\[|[=<>!~;@(]|$))")
_WHEEL = pattern(r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)(-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl")
_NOT_NAMES = pattern(r"[./~$]|[a-z+]+://|git\+|-")

Reader = Callable[[str], "tuple[str, str] | None"]
"""Reads a file of the image by its absolute path: text, and its name in the context."""


class Wanted(Struct, frozen=True):
    """One project that is asked for: `name` as PyPI compares it, "" for a path or URL that does not tell.

    `specifier` is what follows the name ("" nothing, None known only in the build), `version` the exact version of
    `==`. `source` is the path or URL it comes from. `span` is its place in the Dockerfile, `file` the file beside it
    that names it.
    """

    name: str
    span: Span
    specifier: str | None = ""
    extras: frozenset[str] = frozenset()
    source: str = ""
    editable: bool = False
    file: str = ""
    locked: bool = False
    index: str = ""
    """The index that a lock or a project's file names for it."""
    wheel_version: str | None = None
    forked: bool = False
    """Whether a lock holds several builds of it, of which the environment takes one."""

    @property
    def version(self) -> str | None:
        """The exact version, its local part included (`2.6.0+cu124`); None where another may come."""
        if self.wheel_version is not None:
            return self.wheel_version
        match = re.fullmatch(r"\s*===?\s*([^\s,*]+)\s*", self.specifier or "")
        return match[1] if match else None

    @property
    def public(self) -> str | None:
        """The exact version without its local part."""
        return self.version.partition("+")[0] if self.version else None

    @property
    def local(self) -> str:
        """`cu124` of `2.6.0+cu124`."""
        return (self.version or "").partition("+")[2]

    @property
    def from_source(self) -> bool:
        """Whether it is a path or a repository that is built, not a wheel or a name."""
        return bool(self.source) and not self.source.endswith((".whl", ".txt"))


def normalise(name: str) -> str:
    """A project's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(text: str | None, raw: str, span: Span) -> Wanted | None:
    """Read a requirement, a path or an URL; None for what holds no name at all."""
    shown = (text if text is not None else raw.strip("'\"")).strip()
    if not shown:
        return None
    direct = _DIRECT.match(shown)
    if direct and text is not None:
        wheel = _wheel(direct[3])
        version = wheel["version"] if wheel else None
        return Wanted(
            normalise(direct[1]), span, "", _extras(direct[2]), source=direct[3], wheel_version=version
        )
    wheel = _wheel(shown)
    if wheel:
        return Wanted(normalise(wheel["name"]), span, "", source=shown, wheel_version=wheel["version"])
    if _NOT_NAMES.match(shown) or ("/" in shown and "@" not in shown):
        egg = re.search(r"#egg=([A-Za-z0-9._-]+)", shown)
        return Wanted(normalise(egg[1]) if egg else _repository(shown), span, "", source=shown)
    match = _REQUIREMENT.fullmatch(shown)
    if text is not None and match:
        return Wanted(normalise(match["name"]), span, (match["spec"] or "").strip(), _extras(match["extras"]))
    name = _NAME.match(shown)
    return Wanted(normalise(name[0]), span, None if text is None else shown[name.end() :]) if name else None


def _wheel(source: str) -> re.Match[str] | None:
    """The name of a wheel's file in a path or URL."""
    file = source.partition("#")[0].partition("?")[0].rpartition("/")[2]
    return _WHEEL.fullmatch(file.replace("%2B", "+").partition("[")[0])


def _extras(text: str | None) -> frozenset[str]:
    return frozenset(normalise(extra.strip()) for extra in (text or "").split(",") if extra.strip())


def _repository(source: str) -> str:
    """The name of the repository in a git URL, which is the project's as a rule."""
    if "git+" not in source:
        return ""
    match = re.search(r"/([A-Za-z0-9._-]+?)(?:\.git)?(?:@[^/]*)?$", source.partition("#")[0].rstrip("/"))
    return normalise(match[1]) if match else ""


def entries(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a requirements file as pip joins them, without comments: the first one's number (from 1), the text."""
    start, joined = 0, ""
    for number, line in enumerate((*text.splitlines(), ""), start=1):
        start = start or number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            joined += line[:-1] + " "
            continue
        entry = re.sub(r"(^|\s)#.*$", "", joined + line).strip()
        if entry:
            yield start, entry
        start, joined = 0, ""


def option(entry: str) -> tuple[str, str]:
    """An option of a requirements file and its value: `--index-url=URL`, `-r other.txt`, `-rother.txt`."""
    if entry.startswith("--"):
        name, _, value = entry.replace("=", " ", 1).partition(" ")
    else:
        name, value = entry[:2], entry[2:]
    return name, value.strip()


class Requirements:
    """A requirements file, read as pip does: names, indexes, other files."""

    def __init__(self, file: str, span: Span) -> None:
        self.file, self.span = file, span
        self.wanted: list[Wanted] = []
        self.index: str | None = None
        self.extra: list[str] = []
        self.complete = True

    def read(self, text: str, read: Reader, directory: str, depth: int = 0) -> None:
        """Take the lines of a text; `directory` is where it lies in the image."""
        hashes = "--hash=" in text
        for _, entry in entries(text):
            if entry.startswith("-"):
                self._option(entry, read, directory, depth)
                continue
            body = re.split(r"\s--(?:hash|config-settings|global-option)", entry)[0].strip()
            one = requirement(body, body, self.span)
            if one is not None:
                self.wanted.append(replace(one, file=self.file, locked=hashes))

    def _option(self, entry: str, read: Reader, directory: str, depth: int) -> None:
        name, value = option(entry)
        if name in ("-i", "--index-url"):
            self.index = value
        elif name in ("--extra-index-url", "-f", "--find-links"):
            self.extra.append(value)
        elif name in ("-e", "--editable"):
            one = requirement(value, value, self.span)
            if one is not None:
                self.wanted.append(replace(one, file=self.file, editable=True))
        elif name in ("-r", "--requirement"):
            found = read(posixpath.normpath(posixpath.join(directory, value))) if depth < 8 else None
            if found is None:
                self.complete = False
            else:
                self.read(found[0], read, posixpath.dirname(posixpath.join(directory, value)), depth + 1)


def toml(text: str) -> dict[str, Any]:
    """Read TOML; {} for what is none."""
    import tomllib  # noqa: PLC0415  # only where there is such a file

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def pyproject(text: str, file: str, span: Span) -> Iterator[Wanted]:
    """What a pyproject.toml asks for: `[project]`, with uv's sources, and poetry's own table."""
    data = toml(text)
    sources = _at(data, "tool", "uv", "sources")
    indexes = {
        str(row.get("name")): str(row.get("url")) for row in _rows(_at(data, "tool", "uv").get("index"))
    }
    for entry in _at(data, "project").get("dependencies") or ():
        one = requirement(str(entry), str(entry), span)
        if one is not None:
            source = next((row for row in _rows(sources.get(one.name))), {})
            yield replace(one, file=file, index=indexes.get(str(source.get("index")), ""))
    for name, value in _at(data, "tool", "poetry", "dependencies").items():
        if name != "python":
            version = (
                value
                if isinstance(value, str)
                else str(value.get("version", ""))
                if isinstance(value, dict)
                else ""
            )
            exact = f"=={version}" if re.fullmatch(r"\d[\w.+]*", version) else version.replace("==", "==", 1)
            yield Wanted(normalise(name), span, "" if exact == "*" else exact, file=file)


def _at(data: object, *path: str) -> dict[str, Any]:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _rows(value: object) -> list[dict[str, Any]]:
    rows = value if isinstance(value, list) else [value]
    return [row for row in rows if isinstance(row, dict)]


def locked(text: str, file: str, span: Span) -> Iterator[Wanted]:
    """The packages of a uv.lock, poetry.lock or pdm.lock, each once."""
    found: dict[str, Wanted] = {}
    for row in _rows(toml(text).get("package")):
        source = row.get("source")
        url = str(source.get("registry") or source.get("url") or "") if isinstance(source, dict) else ""
        name, version = row.get("name"), row.get("version")
        if isinstance(name, str) and isinstance(version, str):
            one = Wanted(normalise(name), span, f"=={version}", file=file, locked=True, index=url)
            before = found.get(one.name)
            if before is None:
                found[one.name] = one
            elif before != one:
                same = before.public == one.public
                found[one.name] = replace(
                    before, specifier=f"=={one.public}" if same else None, index="", forked=True
                )
    yield from found.values()
