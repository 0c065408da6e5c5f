"""What a linter says: rules, what they hit, what it costs, and how it is mended."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from gpuimage.dockerfile.source import Source, Span

if TYPE_CHECKING:
    from gpuimage.facts import FileFacts

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From the lightest on; SARIF's words. error: the build or the start fails, or the GPU cannot be used."""

FAMILIES = {
    "1": "base image",
    "2": "CUDA packages and driver",
    "3": "Python wheels",
    "4": "architectures and compiling",
    "5": "run-time environment",
    "6": "layers and bytes",
    "7": "package managers and caches",
    "8": "secrets and users",
    "9": "syntax",
}
"""The rules' families by the first digit of a code."""


class Cost(Struct, frozen=True):
    """Bytes of the image that a finding costs: a range, and what it rests on (a measurement, or a dated table row).

    Findings that name the same `of` speak of the same bytes: a total counts the largest of them once.
    """

    low: int
    high: int
    basis: str
    of: str = ""


class Edit(Struct, frozen=True):
    """Put `text` in the place of a span of the source; an empty span inserts."""

    span: Span
    text: str


class Fix(Struct, frozen=True):
    """What mends a finding. `safe`: what is built stays the same but for the fault; else a person must agree."""

    says: str
    edits: tuple[Edit, ...]
    safe: bool = False


class Hit(Struct, frozen=True):
    """What a rule found at a place of the source.

    `message` says what is wrong and what follows from it, `help` the smallest change that mends it. `severity` None is
    the rule's own. `secret` says that the place holds what no report may repeat.
    """

    span: Span
    message: str
    help: str = ""
    cost: Cost | None = None
    fix: Fix | None = None
    severity: Severity | None = None
    secret: bool = False


class Rule(Struct, frozen=True):
    """A rule: `check` finds its hits in the facts of a file; its page is the docstring of the module that holds it.

    `fix` says what its fixes are at best: `safe`, `suggested` or none. `twins` are hadolint's names of the same rule,
    whose ignore comments count here too. `optional` rules run only where they are selected by name.
    """

    code: str
    name: str
    severity: Severity
    check: Callable[[FileFacts], Iterable[Hit]]
    fix: Literal["safe", "suggested", "none"] = "none"
    twins: tuple[str, ...] = ()
    optional: bool = False

    @property
    def page(self) -> str:
        """The rule's page, Markdown: the first line says what it finds."""
        return (sys.modules[self.check.__module__].__doc__ or "").strip()

    @property
    def summary(self) -> str:
        """One line."""
        return self.page.partition("\n")[0]

    @property
    def about_size(self) -> bool:
        """Whether what it finds costs bytes, as its page says."""
        return "## Cost\nNo bytes" not in self.page

    @property
    def family(self) -> str:
        """The name of its family."""
        return FAMILIES[self.code[2]]


class Finding(Struct, frozen=True):
    """A hit of a rule with its severity here and its place: lines and columns count from 1, ends are excluded."""

    rule: Rule
    severity: Severity
    hit: Hit
    line: int
    column: int
    end_line: int
    end_column: int
    key: str
    """The rule, the text it points at, and how many such came before."""

    @property
    def fingerprint(self) -> str:
        """Stays the same while lines move."""
        from hashlib import sha256  # noqa: PLC0415  # only some formats ask

        return sha256(self.key.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Waste(Struct, frozen=True):
    """Bytes that can go, and the whole image where its size can be estimated (None: unknown)."""

    low: int = 0
    high: int = 0
    image_low: int | None = None
    image_high: int | None = None


class FileReport(Struct, frozen=True):
    """The findings of one file, in the order of its lines. `failure` says why it could not be read at all."""

    path: str
    source: Source
    findings: tuple[Finding, ...] = ()
    waste: Waste = Waste()
    failure: str | None = None


class Report(Struct, frozen=True):
    """All files of a run. `fixed` counts the fixes that were written."""

    files: tuple[FileReport, ...]
    fixed: int = 0

    @property
    def findings(self) -> Iterator[tuple[FileReport, Finding]]:
        """Every finding with its file."""
        return ((file, one) for file in self.files for one in file.findings)

    def count(self, severity: Severity) -> int:
        """How many findings have a severity."""
        return sum(one.severity == severity for _, one in self.findings)


def total(costs: Iterable[Cost]) -> Waste:
    """Add up costs; those of the same bytes count once, with the largest."""
    shared: dict[str, Cost] = {}
    low = high = 0
    for cost in costs:
        if not cost.of:
            low, high = low + cost.low, high + cost.high
        elif cost.of not in shared or (shared[cost.of].high, shared[cost.of].low) < (cost.high, cost.low):
            shared[cost.of] = cost
    low += sum(cost.low for cost in shared.values())
    high += sum(cost.high for cost in shared.values())
    return Waste(low, high)
