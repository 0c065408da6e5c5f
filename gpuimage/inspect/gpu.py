"""The GPU code of one file: of an ELF file's sections, of the members of a static library, of a bare fatbin or cubin."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from gpuimage.errors import Location
from gpuimage.inspect import fatbin
from gpuimage.inspect.elf import MAGIC as ELF_MAGIC
from gpuimage.inspect.elf import Elf, Section, mark_tables, read_elf
from gpuimage.inspect.source import Part, Source, on_disk
from gpuimage.inspect.types import GPU_SECTIONS, Code, Container, GpuFile, InspectError, Library
from gpuimage.tables import gpu_library

AR_MAGIC = b"!<arch>\n"
_AR_HEADER = 60
_CUDA_MACHINE = "EM_CUDA"
_MOST_PROBLEMS = 20
_MOST_MEMBERS = 50_000

Problem = Callable[[str], None]


class Seen(NamedTuple):
    """What a file is: a library, something with GPU code, both or neither."""

    library: Library | None
    gpu: GpuFile | None


def look(source: Source, path: str, problem: Problem, *, every_section: bool = False) -> Seen:
    """Look at one file of any kind; what cannot be read is told to `problem`, and the rest still counts."""
    start = source.read(0, len(ELF_MAGIC) + 4)
    problem = _bounded(problem, path)
    if start.startswith(ELF_MAGIC):
        return _elf(source, path, problem, every_section=every_section)
    if start == AR_MAGIC:
        found = tuple(_archive(source, path, problem, every_section=every_section))
        return Seen(None, GpuFile(path, "archive", source.size, found) if found else None)
    if start == fatbin.MAGIC:
        found = tuple(_walk(source, Section("", 0, source.size), problem, packed=True))
        return Seen(None, GpuFile(path, "fatbin", source.size, found))
    return Seen(None, None)


def read_gpu_code(path: Path, *, every_section: bool = False) -> GpuFile | None:
    """Return the GPU code of a file on disk, None where it has none; InspectError for one that is damaged.

    Without `every_section`: the two sections of fatbin containers, and those the tables name for this library.
    """
    problems: list[str] = []
    try:
        with on_disk(path) as source:
            found = look(source, str(path), problems.append, every_section=every_section).gpu
    except OSError as error:
        raise InspectError("cannot read this file", where=Location(path), why=error.strerror) from error
    if problems:
        raise InspectError("this file is damaged", where=Location(path), why="; ".join(problems))
    return found


def interesting(start: bytes) -> bool:
    """Whether a file that starts so is worth `look`."""
    return start.startswith(ELF_MAGIC) or start in (AR_MAGIC, fatbin.MAGIC)


def _bounded(problem: Problem, path: str) -> Problem:
    told = 0

    def tell(text: str) -> None:
        nonlocal told
        told += 1
        if told <= _MOST_PROBLEMS:
            problem(text if path in text else f"{path}: {text}")

    return tell


def _elf(source: Source, path: str, problem: Problem, *, every_section: bool, member: bool = False) -> Seen:
    """A file that passes by is searched before its sections are known: they stand at its end."""
    whole = Section("", 0, source.size)
    passing: tuple[Container, ...] | None = None
    if source.passes:
        mark_tables(source)
        passing = tuple(_walk(source, whole, problem, packed=False))
    try:
        elf = read_elf(source, path, dynamic=not member)
    except ValueError as error:
        problem(str(error))
        elf = Elf(None, (), "", 0, 0)
    if elf.partial:
        problem("its tables lie too far apart: what it needs is not known, and all GPU code in it is counted")
    if elf.machine == _CUDA_MACHINE:
        capability = fatbin.cubin_capability(elf.abi, elf.flags)
        loose = Container(
            "", 0, source.size, (Code("cubin", capability, source.size, None, "none", debug=False),)
        )
        return Seen(None, GpuFile(path, "cubin", source.size, (loose,)))
    row = gpu_library(path)
    wanted = {*GPU_SECTIONS, *(row.sections if row else ())}
    if not elf.sections:
        found = tuple(_walk(source, whole, problem, packed=False)) if passing is None else passing
    elif passing is None:
        found = tuple(_by_section(source, elf.sections, wanted, problem, every_section=every_section))
    else:
        found = tuple(_attributed(passing, elf.sections, wanted, problem, every_section=every_section))
    gpu = GpuFile(path, "library", source.size, found) if found else None
    return Seen(elf.library, gpu)


def _by_section(
    source: Source, sections: tuple[Section, ...], wanted: set[str], problem: Problem, *, every_section: bool
) -> Iterator[Container]:
    for section in sorted(sections, key=attrgetter("start")):
        if every_section or section.name in wanted:
            packed = section.name in GPU_SECTIONS
            yield from _kept(_walk(source, section, problem, packed=packed))


def _attributed(
    found: tuple[Container, ...],
    sections: tuple[Section, ...],
    wanted: set[str],
    problem: Problem,
    *,
    every_section: bool,
) -> Iterator[Container]:
    ordered = sorted(sections, key=attrgetter("start", "end"))
    starts = [section.start for section in ordered]
    for container in found:
        at = bisect_right(starts, container.offset) - 1
        inside = at >= 0 and container.offset < ordered[at].end
        name = ordered[at].name if inside else ""
        if every_section or name in wanted:
            if inside and container.offset + container.bytes > ordered[at].end:
                problem(f"{name}: the container at offset {container.offset} ends after its section")
            yield from _kept(iter((replace(container, section=name),)))


def _kept(found: Iterator[Container]) -> Iterator[Container]:
    """Empty containers mean something only where nvprune leaves them."""
    return (one for one in found if one.code or one.section in GPU_SECTIONS)


def _walk(source: Source, section: Section, problem: Problem, *, packed: bool) -> Iterator[Container]:
    try:
        for found in fatbin.containers(source, section.start, section.end, packed=packed):
            if isinstance(found, fatbin.FatbinError):
                problem(f"{section.name}: {found}" if section.name else str(found))
            else:
                yield replace(found, section=section.name)
    except ValueError as error:
        problem(str(error))


def _archive(source: Source, path: str, problem: Problem, *, every_section: bool) -> Iterator[Container]:
    """The containers of all members of a static library, whose offsets are those in the member."""
    position, left = len(AR_MAGIC), _MOST_MEMBERS
    while position + _AR_HEADER <= source.size:
        header = source.read(position, _AR_HEADER)
        if header[58:] != b"`\n" or not header[48:58].strip().isdigit():
            problem(f"the member at offset {position} is damaged; the rest was not read")
            return
        size = int(header[48:58])
        position += _AR_HEADER
        left -= 1
        if position + size > source.size or not left:
            problem(
                f"the member at offset {position} is cut short, or is one too many; the rest was not read"
            )
            return
        if source.read(position, len(ELF_MAGIC)) == ELF_MAGIC:
            member = Part(source, position, size)
            seen = _elf(member, path, problem, every_section=every_section, member=True)
            yield from seen.gpu.containers if seen.gpu else ()
        position += size + size % 2
