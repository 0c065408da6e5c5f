"""What a project says about linting: `[tool.gpuimage]` of pyproject.toml, or gpuimage.toml, the nearest one upward."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from gpuimage.arch import ArchError, ArchList
from gpuimage.errors import Location, SpecError
from gpuimage.facts.settings import Deploy, Settings
from gpuimage.finding import SEVERITIES, Rule, Severity

_UNITS = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip


class PathRule(Struct, frozen=True):
    """What counts for files whose path from the config's directory fits a pattern."""

    pattern: str
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity | None] = field(default_factory=dict)


class Config(Struct, frozen=True):
    """The config of a file. `select` empty: every rule that is not optional. A severity None is `off`."""

    settings: Settings = field(default_factory=Settings)
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity | None] = field(default_factory=dict)
    per_path: tuple[PathRule, ...] = ()
    exclude: tuple[str, ...] = ()
    fail_on: str | None = None
    max_waste: int | None = None
    require_reason: bool = False
    path: Path | None = None

    def for_path(self, path: Path) -> Config:
        """The config with what it says for one path."""
        if not self.per_path or self.path is None:
            return self
        try:
            below = path.resolve().relative_to(self.path.parent.resolve()).as_posix()
        except ValueError:
            return self
        fits = [
            one
            for one in self.per_path
            if fnmatch.fnmatch(below, one.pattern) or fnmatch.fnmatch(path.name, one.pattern)
        ]
        severities = dict(self.severities)
        for one in fits:
            severities |= one.severities
        return replace(
            self, ignore=(*self.ignore, *(name for one in fits for name in one.ignore)), severities=severities
        )

    def selects(self, rule: Rule) -> bool:
        """Whether a rule runs."""
        if self.ignore and any(_fits(rule, name) for name in self.ignore):
            return False
        if not self.select:
            return not rule.optional
        return any(_fits(rule, name) for name in self.select) and (
            not rule.optional or any(name in (rule.code, rule.name) for name in self.select)
        )

    def severity(self, rule: Rule, own: Severity) -> Severity | None:
        """The severity that a hit gets here; None leaves it out."""
        if not self.severities:
            return own
        return self.severities.get(rule.code, self.severities.get(rule.name, own))


def _fits(rule: Rule, name: str) -> bool:
    return rule.code.startswith(name.upper()) or fnmatch.fnmatchcase(rule.name, name) or name == "all"


def parse_size(text: str, where: Location | None = None) -> int:
    """Bytes of `500MB`, `1.5GiB` or `1000`; units of a thousand, or with an i of 1024. SpecError for anything else."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", text)
    unit = _UNITS.get((match[2] or "b").lower()) if match else None
    if match is None or unit is None:
        raise SpecError(
            f"{text!r} is no size", where=where, hint="write a number and a unit: 500MB, 1.5GB, 2GiB"
        )
    return int(float(match[1]) * unit)


def check_names(names: Sequence[str], known: Mapping[str, str], where: Location | None = None) -> None:
    """Refuse codes and names that fit no rule."""
    for name in names:
        if name == "all" or any(code.startswith(name.upper()) for code in known):
            continue
        if not any(fnmatch.fnmatchcase(rule, name) for rule in known.values()):
            from difflib import get_close_matches  # noqa: PLC0415  # only for an error

            near = get_close_matches(name, [*known, *known.values()], 1, 0.6)
            hint = f"did you mean {near[0]}?" if near else "`gpuimage rules` lists them"
            raise SpecError(f"there is no rule {name!r}", where=where, hint=hint)


def load(start: Path, *, known: Mapping[str, str]) -> Config:
    """The config that counts in a directory, or that a file holds; an empty one where there is none.

    `known` maps the rules' codes to their names. Raises SpecError with the place of what is wrong.
    """
    return _read(start, known) if start.is_file() else _nearest(start.absolute(), _Known(known))


class _Known(dict[str, str]):
    """A mapping that a cache takes as a key; there is one such mapping in a run."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


@lru_cache(maxsize=4096)
def _nearest(folder: Path, known: _Known) -> Config:
    for name in ("gpuimage.toml", "pyproject.toml"):
        path = folder / name
        if path.is_file() and (name != "pyproject.toml" or "gpuimage" in _text(path)):
            config = _read(path, known)
            if config.path is not None:
                return config
    if (folder / ".git").exists() or folder.parent == folder:
        return Config()
    return _nearest(folder.parent, known)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError("this config cannot be read", where=Location(path), why=str(error)) from error


def _read(path: Path, known: Mapping[str, str]) -> Config:
    import tomllib  # noqa: PLC0415  # only where there is a config

    text = _text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise SpecError(
            "this is no TOML", where=Location(path, int(line[1]) if line else None), why=str(error)
        ) from error
    if path.name == "pyproject.toml":
        tool = data.get("tool")
        table = tool.get("gpuimage") if isinstance(tool, dict) else None
        if table is None:
            return Config()
        data = table
    return _Reader(path, text, known).config(data)


class _Reader:
    """Reads one table; every error names the line of its key."""

    def __init__(self, path: Path, text: str, known: Mapping[str, str]) -> None:
        self.path, self.text, self.known = path, text, known

    def where(self, key: str) -> Location:
        """The line of a key, as far as it can be found."""
        last = re.escape(key.rpartition(".")[2].strip('"'))
        lines = self.text.splitlines()
        for begin in (r"\s*(\[.*)?", r".*[{,]\s*"):  # a key of its own, or one of a table within a line
            for number, line in enumerate(lines, 1):
                if re.match(rf"""{begin}["']?{last}["']?\s*[=.\]]""", line):
                    return Location(self.path, number, key=key)
        return Location(self.path, key=key)

    def wrong(self, key: str, what: str, hint: str | None = None) -> SpecError:
        return SpecError(f"{key}: {what}", where=self.where(key), hint=hint)

    def config(self, data: object) -> Config:
        if not isinstance(data, dict):
            raise SpecError("gpuimage is not a table here", where=Location(self.path))
        unknown = [key for key in data if key not in _KEYS]
        if unknown:
            from difflib import get_close_matches  # noqa: PLC0415  # only for an error

            near = get_close_matches(unknown[0], _KEYS, 1, 0.6)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_KEYS)}"
            raise self.wrong(unknown[0], "there is no such key", hint)
        values = {key: _KEYS[key](self, key, value) for key, value in data.items()}
        settings = Settings(**{name: values[key] for key, name in _SETTINGS.items() if key in values})
        names = {"select": "select", "ignore": "ignore", "severity": "severities", "per-path": "per_path", "exclude": "exclude",
                 "fail-on": "fail_on", "max-waste": "max_waste", "require-reason": "require_reason"}  # fmt: skip
        return Config(
            settings, path=self.path, **{name: values[key] for key, name in names.items() if key in values}
        )

    def string(self, key: str, value: object) -> str:
        if not isinstance(value, str) or not value:
            raise self.wrong(key, "this is not a text", f'write {key} = "…"')
        return value

    def strings(self, key: str, value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self.wrong(key, "this is not a list of texts", f'write {key} = ["…"]')
        return tuple(value)

    def names(self, key: str, value: object) -> tuple[str, ...]:
        found = self.strings(key, value)
        check_names(found, self.known, self.where(key))
        return found

    def severities(self, key: str, value: object) -> dict[str, Severity | None]:
        if not isinstance(value, dict):
            raise self.wrong(key, "this is not a table", f'write {key} = {{ GI301 = "error" }}')
        for name, one in value.items():
            if name not in self.known and name not in self.known.values():
                check_names([name], {}, self.where(f"{key}.{name}"))
            if one not in (*SEVERITIES, "off"):
                raise self.wrong(f"{key}.{name}", f"{one!r} is no severity", "error, warning, note or off")
        return {name: None if one == "off" else one for name, one in value.items()}

    def per_path(self, key: str, value: object) -> tuple[PathRule, ...]:
        if not isinstance(value, dict):
            raise self.wrong(key, "this is not a table", '["per-path"."dev/*"] with ignore = ["GI101"]')
        rows = []
        for pattern, table in value.items():
            inner = f"{key}.{pattern}"
            if not isinstance(table, dict) or set(table) - {"ignore", "severity"}:
                raise self.wrong(inner, "this is not a table of `ignore` and `severity`")
            rows.append(
                PathRule(
                    pattern,
                    self.names(f"{inner}.ignore", table.get("ignore", [])),
                    self.severities(f"{inner}.severity", table.get("severity", {})),
                )
            )
        return tuple(rows)

    def driver(self, key: str, value: object) -> str:
        return check_driver(self.string(key, value), self.where(key))

    def archs(self, key: str, value: object) -> tuple[str, ...]:
        return check_archs((value,) if isinstance(value, str) else self.strings(key, value), self.where(key))

    def deploy(self, key: str, value: object) -> str:
        return self.one_of(key, value, get_args(Deploy))

    def fail_on(self, key: str, value: object) -> str:
        return self.one_of(key, value, (*reversed(SEVERITIES), "never"))

    def one_of(self, key: str, value: object, choices: Sequence[str]) -> str:
        if value not in choices:
            raise self.wrong(key, f"{value!r} is none of {', '.join(choices)}")
        return str(value)

    def size(self, key: str, value: object) -> int:
        return (
            value
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0
            else parse_size(str(value), self.where(key))
        )

    def boolean(self, key: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(key, "this is neither true nor false")
        return value

    def build_args(self, key: str, value: object) -> dict[str, str]:
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise self.wrong(key, "this is not a table of texts", f'write {key} = {{ CUDA = "12.8.1" }}')
        return dict(value)


def check_driver(text: str, where: Location | None = None) -> str:
    """Refuse what is no driver's version."""
    if not re.fullmatch(r"\d{3}(\.\d+){0,2}", text):
        raise SpecError(
            f"{text!r} is no driver version", where=where, hint="write a branch or a version: 550, 550.54.14"
        )
    return text


def check_archs(texts: Sequence[str], where: Location | None = None) -> tuple[str, ...]:
    """The single capabilities of one or several lists in the grammar of TORCH_CUDA_ARCH_LIST; SpecError for others."""
    found: list[str] = []
    for text in texts:
        try:
            found += str(ArchList.parse(text)).split(";")
        except ArchError as error:
            raise SpecError(f"archs: {error.reason}", where=where, hint=error.hint) from error
    return tuple(dict.fromkeys(found))


_SETTINGS = {
    "driver": "driver", "archs": "archs", "deploy": "deploy", "registries": "registries", "target": "target",
    "build-args": "build_args",
}  # fmt: skip
_KEYS: dict[str, Callable[[_Reader, str, Any], Any]] = {
    "select": _Reader.names, "ignore": _Reader.names, "severity": _Reader.severities, "per-path": _Reader.per_path,
    "registries": _Reader.strings, "driver": _Reader.driver, "archs": _Reader.archs, "deploy": _Reader.deploy,
    "target": _Reader.string, "build-args": _Reader.build_args, "exclude": _Reader.strings, "fail-on": _Reader.fail_on,
    "max-waste": _Reader.size, "require-reason": _Reader.boolean,
}  # fmt: skip
