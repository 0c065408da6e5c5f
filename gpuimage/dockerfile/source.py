"""The text of a Dockerfile as it lies on disk, and places in it."""

from __future__ import annotations

import codecs
from bisect import bisect_right

from msgspec import Struct, field

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that one's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Span(Struct, frozen=True, order=True):
    """A piece of the text: offsets in characters, `end` excluded."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


class Source(Struct, frozen=True):
    """The text without its byte order mark; `starts` holds the offset of each line, which ends at a line feed.

    Bytes that are no UTF-8 are read as Latin-1, where every byte is a character: no file is lost, and `encode`
    gives the same bytes back.
    """

    text: str
    bom: bytes = b""
    encoding: str = "utf-8"
    starts: tuple[int, ...] = field(default=())

    @classmethod
    def of(cls, text: str, *, bom: bytes = b"", encoding: str = "utf-8") -> Source:
        """Make a source of a text that is already decoded."""
        starts, at = [0], text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = text.find("\n", at + 1)
        if starts[-1] == len(text):
            starts.pop()  # a line feed ends a line, it does not begin one
        return cls(text, bom, encoding, tuple(starts))

    @classmethod
    def decode(cls, data: bytes) -> Source:
        """Read the bytes of a file; never fails."""
        for bom, encoding in _BOMS:
            if data.startswith(bom):
                try:
                    return cls.of(data[len(bom) :].decode(encoding), bom=bom, encoding=encoding)
                except UnicodeDecodeError:
                    break
        try:
            return cls.of(data.decode("utf-8"))
        except UnicodeDecodeError:
            return cls.of(data.decode("latin-1"), encoding="latin-1")

    def encode(self) -> bytes:
        """The bytes of the file."""
        return self.bom + self.text.encode(self.encoding)

    def line(self, number: int) -> str:
        """The line of a number that counts from 0, with its line feed."""
        start = self.starts[number]
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[start:end]

    def end_of(self, number: int) -> int:
        """The offset behind a line, its line feed included."""
        return self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset; both count from 1, columns in characters."""
        line = max(bisect_right(self.starts, offset) - 1, 0)
        return line + 1, offset - (self.starts[line] if self.starts else 0) + 1

    def __getitem__(self, span: Span) -> str:
        return self.text[span.start : span.end]
