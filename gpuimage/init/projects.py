"""What a project says of itself: pyproject.toml, setup.cfg, and of setup.py what stands there in so many words."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from gpuimage.errors import Location, SpecError
from gpuimage.init.packages import Line
from gpuimage.patterns import pattern
from gpuimage.spec.files import read_text

_LARGEST = 4_000_000  # bytes
_PLACE = pattern(r"\(at line (?P<line>\d+), column (?P<column>\d+)\)")
_CLASSIFIER = pattern(r"Programming Language :: Python :: (?P<minor>3\.\d+)")


class Group(Struct):
    """Dependencies that are installed only where they are asked for: an `extra` or a `group`."""

    kind: str
    name: str
    where: str
    dependencies: tuple[Line, ...] = ()


class Project(Struct):
    """What was found, each with its place; `files` are requirements files that hold its dependencies.

    `pythons` are the versions that its classifiers name, `scripts` its console scripts (`pkg.module:function`), `indexes`
    those that uv takes torch from, `hidden` what only running a program would tell.
    """

    name: Line | None = None
    version: Line | None = None
    requires_python: Line | None = None
    pythons: tuple[str, ...] = ()
    dependencies: tuple[Line, ...] = ()
    files: tuple[str, ...] = ()
    scripts: dict[str, Line] = field(default_factory=dict)
    indexes: tuple[Line, ...] = ()
    groups: tuple[Group, ...] = ()
    hidden: tuple[Line, ...] = ()


def read_project(directory: Path) -> Project | None:
    """Read the first of pyproject.toml, setup.cfg and setup.py that names anything, filled up from those behind it."""
    found: Project | None = None
    for name, read in (("pyproject.toml", _pyproject), ("setup.cfg", _setup_cfg), ("setup.py", _setup_py)):
        path = directory / name
        if path.is_file():
            one = read(read_text(path, name, _LARGEST), path)
            found = one if found is None else _filled(found, one)
    return found


def _filled(first: Project, more: Project) -> Project:
    """The first with what it lacks taken from another."""
    for name in ("name", "version", "requires_python", "pythons", "dependencies", "files", "scripts"):
        if not getattr(first, name):
            setattr(first, name, getattr(more, name))
    if not first.dependencies:
        first.hidden = (*first.hidden, *more.hidden)
    return first


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Read TOML; SpecError with line and column for what is none."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        place = _PLACE.search(str(error))
        what = _PLACE.sub("", str(error)).strip() or "nested too deep"
        where = Location(path, int(place["line"]), int(place["column"])) if place else Location(path)
        raise SpecError(f"this is not TOML: {what}", where=where, hint="mend it, or move it away") from None


def _at(data: object, *keys: str) -> dict[str, Any]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def texts(value: object) -> list[str]:
    """The texts of a list; none where it is something else."""
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


class _Places:
    """Finds the lines of a file that values stand in."""

    def __init__(self, text: str, name: str) -> None:
        self.lines, self.name = text.splitlines(), name

    def line(self, value: str, *near: str) -> Line:
        """A value with the first line that holds it: in quotes, as a key, anywhere; else the first with one of these words."""
        quoted = re.escape(value)
        for shape in (
            rf"['\"]{quoted}['\"]",
            rf"^\s*['\"]?{quoted}['\"]?\s*=",
            quoted,
            *map(re.escape, near),
        ):
            for number, line in enumerate(self.lines, start=1):
                if re.search(shape, line):
                    return Line(value, f"{self.name}:{number}")
        return Line(value, self.name)


# --------------------------------------------------------------------------------------------- pyproject.toml


def _pyproject(text: str, path: Path) -> Project:
    data, places = parse_toml(text, path), _Places(text, path.name)
    project, poetry = _at(data, "project"), _at(data, "tool", "poetry")
    found = Project()
    for name, attribute in (("name", "name"), ("version", "version"), ("requires-python", "requires_python")):
        value = project.get(name, poetry.get(name))
        if isinstance(value, str):
            setattr(found, attribute, places.line(value, name))
    found.pythons = _pythons(texts(project.get("classifiers", poetry.get("classifiers"))))
    found.dependencies = tuple(places.line(one) for one in texts(project.get("dependencies")))
    if not project.get("dependencies"):
        found.dependencies = tuple(_poetry(found, _at(poetry, "dependencies"), places))
    found.files = tuple(_files(_at(data, "tool", "setuptools", "dynamic", "dependencies").get("file")))
    scripts = _at(project, "scripts") or _at(poetry, "scripts")
    found.scripts = {
        name: places.line(value, name) for name, value in scripts.items() if isinstance(value, str)
    }
    found.indexes = tuple(_uv_indexes(data, places))
    found.groups = tuple(_groups(data, project, poetry, places))
    found.dependencies = tuple(one for one in found.dependencies if not _elsewhere(found, one, data))
    return found


def _pythons(classifiers: Iterable[str]) -> tuple[str, ...]:
    return tuple(match["minor"] for one in classifiers if (match := _CLASSIFIER.fullmatch(one.strip())))


def _files(value: object) -> list[str]:
    return [value] if isinstance(value, str) else texts(value)


def _uv_indexes(data: dict[str, Any], places: _Places) -> Iterator[Line]:
    """The index that uv takes torch from."""
    rows = _at(data, "tool", "uv").get("index")
    urls = (
        {str(row.get("name")): row.get("url") for row in rows or () if isinstance(row, dict)}
        if isinstance(rows, list)
        else {}
    )
    source = _at(data, "tool", "uv", "sources").get("torch")
    for row in source if isinstance(source, list) else [source]:
        url = urls.get(str(row.get("index"))) if isinstance(row, dict) else None
        marker = str(row.get("marker", "")) if isinstance(row, dict) else ""
        if isinstance(url, str) and not re.search(r"darwin|win32|aarch64", marker):
            yield places.line(url)


def _elsewhere(found: Project, line: Line, data: dict[str, Any]) -> bool:
    """Whether uv takes a dependency from a repository or a directory; it is noted as hidden then."""
    match = re.match(r"[A-Za-z0-9._-]+", line.text)
    source = _at(data, "tool", "uv", "sources").get(match[0]) if match else None
    if not isinstance(source, dict) or not {"git", "path", "workspace"} & set(source):
        return False
    kind = next(name for name in ("git", "path", "workspace") if name in source)
    found.hidden = (*found.hidden, Line(f"{line.text}, which uv takes from {kind}", line.where))
    return True


def _groups(
    data: dict[str, Any], project: dict[str, Any], poetry: dict[str, Any], places: _Places
) -> Iterator[Group]:
    for kind, table in (
        ("extra", _at(project, "optional-dependencies")),
        ("group", _at(data, "dependency-groups")),
    ):
        for name, listed in table.items():
            yield Group(kind, name, places.line(name).where, tuple(map(places.line, texts(listed))))
    for name, table in _at(poetry, "group").items():
        lines = _poetry(Project(), _at(table, "dependencies"), places)
        yield Group("group", name, places.line(name).where, tuple(lines))
    optional = {
        name: row
        for name, row in _at(poetry, "dependencies").items()
        if isinstance(row, dict) and row.get("optional")
    }
    for name, listed in _at(poetry, "extras").items():
        rows = {one: {**optional[one], "optional": False} for one in texts(listed) if one in optional}
        yield Group("extra", name, places.line(name).where, tuple(_poetry(Project(), rows, places)))


def _poetry(found: Project, table: dict[str, Any], places: _Places) -> Iterator[Line]:
    """The dependencies of poetry, whose carets and tildes pip does not know."""
    for name, value in table.items():
        row = value if isinstance(value, dict) else {"version": value}
        version, place = row.get("version"), places.line(name).where
        if name == "python":
            found.requires_python = Line(poetry_specifier(str(version)), place)
        elif row.keys() & {"git", "path", "url"} and not row.get("optional"):
            found.hidden = (*found.hidden, Line(f"{name}, which poetry takes from elsewhere", place))
        elif isinstance(version, str) and not row.get("optional"):
            extras = f"[{','.join(texts(row.get('extras')))}]" if texts(row.get("extras")) else ""
            marker = f"; {row['markers']}" if isinstance(row.get("markers"), str) else ""
            yield Line(f"{name}{extras}{poetry_specifier(version)}{marker}", place)


def poetry_specifier(text: str) -> str:
    """Poetry's `^1.2`, `~1.2`, `1.2` and `*` as a specifier of PEP 440."""
    return ",".join(part for one in re.split(r"\s*,\s*", text.strip()) if (part := _poetry_part(one)))


def _poetry_part(text: str) -> str:
    match = re.fullmatch(r"(?P<sign>\^|~)?\s*(?P<version>\d+(?:\.\d+)*)(?P<rest>[\w.+*-]*)", text)
    if text in ("", "*") or match is None:
        return "" if text == "*" else text
    if not match["sign"]:
        return f"=={text}"
    numbers = [int(part) for part in match["version"].split(".")]
    if match["sign"] == "^":
        at = next((i for i, number in enumerate(numbers) if number), len(numbers) - 1)
    else:
        at = min(1, len(numbers) - 1)
    upper = [*numbers[:at], numbers[at] + 1]
    return f">={match['version']}{match['rest']},<{'.'.join(map(str, upper))}"


# ------------------------------------------------------------------------------------- setup.cfg and setup.py


def _setup_cfg(text: str, path: Path) -> Project:
    parser, places = configparser.ConfigParser(interpolation=None, strict=False), _Places(text, path.name)
    try:
        parser.read_string(text)
    except configparser.Error:
        return Project()  # many tools keep their settings there; what is none of ours may be in any form

    def value(section: str, key: str) -> str:
        return parser.get(section, key, fallback="").strip()

    found = Project()
    for section, key, attribute in (
        ("metadata", "name", "name"),
        ("metadata", "version", "version"),
        ("options", "python_requires", "requires_python"),
    ):
        read = value(section, key)
        if read and not read.startswith(("attr:", "file:")):
            setattr(found, attribute, places.line(read, key))
    listed = value("options", "install_requires")
    if listed.startswith("file:"):
        found.files = tuple(one.strip() for one in listed.removeprefix("file:").split(","))
    else:
        found.dependencies = tuple(places.line(one.strip()) for one in listed.splitlines() if one.strip())
    found.pythons = _pythons(value("metadata", "classifiers").splitlines())
    found.scripts = _console_scripts(value("options.entry_points", "console_scripts").splitlines(), places)
    return found


def _console_scripts(entries: Iterable[str], places: _Places) -> dict[str, Line]:
    """`name = package.module:function`, as setuptools writes them."""
    found = {}
    for entry in entries:
        name, equals, target = entry.partition("=")
        if equals:
            found[name.strip()] = Line(target.strip(), places.line(entry.strip(), name.strip()).where)
    return found


def _setup_py(text: str, path: Path) -> Project:
    """Read what setup() is given as literals; nothing is run."""
    places, found = _Places(text, path.name), Project()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Project(hidden=(Line("setup.py cannot be read as Python 3", path.name),))
    known = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    arguments = {
        keyword.arg: keyword.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup"
        for keyword in node.keywords
        if keyword.arg
    }
    for key, attribute in (("name", "name"), ("version", "version"), ("python_requires", "requires_python")):
        value = _literal(arguments.get(key), known)
        if isinstance(value, str):
            setattr(found, attribute, places.line(value, key))
    listed = _literal(arguments.get("install_requires"), known)
    found.dependencies = tuple(places.line(one) for one in texts(listed))
    found.pythons = _pythons(texts(_literal(arguments.get("classifiers"), known)))
    points = _literal(arguments.get("entry_points"), known)
    found.scripts = _console_scripts(texts(_at({"points": points}, "points").get("console_scripts")), places)
    if "install_requires" in arguments and listed is None:
        found.hidden = (
            Line(
                "the dependencies that setup.py works out when it runs", places.line("install_requires").where
            ),
        )
    return found


def _literal(node: ast.expr | None, known: dict[str, ast.expr]) -> object:
    """The value of an expression that is a literal, or a name of one; None for any other."""
    if isinstance(node, ast.Name):
        node = known.get(node.id)
    try:
        return ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
