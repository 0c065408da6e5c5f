"""Findings as GitLab's Code Quality report."""

from __future__ import annotations

import hashlib
import json

from gpuimage.finding import Report
from gpuimage.reporters.lint_words import message

_SEVERITIES = {"error": "critical", "warning": "major", "note": "minor"}


def lint_gitlab(report: Report) -> str:
    """A list of issues; the fingerprint is of the file and the finding."""
    issues = [
        {
            "description": message(one),
            "check_name": f"{one.rule.code} {one.rule.name}",
            "fingerprint": hashlib.sha256(
                f"{file.path}\0{one.fingerprint}".encode("utf-8", "replace")
            ).hexdigest(),
            "severity": _SEVERITIES[one.severity],
            "location": {"path": file.path, "lines": {"begin": one.line, "end": one.end_line}},
        }
        for file, one in report.findings
    ]
    issues += [
        {
            "description": file.failure,
            "check_name": "unreadable",
            "fingerprint": hashlib.sha256(
                f"{file.path}\0{file.failure}".encode("utf-8", "replace")
            ).hexdigest(),
            "severity": "blocker",
            "location": {"path": file.path, "lines": {"begin": 1, "end": 1}},
        }
        for file in report.files
        if file.failure is not None
    ]
    return json.dumps(issues, indent=2, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"
