"""Takes the files of a root one by one, in whatever order they come, and makes an Inspection of them."""

from __future__ import annotations

import fnmatch
import posixpath
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpuimage.inspect.gpu import interesting, look
from gpuimage.inspect.source import Passing, Source
from gpuimage.inspect.tar import Readable
from gpuimage.inspect.types import GpuFile, InspectError, Inspection, Library, WheelInfo

COPY_BYTES = 4096
"""Files below this size are not looked at for copies."""

_MOST_TEXT_BYTES = 32 << 20  # of a whole root; torch 2.9.1 with all its wheels has 3 MB
_TEXTS = ("*.dist-info/METADATA", "*.dist-info/RECORD", "/etc/ld.so.conf", "/etc/ld.so.conf.d/*")
_MOST_FILES = 2_000_000
_MOST_NAME_BYTES = 256 << 20
_MOST_ENTRIES = 1_000_000  # of GPU code in a whole root; that of torch 2.9.1 has 65,000
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"


@dataclass(slots=True)
class Files:
    """What is known of the files of one root or of one layer; `hard_links` are joined to `sizes` at the end.

    Of a layer also its directories, and its whiteouts: `deleted` paths, and `emptied` directories whose older content
    is gone.
    """

    sizes: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    executables: set[str] = field(default_factory=set)
    libraries: dict[str, Library] = field(default_factory=dict)
    gpu: dict[str, GpuFile] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    digests: dict[str, bytes] = field(default_factory=dict)
    hard_links: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    emptied: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

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


class Collector:
    """Looks at files as they come; `layer` reads the marks by which a layer deletes files of those below.

    `pool` holds buffers that several collectors share (see Passing).
    """

    def __init__(
        self, *, layer: bool = False, every_section: bool = False, pool: list[bytearray] | None = None
    ) -> None:
        self.files = Files()
        self._pool = [] if pool is None else pool
        self._layer = layer
        self._every_section = every_section
        self._names = 0
        self._entries = 0
        self._name_bytes = 0
        self._text_bytes = 0

    def member(self, member: tarfile.TarInfo, content: Readable | None) -> None:
        """Note one entry of an archive; `..` at the root stays there, as the kernel has it."""
        path = absolute(member.name)
        directory, _, name = path.rpartition("/")
        if self._layer and name.startswith(_WHITEOUT):
            if name == _OPAQUE:
                self.files.emptied.add(directory)
            else:
                self.files.deleted.add(f"{directory}/{name.removeprefix(_WHITEOUT)}")
        elif member.isdir() and self._layer:
            self._count(path)
            self.files.folders.add(path)
        elif content is not None:
            self.passing(path, member.size, member.mode, content)
        elif member.issym():
            self._count(path)
            self._forget(path)
            self.files.links[path] = spelled(member.linkname)
        elif member.islnk():
            self._count(path)
            self.files.hard_links[path] = absolute(member.linkname)

    def passing(self, path: str, size: int, mode: int, content: Readable) -> None:
        """Note a regular file whose content can be read once; all of it is read."""
        source = Passing(content, size, self._pool)
        self.file(path, size, mode, source)
        source.drain()
        source.close()
        if size >= COPY_BYTES:
            self.files.digests[path] = source.digest

    def file(self, path: str, size: int, mode: int, source: Source) -> None:
        """Note a regular file."""
        self.skipped(path, size, mode)
        if any(fnmatch.fnmatchcase(path, pattern) for pattern in _TEXTS):
            self._text_bytes += size
            if self._text_bytes <= _MOST_TEXT_BYTES:
                self.files.texts[path] = source.read(0, size).decode("utf-8", errors="replace")
            else:
                self.files.problems.append(
                    f"{path}: not read, after {_MOST_TEXT_BYTES >> 20} MiB of its kind"
                )
        elif interesting(source.read(0, 8)):
            if self._entries > _MOST_ENTRIES:
                self.files.problems.append(f"{path}: not read, after {_MOST_ENTRIES} entries of GPU code")
                return
            seen = look(source, path, self.files.problems.append, every_section=self._every_section)
            if seen.library is not None:
                self.files.libraries[path] = seen.library
            if seen.gpu is not None:
                self.files.gpu[path] = seen.gpu
                self._entries += sum(len(one.code) + 1 for one in seen.gpu.containers)

    def skipped(self, path: str, size: int, mode: int) -> None:
        """Note a regular file that holds no machine code for certain."""
        self._count(path)
        self._forget(path)
        self.files.sizes[path] = size
        if mode & 0o111:
            self.files.executables.add(path)

    def _forget(self, path: str) -> None:
        """Of two entries of one name in an archive, the later one counts."""
        files = self.files
        if path in files.sizes or path in files.links:
            for known in (files.sizes, files.links, files.libraries, files.gpu, files.texts, files.digests):
                known.pop(path, None)
            files.executables.discard(path)

    def _count(self, path: str) -> None:
        self._names += 1
        self._name_bytes += len(path)
        if self._names > _MOST_FILES or self._name_bytes > _MOST_NAME_BYTES:
            raise InspectError(f"more than {_MOST_FILES} files, or {_MOST_NAME_BYTES >> 20} MiB of names")


def absolute(name: str) -> str:
    """The path of an archive's entry inside the root."""
    return "/" + posixpath.normpath("/" + spelled(name)).lstrip("/")


def spelled(name: str) -> str:
    """A name of a file as it may be told: bytes that are no UTF-8 are written out."""
    if name.isascii():
        return name
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def inspection(files: Files) -> Inspection:
    """Everything that is known of a root, hard links joined before."""
    tree = Inspection(files.sizes, files.links, frozenset(), ())
    wheels, owners = _wheels(files)
    return Inspection(
        sizes=files.sizes,
        links=files.links,
        executables=frozenset(files.executables),
        libraries=tuple(library for _, library in sorted(files.libraries.items())),
        gpu=tuple(gpu for _, gpu in sorted(files.gpu.items())),
        wheels=tuple(wheels),
        owners=owners,
        ld_so_conf=tuple(dict.fromkeys(_conf(files.texts, "/etc/ld.so.conf", tree))),
        digests=files.digests,
        problems=tuple(files.problems),
        _by_path=files.libraries,
    )


def _wheels(files: Files) -> tuple[list[WheelInfo], dict[str, int]]:
    wheels: list[WheelInfo] = []
    owners: dict[str, int] = {}
    described = sorted(path for path in files.texts if path.endswith(".dist-info/METADATA"))
    if not described:
        return wheels, owners
    from email.parser import HeaderParser  # noqa: PLC0415  # slow to load, and a single library needs none

    for path in described:
        text = files.texts[path]
        headers = HeaderParser().parsestr(text.split("\n\n", 1)[0])
        info = path.removesuffix("/METADATA")
        location = posixpath.dirname(info)
        record = files.texts.get(f"{info}/RECORD", "")
        owned = {
            posixpath.normpath(posixpath.join(location, line.rsplit(",", 2)[0].strip('"')))
            for line in record.splitlines()
            if line
        }
        for name in owned:
            if name in files.sizes:
                owners.setdefault(name, len(wheels))
        wheels.append(
            WheelInfo(
                name=str(headers.get("Name", info.rsplit("/", 1)[-1])),
                version=str(headers.get("Version", "")),
                bytes=sum(files.sizes.get(files.hard_links.get(name, name), 0) for name in owned),
                location=location,
            )
        )
    return wheels, owners


def _conf(texts: Mapping[str, str], path: str, tree: Inspection, depth: int = 0) -> Iterator[str]:
    """The directories of ld.so.conf, in order, includes followed."""
    for raw in texts.get(tree.resolve(path) or path, "").splitlines():
        line = raw.split("#", 1)[0].strip()
        words = line.split()
        if words[:1] == ["include"] and depth < 8:
            for pattern in words[1:]:
                wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), pattern))
                for name in sorted(name for name in texts if fnmatch.fnmatchcase(name, wanted)):
                    yield from _conf(texts, name, tree, depth + 1)
        elif words and words[0] not in ("include", "hwcap"):
            yield line.rstrip("/") or "/"
