"""Where a Dockerfile says for which architectures to compile, and what may be said there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpuimage.arch import ArchError, ArchList, ComputeCapability
from gpuimage.dockerfile import Span
from gpuimage.dockerfile.shell import Argument
from gpuimage.facts import Call, FileFacts, StageFacts, Step
from gpuimage.finding import Edit
from gpuimage.patterns import pattern
from gpuimage.rules.compiling import ancestry
from gpuimage.rules.environment import settings_of
from gpuimage.rules.shared import built_steps
from gpuimage.rules.toolkits import Toolkit, toolkit
from gpuimage.tables import NvccSupport, Unknown, cuda_range_for, gpu, nvcc_capabilities

TORCH = "TORCH_CUDA_ARCH_LIST"
FLASH = "FLASH_ATTN_CUDA_ARCHS"
CMAKE = "CMAKE_CUDA_ARCHITECTURES"
ENVIRONMENT = frozenset({TORCH, FLASH, CMAKE, "CUDAARCHS"})

_DEFINITION = pattern(
    rf"(?P<head>(?:^|[\s;\"'=]|-D\s*){CMAKE}(?::[A-Z]+)?=)(?P<value>\"[^\"]*\"|'[^']*'|\S*)"
)
_GENCODE = pattern(r"(?P<kind>sm|compute)_(?P<number>[1-9][0-9]{1,2}[af]?)(?![\w])")
_CMAKE_ENTRY = pattern(r"(?P<number>[1-9][0-9]{1,2}[af]?)(?P<kind>-real|-virtual)?")
CMAKE_WORDS = frozenset({"all", "all-major", "native"})
_OFF = frozenset({"off", "false", "no", "n", "0", "ignore", "notfound"})
TEXT_TOOLS = frozenset({"echo", "printf", "sed", "grep", "awk", "cat", "perl", "patch", "tee", "git"})


class Given(NamedTuple):
    """A list that is given under a name: `value` None where only the build knows it.

    `kind`: env, arg (its default), export, assign (before a command), flag (`-DCMAKE_CUDA_ARCHITECTURES=`). `text` is
    the value as written, without its quotes, `span` its place; `quote` the quotes around it.
    """

    name: str
    value: str | None
    text: str
    span: Span
    quote: str
    kind: str
    step: Step
    call: Call | None

    @property
    def exact(self) -> bool:
        """Whether the value is written as it reads, so that it can be replaced."""
        return self.value is not None and self.text == self.value


def given(file: FileFacts, *names: str) -> Iterator[Given]:
    """Every list of these names in what is built, each once, in the order of the file."""
    text = file.source.text
    wanted = [name for name in names if name in text]
    if not wanted:
        return
    seen: set[Span] = set()
    written: set[str | None] = set()
    for step in built_steps(file):
        for one in lists_of(file, step):
            # What a variable brings is judged where the variable is set.
            again = "$" in one.text and one.value in written
            if one.name in wanted and one.span not in seen and not again:
                seen.add(one.span)
                written.add(one.value)
                yield one


def lists_of(file: FileFacts, step: Step) -> tuple[Given, ...]:
    """The lists that one step gives, in order."""
    return file.once("arch lists", step, lambda: tuple(_given(file, step)))


def _given(file: FileFacts, step: Step) -> Iterator[Given]:
    one = step.instruction
    if one.onbuild or one.problem or one.keyword not in ("ENV", "ARG", "RUN"):
        return
    if "ARCH" not in file.source[one.span]:
        return
    if one.keyword == "ENV":
        for setting in settings_of(step):
            name = setting.name.text
            if name in ENVIRONMENT:
                text, span, quote = unquoted(setting.given.text, setting.given.span)
                yield Given(name, setting.value, text, span, quote, "env", step, None)
            elif CMAKE in setting.given.text:
                yield from _defined(file, setting.given.text, setting.given.span, step, None)
    elif one.keyword == "ARG":
        yield from _arguments(file, step)
    else:
        for call in step.calls:
            yield from _of_call(file, call)


def _arguments(file: FileFacts, step: Step) -> Iterator[Given]:
    for value in step.instruction.values:
        name, equals, default = value.text.partition("=")
        if name not in ENVIRONMENT:
            continue
        if equals:
            start = value.span.start + len(name) + 1
            text, span, quote = unquoted(default, Span(start, value.span.end))
            yield Given(name, step.expand(default).value, text, span, quote, "arg", step, None)
        else:
            yield from _global(file, name, step)


def _global(file: FileFacts, name: str, step: Step) -> Iterator[Given]:
    """The default that an ARG without one takes from in front of the first FROM."""
    for one in file.dockerfile.before:
        if one.keyword == "ARG" and not one.problem:
            for value in one.values:
                first, equals, default = value.text.partition("=")
                if first == name and equals and "$" not in default:
                    text, span, quote = unquoted(
                        default, Span(value.span.start + len(name) + 1, value.span.end)
                    )
                    yield Given(name, step.expand(default).value, text, span, quote, "arg", step, None)


def _of_call(file: FileFacts, call: Call) -> Iterator[Given]:
    for name, argument in call.program.command.assignments:
        if name in ENVIRONMENT:
            yield _word(file, call, name, argument, "assign")
        elif CMAKE in argument.raw:
            yield from _defined(file, argument.raw, argument.span, call.step, call)
    if call.name in TEXT_TOOLS:
        return
    exported = call.name in ("export", "declare", "typeset", "readonly")
    for argument in call.arguments:
        name, equals, value = argument.raw.partition("=")
        if exported and equals and name in ENVIRONMENT:
            at = argument.span.start + len(name) + 1
            known = argument.value.partition("=")[2] if argument.value is not None else None
            yield _word(file, call, name, Argument(value, Span(at, argument.span.end), known), "export")
        elif CMAKE in argument.raw:
            yield from _flag(file, call, argument)


def _word(file: FileFacts, call: Call, name: str, argument: Argument, kind: str) -> Given:
    text, inner, quote = unquoted(argument.raw, argument.span)
    span = call.script.place(inner)
    if file.source[span] != text:
        return Given(name, argument.value, "", call.script.place(argument.span), "", kind, call.step, call)
    return Given(name, argument.value, text, span, quote, kind, call.step, call)


def _flag(file: FileFacts, call: Call, argument: Argument) -> Iterator[Given]:
    """`-DCMAKE_CUDA_ARCHITECTURES="86;89"`, quotes around the value or the whole."""
    at = argument.raw.index(CMAKE)
    equals = argument.raw.find("=", at)
    if equals < 0 or "$(" in argument.raw:
        return
    raw = argument.raw[equals + 1 :]
    start = argument.span.start + equals + 1
    whole = argument.raw[:1] if argument.raw[:1] in "\"'" else ""
    if whole or " " in (argument.value or "").strip():
        yield from _defined(file, argument.raw, argument.span, call.step, call)
        return
    known = argument.value.partition(CMAKE)[2].partition("=")[2] if argument.value is not None else None
    yield _word(file, call, CMAKE, Argument(raw, Span(start, argument.span.end), known), "flag")


def _defined(file: FileFacts, raw: str, span: Span, step: Step, call: Call | None) -> Iterator[Given]:
    """The definitions inside a longer text: `CMAKE_ARGS="-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=86"`."""
    outer = raw[:1] if raw[:1] in "\"'" and raw[-1:] == raw[:1] and len(raw) > 1 else ""
    inside = raw[1:-1] if outer else raw
    base = 1 if outer else 0
    for match in _DEFINITION.finditer(inside):
        text, local, quote = unquoted(
            match["value"], Span(base + match.start("value"), base + match.end("value"))
        )
        text = text.rstrip("\\")
        known = None if "$" in text or "`" in text else text
        place = Span(span.start + local.start, span.start + local.start + len(text))
        where = call.script.place(place) if call is not None else place
        exact = file.source[where] == text
        yield Given(
            CMAKE,
            known,
            text if exact else "",
            where if exact else _outer(span, call),
            quote or outer,
            "flag",
            step,
            call,
        )


def _outer(span: Span, call: Call | None) -> Span:
    return call.script.place(span) if call is not None else span


def unquoted(text: str, span: Span) -> tuple[str, Span, str]:
    """A value without the quotes around it, and its place."""
    if len(text) > 1 and text[0] in "\"'" and text[-1] == text[0]:
        return text[1:-1], Span(span.start + 1, span.end - 1), text[0]
    return text, span, ""


def rewrite(one: Given, new: str) -> Edit | None:
    """The edit that gives another value; quotes are added where a shell would cut it."""
    if not one.exact:
        return None
    shell = one.kind in ("export", "assign", "flag") and one.step.instruction.keyword == "RUN"
    bare = not one.quote and (shell or one.kind == "arg" or " " in new) and re.search(r"[;\s]", new)
    return Edit(one.span, f'"{new}"' if bare else new)


def toolkits(file: FileFacts, one: Given) -> Iterator[Toolkit]:
    """The toolkits that may read a list: of the step, or of every stage that stands on the one that sets it."""
    if one.kind in ("assign", "flag", "export") and one.step.instruction.keyword == "RUN":
        yield toolkit(file, one.step)
        return
    for stage in stages_with(file, one):
        yield toolkit(file, stage.end)


def stages_with(file: FileFacts, one: Given) -> Iterator[StageFacts]:
    """The stages that are built and hold the step that gives a list, or stand on it."""
    place = one.step.stage
    return (stage for stage in file.stages if stage.used and place in ancestry(file, stage))


# Entries.


def torch_list(value: str | None) -> ArchList | None:
    """A list for torch's extension builder; None where it cannot be read."""
    try:
        return ArchList.parse(value) if value else None
    except ArchError:
        return None


def capability(number: str) -> ComputeCapability | None:
    """`86` or `90a`; None for what is none."""
    try:
        return ComputeCapability.parse(f"sm_{number}")
    except ArchError:
        return None


def cmake_entries(value: str) -> list[str]:
    """The entries of a list of CMake; none for a false value."""
    return [] if value.strip().lower() in _OFF else [part for part in value.split(";") if part]


def cmake_entry(text: str) -> tuple[ComputeCapability, str] | None:
    """The capability of `86`, `86-real`, `86-virtual`, and its kind: "", real, virtual."""
    match = _CMAKE_ENTRY.fullmatch(text)
    found = capability(match["number"]) if match else None
    return (found, (match["kind"] or "").lstrip("-")) if match and found else None


def nvcc_names(text: str) -> Iterator[tuple[str, bool, ComputeCapability]]:
    """The `sm_90` and `compute_90` in a text, whether they are virtual, and what they stand for."""
    for match in _GENCODE.finditer(text):
        found = capability(match["number"])
        if found is not None:
            yield match[0], match["kind"] == "compute", found


def support(one: Toolkit) -> NvccSupport | None:
    """What the compiler of a toolkit takes; None where it is not known."""
    if not one.present or one.cuda is None:
        return None
    found = nvcc_capabilities(one.cuda)
    return None if isinstance(found, Unknown) else found


def when(one: ComputeCapability) -> str:
    """Which toolkits take a capability, in words; "" where no table tells."""
    found = cuda_range_for(one)
    if isinstance(found, Unknown):
        return ""
    if found.last is not None:
        return f"CUDA {found.last} was the last to take it"
    return f"CUDA {found.first} is the first to take it"


def fleet(archs: Iterable[str]) -> list[ComputeCapability]:
    """The capabilities of the fleet, given as such or as names of cards; what is neither is left out."""
    found: list[ComputeCapability] = []
    for text in archs:
        try:
            found.append(ComputeCapability.parse(text.strip()))
        except ArchError:
            card = gpu(text)
            number = capability(text.strip())
            if not isinstance(card, Unknown):
                found.append(card.capability)
            elif number is not None:
                found.append(number)
    return found
