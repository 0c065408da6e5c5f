"""What pip, uv, poetry and their like install."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.dockerfile import Span
from gpuimage.dockerfile.shell import Argument
from gpuimage.facts.options import Options, options
from gpuimage.facts.runs import Call
from gpuimage.patterns import pattern

_TAKING = frozenset(
    "-r --requirement --requirements -c --constraint --constraints -e --editable -t --target --platform "
    "--python-version --implementation --abi --root --prefix --src --upgrade-strategy -C --config-settings "
    "--config-setting --global-option --no-binary --only-binary --progress-bar --root-user-action --report -i "
    "--index-url --extra-index-url -f --find-links --proxy --retries --timeout --exists-action --trusted-host --cert "
    "--client-cert --cache-dir --log --use-feature --use-deprecated --python --build-option --install-option --group "
    "-p --torch-backend --index --default-index --extra --link-mode --index-strategy --keyring-provider --resolution "
    "--prerelease --no-build-isolation-package --no-build-package --no-binary-package --reinstall-package -P "
    "--upgrade-package --exclude-newer --python-platform --directory --project --allow-insecure-host --override "
    "--overrides --build-constraint --build-constraints --only --with --without --no-group --only-group --package "
    "-w --wheel-dir -d --dest -s --source".split()
)
_POETRY_TAKING = frozenset(
    "--only --with --without -E --extras --directory -C -P --project --source -G --group".split()
)
_REQUIREMENT = pattern(
    r"(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*"
    r"(?:@\s*(?P<url>\S+)|\(?(?P<spec>(?:[=<>!~].*?)?)\)?)\s*(?:;.*)?",
    re.DOTALL,
)
_NAME = pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?=\s*(?:\[|[=<>!~;@(]|$))")
_WHEEL = pattern(r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[^-]+)(-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl")
_VARIANT = pattern(r"/(?P<variant>cu\d{2,3}|cpu|rocm[\d.]+|xpu)(?:[/_-]|$)")
_LOCAL = pattern(r"cu\d{2,3}|cpu|rocm.*|xpu")
_NOT_NAMES = pattern(r"[./~$]|[a-z+]+://|git\+|-")


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


class PythonInstall(Struct, frozen=True, dict=True):
    """One command that installs Python projects.

    `tool`: pip, uv, uv-sync, poetry, pdm, pipenv. `complete` is false where files or variables hide what it installs.
    `index` None is the default one; "" one that only the build knows. `target` is where the environment lies, as far
    as the command or the program's own path tells. `builds` says that it only makes wheels.
    """

    tool: str
    call: Call
    given: Options
    wanted: tuple[Wanted, ...]
    complete: bool
    index: str | None
    extra_indexes: tuple[str, ...]
    target: str | None
    builds: bool = False

    @property
    def no_deps(self) -> bool:
        """Whether dependencies are left out."""
        return self.given.has("--no-deps")

    @property
    def no_isolation(self) -> bool:
        """Whether what is built sees the installed packages."""
        isolated = self.call.assigned.get(
            "PIP_NO_BUILD_ISOLATION", self.call.step.variables.get("PIP_NO_BUILD_ISOLATION")
        )
        return self.given.has("--no-build-isolation", "--no-build-isolation-package") or bool(isolated)

    @property
    def constrained(self) -> bool:
        """Whether constraints or a lock hold the versions."""
        return self.given.has("-c", "--constraint", "--constraints", "--override", "--overrides") or (
            self.call.is_set("PIP_CONSTRAINT") or self.call.is_set("UV_CONSTRAINT")
        )

    def find(self, *names: str) -> Wanted | None:
        """The first of these projects that it asks for."""
        return next((one for one in self.wanted if one.name in names), None)

    def variant(self, wanted: Wanted) -> str | None:
        """The build of torch that is asked for: `cu124`, `cpu`, `rocm6.2`; None where the index decides."""
        if _LOCAL.fullmatch(wanted.local):
            return wanted.local
        backend = self.given.last("--torch-backend") or self.call.step.variables.get("UV_TORCH_BACKEND")
        if backend and _LOCAL.fullmatch(backend):
            return backend
        for index in (wanted.index, self.index or "", wanted.source):
            found = _VARIANT.search(index)
            if found:
                return found["variant"]
        return None


def normalise(name: str) -> str:
    """A project's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement(text: str | None, raw: str, span: Span) -> Wanted | None:
    """Read a requirement, a path or an URL; None for what holds no name at all."""
    shown = (text if text is not None else raw.strip("'\"")).strip()
    if not shown:
        return None
    wheel = _WHEEL.fullmatch(
        shown.partition("#")[0].partition("?")[0].rpartition("/")[2].replace("%2B", "+").partition("[")[0]
    )
    if wheel:
        return Wanted(normalise(wheel["name"]), span, "", source=shown, wheel_version=wheel["version"])
    if _NOT_NAMES.match(shown) or ("/" in shown and "@" not in shown):
        egg = re.search(r"#egg=([A-Za-z0-9._-]+)", shown)
        return Wanted(normalise(egg[1]) if egg else _repository(shown), span, "", source=shown)
    match = _REQUIREMENT.fullmatch(shown)
    if text is not None and match:
        extras = frozenset(
            normalise(extra.strip()) for extra in (match["extras"] or "").split(",") if extra.strip()
        )
        return Wanted(
            normalise(match["name"]), span, (match["spec"] or "").strip(), extras, match["url"] or ""
        )
    name = _NAME.match(shown)
    return Wanted(normalise(name[0]), span, None if text is None else shown[name.end() :]) if name else None


def _repository(source: str) -> str:
    """The name of the repository in a git URL, which is the project's as a rule."""
    if "git+" not in source:
        return ""
    match = re.search(r"/([A-Za-z0-9._-]+?)(?:\.git)?(?:@[^/]*)?$", source.partition("#")[0].rstrip("/"))
    return normalise(match[1]) if match else ""


_SYSTEM = frozenset(
    {"/bin", "/usr/bin", "/usr/local/bin", "/usr/local/cuda/bin", "/usr/local/nvidia/bin", "/opt/conda/bin"}
)

Reader = Callable[[str], "tuple[str, str] | None"]
"""Reads a file of the image by its absolute path: text, and its name in the context."""


def python_installs(call: Call, read: Reader) -> Iterator[PythonInstall]:
    """What one command installs; `read` gives the files that it names."""
    name, values = call.name, call.values
    if name == "pip":
        yield from _pip(call, call.arguments, "pip", read)
    elif name == "uv" and values[:1] == ("pip",):
        yield from _pip(call, call.arguments[1:], "uv", read)
    elif name == "uv" and values and values[0] in ("sync", "add"):
        yield from _project(call, "uv-sync", values[0], read)
    elif name in ("poetry", "pdm", "pipenv") and values:
        yield from _project(call, name, next((v for v in values if not v.startswith("-")), ""), read)


def _pip(call: Call, arguments: tuple[Argument, ...], tool: str, read: Reader) -> Iterator[PythonInstall]:
    given = options(arguments, _TAKING)
    if not given.words:
        return
    verb = str(given.words[0])
    if verb not in ("install", "wheel", "download", "sync"):
        return
    wanted: list[Wanted] = []
    complete = True
    files = list(given.arguments("-r", "--requirement", "--requirements"))
    words = list(given.words[1:])
    if verb == "sync":
        files, words = words, []
    for argument, editable in [
        *((a, False) for a in words),
        *((a, True) for a in given.arguments("-e", "--editable")),
    ]:
        wanted += (replace(one, editable=editable) for one in _words(argument, call))
        complete = complete and (argument.value is not None or "$" not in argument.raw.partition("==")[0])
    index, extra = _indexes(given, call, tool)
    for argument in files:
        found = _file(call, argument, read)
        if found is None:
            complete = False
            continue
        lines = Requirements(found[1], call.place(argument))
        lines.read(found[0], read, posixpath.dirname(call.absolute(str(argument)) or "/"))
        wanted += lines.wanted
        complete = complete and lines.complete
        index = lines.index if index is None else index
        extra += tuple(lines.extra)
    for one in tuple(wanted):
        if one.from_source and "://" not in one.source:
            wanted += _dependencies(call, one, read)
            complete = False  # what a project needs may hang on more than its file says
    yield PythonInstall(
        tool,
        call,
        given,
        tuple(wanted),
        complete,
        index,
        extra,
        _target(given, call, tool),
        verb in ("wheel", "download"),
    )


def _words(argument: Argument, call: Call) -> Iterator[Wanted]:
    span = call.place(argument)
    value = argument.value
    if value is not None and argument.raw[:1] not in "'\"" and len(value.split()) > 1:
        for text in value.split():  # a variable that holds several
            one = requirement(text, text, span)
            if one is not None and not text.startswith("-"):
                yield one
        return
    one = requirement(value, argument.raw, span)
    if one is not None:
        yield one


def _indexes(given: Options, call: Call, tool: str) -> tuple[str | None, tuple[str, ...]]:
    names = ("-i", "--index-url", "--default-index")
    index: str | None = None
    for argument in given.arguments(*names):
        index = argument.value if argument.value is not None else argument.raw
    if index is None:
        prefix = ("UV_DEFAULT_INDEX", "UV_INDEX_URL") if tool.startswith("uv") else ("PIP_INDEX_URL",)
        for name in prefix:
            if call.is_set(name):
                value = call.variable(name)
                index = value if isinstance(value, str) else ""
    extra = tuple(
        str(argument).strip("'\"")
        for argument in given.arguments("--extra-index-url", "--index", "-f", "--find-links")
    )
    value = call.variable("UV_EXTRA_INDEX_URL" if tool.startswith("uv") else "PIP_EXTRA_INDEX_URL")
    return index, extra + (tuple(value.split()) if isinstance(value, str) else ())


def _target(given: Options, call: Call, tool: str) -> str | None:
    """Where the environment lies: an option, the directory of the program, VIRTUAL_ENV for uv."""
    for option in ("-t", "--target", "--prefix", "--root"):
        path = given.last(option)
        if path:
            return call.absolute(path)
    python = given.last("-p", "--python") if tool.startswith("uv") else None
    for path in (python or "", call.program.path):
        if path.startswith("/") and "/bin/" in path and posixpath.dirname(path) not in _SYSTEM:
            return path.partition("/bin/")[0]
    environment = call.variable("UV_PROJECT_ENVIRONMENT" if tool == "uv-sync" else "VIRTUAL_ENV")
    if isinstance(environment, str) and environment:
        return call.absolute(environment)
    front = call.step.front
    if (
        tool == "pip"
        and front
        and front.endswith("/bin")
        and front not in _SYSTEM
        and call.program.path.count("/") == 0
    ):
        return front.removesuffix("/bin")
    return None


def _file(call: Call, argument: Argument, read: Reader) -> tuple[str, str] | None:
    path = call.absolute(argument.value) if argument.value else None
    return read(path) if path else None


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
        for line in re.sub(r"\\\r?\n", " ", text).splitlines():
            entry = re.sub(r"(^|\s)#.*$", "", line).strip()
            if not entry:
                continue
            if entry.startswith("-"):
                self._option(entry, read, directory, depth)
                continue
            body = re.split(r"\s--(?:hash|config-settings|global-option)", entry)[0].strip()
            one = requirement(body, body, self.span)
            if one is not None:
                self.wanted.append(replace(one, file=self.file, locked=hashes))

    def _option(self, entry: str, read: Reader, directory: str, depth: int) -> None:
        name, _, value = (
            entry.replace("=", " ", 1).partition(" ")
            if entry.startswith("--")
            else (entry[:2], "", entry[2:])
        )
        value = value.strip()
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


def _dependencies(call: Call, one: Wanted, read: Reader) -> Iterator[Wanted]:
    """What the pyproject.toml of a directory asks for."""
    path = call.absolute(one.source.partition("[")[0])
    found = read(posixpath.join(path, "pyproject.toml")) if path else None
    if found is not None:
        yield from _pyproject(found[0], found[1], one.span)


def _toml(text: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415  # only where there is such a file

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _pyproject(text: str, file: str, span: Span) -> Iterator[Wanted]:
    data = _toml(text)
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


_LOCKS = {"uv-sync": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock"}


def _project(call: Call, tool: str, verb: str, read: Reader) -> Iterator[PythonInstall]:
    """`uv sync`, `poetry install` and their like: what the lock holds, else what the project asks for."""
    if verb not in ("sync", "install", "add"):
        return
    given = options(call.arguments, _TAKING if tool == "uv-sync" else _POETRY_TAKING)
    span = call.span
    directory = given.last("--project", "--directory", "-C") or "."
    root = call.absolute(directory) or call.absolute(".")
    wanted: list[Wanted] = []
    complete = False
    if verb == "add":
        wanted = [one for argument in given.words[1:] for one in _words(argument, call)]
    elif root is not None:
        lock = read(posixpath.join(root, _LOCKS.get(tool, "Pipfile.lock")))
        project = read(posixpath.join(root, "pyproject.toml"))
        if lock is not None and lock[1].endswith(".lock") and _toml(lock[0]).get("package"):
            wanted, complete = list(_locked(lock[0], lock[1], span)), True
        elif project is not None:
            wanted = list(_pyproject(project[0], project[1], span))
    index, extra = _indexes(given, call, tool)
    target = _target(given, call, tool)
    if target is None and tool == "uv-sync" and root:
        target = posixpath.join(root, ".venv")
    yield PythonInstall(tool, call, given, tuple(wanted), complete, index, extra, target)


def _locked(text: str, file: str, span: Span) -> Iterator[Wanted]:
    for row in _rows(_toml(text).get("package")):
        source = row.get("source")
        url = str(source.get("registry") or source.get("url") or "") if isinstance(source, dict) else ""
        name, version = row.get("name"), row.get("version")
        if isinstance(name, str) and isinstance(version, str):
            yield Wanted(normalise(name), span, f"=={version}", file=file, locked=True, index=url)
