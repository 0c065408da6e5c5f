"""The bytes of a file the user named, as text, or what is wrong with them."""

from __future__ import annotations

import stat
from pathlib import Path

from gpuimage.errors import Location, SpecError

LONGEST_FILE = 1 << 20  # bytes


def read_text(path: Path, kind: str = "spec", longest: int = LONGEST_FILE) -> str:
    """Read a file as text; `SpecError` where there is no text. A byte-order mark is dropped.

    `kind` names in errors what the file should be, `longest` is in bytes.
    """
    return _decode(path, _read(path, kind, longest), kind)


def _read(path: Path, kind: str, longest: int) -> bytes:
    where = Location(path)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            inside = path / "spec.yaml"
            hint = f"write {inside}" if inside.is_file() else f"name the {kind} file in it"
            raise SpecError(f"this is a directory, not a {kind}", where=where, hint=hint)
        if not stat.S_ISREG(status.st_mode):
            raise SpecError("this is no regular file", where=where, hint=f"name a {kind} file")
        _refuse_size(status.st_size, where, kind, longest)
        with path.open("rb") as file:
            content = file.read(longest + 1)
    except FileNotFoundError:
        raise SpecError(
            "there is no such file", where=where, hint=_neighbour(path) if kind == "spec" else None
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SpecError(f"this file cannot be read: {reason}", where=where) from None
    _refuse_size(len(content), where, kind, longest)
    return content


def _refuse_size(size: int, where: Location, kind: str, longest: int) -> None:
    if size > longest:
        raise SpecError(
            f"this file is too large for a {kind}: {size:,} bytes, and the limit is {longest:,}",
            where=where,
            hint="a spec names files, it does not hold them" if kind == "spec" else None,
        )


def _neighbour(path: Path) -> str:
    """Name the spec that may have been meant."""
    try:
        found = sorted(p for p in path.parent.iterdir() if p.suffix in {".yaml", ".yml"} and p != path)
    except (OSError, ValueError):
        found = []
    return f"did you mean {found[0]}" if len(found) == 1 else "gpuimage init writes a first spec"


def _decode(path: Path, content: bytes, kind: str) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SpecError("this file is UTF-16", where=Location(path, 1, 1), hint="save it as UTF-8")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        raise SpecError(
            f"this is a binary file, not a {kind}",
            where=place_of(path, content, content.index(b"\0")),
            why="it holds NUL bytes",
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SpecError(
            "this file is not UTF-8 text",
            where=place_of(path, content, error.start),
            why=f"byte 0x{content[error.start]:02x} at offset {error.start}",
            hint="save it as UTF-8",
        ) from None


def place_of(path: Path, content: bytes, offset: int) -> Location:
    """Give line and column of a byte."""
    before = content[:offset]
    column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
    return Location(path, before.count(b"\n") + 1, column)
