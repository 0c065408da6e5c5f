"""Layers put on top of each other: what an image shows, and what its later layers cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from gpuimage.inspect.collect import Files
from gpuimage.inspect.types import Hidden


def merge(layers: list[Files]) -> tuple[Files, Mapping[str, int], tuple[Hidden, ...]]:
    """Return the files that an image shows, the index of the layer that each path comes from, and what is covered."""
    stack = _Stack(layers)
    for number in range(len(layers)):
        stack.add(number)
    return _shown(layers, stack.shown), stack.shown, tuple(stack.hidden)


class _Stack:
    """The layers up to one, as a container of them would see its files."""

    def __init__(self, layers: list[Files]) -> None:
        self.shown: dict[str, int] = {}
        self.hidden: list[Hidden] = []
        self._layers = layers
        self._folders: set[str] = set()

    def add(self, number: int) -> None:
        """Put the next layer on top: first what it deletes, then what it brings."""
        files = self._layers[number]
        for path in files.deleted:
            self._cover(self._at(path), number, deleted=True)
        for folder in files.emptied:
            self._cover(self._inside(folder), number, deleted=True)
        own = [*files.sizes, *(link for link in files.links if link not in files.sizes)]
        for path in own:  # a file may take the place of a whole directory, and a directory that of a file
            self._cover(self._at(path), number, deleted=False)
        self._cover([path for path in files.folders if path in self.shown], number, deleted=True)
        for path in own:
            self.shown[path] = number
            self._remember_folders(path)

    def _at(self, path: str) -> Iterable[str]:
        return [path] if path in self.shown else self._inside(path)

    def _inside(self, folder: str) -> Iterable[str]:
        if folder and folder not in self._folders:
            return []
        return [path for path in self.shown if path.startswith(f"{folder}/")]

    def _cover(self, paths: Iterable[str], by: int, *, deleted: bool) -> None:
        for path in paths:
            layer = self.shown.pop(path)
            if size := self._layers[layer].sizes.get(path, 0):
                self.hidden.append(Hidden(path, size, layer, by, deleted))

    def _remember_folders(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        while folder and folder not in self._folders:
            self._folders.add(folder)
            folder = folder.rpartition("/")[0]


def _shown(layers: list[Files], shown: Mapping[str, int]) -> Files:
    merged = Files()
    for number, files in enumerate(layers):
        for mine, theirs in (
            (merged.sizes, files.sizes), (merged.links, files.links), (merged.libraries, files.libraries),
            (merged.gpu, files.gpu), (merged.texts, files.texts), (merged.digests, files.digests),
            (merged.hard_links, files.hard_links),
        ):  # fmt: skip
            cast("dict[str, object]", mine).update(
                (path, value) for path, value in theirs.items() if shown.get(path) == number
            )
        merged.executables.update(path for path in files.executables if shown.get(path) == number)
    return merged
