"""A smoke report for programs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

from gpuimage import __version__
from gpuimage.smoke import SmokeReport


def smoke_json(report: SmokeReport) -> str:
    """The report as one JSON document, ending in a line break."""
    return json.dumps({"gpuimage": __version__, **document(report)}, indent=2, ensure_ascii=False) + "\n"


def document(report: SmokeReport) -> dict[str, object]:
    """The report as plain values: `seconds` is wall time, `bytes` are bytes on disk."""
    count = Counter(verdict.status for verdict in report.verdicts)
    return {
        "image": report.image,
        "engine": report.engine,
        "passed": report.passed,
        "counts": {status: count[status] for status in ("passed", "failed", "skipped")},
        "line": report.line,
        "verdicts": [
            {**asdict(verdict), "seconds": round(verdict.seconds, 3)} for verdict in report.verdicts
        ],
        "wheels": None
        if report.wheels is None
        else [
            {"name": wheel.name, "version": wheel.version, "bytes": wheel.bytes} for wheel in report.wheels
        ],
    }
