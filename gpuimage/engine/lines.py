"""Which line of a Dockerfile a build engine is talking about.

Engines name steps, not lines: BuildKit "[builder 2/5] RUN …", podman and buildah "[1/3] STEP 2/4: RUN …".
This finds the instruction by its place in the stage and checks the keyword; where that fails, by its text.
Where neither decides, the answer is None.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_DIRECTIVE = re.compile(r"#\s*escape\s*=\s*(\S)\s*$", re.IGNORECASE)
_STAGE_NAME = re.compile(r"\sAS\s+(\S+)\s*$", re.IGNORECASE)
_HEREDOC = re.compile(r"<<(-?)([\"']?)([A-Za-z_][A-Za-z0-9_.]*)\2")
_FLAGS = re.compile(r"^(RUN )(?:--(?:mount|network|security)=\S+ )+")
_HEREDOC_KEYWORDS = frozenset({"RUN", "COPY", "ADD"})
# The instructions that become steps of BuildKit's graph; FROM does too when it names a remote image.
_GRAPH_KEYWORDS = frozenset({"RUN", "COPY", "ADD", "WORKDIR"})


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction: `stage` counts from 0 (-1: before the first FROM), `line` from 1."""

    keyword: str
    text: str
    line: int
    stage: int
    stage_name: str | None


def step_text(step: str) -> str:
    """A step on one line, without the mounts: they hide what it does."""
    return _FLAGS.sub(r"\1", " ".join(step.split()))


def scan(dockerfile: str) -> tuple[Step, ...]:
    """List the instructions of a Dockerfile, continuation lines joined."""
    lines = dockerfile.splitlines()
    escape = _escape(lines)
    steps: list[Step] = []
    stage, stage_name, at = -1, None, 0
    while at < len(lines):
        start = at
        text, at = _instruction(lines, at, escape)
        if not text:
            continue
        keyword = text.split(None, 1)[0].upper()
        if keyword == "FROM":
            stage += 1
            named = _STAGE_NAME.search(text)
            stage_name = named[1].lower() if named else None
        if keyword in _HEREDOC_KEYWORDS:
            at = _after_heredocs(lines, at, text)
        steps.append(Step(keyword, text, start + 1, stage, stage_name))
    return tuple(steps)


def _escape(lines: list[str]) -> str:
    for line in lines:
        if not line.startswith("#"):
            break
        if directive := _DIRECTIVE.match(line):
            return directive[1]
    return "\\"


def _instruction(lines: list[str], at: int, escape: str) -> tuple[str, int]:
    """Join one instruction; returns its text ("" for a comment or blank line) and the line after it."""
    parts: list[str] = []
    while at < len(lines):
        line = lines[at]
        at += 1
        bare = line.strip()
        if bare.startswith("#") or (not bare and parts):
            if parts:
                continue  # comments and blank lines inside a continuation are dropped
            return "", at
        if bare.endswith(escape):
            parts.append(line.rstrip()[: -len(escape)])
            continue
        parts.append(line)
        break
    return "".join(parts).strip(), at


def _after_heredocs(lines: list[str], at: int, text: str) -> int:
    for dash, _quote, word in _HEREDOC.findall(text):
        while at < len(lines):
            line = lines[at].lstrip("\t") if dash else lines[at]
            at += 1
            if line == word:
                break
    return at


class LineMap:
    """Finds the instruction that an engine's step name means."""

    def __init__(self, dockerfile: str) -> None:
        self.steps = scan(dockerfile)
        self.stages = 1 + max((step.stage for step in self.steps), default=-1)

    def buildkit(self, stage: str | None, number: int, total: int, text: str) -> Step | None:
        """Find "[stage number/total] text"; `stage` is None where the Dockerfile has one stage only."""
        index = self._stage_index(stage)
        if index is None:
            return self._by_text(text, None)
        steps = [s for s in self.steps if s.stage == index and s.keyword in _GRAPH_KEYWORDS]
        # The base counts as step 1 when it is an image, and not when it is scratch or another stage.
        place = number - 1 - (total - len(steps))
        if text.upper().startswith("FROM "):
            return next((s for s in self.steps if s.stage == index and s.keyword == "FROM"), None)
        if total - len(steps) in (0, 1) and 0 <= place < len(steps) and _same_keyword(steps[place], text):
            return steps[place]
        return self._by_text(text, index)

    def numbered(self, stage: int, number: int, text: str) -> Step | None:
        """Find "[stage/…] STEP number/…: text" (both count from 1; FROM is step 1)."""
        steps = [s for s in self.steps if s.stage == stage - 1]
        if 0 < number <= len(steps) and _same_keyword(steps[number - 1], text):
            return steps[number - 1]
        return self._by_text(text, None)

    def _stage_index(self, stage: str | None) -> int | None:
        if stage is None:
            return 0 if self.stages == 1 else None
        for step in self.steps:
            if step.stage_name == stage.lower():
                return step.stage
        numbered = re.fullmatch(r"stage-(\d+)", stage)
        return int(numbered[1]) if numbered and int(numbered[1]) < self.stages else None

    def _by_text(self, text: str, stage: int | None) -> Step | None:
        wanted = " ".join(text.split()).lower()
        found = [
            step
            for step in self.steps
            if (stage is None or step.stage == stage) and " ".join(step.text.split()).lower() == wanted
        ]
        return found[0] if len(found) == 1 else None


def _same_keyword(step: Step, text: str) -> bool:
    return text.split(None, 1)[:1] == [step.keyword] or text.upper().startswith(step.keyword + " ")
