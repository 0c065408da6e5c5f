"""Which distributions a spec asks for: its wheels, its requirements file with those that this names, its lock."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuimage.facts.requirements import entries, option
from gpuimage.lock import packages_of_pylock, packages_of_uv_lock
from gpuimage.plan.draft import Draft

_LOCAL = re.compile(r"^(\./|\.\./|/).*|(?!.*://).*\.whl$")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The distributions a spec asks for, from `wheels`, `requirements` and `lock`.

    `lines` go to the resolver as they are; `local` are wheel files beside the spec with their sha256;
    `keys` says for each canonical name which spec key asked for it.
    """

    lines: tuple[str, ...]
    local: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    requirements: tuple[Requirement, ...]
    keys: dict[str, str]

    def find(self, name: str) -> Requirement | None:
        """The requirement for a distribution, by canonical name."""
        return next((r for r in self.requirements if canonicalize_name(r.name) == name), None)

    def key(self, name: str) -> str:
        """The spec key that asked for `name`."""
        return self.keys.get(name, "wheels")


def wanted(draft: Draft) -> Wanted:
    """Read what the spec asks for; SpecError when a file it names cannot be read."""
    spec, directory = draft.spec, draft.file.directory
    lines: list[str] = []
    local: list[tuple[str, str]] = []
    files: list[tuple[str, str]] = []
    found: list[Requirement] = []
    keys: dict[str, str] = {}

    def note(line: str, key: str) -> None:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            return  # the resolver says what is wrong with it, with its own context
        found.append(requirement)
        keys.setdefault(canonicalize_name(requirement.name), key)

    for index, line in enumerate(spec.wheels):
        if _LOCAL.match(line):
            local.append((line, hashlib.sha256((directory / line).read_bytes()).hexdigest()))
        else:
            lines.append(line)
            note(line, f"wheels[{index}]")
    if spec.requirements:
        texts = _requirement_files(draft, spec.requirements)
        # One entry: the resolver follows the others by itself, and each of them makes a lock stale.
        files.append((spec.requirements, "\n".join(texts.values())))
        for text in texts.values():
            for _, entry in entries(text):
                note(entry.partition(" --hash")[0], "requirements")
    if spec.lock:
        path = directory / spec.lock
        pins = packages_of_uv_lock(path) if path.name == "uv.lock" else packages_of_pylock(path)
        lines.extend(pins)
        for pin in pins:
            note(pin, "lock")
    return Wanted(tuple(lines), tuple(local), tuple(files), tuple(found), keys)


def _requirement_files(draft: Draft, name: str) -> dict[Path, str]:
    """The texts of a requirements file and of those that it names (`-r other.txt`), each once."""
    texts: dict[Path, str] = {}
    left = [draft.file.directory / name]
    while left:
        path = left.pop(0)
        if path.resolve() in texts:
            continue
        shown = os.path.relpath(path, draft.file.directory)
        what = f"the requirements file {shown} cannot be read"
        try:
            texts[path.resolve()] = text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            hint = "mend the `-r` line that names it"
            raise draft.error(what, "requirements", why=error.strerror, hint=hint) from error
        except UnicodeDecodeError as error:
            raise draft.error(what, "requirements", why="it is not UTF-8", hint="save it as UTF-8") from error
        options = (option(entry) for _, entry in entries(text) if entry.startswith("-"))
        left += [path.parent / value for kind, value in options if kind in ("-r", "--requirement")]
    return texts
