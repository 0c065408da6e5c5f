"""The variables that are set at one place of a file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping


class Scope(Mapping[str, "str | None"]):
    """Names that are set, with their values; None for a value that only the build knows.

    The scopes of one stage share their history, so that a file of any length costs what it says and not a copy a step.
    """

    __slots__ = ("_at", "_below", "_history", "_latest")

    def __init__(self, below: Mapping[str, str | None]) -> None:
        self._below = below
        self._history: dict[str, list[tuple[int, str | None]]] = {}
        self._latest = [0]
        self._at = 0

    def _find(self, name: str) -> tuple[str | None] | None:
        here: Mapping[str, str | None] = self
        while isinstance(here, Scope):  # no recursion: stages may stand on each other without end
            entries = here._history.get(name)
            if entries and entries[0][0] <= here._at:
                return (entries[bisect_right(entries, here._at, key=lambda entry: entry[0]) - 1][1],)
            here = here._below
        return (here[name],) if name in here else None

    def __getitem__(self, name: str) -> str | None:
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        return found[0]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        names: dict[str, None] = {}
        here: Mapping[str, str | None] = self
        while isinstance(here, Scope):
            names |= dict.fromkeys(
                name for name, entries in here._history.items() if entries[0][0] <= here._at
            )
            here = here._below
        return iter(names | dict.fromkeys(here))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def set(self, new: Mapping[str, str | None]) -> Scope:
        """The scope behind an instruction that sets these; this one stays what it is."""
        if not new:
            return self
        if self._latest[0] != self._at:
            return Scope(self).set(new)  # another scope came of this one already
        self._latest[0] += 1
        made = Scope.__new__(Scope)
        made._below, made._history, made._latest = self._below, self._history, self._latest
        made._at = self._latest[0]
        for name, value in new.items():
            self._history.setdefault(name, []).append((made._at, value))
        return made
