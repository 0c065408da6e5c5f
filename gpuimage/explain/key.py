"""What of a plan follows from one key of its spec: `spec.yaml#base`, `spec.yaml#wheels[0]`, `spec.yaml#driver`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.errors import Location, PlanError, SpecError
from gpuimage.lock import lock_beside
from gpuimage.plan import Decision, Plan, Refusal, plan
from gpuimage.render import render
from gpuimage.spec import (
    KeyPath,
    SpecFile,
    closest,
    encode,
    key_path,
    load_spec,
    spec_default,
    spec_keys,
    variants,
)


class Written(Struct, frozen=True):
    """An instruction of the Dockerfile that a key decides: its line and the first line of its text."""

    line: int
    text: str


class KeyAnswer(Struct, frozen=True):
    """All of a plan that follows from one key of its spec, or that is about one topic.

    `value` is what the plan used and `default` what it would be without the key, both as a spec writes them; None for a
    topic that is no key, and for a value that is left out. `where` is its place in the file, None where the default counts.
    `stopped` is the error that ended the plan, and `about_key` whether it is about this key.
    """

    path: Path
    image: str
    key: str
    is_key: bool
    value: str | None
    default: str | None
    where: Location | None
    decisions: tuple[Decision, ...] = ()
    warnings: tuple[Decision, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    written: tuple[Written, ...] = ()
    stopped: PlanError | None = None
    about_key: bool = False

    @property
    def silent(self) -> bool:
        """Whether nothing of the plan follows from the key."""
        return not (self.decisions or self.warnings or self.refusals or self.written or self.stopped)


def explain_key(path: Path, key: str) -> tuple[KeyAnswer, ...]:
    """Answer for a spec, once for each image of its matrix, with the lock beside it; no index is asked.

    `key` is a place such as `wheels[0]` or `build.ca`, or the topic of a decision (`lock`, `start check`). SpecError for
    one that is neither, with a did-you-mean.
    """
    return tuple(_answer(file, key) for file in variants(load_spec(path)))


def _answer(file: SpecFile, key: str) -> KeyAnswer:
    made: Plan | None = None
    stopped: PlanError | None = None
    try:
        made = plan(file, lock_beside(file))
    except PlanError as error:
        stopped = error
    known = topics(made) if made else frozenset()
    place = _place(file, key, known)
    if place is None:
        answer = KeyAnswer(
            file.path, str(file.spec.image), key, is_key=False, value=None, default=None, where=None
        )
    else:
        given = file.document is not None and place in file.document.values
        default = written(spec_default(place))
        answer = KeyAnswer(
            file.path, str(file.spec.image), key, is_key=True, value=_value(encode(file.spec), place, file, key) or default,
            default=default, where=file.at(key) if given else None,
        )  # fmt: skip
    return _with_plan(answer, made) if made else _stopped(answer, stopped)


def _with_plan(answer: KeyAnswer, made: Plan) -> KeyAnswer:
    def mine(one: Decision) -> bool:
        return concerns(one.key, answer.key) or _slug(one.topic) == _slug(answer.key)

    return replace(
        answer,
        decisions=tuple(filter(mine, made.decisions)),
        warnings=tuple(filter(mine, made.warnings)),
        refusals=tuple(one for one in made.refusals if concerns(one.key, answer.key)),
        written=tuple(_written(made, answer.key)) if answer.is_key else (),
    )


def _stopped(answer: KeyAnswer, error: PlanError | None) -> KeyAnswer:
    about = error is not None and error.where is not None and concerns(error.where.key, answer.key)
    return replace(answer, stopped=error, about_key=about)


def _written(made: Plan, key: str) -> Iterator[Written]:
    rendered = render(made)
    lines = rendered.dockerfile.splitlines()
    for number, own in sorted(rendered.keys.items()):
        if concerns(own, key):
            yield Written(number, lines[number - 1])


def concerns(own: str | None, key: str) -> bool:
    """Whether what answers one key says something of another: the same, a part of it, or what it is a part of."""
    if own is None:
        return False
    short, long = sorted((own, key), key=len)
    return long == short or long.startswith((f"{short}.", f"{short}["))


def topics(made: Plan) -> frozenset[str]:
    """What a plan has decisions and warnings about, as one writes it behind `#`."""
    return frozenset(_slug(one.topic) for one in (*made.decisions, *made.warnings))


def _slug(topic: str) -> str:
    return topic.strip().lower().replace(" ", "-").replace("_", "-")


def _place(file: SpecFile, key: str, known: frozenset[str]) -> KeyPath | None:
    """The place of a key, None for a topic."""
    try:
        return key_path(file, key)
    except SpecError as error:
        if _slug(key) in known:
            return None
        meant = closest(key, (*spec_keys(), *known))
        hint = f"did you mean {file.path}#{meant}?" if meant else error.hint
        raise SpecError(f"{file.path.name} has no key and no topic {key!r}", hint=hint) from error


def _value(data: Any, place: KeyPath, file: SpecFile, key: str) -> str | None:
    for part in place:
        if isinstance(part, int):
            if not 0 <= part < len(data or ()):
                raise SpecError(
                    f"there is no {key}",
                    where=file.at(key),
                    why=f"the list ends at {len(data or ()) - 1}" if data else "the list is empty",
                )
            data = data[part]
        elif isinstance(data, dict) and part not in data:
            have = f"it has {', '.join(data)}" if data else "it is empty"
            raise SpecError(f"there is no {key}", where=file.at(key), why=have)
        else:
            data = data[part] if data is not None else None  # `app.user` where there is no `app`
    return written(data)


def written(data: Any) -> str | None:
    """A value as a spec writes it on one line; None for one that is left out."""
    if data is None:
        return None
    if isinstance(data, dict):
        return "{" + ", ".join(f"{name}: {written(value)}" for name, value in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(str(written(value)) for value in data) + "]"
    return str(data)
