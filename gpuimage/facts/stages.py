"""What holds in each stage of a Dockerfile: where it comes from, whether it ships, which variables have which value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gpuimage.dockerfile import Dockerfile, Instruction, Stage
from gpuimage.dockerfile.splitter import escape_of
from gpuimage.dockerfile.variables import UNDEFINED, Expansion, Lookup, Undefined, expand

# BuildKit sets these in every stage that declares them, for the platform that is built.
_PLATFORM = frozenset(
    f"{side}{part}" for side in ("TARGET", "BUILD") for part in ("PLATFORM", "OS", "ARCH", "VARIANT")
)
# What a build may be given without an ARG of the file: proxies, and what docker defines by itself.
_PREDEFINED = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY", "SOURCE_DATE_EPOCH"}
)

Scope = Mapping[str, "str | None"]
"""Names that are set, with their values; None for a value that only the build knows."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An instruction with what holds where it stands.

    `env` is what an image built up to here would have, `variables` what words resolve by: ENV and ARG together, of
    which the later one counts (so BuildKit, tried).
    """

    instruction: Instruction
    env: Scope
    variables: Scope
    inherited: bool = False
    """Whether the base image may bring variables that nobody can see here."""
    escape: str = "\\"

    def lookup(self, name: str) -> str | Undefined | None:
        """A variable's value here; a base may bring what is set nowhere in the file."""
        if name in self.variables:
            return self.variables[name]
        return None if self.inherited else UNDEFINED

    def expand(self, text: str) -> Expansion:
        """Resolve a word of the instruction."""
        return expand(text, self.lookup, escape=self.escape)


@dataclass(frozen=True, slots=True)
class StageFacts:
    """One stage.

    `base` is the image's reference as far as it is known, None for a stage or what only the build knows; `parent` the
    index of the stage that FROM names; `undefined` the variables of FROM that no global ARG sets. `ships` says whether
    its layers are part of the image that is built, `feeds` whether only files of it are copied elsewhere. `env` and
    `variables` are those at its end: a stage that is built from it begins with both.
    """

    stage: Stage
    base: str | None
    parent: int | None
    undefined: tuple[str, ...]
    ships: bool
    feeds: bool
    placed: tuple[Placed, ...]
    env: Scope
    variables: Scope

    @property
    def used(self) -> bool:
        """Whether anything of the stage reaches the image."""
        return self.ships or self.feeds


def stages(
    dockerfile: Dockerfile, *, target: str | None = None, build_args: Mapping[str, str] | None = None
) -> tuple[StageFacts, ...]:
    """The facts of every stage; `target` as for `docker build --target` (a name or a number, the last by default)."""
    given = dict(build_args or {})
    escape = escape_of(dockerfile.directives)
    known = _globals(dockerfile, given, escape)
    heads = [_head(dockerfile, stage, known, escape) for stage in dockerfile.stages]
    final = _index(dockerfile.stages, target) if target else len(heads) - 1
    shipped, feeding = _reached(dockerfile, heads, final)
    found: list[StageFacts] = []
    for stage, (base, parent, undefined) in zip(dockerfile.stages, heads, strict=True):
        start = Placed(stage.head, {}, {}, inherited=base != "scratch", escape=escape)
        if parent is not None:
            above = found[parent]
            start = replace(
                start, env=above.env, variables=above.variables, inherited=above.placed[0].inherited
            )
        placed = tuple(_placed(stage, start, known, given))
        ships, feeds = stage.index in shipped, stage.index in feeding
        last = placed[-1]
        found.append(
            StageFacts(stage, base, parent, undefined, ships, feeds, placed[:-1], last.env, last.variables)
        )
    return tuple(found)


def _globals(dockerfile: Dockerfile, given: Mapping[str, str], escape: str) -> dict[str, str | None]:
    """The ARGs in front of the first FROM: they count in FROM, and where a stage declares them again."""
    known: dict[str, str | None] = {}
    for one in dockerfile.before:
        if one.keyword == "ARG":
            for name, value in _declared(one, lambda name: known.get(name, UNDEFINED), escape):
                known[name] = given.get(name, value)
    return known


def _declared(instruction: Instruction, lookup: Lookup, escape: str) -> Iterator[tuple[str, str | None]]:
    """The names of an ARG with their defaults; None without one."""
    for word in instruction.texts:
        name, equals, default = word.partition("=")
        yield name, expand(default, lookup, escape=escape).value if equals else None


def _head(
    dockerfile: Dockerfile, stage: Stage, known: Scope, escape: str
) -> tuple[str | None, int | None, tuple[str, ...]]:
    def lookup(name: str) -> str | Undefined | None:
        if name in known:
            return known[name]
        return None if name in _PLATFORM or name in _PREDEFINED else UNDEFINED

    found = expand(stage.image, lookup, escape=escape)
    parent = None
    if found.value:
        earlier = dockerfile.stages[: stage.index]
        parent = next((one.index for one in reversed(earlier) if one.name == found.value.lower()), None)
    return (None if parent is not None else found.value), parent, found.undefined


def _placed(stage: Stage, start: Placed, known: Scope, given: Mapping[str, str]) -> Iterator[Placed]:
    """Every instruction with what holds before it, and once more the last with what holds behind it."""
    here = start
    for one in stage.instructions:
        here = replace(here, instruction=one)
        yield here
        if one.onbuild or one.problem:
            continue
        if one.keyword == "ENV":
            pairs = zip(one.texts[::2], one.texts[1::2], strict=True)
            # All pairs of one ENV see what held before it.
            new = {name: here.expand(text).value for name, text in pairs}
            here = replace(here, env={**here.env, **new}, variables={**here.variables, **new})
        elif one.keyword == "ARG":
            variables = dict(here.variables)
            for name, default in _declared(one, here.lookup, here.escape):
                value = given.get(name, known.get(name) if default is None else default)
                if value is not None or name not in variables:
                    variables[name] = value
            here = replace(here, variables=variables)
    yield here


def _index(found: tuple[Stage, ...], target: str) -> int:
    """The stage a target names; the last where none does."""
    for stage in found:
        if stage.name == target.lower() or str(stage.index) == target:
            return stage.index
    return len(found) - 1


def _reached(
    dockerfile: Dockerfile, heads: list[tuple[str | None, int | None, tuple[str, ...]]], final: int
) -> tuple[set[int], set[int]]:
    """Stages whose layers ship, and stages that only give files to those that are built."""
    shipped: set[int] = set()
    at: int | None = final if heads else None
    while at is not None:
        shipped.add(at)
        at = heads[at][1]
    built, queue = set(shipped), list(shipped)
    while queue:
        index = queue.pop()
        parent = heads[index][1]
        sources = {source for source in _sources(dockerfile, index) if source < index}
        for other in sources | ({parent} if parent is not None else set()):
            if other not in built:
                built.add(other)
                queue.append(other)
    return shipped, built - shipped


def _sources(dockerfile: Dockerfile, index: int) -> Iterator[int]:
    """The stages that a stage copies from or mounts."""
    for one in dockerfile.stages[index].instructions:
        names = [one.flag("from")] if one.keyword in ("COPY", "ADD") else []
        for flag in one.flags:
            if flag.name == "mount" and flag.value:
                names += [part[5:] for part in flag.value.split(",") if part.startswith("from=")]
        for name in names:
            for stage in dockerfile.stages:
                if name is not None and (stage.name == name.lower() or str(stage.index) == name):
                    yield stage.index
