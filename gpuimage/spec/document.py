"""A YAML file as plain data, with the position of every key and value, and without YAML's surprises.

Scalars stay the text that was written. That is exact, where YAML's own reading is not: `3.10` without quotes
is the number 3.1 to YAML, `no` is false, `010` is eight. Such scalars become `Lossy`, and whoever wants text
from one tells the user to quote it. Anchors, aliases, tags and second documents are refused: a spec needs
none, and the first two let a kilobyte grow into gigabytes. The file is read as a stream of events, so that
nothing here recurses into what the file holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from gpuimage.errors import Location, SpecError
from gpuimage.spec.files import place_of

DEEPEST = 16  # levels of nesting; a spec needs five
MOST_VALUES = 20_000

KeyPath: TypeAlias = tuple[str | int, ...]
Node: TypeAlias = "str | Lossy | list[Node] | dict[str, Node] | None"

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
# What no text of a spec may hold: control characters other than tab and line feed, and halves of characters.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Lossy:
    """A scalar whose text YAML does not keep: a truth value, or a number written in an unusual way."""

    text: str
    meaning: str  # "the truth value true", "the number 3.1"


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in the file, both numbers from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """The data of a file, and where each of its keys and values stands."""

    path: Path
    data: dict[str, Node]
    values: Mapping[KeyPath, Mark]
    keys: Mapping[KeyPath, Mark]
    overridden: frozenset[KeyPath] = frozenset()  # values from the command line, which stand in no line

    def location(self, path: KeyPath, *, of_key: bool = False) -> Location:
        """Give the place of a value (or of its key), or of its nearest parent that stands in the file."""
        if any(path[:n] in self.overridden for n in range(1, len(path) + 1)):
            return Location(self.path, key=dotted(path))
        marks = self.keys if of_key else self.values
        known = path
        while known and known not in marks:
            known = known[:-1]
        mark = marks.get(known) or self.values.get(known)
        if mark is None:
            return Location(self.path, key=dotted(path) or None)
        return Location(self.path, mark.line, mark.column, dotted(path) or None)

    def error(
        self,
        path: KeyPath,
        what: str,
        *,
        hint: str | None = None,
        why: str | None = None,
        of_key: bool = False,
    ) -> SpecError:
        """Make the error for a value (or for its key)."""
        where = self.location(path, of_key=of_key)
        if why is None and where.line is None:
            why = "the value comes from the command line"
        return SpecError(what, where=where, why=why, hint=hint)


def dotted(path: KeyPath) -> str:
    """Write a path as people do: `compile[0].package`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def shown(path: KeyPath) -> str:
    """The same for a message, where a key may be as long as a file."""
    return short(dotted(path), 120)[1:-1]


def parse_document(text: str, path: Path) -> Document:
    """Read the text of a file; `SpecError` with its position for whatever is wrong with it as YAML."""
    return _Builder(path).build(text)


def short(text: str, limit: int = 60) -> str:
    """Quote what the user wrote, cut where it is long."""
    return repr(text if len(text) <= limit else f"{text[: limit - 3]}...")


@dataclass(slots=True)
class _Frame:
    """A list or mapping that is still open."""

    path: KeyPath
    node: list[Node] | dict[str, Node]
    key: str | None = None  # the key whose value comes next


@dataclass(slots=True)
class _Builder:
    """Builds a Document from YAML events."""

    path: Path
    root: Node = None
    values: dict[KeyPath, Mark] = field(default_factory=dict)
    keys: dict[KeyPath, Mark] = field(default_factory=dict)
    stack: list[_Frame] = field(default_factory=list)
    documents: int = 0

    def build(self, text: str) -> Document:
        if _is_dockerfile(text):
            raise SpecError(
                "this is a Dockerfile, not a spec",
                where=Location(self.path, 1, 1),
                hint="gpuimage init makes a spec from one, gpuimage lint checks it",
            )
        for event in self._events(text):
            self._take(event)
        if self.root is None:
            raise SpecError(
                "the spec is empty", where=Location(self.path, 1, 1), hint="it needs at least image:"
            )
        if not isinstance(self.root, dict):
            mark = self.values[()]
            found = "a list" if isinstance(self.root, list) else "one value"
            raise SpecError(
                f"the spec must be keys with values, not {found}",
                where=Location(self.path, mark.line, mark.column),
                hint="begin with image: NAME",
            )
        return Document(self.path, self.root, self.values, self.keys)

    def _events(self, text: str) -> Iterator[yaml.Event]:
        loader: yaml.SafeLoader | None = None
        try:
            loader = yaml.SafeLoader(text)
            while loader.check_event():
                yield loader.get_event()  # type: ignore[no-untyped-call]
        except yaml.reader.ReaderError as error:
            where = place_of(self.path, text[: error.position].encode(), len(text[: error.position].encode()))
            raise SpecError(
                f"character {error.character:#06x} cannot stand in YAML", where=where, hint="remove it"
            ) from None
        except yaml.MarkedYAMLError as error:
            raise self._syntax(error) from None
        except (ValueError, OverflowError):  # an escape such as "\UFFFFFFFF", which PyYAML hands to chr()
            mark = loader.get_mark() if loader else None
            raise self._fail(
                _mark(mark), "this escape stands for no character", "write the character itself"
            ) from None

    def _syntax(self, error: yaml.MarkedYAMLError) -> SpecError:
        problem = " ".join((error.problem or "it cannot be read").split())
        mark = error.problem_mark or error.context_mark
        why = None
        if error.context and error.context_mark and error.context_mark is not error.problem_mark:
            why = f"{' '.join(error.context.split())} that begins in line {error.context_mark.line + 1}"
        if "'\\t'" in problem:
            return self._fail(_mark(mark), "a tab stands where YAML wants spaces", "indent with spaces")
        hint = next((advice for words, advice in _ADVICE.items() if words in problem), None)
        return self._fail(_mark(mark), f"this is not YAML: {problem}", hint, why)

    def _fail(self, mark: Mark, what: str, hint: str | None, why: str | None = None) -> SpecError:
        """Make the error for a place in the value that is being read."""
        key = shown(self._here()) if self.stack else None
        where = Location(self.path, mark.line, mark.column, key or None)
        return SpecError(what, where=where, hint=hint, why=why)

    def _here(self) -> KeyPath:
        frame = self.stack[-1]
        if isinstance(frame.node, list):
            return (*frame.path, len(frame.node))
        return frame.path if frame.key is None else (*frame.path, frame.key)

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise self._fail(
                    _mark(event.start_mark), "the file holds a second document", "keep one spec in a file"
                )
        elif isinstance(event, yaml.AliasEvent):
            raise self._fail(
                _mark(event.start_mark), f"a spec takes no aliases (*{event.anchor})", "write the value out"
            )
        elif isinstance(event, yaml.NodeEvent):
            self._refuse_extras(event)
            self._node(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self.stack.pop()

    def _refuse_extras(self, event: yaml.NodeEvent) -> None:
        if event.anchor is not None:
            raise self._fail(
                _mark(event.start_mark), f"a spec takes no anchors (&{event.anchor})", "write the value out"
            )
        tag = getattr(event, "tag", None)
        if tag is not None:
            name = str(tag).replace("tag:yaml.org,2002:", "!!")
            raise self._fail(
                _mark(event.start_mark), f"a spec takes no tags ({short(name)[1:-1]})", "put text in quotes"
            )
        if len(self.values) >= MOST_VALUES:
            raise self._fail(
                _mark(event.start_mark), f"the file holds more than {MOST_VALUES:,} values", "this is no spec"
            )

    def _node(self, event: yaml.NodeEvent) -> None:
        frame = self.stack[-1] if self.stack else None
        if frame is not None and isinstance(frame.node, dict) and frame.key is None:
            frame.key = self._key(event, frame)
            return
        mark = _mark(event.start_mark)
        if isinstance(event, yaml.ScalarEvent):
            self._attach(self._scalar(event), mark)
            return
        node: list[Node] | dict[str, Node] = [] if isinstance(event, yaml.SequenceStartEvent) else {}
        path = self._attach(node, mark)
        self.stack.append(_Frame(path, node))
        if len(self.stack) > DEEPEST:
            raise self._fail(
                _mark(event.start_mark), f"nested more than {DEEPEST} levels deep", "a spec is flatter"
            )

    def _key(self, event: yaml.NodeEvent, frame: _Frame) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._fail(
                _mark(event.start_mark),
                "a list or mapping cannot be a key",
                "quote it, or write a plain word",
            )
        key = str(event.value)
        self._refuse_control(event)
        path, mark = (*frame.path, key), _mark(event.start_mark)
        if path in self.keys:
            first = self.keys[path]
            raise SpecError(
                f"{shown(path)} is given twice",
                where=Location(self.path, mark.line, mark.column, dotted(path)),
                why=f"the first stands in line {first.line}",
                hint="remove one of them",
            )
        self.keys[path] = mark
        return key

    def _attach(self, node: Node, mark: Mark) -> KeyPath:
        if not self.stack:
            path: KeyPath = ()
            self.root = node
        else:
            frame = self.stack[-1]
            if isinstance(frame.node, dict):
                assert frame.key is not None  # noqa: S101  a value follows its key
                path = (*frame.path, frame.key)
                frame.node[frame.key], frame.key = node, None
            else:
                path = (*frame.path, len(frame.node))
                frame.node.append(node)
        self.values[path] = mark
        return path

    def _refuse_control(self, event: yaml.ScalarEvent) -> None:
        if match := CONTROL.search(event.value):
            raise self._fail(
                _mark(event.start_mark),
                f"this text holds the character {ord(match[0]):#04x}, which a spec cannot hold",
                "leave it out",
            )

    def _scalar(self, event: yaml.ScalarEvent) -> Node:
        self._refuse_control(event)
        text = str(event.value)
        if not event.implicit[0]:  # quoted, or a block
            return text
        tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        kind = str(tag).removeprefix("tag:yaml.org,2002:")
        if kind == "null":
            return None
        if kind == "bool":
            true = text.lower() in {"yes", "true", "on"}
            return Lossy(text, f"the truth value {'true' if true else 'false'}")
        if kind == "int":
            return text if _INTEGER.fullmatch(text) else Lossy(text, "a number in another notation")
        if kind == "float":
            return text if repr(_float(text)) == text else Lossy(text, f"the number {_float(text)}")
        return text


_RESOLVER = yaml.resolver.Resolver()

_ADVICE = {
    "mapping values are not allowed": "put a value that holds ': ' in quotes, and check the indent",
    "could not find expected ':'": "write KEY: VALUE, with a space after the colon",
    "expected ',' or": "close the bracket, or put a comma between two entries",
    "cannot start any token": "put the value in quotes",
    "found unexpected end of stream": "close the quotes",
    "expected the node content": "put the value in quotes, or write one",
    "expected <block end>": "give all keys of one level the same indent",
}


def _is_dockerfile(text: str) -> bool:
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    return re.match(r"(?:FROM|ARG)\s+[^:\s]", first, re.IGNORECASE) is not None


def _mark(mark: Any) -> Mark:
    """Take over a mark of PyYAML; the start of the file where it has none."""
    return Mark(mark.line + 1, mark.column + 1) if mark is not None else Mark(1, 1)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # .inf, .nan and the like: numbers to YAML only
        return float("nan")
