"""The options of a command, as getopt and argparse read them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from gpuimage.dockerfile.shell import Argument


class Options(Struct, frozen=True):
    """`given` maps an option as written (`-r`, `--index-url`) to its values, None where it takes none."""

    given: dict[str, list[Argument | None]] = field(default_factory=dict)
    words: tuple[Argument, ...] = ()
    """What is no option and no option's value."""

    def has(self, *names: str) -> bool:
        """Whether one of these is given."""
        return any(name in self.given for name in names)

    def arguments(self, *names: str) -> list[Argument]:
        """The values given to any of these, as words of the command."""
        return [value for name in names for value in self.given.get(name, ()) if value is not None]

    def last(self, *names: str) -> str | None:
        """The last value given to any of these; None where it is not given, or not known."""
        found = self.arguments(*names)
        return found[-1].value if found else None


def options(arguments: Iterable[Argument], taking: frozenset[str]) -> Options:
    """Part options from words; those in `taking` are followed by a value, or hold it (`--x=y`, `-xy`)."""
    given: dict[str, list[Argument | None]] = {}
    words: list[Argument] = []
    rest = iter(arguments)
    for one in rest:
        text = one.raw if one.value is None else one.value
        if text == "--":
            words += rest
        elif text.startswith("--"):
            name, equals, _ = text.partition("=")
            if equals:
                given.setdefault(name, []).append(_behind(one, len(name) + 1))
            else:
                given.setdefault(name, []).append(next(rest, None) if name in taking else None)
        elif text.startswith("-") and len(text) > 1:
            _short(one, text, taking, given, rest)
        else:
            words.append(one)
    return Options(given, tuple(words))


def _short(
    one: Argument, text: str, taking: frozenset[str], given: dict[str, list[Argument | None]], rest: Iterable[Argument]
) -> None:  # fmt: skip
    """Read `-x`, `-xyz`, `-x value`, `-xvalue`; a word in `taking` as a whole (`-arch`) is one option."""
    if text in taking:
        given.setdefault(text, []).append(next(iter(rest), None))
        return
    for at in range(1, len(text)):
        name = f"-{text[at]}"
        if name in taking:
            behind = _behind(one, at + 1) if at + 1 < len(text) else next(iter(rest), None)
            given.setdefault(name, []).append(behind)
            return
        given.setdefault(name, []).append(None)


def _behind(one: Argument, at: int) -> Argument:
    """The value that stands in the same word, from an offset on."""
    value = one.value[at:] if one.value is not None else None
    if value is None:
        return Argument(one.raw[at:], one.span, None)
    start = one.raw.find(value)  # quotes may stand in front of the option or of its value
    return Argument(one.raw[start:].rstrip("'\"") if value and start >= 0 else value, one.span, value)
