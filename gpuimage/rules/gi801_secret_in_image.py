"""A secret stands in the file, in a build argument or in the image's environment.

## Why
ENV is part of the image's configuration and ARG of its history: whoever can pull the image reads both with
`docker inspect` and `docker history`, and a text in a RUN as well (BuildKit's check SecretsUsedInArgOrEnv; Docker's
documentation of build secrets). `hf auth login` and `wandb login` write what they are given into the home directory,
which becomes part of the layer. Deleting it in a later step hides it only.

## Cost
No bytes: whoever has the image has the account.

## Instead
`RUN --mount=type=secret,id=hf,env=HF_TOKEN …` for the build, a variable or a file given at the start for the service.
Revoke what has been in an image.

## Bad
```dockerfile
FROM python:3.12-slim
ARG WANDB_API_KEY
RUN python -m fetch
CMD ["python", "-m", "app"]
```
```dockerfile
FROM python:3.12-slim
ENV DB_PASSWORD=k3-vorn-82
CMD ["python", "-m", "app"]
```

## Good
```dockerfile
FROM python:3.12-slim
ENV MAX_TOKENS=4096 HF_TOKEN_FILE=/run/secrets/hf
RUN --mount=type=secret,id=hf,env=HF_TOKEN python -m fetch
CMD ["python", "-m", "app"]
```

## Not judged
Empty values and stand-ins (`changeme`, `<your token>`), variables whose names only sound like secrets (MAX_TOKENS,
PAD_TOKEN, …_FILE), passwords in URLs that come from variables, and files that are copied.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from gpuimage.dockerfile import Instruction, Span
from gpuimage.facts import Call, FileFacts, StageFacts, Step, covers
from gpuimage.facts.options import options
from gpuimage.finding import Fix, Hit, Rule, Severity
from gpuimage.patterns import pattern
from gpuimage.rules.environment import Setting, removal, settings_of
from gpuimage.rules.secrets import Found, is_stand_in, names_secret, passwords, tokens

_WORTH = pattern(
    r"(?i)token|passw|secret|_key|apikey|api-key|_pat\b|credential|passphrase|login|connection_string"
)
_COMMENT = pattern(r"[ \t]*#")
_REVOKE = "revoke it, and hand the next one over with RUN --mount=type=secret, or when the container starts"
_OPTIONS = frozenset({"--token", "--api-key", "--auth-token", "--access-token"})


def check(file: FileFacts) -> Iterator[Hit]:
    """Shapes in the whole text, then names of variables, then commands that keep what they are given."""
    text = file.source.text
    found: list[Found] = []
    for one in sorted((*tokens(text), *passwords(text)), key=lambda one: (one.start, one.end)):
        if not found or one.start >= found[-1].end:
            found.append(one)
    yield from _shapes(file, found)
    starts = [one.start for one in found]
    for hit in _values(file):
        at = bisect_left(starts, hit.span.end) - 1
        if at < 0 or found[at].end <= hit.span.start:
            yield hit


def _shapes(file: FileFacts, found: Sequence[Found]) -> Iterator[Hit]:
    """Tokens and passwords in URLs, wherever they stand but in comments."""
    if not found:
        return
    steps = {id(step.instruction): step for stage in file.stages for step in stage.steps}
    instructions = file.dockerfile.instructions
    starts = [one.span.start for one in instructions]
    for one in found:
        line = file.source.starts[file.source.position(one.start)[0] - 1]
        at = bisect_right(starts, one.start) - 1
        if at < 0 or one.start >= instructions[at].span.end or _COMMENT.match(file.source.text, line):
            continue
        step = steps.get(id(instructions[at]))
        yield Hit(
            Span(one.start, one.end),
            f"{one.what} stands in this {instructions[at].keyword}: whoever has the file, or the history of the image, can read it",
            _REVOKE,
            fix=_without(file, step, one.start) if step else None,
            secret=True,
        )


def _without(file: FileFacts, step: Step, offset: int) -> Fix | None:
    """Take out the variable of an ENV whose value holds a place."""
    for setting in settings_of(step):
        if setting.given.span.start <= offset < setting.given.span.end:
            return _taken_out(file, setting)
    return None


def _values(file: FileFacts) -> Iterator[Hit]:
    if not _WORTH.search(file.source.text):
        return
    for one in file.dockerfile.before:
        if one.keyword == "ARG":
            yield from _arguments(one, ships=False)
    for stage in file.used:
        for step in stage.steps:
            if not step.instruction.onbuild and not step.instruction.problem:
                yield from _of_step(file, stage, step)


def _of_step(file: FileFacts, stage: StageFacts, step: Step) -> Iterator[Hit]:
    one = step.instruction
    if one.keyword == "ARG":
        yield from _arguments(one, ships=stage.ships)
    elif one.keyword == "ENV":
        for setting in settings_of(step):
            yield from _environment(file, stage, setting)
    elif one.keyword == "RUN" and _WORTH.search(file.source[one.span]):
        yield from _commands(file, stage, step)


def _arguments(one: Instruction, *, ships: bool) -> Iterator[Hit]:
    for value in one.values:
        name, _, default = value.text.partition("=")
        if not names_secret(name):
            continue
        span = Span(value.span.start, value.span.start + len(name))
        if default and "$" not in default and not is_stand_in(default):
            yield Hit(
                Span(min(span.end + 1, value.span.end), value.span.end),
                f"the default of {name} is a secret in the file, and stays in the image's history",
                _REVOKE,
                severity=_weight(default),
                secret=True,
            )
        else:
            where = "the image's history" if ships else "the build's cache and provenance"
            yield Hit(
                span,
                f"what is given for the build argument {name} is a secret that stays readable in {where}",
                f"RUN --mount=type=secret,id={name.lower()},env={name} for the step that needs it",
                severity="warning" if ships else "note",
            )


def _weight(value: str) -> Severity:
    """A short word is somebody's default password rather than the key of an account."""
    return "error" if len(value.strip("'\"")) >= 12 else "warning"


def _environment(file: FileFacts, stage: StageFacts, setting: Setting) -> Iterator[Hit]:
    name, text = setting.name.text, setting.text
    if not names_secret(name):
        return
    if "$" not in text:
        if not is_stand_in(text):
            yield Hit(
                setting.given.span,
                f"the value of {name} is a secret in the file, and part of the image's configuration",
                _REVOKE,
                fix=_taken_out(file, setting),
                severity=_weight(text),
                secret=True,
            )
        return
    used = re.search(r"\$\{?(\w+)", text)
    if used and used[1] in setting.step.variables and used[1] not in setting.step.env:
        yield Hit(
            setting.given.span,
            f"{name} takes a secret from the build into the image's configuration, where docker inspect shows it",
            "give it when the container starts; for the build use RUN --mount=type=secret",
            fix=_taken_out(file, setting),
            severity="warning" if stage.ships else "note",
        )


def _taken_out(file: FileFacts, setting: Setting) -> Fix | None:
    edit = removal(file, setting)
    return Fix(f"take {setting.name.text} out of the image", (edit,)) if edit else None


def _commands(file: FileFacts, stage: StageFacts, step: Step) -> Iterator[Hit]:
    for call in step.calls:
        spoken = list(_spoken(call))
        yield from spoken
        if not spoken and stage.ships and (what := _keeps(call)) and not _gone(file, call):
            yield Hit(
                call.span,
                f"{what} writes the secret into the home directory, and with it into this layer",
                "give it to the one command that needs it, from RUN --mount=type=secret,…,env=…",
                secret="$" not in call.text,
            )


def _spoken(call: Call) -> Iterator[Hit]:
    """Secrets in so many words: `export API_KEY=…`, `--token …`."""
    given = [(name, value, call.script.place(value.span)) for name, value in call.program.command.assignments]
    if call.name in ("export", "declare"):
        for word in call.arguments:
            name, equals, _ = word.raw.partition("=")
            if equals:
                given.append((name, word, Span(call.place(word).start + len(name) + 1, call.place(word).end)))
    for name, argument, span in given:
        text = argument.raw.partition("=")[2] if argument.raw.startswith(f"{name}=") else argument.raw
        if names_secret(name) and _literal(text):
            yield Hit(
                span,
                f"{name} is given a secret in so many words: it stays in the image's history",
                _REVOKE,
                secret=True,
            )
    for name, values in options(call.arguments, _OPTIONS).given.items():
        for value in values if name in _OPTIONS else ():
            if value is not None and _literal(value.raw):
                yield Hit(
                    call.place(value),
                    f"{call.name} is given a secret by {name} in so many words: it stays in the image's history",
                    _REVOKE,
                    secret=True,
                )


def _literal(text: str) -> bool:
    return bool(text) and "$" not in text and "`" not in text and not is_stand_in(text) and len(text) > 5


def _keeps(call: Call) -> str:
    """The command that stores a secret, "" for none."""
    words = [value for value in call.values if not value.startswith("-")]
    if call.name in ("hf", "huggingface-cli") and "login" in words[:2] and ("--token" in call.text):
        return f"{call.name} {' '.join(words[: words.index('login') + 1])}"
    if call.name == "wandb" and words[:1] == ["login"] and len(words) > 1:
        return "wandb login"
    if (
        call.name.startswith("python")
        and "huggingface_hub" in call.text
        and re.search(r"\blogin\(\s*\S", call.text)
    ):
        return "" if re.search(r"\blogin\(\s*\)", call.text) else "huggingface_hub.login"
    return ""


def _gone(file: FileFacts, call: Call) -> bool:
    """Whether the place lies in a mount, or is deleted in the same RUN."""
    home = call.step.home
    stored = f"{home}/.netrc" if call.name == "wandb" else f"{home}/.cache/huggingface/token"
    moved = call.variable("HF_HOME")
    if call.name != "wandb" and isinstance(moved, str) and moved:
        stored = f"{moved}/token"
    if any(mount.covers(stored) for mount in call.step.mounts):
        return True
    if any(one.name in ("hf", "huggingface-cli") and "logout" in one.values for one in call.step.calls):
        return True
    return any(
        one.kind == "removed" and one.path is not None and covers(one.path, stored)
        for one in file.changes(call.step)
    )


RULE = Rule("GI801", "secret-in-image", "error", check, fix="suggested", twins=("DL3064",))
