"""Where the bytes of an inspection are: by wheel, file and GPU architecture, and those that nobody needs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gpuimage.arch import ComputeCapability
from gpuimage.inspect.coverage import needed
from gpuimage.inspect.types import CodeKind, GpuFile, Inspection

_OWN_NODE = 256 * 1024  # bytes from which a file has a node of its own in the tree
_EXAMPLES = 5
_OUTSIDE = "outside wheels"


class Share(Struct, frozen=True):
    """GPU code of one kind and capability; `needed` says whether one of the targets may load it, None without targets."""

    kind: CodeKind
    arch: str
    count: int
    bytes: int
    needed: bool | None = None


class Category(Struct, frozen=True):
    """Files that an image rarely needs at run time; `examples` are the largest."""

    name: str
    files: int
    bytes: int
    examples: tuple[str, ...]


class Copies(Struct, frozen=True):
    """Files of equal content; `wasted` is what all but one of them take."""

    paths: tuple[str, ...]
    bytes: int

    @property
    def wasted(self) -> int:
        """Bytes that a link instead of each copy would save."""
        return self.bytes * (len(self.paths) - 1)


class Node(Struct, frozen=True, omit_defaults=True):
    """A part of the whole: `bytes` is the sum of its children's, where it has some.

    `kind`: image, layer, wheel, outside, file, files, code (GPU code of one architecture), host, hidden.
    """

    name: str
    kind: str
    bytes: int
    children: tuple[Node, ...] = ()


# First match wins. What each one breaks when it is gone: facts of fatbin-format.md, section 7.
_CATEGORIES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("package caches", re.compile(r"/(\.cache|var/cache/apt|var/lib/apt/lists|conda/pkgs|miniconda3/pkgs)/")),
    ("bytecode caches", re.compile(r"/__pycache__/|\.pyc$")),
    ("static libraries", re.compile(r"\.a$")),
    ("headers", re.compile(r"\.(h|hh|hpp|hxx|cuh|inl)$|/include/")),
    ("tests", re.compile(r"/tests?/.*(?<!\.so)$")),
    ("documentation", re.compile(r"^/usr/share/(doc|man|info)/")),
    ("type stubs", re.compile(r"\.pyi$")),
)


def shares(files: Sequence[GpuFile], targets: Sequence[ComputeCapability] | None = None) -> tuple[Share, ...]:
    """Sum GPU code by kind and capability, lowest capability first; with targets, by whether one may load it."""
    totals: Counter[tuple[CodeKind, ComputeCapability | None]] = Counter()
    numbers: Counter[tuple[CodeKind, ComputeCapability | None]] = Counter()
    for file in files:
        for container in file.containers:
            for code in container.code:
                key = (code.kind, code.capability)
                totals[key] += code.bytes
                numbers[key] += 1
    return tuple(
        Share(
            kind=kind,
            arch=str(capability) if capability else "?",
            count=numbers[kind, capability],
            bytes=totals[kind, capability],
            needed=None if targets is None else needed(kind, capability, targets),
        )
        for kind, capability in sorted(totals, key=lambda key: (key[0], key[1] or ComputeCapability(0, 0)))
    )


def categories(inspection: Inspection) -> tuple[Category, ...]:
    """Files that run-time images rarely need, largest kind first."""
    found: dict[str, list[str]] = {}
    for path, size in inspection.sizes.items():
        if not size:
            continue
        for name, pattern in _CATEGORIES:
            if pattern.search(path):
                found.setdefault(name, []).append(path)
                break
    made = [
        Category(
            name=name,
            files=len(paths),
            bytes=sum(map(inspection.sizes.__getitem__, paths)),
            examples=tuple(_largest(paths, inspection.sizes)),
        )
        for name, paths in found.items()
    ]
    return tuple(sorted(made, key=lambda one: (-one.bytes, one.name)))


def copies(inspection: Inspection) -> tuple[Copies, ...]:
    """Files of equal content, those that waste most first; hard links are one file."""
    same: dict[tuple[int, bytes], list[str]] = {}
    for path, digest in inspection.digests.items():
        if size := inspection.sizes.get(path, 0):
            same.setdefault((size, digest), []).append(path)
    groups = [Copies(tuple(sorted(paths)), size) for (size, _), paths in same.items() if len(paths) > 1]
    return tuple(sorted(groups, key=lambda one: (-one.wasted, one.paths)))


def tree(inspection: Inspection, name: str) -> Node:
    """The whole as layers, wheels, files and GPU architectures; each node's bytes are the sum of its children's."""
    gpu = {file.path: file for file in inspection.gpu}
    if not inspection.layers:
        return _node(name, "image", _wheels(inspection, inspection.sizes, gpu))
    by_layer: list[dict[str, int]] = [{} for _ in inspection.layers]
    for path, size in inspection.sizes.items():
        by_layer[inspection.layer_of[path]][path] = size
    layers = []
    for number, layer in enumerate(inspection.layers):
        children = list(_wheels(inspection, by_layer[number], gpu))
        if layer.hidden_bytes:
            children.append(Node("hidden by later layers", "hidden", layer.hidden_bytes))
        layers.append(_node(f"{number + 1} {layer.created_by}".strip(), "layer", children))
    return _node(name, "image", layers)


def _wheels(inspection: Inspection, sizes: Mapping[str, int], gpu: Mapping[str, GpuFile]) -> Iterator[Node]:
    groups: dict[str, dict[str, int]] = {}
    for path, size in sizes.items():
        if size:
            wheel = inspection.wheel_of(path)
            groups.setdefault(wheel.label if wheel else "", {})[path] = size
    for name, files in groups.items():
        yield _node(name or _OUTSIDE, "wheel" if name else "outside", _files(files, gpu))


def _files(sizes: Mapping[str, int], gpu: Mapping[str, GpuFile]) -> Iterator[Node]:
    small = small_bytes = 0
    for path, size in sizes.items():
        if size < _OWN_NODE and path not in gpu:
            small, small_bytes = small + 1, small_bytes + size
        elif (
            path in gpu and gpu[path].code_bytes <= size
        ):  # a damaged file may say that it holds more than it does
            yield _node(path, "file", _parts(gpu[path]))
        else:
            yield Node(path, "file", size)
    if small:
        yield Node(f"{small} smaller files", "files", small_bytes)


def _parts(file: GpuFile) -> Iterator[Node]:
    left = file.bytes
    for share in shares([file]):
        left -= share.bytes
        yield Node(f"{share.kind} {share.arch}", "code", share.bytes)
    yield Node("host code and data", "host", left)


def _node(name: str, kind: str, children: Iterator[Node] | Sequence[Node]) -> Node:
    ordered = tuple(sorted(children, key=lambda node: (-node.bytes, node.name)))
    return Node(name, kind, sum(child.bytes for child in ordered), ordered)


def _largest(paths: Sequence[str], sizes: Mapping[str, int]) -> Iterator[str]:
    yield from sorted(paths, key=lambda path: (-sizes[path], path))[:_EXAMPLES]
