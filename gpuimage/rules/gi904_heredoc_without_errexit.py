"""The lines of a heredoc go on after one that fails.

## Why
A RUN with a heredoc is a script: without `set -e` its result is that of the last line, so an install that fails goes
unnoticed and the image lacks what it should hold (hadolint/hadolint#882; Dockerfile reference, here-documents).

## Cost
No bytes: a broken image that builds.

## Instead
`set -e` as the first line, or `SHELL ["/bin/bash", "-euo", "pipefail", "-c"]`.

## Bad
```dockerfile
FROM python:3.12-slim
RUN <<EOF
pip install --no-cache-dir torch==2.8.0
pip install --no-cache-dir numpy==2.3.5
EOF
```

## Good
```dockerfile
FROM python:3.12-slim
RUN <<EOF
set -e
pip install --no-cache-dir torch==2.8.0
pip install --no-cache-dir numpy==2.3.5
EOF
```

## Not judged
One command, chains with `&&`, lines with `||`, lines that cannot fail in a way that matters (echo, export, cd …),
heredocs for another program, and heredocs that only write a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from gpuimage.dockerfile import LONGEST, Heredoc, Instruction, Span
from gpuimage.dockerfile.shell import Command, commands
from gpuimage.facts import FileFacts, Step
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.shared import built_steps

_ONLY = pattern(r"\d*<<-?\s*\S+")
_FED = pattern(
    r"(?:sudo\s+)?(?:/usr/bin/env\s+)?(?:/\S*/)?(?P<shell>bash|sh|dash|ash|zsh)(?P<flags>(?:\s+-\S+|\s+pipefail|\s+errexit)*)\s*<<-?\s*\S+"
)
_SHEBANG = pattern(r"#!\s*\S*?(?:/env\s+(?:-S\s+)?)?(?:\S*/)?(?:bash|sh|dash|ash|zsh)\b")
_HARMLESS = frozenset(
    "echo printf export set unset shopt alias true : umask trap readonly local declare typeset cd pushd popd source . "
    "sleep date pwd ls env exit return test [ [[ hash rm clear rmdir nvidia-smi which type hash cat uname".split()
)
_STRICT = pattern(r"(^|\s)(-[a-zA-Z]*e[a-zA-Z]*|errexit)(\s|$)")


def check(file: FileFacts) -> Iterator[Hit]:
    """Each RUN whose script is a heredoc."""
    if "<<" not in file.source.text:
        return
    for step in built_steps(file):
        one = step.instruction
        if one.keyword != "RUN" or len(one.heredocs) != 1 or one.onbuild or one.problem:
            continue
        heredoc = one.heredocs[0]
        body = file.source[heredoc.body]
        body = body.lstrip("\t") if heredoc.marker.chomp else body
        if _stops(step, body):
            continue
        found = _unnoticed(tuple(commands(body[:LONGEST])))
        if found is not None:
            yield Hit(
                _place(one),
                f"the heredoc goes on after a line that fails: an error of `{_shown(found)}` stays unnoticed, the last line "
                "alone decides",
                "set -e as its first line",
                fix=_fix(file, heredoc),
            )


def _place(one: Instruction) -> Span:
    """RUN and the heredoc's mark."""
    return Span(one.keyword_span.start, one.values[-1].span.end if one.values else one.keyword_span.end)


def _shown(command: Command) -> str:
    """The command's name and its first words, as far as they are plain: what follows may be a secret."""
    shown: list[str] = []
    for word in command.words[:3]:
        if not re.fullmatch(r"[A-Za-z0-9._/-]{1,40}", word.raw):
            break
        shown.append(word.raw)
    return " ".join(shown) or command.name


def _stops(step: Step, body: str) -> bool:
    """Whether a failing line ends the script, or no shell reads it."""
    text = step.instruction.arguments.strip()
    fed = _FED.fullmatch(text)
    if fed:
        return _STRICT.search(fed["flags"]) is not None or replace(step, shell=()).stops_on_errors(body)
    if not _ONLY.fullmatch(text):
        return True
    if body.startswith("#!"):
        return _SHEBANG.match(body) is None or step.stops_on_errors(body)
    if step.shell and not re.search(r"(^|/)(ba|da|a|z)?sh$", step.shell[0]):
        return True
    return step.stops_on_errors(body)


def _unnoticed(found: tuple[Command, ...]) -> Command | None:
    """The first command that may fail without any effect."""
    for at, command in enumerate(found):
        name = command.name
        if command.inside or name in _HARMLESS or not (name or command.words):
            continue
        for later in found[at + 1 :]:
            if later.inside[-1:] == ("$(",):
                continue
            if later.before == "||" or (later.before == "&" and not later.inside):
                break
            if later.before in ("\n", ";"):
                return command
    return None


def _fix(file: FileFacts, heredoc: Heredoc) -> Fix:
    """`set -e` in front of the first line, behind a shebang, as far in as the line it stands before."""
    body = file.source[heredoc.body]
    start, first = 0, body.partition("\n")[0]
    if first.lstrip("\t").startswith("#!"):
        start = len(first) + 1
        first = body[start:].partition("\n")[0]
    indent = first[: len(first) - len(first.lstrip())]
    at = heredoc.body.start + start
    return Fix("stop at the first line that fails", (Edit(Span(at, at), f"{indent}set -e\n"),))


RULE = Rule("GI904", "heredoc-without-errexit", "warning", check, fix="suggested")
