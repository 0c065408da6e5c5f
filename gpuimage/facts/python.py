"""What pip, uv, poetry and their like install."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.dockerfile.shell import Argument
from gpuimage.facts.options import Options, options
from gpuimage.facts.requirements import Reader, Requirements, Wanted, locked, pyproject, requirement, toml
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
_VARIANT = pattern(r"/(?P<variant>cu\d{2,3}|cpu|rocm[\d.]+|xpu)(?:[/_-]|$)")
_LOCAL = pattern(r"cu\d{2,3}|cpu|rocm.*|xpu")


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
        """The build of torch that is asked for: `cu124`, `cpu`, `rocm6.2`; None where the index decides, `?` unknown."""
        if wanted.forked:
            return "?"
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


_SYSTEM = frozenset(
    {"/bin", "/usr/bin", "/usr/local/bin", "/usr/local/cuda/bin", "/usr/local/nvidia/bin", "/opt/conda/bin"}
)


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
        if one.from_source and "://" not in one.source and not given.has("--no-deps"):
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


def _dependencies(call: Call, one: Wanted, read: Reader) -> Iterator[Wanted]:
    """What the pyproject.toml of a directory asks for."""
    path = call.absolute(one.source.partition("[")[0])
    found = read(posixpath.join(path, "pyproject.toml")) if path else None
    if found is not None:
        yield from pyproject(found[0], found[1], one.span)


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
        if lock is not None and lock[1].endswith(".lock") and toml(lock[0]).get("package"):
            wanted, complete = list(locked(lock[0], lock[1], span)), True
        elif project is not None:
            wanted = list(pyproject(project[0], project[1], span))
    index, extra = _indexes(given, call, tool)
    target = _target(given, call, tool)
    if target is None and tool == "uv-sync" and root:
        target = posixpath.join(root, ".venv")
    yield PythonInstall(tool, call, given, tuple(wanted), complete, index, extra, target)
