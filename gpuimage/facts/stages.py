"""What holds in each stage of a Dockerfile: where it comes from, whether it ships, which variables have which value."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from gpuimage.dockerfile import Dockerfile, Instruction, Source, Stage
from gpuimage.dockerfile.splitter import escape_of
from gpuimage.dockerfile.variables import UNDEFINED, Expansion, Lookup, Undefined, expand
from gpuimage.facts.base import Base, read_base
from gpuimage.facts.runs import Call, calls
from gpuimage.facts.scope import Scope
from gpuimage.patterns import pattern

# BuildKit sets these in every stage that declares them, for the platform that is built.
_PLATFORM = frozenset(
    f"{side}{part}" for side in ("TARGET", "BUILD") for part in ("PLATFORM", "OS", "ARCH", "VARIANT")
)
# What a build may be given without an ARG of the file: proxies, and what docker defines by itself.
_PREDEFINED = frozenset(
    {"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY", "SOURCE_DATE_EPOCH"}
)

# Names of stages that nobody uses and nobody ships.
_ASIDE = pattern(
    r"(.*[-_])?(tests?|testing|lint|linter|ci|dev|develop|development|debug|docs?|checks?|bench)([-_].*)?"
)

_ERREXIT = pattern(r"^\s*set\s[^\n;&|#]*(?<!\S)-(?:[a-zA-Z]*e|[a-zA-Z]*o\s+errexit)", re.MULTILINE)

Known = Mapping[str, "str | None"]

Head = tuple["str | None", "int | None", tuple[str, ...]]
"""A base image, or the index of a parent, and what is not defined in FROM."""


class Step(Struct, frozen=True, eq=False, dict=True):
    """An instruction with what holds where it stands.

    `env` is what an image built up to here would have, `variables` what words resolve by: ENV and ARG together, of
    which the later one counts (so BuildKit, tried). `user` is "" where no USER was given, None where it is not known;
    `workdir` None where it is not known.
    """

    instruction: Instruction
    env: Scope
    variables: Scope
    inherited: bool = False
    """Whether the base image may bring variables that nobody can see here."""
    escape: str = "\\"
    stage: int = 0
    user: str | None = ""
    workdir: str | None = None
    shell: tuple[str, ...] = ()
    front: str | None = None
    """The directory that PATH begins with, where the file sets it."""
    source: Source = field(default_factory=lambda: Source(""))

    def lookup(self, name: str) -> str | Undefined | None:
        """A variable's value here; a base may bring what is set nowhere in the file."""
        if name in self.variables:
            return self.variables[name]
        return None if self.inherited else UNDEFINED

    def expand(self, text: str) -> Expansion:
        """Resolve a word of the instruction."""
        return expand(text, self.lookup, escape=self.escape)

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The programs that a RUN runs; none for any other instruction."""
        one = self.instruction
        return tuple(calls(self, self.source)) if one.keyword == "RUN" and not one.onbuild else ()

    @cached_property
    def mounts(self) -> tuple[Mount, ...]:
        """The `--mount`s of a RUN."""
        found = (flag for flag in self.instruction.flags if flag.name == "mount" and flag.value)
        return tuple(Mount.read(self.expand(str(flag.value)).value or str(flag.value)) for flag in found)

    @property
    def has_device(self) -> bool:
        """Whether a RUN is given a GPU with `--device`."""
        return any(flag.name == "device" for flag in self.instruction.flags)

    @property
    def home(self) -> str:
        """The home directory, as far as it can be told."""
        value = self.variables.get("HOME")
        return value or ("/root" if self.user in ("", "root", "0", None) else f"/home/{self.user}")

    def stops_on_errors(self, script: str) -> bool:
        """Whether the shell stops at the first line that fails: `set -e`, `#!/bin/sh -e`, or `-e` in SHELL."""
        own = script.startswith("#!")  # BuildKit runs such a heredoc without SHELL
        words = script.partition("\n")[0].split()[1:] if own else self.shell[1:]
        given = any(
            re.fullmatch(r"-[a-zA-Z]{0,4}e[a-zA-Z]{0,4}", word) or word == "errexit" for word in words
        )
        return given or ("set" in script and _ERREXIT.search(script) is not None)


class Mount(Struct, frozen=True):
    """A `--mount`; `target` "" where none is given."""

    kind: str
    source: str
    target: str
    from_: str
    options: Mapping[str, str]

    @classmethod
    def read(cls, text: str) -> Mount:
        """Read `type=cache,target=/root/.cache`."""
        pairs = dict(part.strip().partition("=")[::2] for part in text.split(","))
        target = pairs.get("target") or pairs.get("dst") or pairs.get("destination") or ""
        return cls(
            pairs.get("type", "bind"),
            pairs.get("source") or pairs.get("src") or "",
            target,
            pairs.get("from", ""),
            pairs,
        )

    def covers(self, path: str) -> bool:
        """Whether a path lies in what is mounted."""
        target = self.target.rstrip("/")
        return bool(target) and (path.rstrip("/") + "/").startswith(target + "/")


class StageFacts(Struct, frozen=True):
    """One stage.

    `base` is the image's reference as far as it is known, None for a stage or what only the build knows; `root` what
    is known of the image that the stage and its parents stand on; `parent` the index of the stage that FROM names; `undefined` the variables of FROM that no global ARG sets. `ships` says whether
    its layers are part of the image that is built, `feeds` whether only files of it are copied elsewhere.
    """

    stage: Stage
    base: str | None
    parent: int | None
    undefined: tuple[str, ...]
    ships: bool
    feeds: bool
    steps: tuple[Step, ...]
    chain: tuple[Step, ...]
    """The steps of all its parents, then its own."""
    end: Step
    """What holds behind the last step."""
    root: Base
    is_target: bool = False
    """Whether it is an image that is built for its own sake."""

    @property
    def index(self) -> int:
        """Its number."""
        return self.stage.index

    @property
    def env(self) -> Scope:
        """The environment at its end."""
        return self.end.env

    @property
    def variables(self) -> Scope:
        """What words resolve by at its end."""
        return self.end.variables

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
    heads = list(_heads(dockerfile, known, escape))
    targets = _targets(dockerfile, heads, target)
    shipped, feeding = _reached(dockerfile, heads, targets)
    found: list[StageFacts] = []
    for stage, (base, parent, undefined) in zip(dockerfile.stages, heads, strict=True):
        if parent is not None:
            start, above, root = found[parent].end, found[parent].chain, found[parent].root
        else:
            root, above = read_base(base), ()
            start = Step(
                stage.head, Scope(root.env), Scope(root.env), inherited=base != "scratch", escape=escape, source=dockerfile.source,
                workdir=root.workdir, user=root.user,
            )  # fmt: skip
        *steps, last = _steps(stage, replace(start, stage=stage.index), known, given)
        ships, feeds = stage.index in shipped, stage.index in feeding
        own = tuple(steps)
        found.append(
            StageFacts(
                stage, base, parent, undefined, ships, feeds, own, (*above, *own), last, root,
                is_target=stage.index in targets,
            )
        )  # fmt: skip
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


def _heads(dockerfile: Dockerfile, known: Known, escape: str) -> Iterator[Head]:
    def lookup(name: str) -> str | Undefined | None:
        if name in known:
            return known[name]
        return None if name in _PLATFORM or name in _PREDEFINED else UNDEFINED

    earlier: dict[str, int] = {}
    for stage in dockerfile.stages:
        found = expand(stage.image, lookup, escape=escape)
        parent = earlier.get(found.value.lower()) if found.value else None
        yield (None if parent is not None else found.value), parent, found.undefined
        if stage.name:
            earlier[stage.name] = stage.index


def _steps(stage: Stage, start: Step, known: Known, given: Mapping[str, str]) -> Iterator[Step]:
    """Every instruction with what holds before it, and once more the last with what holds behind it."""
    here = start
    for one in stage.instructions:
        here = replace(here, instruction=one)
        yield here
        if one.onbuild or one.problem:
            continue
        if one.keyword == "ENV":
            pairs = list(zip(one.texts[::2], one.texts[1::2], strict=True))
            # All pairs of one ENV see what held before it.
            new = {name: here.expand(text).value for name, text in pairs}
            front = next(
                (
                    here.expand(text.partition(":")[0].strip("\"'")).value
                    for name, text in pairs
                    if name == "PATH"
                ),
                here.front,
            )
            here = replace(here, env=here.env.set(new), variables=here.variables.set(new), front=front)
        elif one.keyword == "ARG":
            declared = {}
            for name, default in _declared(one, here.lookup, here.escape):
                value = given.get(name, known.get(name) if default is None else default)
                if value is not None or name not in here.variables:
                    declared[name] = value
            here = replace(here, variables=here.variables.set(declared))
        elif one.keyword in ("USER", "WORKDIR", "SHELL"):
            here = _moved(here)
    yield here


def _moved(here: Step) -> Step:
    """What holds behind a USER, WORKDIR or SHELL."""
    one = here.instruction
    if one.keyword == "SHELL":
        return replace(here, shell=one.texts)
    value = here.expand(one.arguments).value
    if one.keyword == "USER":
        return replace(here, user=value.partition(":")[0] if value is not None else None)
    if value is not None and not value.startswith("/"):
        value = posixpath.join(here.workdir, value) if here.workdir is not None else None
    return replace(here, workdir=posixpath.normpath(value) if value is not None else None)


def _targets(dockerfile: Dockerfile, heads: list[Head], target: str | None) -> set[int]:
    """The stages that are images: the one a target names, else the last one and those that no other uses.

    A stage that no other uses is somebody's `--target`; one that is named for tests or development does not ship.
    """
    found = dockerfile.stages
    if target:
        named = {stage.index for stage in found if target.lower() == stage.name or target == str(stage.index)}
        if named:
            return named
    used = {parent for _, parent, _ in heads if parent is not None}
    used |= {source for stage in found for source in _sources(dockerfile, stage.index)}
    leaves = {s.index for s in found if s.index not in used and not (s.name and _ASIDE.fullmatch(s.name))}
    return leaves | {len(found) - 1} if found else set()


def _reached(dockerfile: Dockerfile, heads: list[Head], targets: set[int]) -> tuple[set[int], set[int]]:
    """Stages whose layers ship, and stages that only give files to those that are built."""
    shipped: set[int] = set()
    for target in targets:
        at: int | None = target
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
        found = (dockerfile.find(name) for name in names if name is not None)
        yield from (index for index in found if index is not None)
