"""What conda, mamba and micromamba install."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from gpuimage.dockerfile import Span
from gpuimage.facts.options import Options, options
from gpuimage.facts.requirements import Reader, Wanted, requirement
from gpuimage.facts.runs import Call
from gpuimage.patterns import pattern

_TOOLS = frozenset({"conda", "mamba", "micromamba"})
_TAKING = frozenset(
    "-n --name -p --prefix -c --channel -f --file --solver --repodata-fn --freeze-installed --platform -r --root-prefix".split()
) - {"--freeze-installed"}
_SPEC = pattern(
    r"(?:(?P<channel>[^\s:]+)::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)\s*(?P<spec>(?:[=<>!~].*|\s+\d.*)?)",
    re.DOTALL,
)


class CondaPackage(Struct, frozen=True):
    """A package that is asked for: `version` is the first exact or bounded version written, None without."""

    name: str
    version: str | None
    span: Span
    channel: str | None = None
    known: bool = True


class CondaInstall(Struct, frozen=True, dict=True):
    """One command that installs with conda; `pip` are the projects that its file hands to pip.

    `verb` is install, create or update; `environment` the name or path, None for the base one. `complete` is false
    where a file or a variable hides what it installs.
    """

    tool: str
    verb: str
    call: Call
    given: Options
    packages: tuple[CondaPackage, ...]
    channels: tuple[str, ...]
    pip: tuple[Wanted, ...]
    environment: str | None
    file: str
    complete: bool

    def find(self, *names: str) -> CondaPackage | None:
        """The first of these packages that it asks for."""
        return next((one for one in self.packages if one.name in names), None)


def conda_install(call: Call, read: Reader) -> CondaInstall | None:
    """Read an installing command of conda; None for any other."""
    if call.name not in _TOOLS:
        return None
    given = options(call.arguments, _TAKING)
    words = [str(word) for word in given.words]
    if words[:1] == ["env"]:
        words, rest = words[1:], given.words[2:]
    else:
        rest = given.words[1:]
    if not words or words[0] not in ("install", "create", "update"):
        return None
    packages: list[CondaPackage] = []
    pip: list[Wanted] = []
    complete = True
    for argument in rest:
        one = _package(argument.value, argument.raw, call.place(argument))
        complete = complete and one is not None and one.known
        packages += [one] if one else []
    channels = [str(one) for one in given.arguments("-c", "--channel")]
    name = given.last("-n", "--name") or given.last("-p", "--prefix")
    shown = ""
    for argument in given.arguments("-f", "--file"):
        path = call.absolute(argument.value) if argument.value else None
        found = read(path) if path else None
        if found is None:
            complete = False
            continue
        shown = found[1]
        if shown.endswith((".yml", ".yaml")):
            named = _environment(found[0], shown, call.place(argument), packages, pip, channels)
            name = name or named
        else:
            for line in found[0].splitlines():
                one = _package(line.partition("#")[0].strip(), line, call.place(argument))
                packages += [one] if one else []
    return CondaInstall(
        call.name, words[0], call, given, tuple(packages), tuple(channels), tuple(pip), name, shown, complete
    )


def _package(value: str | None, raw: str, span: Span) -> CondaPackage | None:
    text = (value if value is not None else raw).strip("'\"").strip()
    match = _SPEC.fullmatch(text if value is not None else re.split(r"[$]", text)[0])
    if match is None:
        return None
    version = re.search(r"\d[\w.]*", match["spec"])
    return CondaPackage(
        match["name"].lower(),
        version[0] if version else None,
        span,
        match["channel"],
        known=value is not None,
    )


class Environment(Struct, frozen=True):
    """An environment.yml: entries as written, those for conda and those that it hands to pip."""

    name: str | None
    channels: tuple[str, ...]
    conda: tuple[str, ...]
    pip: tuple[str, ...]


class EnvironmentSyntaxError(ValueError):
    """A text that is no environment.yml: why, and where (from 1; 0 where no place is to blame)."""

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.line, self.column = reason, line, column


def environment(text: str) -> Environment:
    """Read an environment.yml; EnvironmentSyntaxError for what is none."""
    import yaml  # noqa: PLC0415  # only where there is such a file: it takes longer to load than all the rest

    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # safe, both
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise EnvironmentSyntaxError(str(error.problem or "this is not YAML"), *place) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise EnvironmentSyntaxError(f"this is not YAML: {type(error).__name__}") from None
    if not isinstance(data, dict):
        raise EnvironmentSyntaxError("an environment is keys with values")
    listed = data.get("dependencies")
    dependencies = listed if isinstance(listed, list) else []
    pip = [one.get("pip") for one in dependencies if isinstance(one, dict)]
    name, channels = data.get("name"), data.get("channels")
    return Environment(
        name if isinstance(name, str) else None,
        tuple(one for one in channels if isinstance(one, str)) if isinstance(channels, list) else (),
        tuple(one for one in dependencies if isinstance(one, str)),
        tuple(str(one) for listed in pip if isinstance(listed, list) for one in listed),
    )


def _environment(
    text: str, file: str, span: Span, packages: list[CondaPackage], pip: list[Wanted], channels: list[str]
) -> str | None:
    """Take what an environment.yml asks for; its name is the answer."""
    try:
        found = environment(text)
    except EnvironmentSyntaxError:
        return None
    channels += found.channels
    packages += (one for entry in found.conda if (one := _package(entry, entry, span)) is not None)
    pip += _pip(found.pip, file, span)
    return found.name


def _pip(entries: tuple[str, ...], file: str, span: Span) -> Iterator[Wanted]:
    for entry in entries:
        one = requirement(entry, entry, span) if not entry.startswith("-") else None
        if one is not None:
            yield Wanted(one.name, span, one.specifier, one.extras, one.source, file=file)
