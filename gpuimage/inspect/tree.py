"""The files of a root file system, from a directory or from the tar stream of an engine's export."""

from __future__ import annotations

import fnmatch
import posixpath
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import IO, BinaryIO, Self, cast

from gpuimage.errors import Location
from gpuimage.inspect.elf import MAGIC, read_library
from gpuimage.inspect.types import InspectError, Inspection, Library, WheelInfo

_SPOOL = (
    32 * 1024 * 1024
)  # an ELF file up to this size stays in memory, a larger one goes to a temporary file
_TEXT_LIMIT = 64 * 1024 * 1024
_TEXTS = ("*.dist-info/METADATA", "*.dist-info/RECORD", "/etc/ld.so.conf", "/etc/ld.so.conf.d/*")
_MOST_FILES = 5_000_000


class _Member(tarfile.TarInfo):
    """A member whose header is damaged stops the reading with an error: tarfile takes that for the end."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        """Read the next header; a block of zeros is the end, a cut or damaged one is not."""
        try:
            return super().fromtarfile(archive)
        except tarfile.HeaderError as error:
            if type(error).__name__ == "EOFHeaderError":
                raise
            raise tarfile.ReadError(str(error)) from error


class _Collector:
    """Takes files one by one, in whatever order they come, and makes an Inspection of them at the end."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.links: dict[str, str] = {}
        self.executables: set[str] = set()
        self.libraries: dict[str, Library] = {}
        self.texts: dict[str, str] = {}
        self.problems: list[str] = []
        self.hard_links: dict[str, str] = {}

    def member(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Note one entry of an archive; `..` at the root stays there, as the kernel has it."""
        path = _absolute(member.name)
        if member.isreg():
            self.file(path, member.size, member.mode, archive.extractfile(member))
        elif member.issym():
            self.links[path] = member.linkname
        elif member.islnk():
            self.hard_links[path] = _absolute(member.linkname)

    def join_hard_links(self) -> None:
        """Give the other names of a file their place: its bytes are counted once, a library is judged once."""
        for path, target in self.hard_links.items():
            if target in self.sizes:
                self.sizes[path] = 0
                if target in self.executables:
                    self.executables.add(path)
                if target in self.libraries:
                    self.links[path] = target
                if target in self.texts:
                    self.texts[path] = self.texts[target]
            elif target in self.links:
                self.links[path] = self.links[target]

    def file(self, path: str, size: int, mode: int, content: IO[bytes] | None) -> None:
        """Note a regular file; `content` is read only where it says something."""
        if len(self.sizes) >= _MOST_FILES:
            raise InspectError(f"more than {_MOST_FILES} files")
        self.sizes[path] = size
        if mode & 0o111:
            self.executables.add(path)
        if content is None:
            return
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in _TEXTS):
            if size <= _TEXT_LIMIT:
                self.texts[path] = content.read(size).decode("utf-8", errors="replace")
        elif size > 64 and (mode & 0o111 or ".so" in path.rsplit("/", 1)[-1]):
            self._elf(path, size, content)

    def _elf(self, path: str, size: int, content: IO[bytes]) -> None:
        head = content.read(len(MAGIC))
        if head != MAGIC:
            return
        with tempfile.SpooledTemporaryFile(max_size=_SPOOL) as spool:
            spool.write(head)
            while chunk := content.read(1 << 20):
                spool.write(chunk)
            spool.seek(0)
            try:
                library = read_library(cast("BinaryIO", spool), path, size)
            except ValueError as error:
                self.problems.append(str(error))
                return
        if library is not None:
            self.libraries[path] = library

    def inspection(self) -> Inspection:
        """Everything seen so far."""
        first = Inspection(
            self.sizes, self.links, frozenset(self.executables), tuple(self.libraries.values())
        )
        return Inspection(
            sizes=self.sizes,
            links=self.links,
            executables=frozenset(self.executables),
            libraries=tuple(library for _, library in sorted(self.libraries.items())),
            wheels=tuple(self._wheels()),
            ld_so_conf=tuple(dict.fromkeys(self._conf("/etc/ld.so.conf", first))),
            problems=tuple(self.problems),
            _by_path=self.libraries,
        )

    def _wheels(self) -> Iterator[WheelInfo]:
        for path, text in sorted(self.texts.items()):
            if not path.endswith(".dist-info/METADATA"):
                continue
            headers = HeaderParser().parsestr(text.split("\n\n", 1)[0])
            info = path.removesuffix("/METADATA")
            location = posixpath.dirname(info)
            record = self.texts.get(f"{info}/RECORD", "")
            files = {
                posixpath.normpath(posixpath.join(location, line.rsplit(",", 2)[0].strip('"')))
                for line in record.splitlines()
                if line
            }
            yield WheelInfo(
                name=str(headers.get("Name", info.rsplit("/", 1)[-1])),
                version=str(headers.get("Version", "")),
                bytes=sum(self.sizes.get(self.hard_links.get(name, name), 0) for name in files),
                location=location,
            )

    def _conf(self, path: str, tree: Inspection, depth: int = 0) -> Iterator[str]:
        """The directories of ld.so.conf, in order, includes followed."""
        for raw in self.texts.get(tree.resolve(path) or path, "").splitlines():
            line = raw.split("#", 1)[0].strip()
            words = line.split()
            if words[:1] == ["include"] and depth < 8:
                for pattern in words[1:]:
                    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), pattern))
                    for name in sorted(name for name in self.texts if fnmatch.fnmatchcase(name, wanted)):
                        yield from self._conf(name, tree, depth + 1)
            elif words and words[0] not in ("include", "hwcap"):
                yield line.rstrip("/") or "/"


def _absolute(name: str) -> str:
    return "/" + posixpath.normpath("/" + name).lstrip("/")


def inspect_tar(stream: BinaryIO) -> Inspection:
    """Read a flattened root file system (`docker export`) once, front to back.

    Memory stays bounded by the number of files: only ELF files are spooled, one at a time. Names that climb out of
    the root are read as the kernel would: `..` at the root stays there. InspectError for what is no tar archive.
    """
    found = _Collector()
    try:
        with tarfile.open(fileobj=stream, mode="r|*", tarinfo=_Member) as archive:
            for member in archive:
                found.member(archive, member)
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError, RecursionError) as error:
        if not found.sizes:
            raise InspectError(f"this is not a tar archive: {error}") from error
        found.problems.append(f"the archive ends early: {error}")
    found.join_hard_links()
    return found.inspection()


def inspect_directory(root: Path) -> Inspection:
    """Read a directory as the root of a container would see it: absolute links start at `root`, none is followed out."""
    if not root.is_dir():
        raise InspectError("there is no such directory", where=Location(root))
    found = _Collector()
    first_names: dict[tuple[int, int], str] = {}
    todo = [""]
    # Depth first and by name, as archives are written, so that both take the same name of a file for the first.
    while todo:
        path = todo.pop()
        full = root / path[1:]
        try:
            status = full.lstat() if path else full.stat()
            if stat.S_ISDIR(status.st_mode):
                todo += sorted((f"{path}/{entry.name}" for entry in full.iterdir()), reverse=True)
            elif stat.S_ISLNK(status.st_mode):
                found.links[path] = str(full.readlink())
            elif stat.S_ISREG(status.st_mode):
                if status.st_nlink > 1:
                    first = first_names.setdefault((status.st_dev, status.st_ino), path)
                    if first != path:
                        found.hard_links[path] = first
                        continue
                with full.open("rb") as content:
                    found.file(path, status.st_size, status.st_mode, content)
        except OSError as error:
            found.problems.append(f"{path or '/'}: {error.strerror}")
    found.join_hard_links()
    return found.inspection()
