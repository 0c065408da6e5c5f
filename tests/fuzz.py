"""`make fuzz`: atheris against the parser and the whole linter; any exception, or spans that lose text, is a find.

`python -m tests.fuzz SECONDS` from a virtual environment with the group `fuzz`. A find is written as crash-* beside it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["gpuimage.dockerfile", "gpuimage.facts", "gpuimage.lint", "gpuimage.rules"]
):
    from gpuimage.dockerfile import Source, parse
    from gpuimage.lint.run import Overrides, fixed, lint_bytes

from tests.test_rules import CASES, cases

HERE = Path("/nowhere/Dockerfile")


def one(data: bytes) -> None:
    """Read, lint and fix one input."""
    source = Source.decode(data)
    assert source.encode() == data
    pieces = parse(source).pieces
    assert "".join(source[piece.span] for piece in pieces) == source.text
    lint_bytes(data, HERE)
    new, _ = fixed(data, HERE, Overrides(), unsafe=True)
    again, said = fixed(new, HERE, Overrides(), unsafe=True)
    assert again == new, said


def main() -> None:
    """Fuzz for so many seconds, from the case files as seeds."""
    budget = sys.argv[1] if len(sys.argv) > 1 else "60"
    with tempfile.TemporaryDirectory() as folder:  # what leads to new code is written beside the seeds
        for number, text in enumerate(
            case.text for path in sorted(CASES.glob("*.txt")) for case in cases(path)
        ):
            Path(folder, f"{number}").write_text(text, encoding="utf-8")
        options = [f"-max_total_time={budget}", "-max_len=2048", "-timeout=20", folder]
        atheris.Setup([sys.argv[0], *options], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
