"""A Document against the types of a spec: the first thing that is wrong, in words, with its position.

msgspec could refuse the same data, but it does not say where in the file, names no key of a mapping, and
knows no "did you mean". So the data is walked beside msgspec's own description of the types, in the order of
the file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeGuard

import msgspec.inspect as mi

from gpuimage.arch import ArchError
from gpuimage.errors import SpecError
from gpuimage.reference import ReferenceSyntaxError, check_mirror
from gpuimage.spec.checks import CHECKS, MANY_LINES, WORDS, closest
from gpuimage.spec.document import Document, KeyPath, Lossy, Node, dotted, short, shown
from gpuimage.spec.types import PARSERS, BadValueError, Spec

# What people write for a key that has another name here.
_SYNONYMS = {
    "name": "image",
    "tag": "image",
    "torch_cuda_arch_list": "arch",
    "archs": "arch",
    "architectures": "arch",
    "cuda_version": "cuda",
    "python_version": "python",
    "gpu": "gpus",
    "packages": "wheels",
    "pip": "wheels",
    "dependencies": "wheels",
    "system_packages": "apt",
    "type": "flavor",
    "environment": "env",
    "cmd": "command",
    "entrypoint": "command",
    "files": "copy",
    "size": "image",
    "imports": "import",
    "commands": "run",
    "certificate": "ca",
}


@cache
def root_type() -> mi.StructType:
    """Give msgspec's description of a spec."""
    description = mi.type_info(Spec)
    if not isinstance(description, mi.StructType):  # pragma: no cover
        raise TypeError("Spec is a Struct")
    return description


def bare(kind: mi.Type) -> mi.Type:
    """Strip descriptions and `| None` from a type."""
    while isinstance(kind, (mi.Metadata, mi.UnionType)):
        if isinstance(kind, mi.Metadata):
            kind = kind.type
        else:
            kind = next(k for k in kind.types if not isinstance(k, mi.NoneType))
    return kind


def is_table(kind: mi.Type) -> TypeGuard[mi.StructType]:
    """Whether a file writes a type as keys with values, and not as one text (`PARSERS`)."""
    return isinstance(kind, mi.StructType) and kind.cls not in PARSERS


def fields_of(kind: mi.StructType) -> dict[str, mi.Field]:
    """Give the fields of a Struct by the names they have in a file."""
    return {f.encode_name: f for f in kind.fields}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one document; `directory` is where its relative paths begin."""

    document: Document
    directory: Path

    def read(self) -> object:
        """Give the data with its texts parsed, ready for `decode`; `SpecError` for the first thing wrong."""
        return self._struct(self.document.data, root_type(), ())

    def _any(self, node: Node, kind: mi.Type, path: KeyPath, place: str) -> object:
        if node is None and _takes_none(kind):
            return None
        kind = bare(kind)
        if is_table(kind):
            return self._struct(self._mapping(node, path, kind), kind, path, place)
        if isinstance(kind, mi.DictType):
            return self._dict(self._mapping(node, path, kind), kind, path, place)
        if isinstance(kind, mi.VarTupleType):
            return self._list(node, kind, path, place)
        return self._text(node, kind, path, place)

    def _mapping(self, node: Node, path: KeyPath, kind: mi.Type) -> dict[str, Node]:
        if isinstance(node, dict):
            return node
        example = f"{{{next(iter(fields_of(kind)))}: …}}" if is_table(kind) else "{NAME: VALUE}"
        raise self._wrong(path, node, "keys with values", f"write {shown(path)}: {example}, or leave it out")

    def _struct(
        self, node: dict[str, Node], kind: mi.StructType, path: KeyPath, place: str = ""
    ) -> dict[str, object]:
        fields = fields_of(kind)
        read: dict[str, object] = {}
        for key, value in node.items():
            if key not in fields:
                raise self._unknown(key, fields, path)
            inner = f"{place}.{key}" if place else key
            read[key] = self._any(value, fields[key].type, (*path, key), inner)
        for key, described in fields.items():
            if described.required and key not in read:
                owner = f"{shown(path)} needs" if path else "the spec needs"
                raise self.document.error(path, f"{owner} the key {key}", hint=f"add {key}: …")
        return read

    def _unknown(self, key: str, fields: Iterable[str], path: KeyPath) -> SpecError:
        fields = list(fields)
        synonyms = {word: name for word, name in _SYNONYMS.items() if name in fields}
        found = closest(key, (*fields, *synonyms))
        meant = synonyms.get(found, found) if found else None
        elsewhere = _elsewhere(key)
        if meant:
            hint = f"write {meant}"
        elif elsewhere and elsewhere != dotted((*path, key)):
            hint = f"write it as {elsewhere}"
        else:
            hint = f"the keys here are {', '.join(fields)}"
        owner = f" in {shown(path)}" if path else ""
        return self.document.error((*path, key), f"unknown key {short(key)}{owner}", hint=hint, of_key=True)

    def _dict(self, node: dict[str, Node], kind: mi.DictType, path: KeyPath, place: str) -> dict[str, object]:
        read: dict[str, object] = {}
        for key, value in node.items():
            inner = (*path, key)
            pattern = getattr(bare(kind.key_type), "pattern", None)
            if pattern and not re.fullmatch(pattern, key, re.ASCII):
                raise self._bad(inner, WORDS[f"{place}.*"](key), of_key=True)
            text = self._text(value, kind.value_type, inner, f"{place}.")
            if place == "build.mirrors":
                self._mirror(key, str(text), inner)
            read[key] = text
        return read

    def _mirror(self, key: str, value: str, path: KeyPath) -> None:
        try:
            check_mirror(key, key)
        except ReferenceSyntaxError as error:
            raise self._bad(path, error, of_key=True) from None
        try:
            check_mirror(value, value)
        except ReferenceSyntaxError as error:
            raise self._bad(path, error) from None

    def _list(self, node: Node, kind: mi.VarTupleType, path: KeyPath, place: str) -> list[object]:
        if not isinstance(node, list):
            raise self._wrong(path, node, "a list", _list_hint(node, place))
        if kind.min_length and len(node) < kind.min_length:
            raise self.document.error(
                path, f"{shown(path)} is an empty list", hint="leave it out, or fill it in"
            )
        return [self._any(item, kind.item_type, (*path, n), f"{place}[]") for n, item in enumerate(node)]

    def _text(self, node: Node, kind: mi.Type, path: KeyPath, place: str) -> object:
        options = _options(kind)
        if isinstance(node, Lossy) and not options:
            what = f"{shown(path)}: {node.text} without quotes is {node.meaning} to YAML"
            raise self.document.error(path, what, hint=f'write "{node.text}"')
        if not isinstance(node, str):
            raise self._wrong(path, node, "text", _text_hint(node, place, options))
        if options:
            return self._one_of(node, options, path)
        if "\n" in node and place not in MANY_LINES:
            raise self.document.error(path, f"{shown(path)} holds a line break", hint="write it in one line")
        try:
            return self._checked(node, kind, place)
        except (BadValueError, ArchError, ReferenceSyntaxError) as error:
            raise self._bad(path, error) from None

    def _checked(self, text: str, kind: mi.Type, place: str) -> object:
        kind = bare(kind)
        if isinstance(kind, mi.StrType):
            if kind.min_length and not text:
                raise BadValueError("this is empty", "leave it out, or fill it in")
            if kind.pattern and not re.fullmatch(kind.pattern, text, re.ASCII):
                raise WORDS[place](text)
        if check := CHECKS.get(place):
            check(text, self.directory)
        parser = PARSERS.get(getattr(kind, "cls", str))
        return parser(text) if parser else text

    def _one_of(self, text: str, options: tuple[str, ...], path: KeyPath) -> str:
        if text in options:
            return text
        meant = closest(text, options)
        hint = f"write {meant}" if meant or len(options) == 1 else f"write one of {', '.join(options)}"
        if len(options) == 1:
            hint = f"the only value is {options[0]}"
        raise self.document.error(path, f"{shown(path)}: {short(text)} is not a value it takes", hint=hint)

    def _wrong(self, path: KeyPath, node: Node, wanted: str, hint: str) -> SpecError:
        what = f"{shown(path)} is {_kind(node)}, where {wanted} must stand"
        return self.document.error(path, what, hint=hint)

    def _bad(
        self, path: KeyPath, error: BadValueError | ArchError | ReferenceSyntaxError, *, of_key: bool = False
    ) -> SpecError:
        what = f"{shown(path)}: {error.reason}"
        return self.document.error(path, what, hint=error.hint, of_key=of_key)


def _takes_none(kind: mi.Type) -> bool:
    while isinstance(kind, mi.Metadata):
        kind = kind.type
    return isinstance(kind, mi.UnionType) and any(isinstance(k, mi.NoneType) for k in kind.types)


def _options(kind: mi.Type) -> tuple[str, ...]:
    kind = bare(kind)
    return tuple(str(value) for value in kind.values) if isinstance(kind, mi.LiteralType) else ()


def _kind(node: Node) -> str:
    if node is None:
        return "empty"
    if isinstance(node, Lossy):
        return node.meaning
    return {str: "text", list: "a list", dict: "a mapping"}[type(node)]


def _list_hint(node: Node, place: str) -> str:
    if isinstance(node, Lossy):
        node = node.text
    if not isinstance(node, str):
        return "write [ONE, TWO], or leave it out"
    words = [node]
    if place == "app.command":
        try:
            words = shlex.split(node)
        except ValueError:
            words = [node]
    elif place != "smoke.run" and re.fullmatch(r"[\w.\-]+(?:\s*,\s*[\w.\-]+)+", node):
        words = re.split(r"\s*,\s*", node)
    line = ", ".join(_quoted(word) for word in words)
    return f"write [{line}]" if len(line) <= 100 else "write [ONE, TWO]"


def _text_hint(node: Node, place: str, options: tuple[str, ...]) -> str:
    if options:
        return f"write one of {', '.join(options)}" if len(options) > 1 else f"write {options[0]}"
    if isinstance(node, list) and place == "arch" and node and all(isinstance(item, str) for item in node):
        return f'write "{";".join(map(str, node))}"'[:100]
    if isinstance(node, list) and len(node) == 1 and isinstance(node[0], str):
        return f"write {_quoted(node[0])}"
    return 'for no text at all write ""' if place.endswith(".") else "write one value, or leave it out"


def _quoted(word: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_./][\w./=-]*", word, re.ASCII)
    return word if plain else '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _elsewhere(key: str) -> str | None:
    """Find the place where a key would be known."""
    for name, outer in fields_of(root_type()).items():
        kind = bare(outer.type)
        if name == key:
            return name
        if is_table(kind) and key in fields_of(kind):
            return f"{name}.{key}"
    return None
