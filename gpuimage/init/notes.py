"""The notebook of a draft: what goes into the spec and where it was taken from, what stays out and why, what is missing.

Nothing is written down that the spec would refuse: each value is held against the spec's own reader first, and what it
says becomes the reason why the value stays out. Secrets are neither taken nor shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct
from packaging.requirements import Requirement

from gpuimage.errors import SpecError
from gpuimage.init.yaml_text import written
from gpuimage.rules.secrets import passwords, tokens
from gpuimage.spec import parse_spec

Key = tuple[str, ...]
"""A place in the spec: `("app", "workdir")`."""


class Taken(Struct, frozen=True):
    """A value of the spec, where it was taken from (`Dockerfile:12`), and why it reads so where that is not plain."""

    key: Key
    value: str
    where: str
    because: str = ""


class Left(Struct, frozen=True):
    """Something that the sources hold and the spec does not."""

    what: str
    where: str
    because: str


class Missing(Struct, frozen=True):
    """What nobody but the user can say, and the smallest change that says it."""

    what: str
    change: str


@dataclass(slots=True)
class Notes:
    """`project` is the directory that is read, `home` the one where the spec will stand: its paths begin there."""

    project: Path
    home: Path
    values: dict[str, Any] = field(default_factory=dict)
    taken: list[Taken] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    files: set[Path] = field(default_factory=set)
    """The requirements files that were read."""
    filed: list[Requirement] = field(default_factory=list)
    """What the requirements file that the spec names asks for."""

    def put(self, key: Key, value: object, where: str, because: str = "") -> bool:
        """Give a key its value; False where the spec would refuse it, which is noted."""
        if not self._fits(key, value, where):
            return False
        inner = self.values
        for part in key[:-1]:
            inner = inner.setdefault(part, {})
        inner[key[-1]] = value
        self.taken.append(Taken(key, shown(value), where, because))
        return True

    def add(self, key: Key, entry: object, where: str, because: str = "") -> bool:
        """Append an entry to a list; one that is there already stays once."""
        entries = self.get(key, [])
        if entry in entries:
            return True
        if not self._fits(key, [entry], where):
            return False
        inner = self.values
        for part in key[:-1]:
            inner = inner.setdefault(part, {})
        inner[key[-1]] = [*entries, entry]
        self.taken.append(Taken(key, shown(entry), where, because))
        return True

    def replace(self, key: Key, old: object, new: object, where: str) -> None:
        """Put another entry in the place of one of a list."""
        if self._fits(key, [new], where):
            self.values[key[0]] = [new if item == old else item for item in self.values[key[0]]]
            self.taken = [one for one in self.taken if (one.key, one.value) != (key, shown(old))]
            self.taken.append(Taken(key, shown(new), where))

    def get(self, key: Key, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        inner: Any = self.values
        for part in key:
            if part not in inner:
                return default
            inner = inner[part]
        return inner

    def leave(self, what: str, where: str, because: str) -> None:
        """Note what stays out."""
        self.left.append(Left(plain(what), where, plain(because)))

    def miss(self, what: str, change: str) -> None:
        """Note what the user has to say."""
        self.missing.append(Missing(plain(what), plain(change)))

    def relative(self, path: Path) -> str | None:
        """A path as the spec writes it; None for one outside of its directory."""
        try:
            return path.resolve().relative_to(self.home.resolve()).as_posix()
        except (ValueError, OSError, RuntimeError):
            return None

    def _fits(self, key: Key, value: object, where: str) -> bool:
        name = key[-1] if key[0] in ("env", "labels") else shown(value)
        if any(True for text in _texts(value) for _ in (*tokens(text), *passwords(text))):
            self.leave(name if key[0] in ("env", "labels") else ".".join(key), where, WITHHELD)
            return False
        nested = value
        for part in reversed(key):
            nested = {part: nested}
        try:
            parse_spec(written({"image": "x", **nested}), self.home / "spec.yaml")  # type: ignore[dict-item]
        except SpecError as error:
            self.leave(name, where, error.what + (f" ({error.hint})" if error.hint else ""))
            return False
        return True


WITHHELD = "it holds a secret: hand it over when the container starts, or name a file in build.secrets"


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, (list, tuple)):
        return [text for item in value for text in _texts(item)]
    return [str(value)]


def shown(value: object) -> str:
    """A value in one line."""
    if isinstance(value, (list, tuple)):
        return " ".join(shown(item) for item in value)
    if isinstance(value, dict):
        return " ".join(f"{key}={shown(item)}" for key, item in value.items())
    return plain(str(value))


def plain(text: str) -> str:
    """A text that may be shown: one line, no control characters, no secrets, no end where it is very long."""
    for one in sorted((*tokens(text), *passwords(text)), key=lambda one: -one.start):
        text = f"{text[: one.start]}***{text[one.end :]}"
    line = "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))
    return line if len(line) <= 200 else f"{line[:197]}..."
