"""What rules about the image's environment ask: where a variable is set for the last time, and the parts of its value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from gpuimage.dockerfile import Instruction, Span, Value
from gpuimage.facts import FileFacts, StageFacts, Step
from gpuimage.finding import Edit
from gpuimage.patterns import pattern

DRIVER_CAPABILITIES = ("compute", "compat32", "graphics", "utility", "video", "display", "ngx", "all")
_MANY = 200  # variables of one ENV; more is no file that a person wrote
_COMMENT = pattern(r"^[ \t]*#", re.MULTILINE)


class Part(Struct, frozen=True):
    """A piece of a value between separators: as written, where, and what it is; None where only the build knows."""

    raw: str
    start: int
    end: int
    span: Span
    value: str | None


class Setting(Struct, frozen=True):
    """One variable of an ENV."""

    step: Step
    name: Value
    given: Value

    @property
    def text(self) -> str:
        """The value as written."""
        return self.given.text

    @property
    def value(self) -> str | None:
        """The value; None where only the build knows."""
        return self.step.expand(self.given.text).value

    def uses(self, name: str) -> bool:
        """Whether the value is made of another's, or of its own old one."""
        return name in self.text and re.search(rf"\$\{{?{re.escape(name)}\b", self.text) is not None

    def parts(self, separator: str) -> Iterator[Part]:
        """The pieces between separators that stand outside `${…}`, quotes taken off."""
        text = self.text
        offset = offset_in(self.step.instruction, self.given.span)
        start = depth = 0
        for at, char in enumerate((*text, separator)):
            if at < len(text) and text.startswith("${", at):
                depth += 1
            elif depth and char == "}":
                depth -= 1
            elif char == separator and (not depth or at == len(text)):
                yield self._part(text, start, at, offset)
                start = at + 1

    def _part(self, text: str, start: int, end: int, offset: int) -> Part:
        while start < end and text[start] in "\"' \t":
            start += 1
        while end > start and text[end - 1] in "\"' \t":
            end -= 1
        raw = text[start:end]
        place = self.step.instruction.place(offset + start, offset + end)
        return Part(raw, start, end, place, self.step.expand(raw).value)


def offset_in(instruction: Instruction, span: Span) -> int:
    """Where a place of the source lies in the joined text of the arguments."""
    here, there = next((mark for mark in reversed(instruction.marks) if mark[1] <= span.start), (0, 0))
    return here + span.start - there


def settings_of(step: Step) -> Iterator[Setting]:
    """The variables that a step sets for the image."""
    one = step.instruction
    if one.keyword == "ENV" and not one.onbuild and not one.problem:
        for name, value in zip(one.values[::2], one.values[1::2], strict=True):
            yield Setting(step, name, value)


def settings(stage: StageFacts, name: str) -> Iterator[Setting]:
    """Every ENV of a stage and its parents that sets a variable, in order."""
    for step in stage.chain:
        if step.instruction.keyword == "ENV" and name in step.instruction.arguments:
            yield from (one for one in settings_of(step) if one.name.text == name)


def last_settings(file: FileFacts, name: str) -> Iterator[tuple[StageFacts, Setting]]:
    """The ENV that decides a variable in each image, each once."""
    seen: set[int] = set()
    for stage in file.targets:
        found = None
        for found in settings(stage, name):  # noqa: B007
            pass
        if found is not None and found.name.span.start not in seen:
            seen.add(found.name.span.start)
            yield stage, found


def removal(file: FileFacts, setting: Setting) -> Edit | None:
    """The edit that takes a variable out of its ENV, the whole instruction where it is the only one."""
    one = setting.step.instruction
    names = one.values[::2]
    if len(names) > _MANY:
        return None
    if len(names) == 1:
        return Edit(one.span, "") if not one.heredocs else None
    at = next(i for i, name in enumerate(names) if name.span == setting.name.span)
    if at + 1 < len(names):
        span = Span(setting.name.span.start, names[at + 1].span.start)
    else:
        span = Span(one.values[2 * at - 1].span.end, setting.given.span.end)
    return None if _COMMENT.search(file.source[span]) else Edit(span, "")


def comment_above(file: FileFacts, step: Step) -> str:
    """The comment lines directly above an instruction."""
    lines: list[str] = []
    number = step.instruction.line - 2
    while number >= 0 and (text := file.source.line(number).strip()).startswith("#"):
        lines.append(text)
        number -= 1
    return "\n".join(lines)
