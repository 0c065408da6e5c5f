"""`make fuzz`: atheris against the linter, and against what reads libraries and archives; any exception is a find.

`python -m tests.fuzz SECONDS lint|inspect` from a virtual environment with the group `fuzz`. A find is written as crash-*
beside it.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["gpuimage.dockerfile", "gpuimage.facts", "gpuimage.lint", "gpuimage.rules", "gpuimage.inspect"]
):
    from gpuimage.dockerfile import Source, parse
    from gpuimage.inspect import InspectError, coverage, inspect_stream
    from gpuimage.inspect.gpu import look
    from gpuimage.inspect.source import InMemory, Passing
    from gpuimage.lint.run import fixed, lint_bytes

from gpuimage.arch import ComputeCapability
from tests.elves import elf
from tests.fatbins import archive, container, entry, library
from tests.images import PACKERS, oci, saved, tar
from tests.test_rules import CASES, cases

HERE = Path("/nowhere/Dockerfile")


def lint(data: bytes) -> None:
    """Read, lint and fix one input."""
    source = Source.decode(data)
    assert source.encode() == data
    pieces = parse(source).pieces
    assert "".join(source[piece.span] for piece in pieces) == source.text
    lint_bytes(data, HERE)
    new = fixed(data, HERE, unsafe=True).after
    again = fixed(new, HERE, unsafe=True)
    assert again.after == new, again.says


def inspect(data: bytes) -> None:
    """Read one input as a file on disk, as one that passes by, and as an archive."""
    for source in (InMemory(data), Passing(io.BytesIO(data), len(data), [])):
        found = look(source, "/libcufft.so", lambda _: None, every_section=len(data) % 2 == 0).gpu
        if found:
            coverage([found], [ComputeCapability(8, 0)])
    with contextlib.suppress(InspectError):
        inspect_stream(io.BytesIO(data))


def dockerfiles() -> Iterator[bytes]:
    """The linter's cases."""
    for path in sorted(CASES.glob("*.txt")):
        yield from (case.text.encode() for case in cases(path))


def binaries() -> Iterator[bytes]:
    """A sound one of each kind, small enough to be turned over."""
    code = container(entry("cubin", "8.0", size=64), entry("ptx", "9.0a", size=24, compression="zstd"))
    yield from (library(code, container()), code, archive({"a.o": library(code), "b.o": library(code)}))
    yield elf(needed=["libc.so.6"], soname="x", runpath="$ORIGIN")
    for packer in PACKERS:
        yield tar(saved([{"a": b"1", "k.so": library(code)}, {".wh.a": b""}], packer=packer))
        yield tar(oci([{"a/": None, "a/b": library(code)}], packer=packer))


def main() -> None:
    """Fuzz for so many seconds, from seeds that are sound."""
    budget, what = sys.argv[1:]
    one, seeds, longest = (lint, dockerfiles(), 2048) if what == "lint" else (inspect, binaries(), 40_000)
    with tempfile.TemporaryDirectory() as folder:  # what leads to new code is written beside the seeds
        for number, seed in enumerate(seeds):
            Path(folder, f"{number}").write_bytes(seed)
        options = [f"-max_total_time={budget}", f"-max_len={longest}", "-timeout=20", folder]
        atheris.Setup([sys.argv[0], *options], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
