"""The account of a first spec: what was taken from where, what stays out and why, what is missing, whether it plans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from gpuimage import __version__
from gpuimage.errors import GpuImageError
from gpuimage.init import Draft, Taken, Won
from gpuimage.init.document import grouped
from gpuimage.reporters.visible import visible
from gpuimage.reporters.wrapped import wrapped
from gpuimage.tables import edition
from gpuimage.units import size, span


def init_text(made: Draft, *, written: bool) -> str:
    """The account for people; ends in a line break. `written` says whether the spec stands in its file now."""
    lines = [
        f"{visible(str(made.path)) if written else 'a spec'}, from {visible(', '.join(made.sources))}",
        "",
    ]
    lines += _block("taken", _taken(made.taken))
    lines += _block("left out", grouped(made.left))
    lines += _block("missing", ((one.what, one.change) for one in made.missing))
    if made.won is not None:
        lines += ["size to be won", *_won(made.won), ""]
    lines += _planned(made)
    return "\n".join(lines) + "\n"


def init_json(made: Draft, *, written: bool) -> str:
    """The same as one JSON document, ending in a line break; `path` is null where nothing was written."""
    document = {
        "gpuimage": __version__,
        "edition": edition(),
        "path": str(made.path) if written else None,
        "sources": made.sources,
        "taken": [{**msgspec.structs.asdict(one), "key": _key(one.key)} for one in made.taken],
        "left": [msgspec.structs.asdict(one) for one in made.left],
        "missing": [msgspec.structs.asdict(one) for one in made.missing],
        "plans": made.plan is not None,
        "problem": _problem(made.problem),
        "won": msgspec.to_builtins(made.won),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _key(key: tuple[str, ...]) -> str:
    return ".".join(key)


def _taken(taken: Sequence[Taken]) -> Iterator[tuple[str, str]]:
    """Each key with its values and their places; what is from the same place stands together."""
    keys: dict[str, dict[str, list[str]]] = {}
    for one in taken:
        says = ": ".join(part for part in (one.where, one.because) if part)
        keys.setdefault(_key(one.key), {}).setdefault(says, []).append(one.value)
    for key, places in keys.items():
        yield (
            key,
            "; ".join(", ".join(values) + (f" ({says})" if says else "") for says, values in places.items()),
        )


def _block(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    lines = [line for head, text in rows for line in wrapped(f"  {visible(head)}: ", visible(text), 4)]
    return [title, *lines, ""] if lines else []


def _won(won: Won) -> Iterator[str]:
    """The old image, the new one, and the difference, each with what it rests on."""
    old = won.old_bytes
    yield from wrapped(
        "  old image: ", span(*old) if old else "not known: the tables have no size of its base", 4
    )
    for part in won.old or ():
        yield from wrapped("    ", f"{span(part.low, part.high)}: {part.basis}", 6)
    if old is not None and (most := old[1] - sum(part.high for part in won.old or ())) > 0:
        yield f"    up to {size(most)}: what the linter finds besides them"
    if won.waste.high:
        yield from wrapped(
            "  ", f"`gpuimage lint` finds {span(won.waste.low, won.waste.high)} in it that can go", 4
        )
    after = f"; not known yet: {', '.join(won.open)}" if won.open else ""
    yield from wrapped("  new image: ", (span(*won.new) if won.new else "not known") + after, 4)
    if won.least is None or won.most is None:
        yield "  difference: not known"
    elif won.most <= 0 or won.least < 0:
        yield "  difference: none that these numbers could tell"
    else:
        yield f"  difference: {span(won.least, won.most)}"


def _planned(made: Draft) -> Iterator[str]:
    if made.plan is not None:
        yield from wrapped("", f"it plans: base {made.plan.base}, CUDA {made.plan.cuda or 'none'}", 2)
        for warning in made.plan.warnings:
            if warning.topic != "lock":
                yield from wrapped("  look at: ", f"{warning.topic} {warning.choice}: {warning.because}", 4)
        return
    error = made.problem
    yield from wrapped("it does not plan yet: ", visible(error.what if error else ""), 2)
    for word, text in (("why", error.why if error else None), ("try", error.hint if error else None)):
        if text:
            yield from wrapped(f"  {word}: ", visible(text), 4)


def _problem(error: GpuImageError | None) -> dict[str, object] | None:
    if error is None:
        return None
    where = error.where
    return {
        "what": error.what,
        "line": where.line if where else None,
        "key": where.key if where else None,
        "why": error.why,
        "try": error.hint,
    }
