"""Python packages: requirement by requirement, or a whole file of them, into `wheels`, `compile` and `requirements`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuimage.dockerfile import Span
from gpuimage.facts.requirements import Wanted, entries, requirement
from gpuimage.init.notes import Notes
from gpuimage.patterns import pattern
from gpuimage.spec.files import read_text
from gpuimage.tables import Unknown, wheel

_LARGEST = 4_000_000  # bytes of a file that names packages
_INDEXES = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links")
_HASHES = pattern(r"\s--(?:hash|config-settings?|global-option)\b.*$")
# PyTorch's own index says which build it holds by its last part.
_TORCH_INDEX = pattern(r"https?://download(?:-r2)?\.pytorch\.org/(?P<path>\S+)")
_VARIANT = pattern(r"(?:whl|whl/nightly)/(?P<variant>cpu|cu1\d\d)(?:[/_]\S*)?/?")
_DEFAULT_INDEX = pattern(r"https://pypi\.org/simple/?")

# What installs other packages or builds them; an image of ready wheels needs none.
TOOLS = frozenset(
    "pip setuptools wheel uv poetry pipenv pdm hatch virtualenv build ninja cmake packaging scikit-build".split()
)

VCS = "no lock can pin a version-control checkout: name a wheel of it under `wheels`, or clone it beside the spec and name the directory under `compile`"
URL = "a lock pins names and versions, no URLs: put the file beside the spec and name it under `wheels` (a wheel) or `compile` (an archive of sources)"
TREE = (
    "a directory of sources is no wheel: name a wheel of it under `wheels`, or the directory under `compile`"
)
BUILD_ONLY = "only the build knows it"
OWN = "the project itself: what it needs stands under `wheels`, its code under `app.copy`"


class Line(Struct, frozen=True):
    """An entry of a requirements file: what pip reads of it, and `where` it stands."""

    text: str
    where: str


def want(
    notes: Notes, text: str, where: str, because: str = "", env: Mapping[str, str] | None = None
) -> None:
    """Take one requirement: to `compile` where no wheel of it exists, else to `wheels`; `env` is for its compilation."""
    entry = " ".join(_HASHES.sub("", text).split())
    try:
        parsed = Requirement(entry)
    except InvalidRequirement:
        _leave(notes, text, where)
        return
    if "(" in entry.partition(";")[0]:  # as poetry writes it
        entry = str(parsed)
    if (reason := _not_pinned(parsed.url or "")) is not None:
        notes.leave(entry, where, reason)
    elif re.search(r"===?[^,]*\.dev", str(parsed.specifier)):
        notes.leave(entry, where, "builds of one night are gone soon and cannot be planned: name a release")
    elif _again(notes, parsed, entry, where):
        return
    elif compiles(parsed):
        value: dict[str, object] = {"package": entry} | ({"env": dict(env)} if env else {})
        notes.add(("compile",), value, where, "no wheel of it exists: a builder stage compiles it")
    else:
        notes.add(("wheels",), entry, where, because)


def compiles(parsed: Requirement) -> bool:
    """Whether a project has no wheel and compiles CUDA code when it is installed, as far as the tables know."""
    found = wheel(parsed.name, extras=frozenset(parsed.extras))
    return not isinstance(found, Unknown) and found.needs_nvcc == "build" and found.sdist_only


def _not_pinned(source: str) -> str | None:
    """Why no lock can pin what comes from a URL or a path; None for a name alone."""
    if re.match(r"(git|hg|svn|bzr)\+", source):
        return VCS
    if "://" in source and not source.startswith("file:"):
        return URL
    return TREE if source else None


def _leave(notes: Notes, text: str, where: str) -> None:
    """Say of an entry without a name of its own why it stays out; a wheel beside the spec is taken."""
    found = requirement(text, text, Span(0, 0))
    path = (found.source if found is not None else text).partition("[")[0].partition("#")[0]
    if "://" not in path and posixpath.normpath(path) == ".":
        notes.leave(text, where, OWN)
    elif path.endswith(".whl") and "://" not in path:
        beside = notes.relative(notes.project / path)
        if beside is None or not notes.add(("wheels",), f"./{beside}", where):
            notes.leave(text, where, "this wheel is not beside the spec")
    else:
        notes.leave(
            text, where, _not_pinned(found.source if found is not None else "") or "this is no requirement"
        )


def _again(notes: Notes, parsed: Requirement, entry: str, where: str) -> bool:
    """Whether the same project was taken before; the one that says more stays."""
    name = canonicalize_name(parsed.name)
    if any(canonicalize_name(one.name) == name for one in notes.filed):
        return True
    before = next(
        (one for one in asked(notes) if canonicalize_name(one.name) == name and one.marker is None), None
    )
    if before is None or parsed.marker is not None:
        return False
    if str(before) != str(parsed) and _says_more(parsed):
        wheels = notes.get(("wheels",), [])
        old = next(
            (text for text in wheels if (one := named(text)) is not None and str(one) == str(before)), None
        )
        if old is not None and not _says_more(before):
            notes.replace(("wheels",), old, entry, where)
        else:
            notes.leave(entry, where, f"asked for twice: {before} counts")
    return True


def _says_more(parsed: Requirement) -> bool:
    """Whether it is more than a name."""
    return bool(parsed.specifier or parsed.url or parsed.extras)


def named(text: str) -> Requirement | None:
    """A requirement by name; None for a path."""
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


# ------------------------------------------------------------------------------------------ requirements files


def requirements_file(notes: Notes, path: Path, where: str) -> None:
    """Take a requirements file: by its name where a spec can take all of it, else line by line."""
    name = notes.relative(path)
    text = read_text(path, "requirements file", _LARGEST)
    notes.files.add(path.resolve())
    lines, options = _lines(path, text, name or path.name)
    reason = _not_as_file(notes, lines, options) if name else "it lies outside of the spec's directory"
    for option in options:
        _option(notes, option)
    if reason is None and notes.put(("requirements",), name, where):
        notes.filed = [found for line in lines if (found := named(_HASHES.sub("", line.text).strip()))]
        return
    if reason is not None:
        notes.leave(f"requirements: {name or path}", where, f"{reason}, so its lines stand under `wheels`")
    for option in options:
        if not option.text.startswith(("-r", "--requirement", *_INDEXES)):
            notes.leave(
                option.text, option.where, "a spec takes no options of pip: pin the versions under `wheels`"
            )
    for line in lines:
        want(notes, line.text, line.where)


def _lines(path: Path, text: str, name: str, depth: int = 0) -> tuple[list[Line], list[Line]]:
    """The requirements of a file and of those that it names, and its options."""
    lines: list[Line] = []
    options: list[Line] = []
    for number, entry in entries(text):
        where = f"{name}:{number}"
        option = re.match(r"(-r|--requirement|-e|--editable)(?:\s+|=|(?<=-[re]))(\S.*)$", entry)
        if option and option[1] in ("-e", "--editable"):
            lines.append(Line(option[2].strip(), where))
        elif option:
            options.append(Line(entry, where))
            inner = path.parent / option[2].strip()
            if depth < 8 and inner.is_file():
                more = _lines(
                    inner,
                    read_text(inner, "requirements file", _LARGEST),
                    posixpath.join(posixpath.dirname(name), option[2].strip()),
                    depth + 1,
                )
                lines += more[0]
                options += more[1]
        elif entry.startswith("-"):
            options.append(Line(entry, where))
        else:
            lines.append(Line(entry, where))
    return lines, options


def _not_as_file(notes: Notes, lines: list[Line], options: list[Line]) -> str | None:
    """Why a spec cannot take a requirements file as it is; None where it can."""
    if notes.get(("requirements",)) or notes.get(("lock",)):
        return "a spec takes one such file or a lock"
    if any(option.text.startswith(("-r", "--requirement")) for option in options):
        return "it names other files"
    taken = {canonicalize_name(found.name) for text in notes.get(("wheels",), []) if (found := named(text))}
    for line in lines:
        parsed = named(_HASHES.sub("", line.text).strip())
        if parsed is None or parsed.url:
            return f"it holds what no lock can pin ({line.where})"
        if compiles(parsed):
            return f"{parsed.name} must be compiled ({line.where})"
        if canonicalize_name(parsed.name) in taken and parsed.marker is None:
            return f"{parsed.name} is installed by itself ({line.where})"
    return None


def _option(notes: Notes, option: Line) -> None:
    """Take an index; the other options are for a file that is taken whole."""
    name, _, value = option.text.replace("=", " ", 1).partition(" ")
    if name in _INDEXES:
        index(notes, value.strip(), option.where, extra=name not in ("-i", "--index-url"))


def index(notes: Notes, url: str, where: str, *, extra: bool) -> None:
    """Take the index that an installer was given: PyTorch's by the name of its build, another by its URL."""
    if "$" in url:
        notes.leave("an index", where, BUILD_ONLY)
        return
    torch = _TORCH_INDEX.fullmatch(url)
    if torch is None:
        _other_index(notes, url, where, extra=extra)
        return
    found = _VARIANT.fullmatch(torch["path"])
    if found is None:
        notes.leave(
            url,
            where,
            "a spec takes PyTorch's builds for CPU and CUDA 10.0 and newer only: cpu, cu118, cu128 …",
        )
    elif "nightly" in torch["path"]:
        notes.leave(url, where, "builds of one night are gone soon and cannot be planned: name a release")
    elif notes.get(("index",)) not in (None, found["variant"]):
        notes.leave(url, where, f"a spec has one index: {notes.get(('index',))} counts")
    elif notes.get(("index",)) is None:
        notes.put(("index",), found["variant"], where)


def _other_index(notes: Notes, url: str, where: str, *, extra: bool) -> None:
    if _DEFAULT_INDEX.fullmatch(url):
        return
    if extra:
        notes.leave(url, where, "a spec has one index; PyPI is asked")
    elif notes.get(("index",)) is None:
        notes.put(("index",), url, where)


def wanted_text(wanted: Wanted) -> str:
    """A requirement that was read from a command, as a spec writes it."""
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    if wanted.source and wanted.name and "://" in wanted.source:
        return f"{wanted.name}{extras} @ {wanted.source}"
    return wanted.source or f"{wanted.name}{extras}{wanted.specifier or ''}"


def has(notes: Notes, name: str) -> bool:
    """Whether a project is asked for, in the spec itself or in the requirements file that it names."""
    return any(canonicalize_name(one.name) == name for one in asked(notes))


def asked(notes: Notes) -> list[Requirement]:
    """All that the spec asks for by name, of its own and of the requirements file that it names."""
    texts = [*notes.get(("wheels",), []), *(item["package"] for item in notes.get(("compile",), []))]
    return [*notes.filed, *(found for text in texts if (found := named(text)) is not None)]
