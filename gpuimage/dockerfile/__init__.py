"""The text of any Dockerfile as stages and instructions with exact places, as BuildKit reads them."""

from gpuimage.dockerfile.parse import KEYWORDS, LONGEST, parse
from gpuimage.dockerfile.source import Source, Span
from gpuimage.dockerfile.splitter import Directive, Heredoc
from gpuimage.dockerfile.types import Dockerfile, Flag, Instruction, Piece, Problem, Stage, Value

__all__ = [
    "KEYWORDS",
    "LONGEST",
    "Directive",
    "Dockerfile",
    "Flag",
    "Heredoc",
    "Instruction",
    "Piece",
    "Problem",
    "Source",
    "Span",
    "Stage",
    "Value",
    "parse",
]
