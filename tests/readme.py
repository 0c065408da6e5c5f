"""What the README shows, to be held against what the commands say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).parent.parent / "README.md"


class Shown(NamedTuple):
    """A command as the README shows it, and the lines under it."""

    command: str
    lines: list[str]

    @property
    def arguments(self) -> list[str]:
        """The command's words behind `gpuimage`."""
        return shlex.split(self.command)[1:]


def section(title: str) -> str:
    """The text below a heading, up to the next one of the same or a higher level."""
    text = README.read_text(encoding="utf-8")
    level = title.split(" ", 1)[0]
    body = text[text.index(f"{title}\n") + len(title) :]
    # A Dockerfile or a Markdown text that is shown has lines that look like headings.
    outside = re.sub(r"^```.*?^```", lambda block: "-" * len(block[0]), body, flags=re.MULTILINE | re.DOTALL)
    end = re.search(rf"^#{{2,{len(level)}}} ", outside, re.MULTILINE)
    return body[: end.start()] if end else body


def blocks(title: str, kind: str = "console") -> list[str]:
    """The code blocks of a kind in a section."""
    return [
        body for found, body in re.findall(r"```(\w+)\n(.*?)```", section(title), re.DOTALL) if found == kind
    ]


def shown(title: str) -> list[Shown]:
    """The commands of a section's console blocks, with what is shown of their output."""
    found = []
    for block in blocks(title):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            found.append(Shown(command, lines))
    return found


def compare(shown: Shown, said: str, *, measured: bool = False) -> None:
    """Hold the lines against an output, in order: `…` stands for lines that are left out.

    With `measured`, numbers and digests may differ: they are of the machine and the day.
    """

    def plain(line: str) -> str:
        line = line.rstrip()
        if not measured:
            return line
        line = re.sub(r"sha256:[0-9a-f]+", "sha256:#", line)
        return re.sub(r" +", " ", re.sub(r"\d+(\.\d+)*", "#", line)).strip()

    left = [plain(line) for line in said.splitlines()]
    gap = False
    for line in map(plain, shown.lines):
        if line == "…":
            gap = True
            continue
        assert line in left, f"`{shown.command}` does not say: {line}"
        at = left.index(line)
        assert gap or at == 0, f"`{shown.command}` says more before: {line}"
        left, gap = left[at + 1 :], False
    assert gap or not left, f"`{shown.command}` says more at its end: {left[0]}"
