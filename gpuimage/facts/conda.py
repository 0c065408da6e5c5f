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


def _environment(
    text: str, file: str, span: Span, packages: list[CondaPackage], pip: list[Wanted], channels: list[str]
) -> str | None:
    """Take what an environment.yml asks for; its name is the answer."""
    import yaml  # noqa: PLC0415  # only where there is such a file: it takes longer to load than all the rest

    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # safe, both
    except (yaml.YAMLError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    channels += [str(one) for one in data.get("channels") or () if isinstance(one, str)]
    for entry in data.get("dependencies") or ():
        if isinstance(entry, str):
            one = _package(entry, entry, span)
            packages += [one] if one else []
        elif isinstance(entry, dict):
            pip += _pip(entry.get("pip"), file, span)
    name = data.get("name")
    return name if isinstance(name, str) else None


def _pip(entries: object, file: str, span: Span) -> Iterator[Wanted]:
    for entry in entries if isinstance(entries, list) else ():
        one = requirement(str(entry), str(entry), span) if not str(entry).startswith("-") else None
        if one is not None:
            yield Wanted(one.name, span, one.specifier, one.extras, one.source, file=file)
