"""The command: ENTRYPOINT and CMD of an old Dockerfile, a script of the project, or the one file that can be meant."""

from __future__ import annotations

import posixpath
import re
import shlex

from gpuimage.dockerfile import Instruction
from gpuimage.init.dockerfiles import Old
from gpuimage.init.notes import WITHHELD, Notes, plain
from gpuimage.init.packages import Line
from gpuimage.init.projects import Project
from gpuimage.rules.secrets import is_stand_in, names_secret

_MAIN_FILES = ("main.py", "app.py", "server.py", "serve.py", "service.py", "inference.py", "predict.py", "handler.py", "webui.py", "run.py")  # fmt: skip
_ENTRY = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)", re.ASCII)


def take_command(notes: Notes, old: Old, project: Project | None) -> None:
    """ENTRYPOINT and CMD as one command."""
    entry, command = _inherited(old)
    if entry is None and command is None:
        return
    words = [*_words(entry)] if entry is not None else []
    if command is not None and (entry is None or entry.json):
        words += _words(command)
    where = old.at((entry or command).line)  # type: ignore[union-attr]
    kept = _without_runner(words)
    because = f"without `{plain(shlex.join(words[: len(words) - len(kept)]))}`" if kept != words else ""
    script = project.scripts.get(kept[0]) if project is not None and kept else None
    if script is not None and (called := _called(script)):
        kept, because = (
            [*called, *kept[1:]],
            f"the script {kept[0]}, whose package is copied and not installed",
        )
    if any(_is_secret(first, second) for first, second in zip(kept, [*kept[1:], ""], strict=True)):
        notes.leave("the command", where, WITHHELD)
    elif kept:
        notes.put(("app", "command"), kept, where, because)


def _inherited(old: Old) -> tuple[Instruction | None, Instruction | None]:
    """The ENTRYPOINT and CMD that count: an ENTRYPOINT forgets the CMD of the stages below it."""
    chain, stage = [old.stage], old.stage
    while stage.parent is not None:
        stage = old.file.stages[stage.parent]
        chain.insert(0, stage)
    entry = command = None
    for one in chain:
        own = {
            step.instruction.keyword: step.instruction
            for step in one.steps
            if not step.instruction.onbuild and not step.instruction.problem
        }
        if "ENTRYPOINT" in own:
            entry, command = own["ENTRYPOINT"], None
        command = own.get("CMD", command)
    return entry if entry and entry.texts else None, command if command and command.texts else None


def _words(one: Instruction) -> list[str]:
    """The words of an array, or of a shell's line where they are plain; else the shell itself."""
    if one.json:
        return list(one.texts)
    text = one.arguments.strip()
    if not text:
        return []
    if re.search(r"[$`&|;<>()*?~#\n\\]|^\w+=", text):
        return ["/bin/sh", "-c", text]
    try:
        return shlex.split(text.removeprefix("exec "))
    except ValueError:
        return ["/bin/sh", "-c", text]


def _without_runner(words: list[str]) -> list[str]:
    """A command without what starts it in an environment that the new image does not have."""
    match words:
        case ["uv" | "poetry" | "pdm" | "pipenv", "run", *rest]:
            return _script(_skip_options(rest))
        case ["conda" | "mamba" | "micromamba", "run", *rest]:
            return _script(_skip_options(rest))
        case [first, *rest] if re.fullmatch(r"/\S*(venv|envs?|conda)\S*/bin/\S+", first):
            return [posixpath.basename(first), *rest]
    return words


_WITH_VALUE = frozenset(
    {"-n", "--name", "-p", "--prefix", "--project", "--directory", "--python", "--with", "--env-file"}
)


def _skip_options(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in _WITH_VALUE else words[1:]
    return words


def _script(words: list[str]) -> list[str]:
    """`uv run app.py` starts Python by itself."""
    return ["python3", *words] if words and words[0].endswith(".py") else words


def _is_secret(word: str, value: str) -> bool:
    name, equals, own = word.lstrip("-").partition("=")
    given = own if equals else value
    return (
        word.startswith("-")
        and names_secret(name.replace("-", "_"))
        and bool(given)
        and "$" not in given
        and not is_stand_in(given)
    )


# ------------------------------------------------------------------------------------- without a Dockerfile


def find_command(notes: Notes, project: Project | None) -> None:
    """A script of the project that is the only one or has its name, else the only main file; else the user is asked."""
    scripts = project.scripts if project is not None else {}
    name = project.name.text if project is not None and project.name is not None else ""
    chosen = name if name in scripts else next(iter(scripts)) if len(scripts) == 1 else None
    if chosen is not None and _take_script(notes, chosen, scripts[chosen]):
        return
    files = [
        file
        for file in _MAIN_FILES
        if (notes.project / file).is_file() and notes.relative(notes.project / file)
    ]
    if len(files) == 1:
        notes.put(("app", "command"), ["python3", str(notes.relative(notes.project / files[0]))], files[0])
        return
    options = ", ".join([*scripts, *files])
    notes.miss(
        f"the command that starts the service{f': {options} could be meant' if options else ''}",
        "app: {command: [python3, -m, NAME]}",
    )


def _take_script(notes: Notes, name: str, script: Line) -> bool:
    because = f"the script {name}, whose package is copied and not installed"
    called = _called(script)
    return bool(called) and notes.put(("app", "command"), called, script.where, because)


def _called(script: Line) -> list[str]:
    """A console script without its installed wrapper, which does the same; nothing for a target that is none."""
    entry = _ENTRY.fullmatch(script.text.partition("[")[0].strip())
    if entry is None:
        return []
    return [
        "python3",
        "-c",
        f"import sys; from {entry['module']} import {entry['name']}; sys.exit({entry['name']}())",
    ]
