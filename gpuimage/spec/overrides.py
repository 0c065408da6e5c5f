"""Values from the command line, put over those of the file before anything is decoded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import msgspec.inspect as mi

from gpuimage.errors import Location, SpecError
from gpuimage.spec.checks import closest
from gpuimage.spec.document import CONTROL, Document, KeyPath, Node, parse_document
from gpuimage.spec.reader import bare, fields_of, is_table, root_type

_INDEX = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<index>[0-9]{1,4})\])?")


def apply(document: Document, overrides: Mapping[str, str]) -> Document:
    """Give the document with the overrides in it; `SpecError` for a place that does not exist."""
    data: dict[str, Node] = _copied(document.data)
    paths = set()
    for key, value in overrides.items():
        path, kind = resolve(document, key)
        _put(data, path, _value(document, key, value, kind), document, key)
        paths.add(path)
    return replace(document, data=data, overridden=frozenset(paths))


def resolve(document: Document, key: str) -> tuple[KeyPath, mi.Type]:
    """Walk the types along a dotted key: what follows the name of a mapping is one key, dots and all.

    `SpecError` for a place that no spec has; whether a list has so many entries is not asked.
    """
    path: KeyPath = ()
    kind: mi.Type = root_type()
    rest = key
    while rest or not path:
        if isinstance(kind, mi.DictType):
            return (*path, rest), bare(kind.value_type)
        if not is_table(kind):
            raise _no_such(document, key, f"{'.'.join(map(str, path))} has no keys")
        head, _, rest = rest.partition(".")
        match = _INDEX.fullmatch(head)
        fields = fields_of(kind)
        if not match or match["name"] not in fields:
            meant = closest(head, fields)
            raise _no_such(document, key, f"write {meant}" if meant else f"the keys are {', '.join(fields)}")
        kind = bare(fields[match["name"]].type)
        path = (*path, match["name"])
        if match["index"] is not None:
            if not isinstance(kind, mi.VarTupleType):
                raise _no_such(document, key, f"{match['name']} is no list")
            kind = bare(kind.item_type)
            path = (*path, int(match["index"]))
    return path, kind


def _value(document: Document, key: str, value: str, kind: mi.Type) -> Node:
    if "\n" in value or CONTROL.search(value):
        raise SpecError(
            f"{key}: the value holds a control character",
            where=Location(document.path, key=key),
            hint="leave it out",
        )
    if not (isinstance(kind, mi.VarTupleType | mi.DictType) or is_table(kind)):
        return value
    try:
        return parse_document(f"value: {value}", document.path).data["value"]
    except SpecError as error:
        raise SpecError(
            f"{key}: {error.what}",
            where=Location(document.path, key=key),
            hint="write it as YAML: [ONE, TWO]",
        ) from None


def _put(data: dict[str, Node], path: KeyPath, value: Node, document: Document, key: str) -> None:
    node: Node = data
    for n, part in enumerate(path):
        last = n == len(path) - 1
        if isinstance(part, int):
            if not isinstance(node, list) or part >= len(node):
                raise _no_such(document, key, f"the list has no entry {part}")
            if last:
                node[part] = value
            else:
                node = node[part]
        elif isinstance(node, dict):
            if last:
                node[part] = value
            else:
                if node.get(part) is None:
                    node[part] = {}
                node = node[part]
        else:
            raise _no_such(document, key, "the file has no mapping there")


def _no_such(document: Document, key: str, hint: str) -> SpecError:
    return SpecError(f"the spec has no place {key!r}", where=Location(document.path, key=key), hint=hint)


def _copied(node: dict[str, Node]) -> dict[str, Node]:
    def copy(item: Node) -> Node:
        if isinstance(item, dict):
            return _copied(item)
        return [copy(entry) for entry in item] if isinstance(item, list) else item

    return {key: copy(item) for key, item in node.items()}
