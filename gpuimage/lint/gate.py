"""Whether a report lets a pipeline go on: by the lightest severity that counts, and by bytes."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from gpuimage.finding import SEVERITIES, Report
from gpuimage.lint.run import LintOptions, config_for
from gpuimage.units import size


class Gate(Struct, frozen=True):
    """Whether it passed; `says` holds a line for each file that costs too much, `unread` whether one could not be read."""

    passed: bool
    says: tuple[str, ...] = ()
    unread: bool = False


def gate(report: Report, options: LintOptions | None = None) -> Gate:
    """Hold a report against `fail_on` and, file by file, against `max_waste`.

    What the options leave out comes from each file's config; warnings count where that says nothing.
    """
    given = (options or LintOptions()).checked()
    failed = False
    says: list[str] = []
    for file in report.files:
        config = config_for(Path(file.path), given)
        failed |= any(one.severity in _counted(config.fail_on) for one in file.findings)
        most = config.max_waste
        if most is not None and file.waste.high > most:
            says.append(f"{file.path}: {size(file.waste.high)} can go, more than --max-waste {size(most)}")
    unread = any(file.failure for file in report.files)
    return Gate(not (failed or says or unread), tuple(says), unread)


def _counted(lightest: str | None) -> tuple[str, ...]:
    return () if lightest == "never" else SEVERITIES[SEVERITIES.index(lightest or "warning") :]
