"""Findings as JSON.

{"version": 1,
 "files": [{"path", "failure": null or why it could not be read,
            "waste": {"low", "high", "image_low", "image_high"} in bytes, the last two null where unknown,
            "findings": [{"rule", "name", "severity", "message", "help",
                          "line", "column", "end_line", "end_column"  (from 1, ends excluded),
                          "cost": null (no bytes, or not known) or {"low", "high", "basis"} in bytes,
                          "fix": null or {"says", "safe", "edits": [{"start", "end": {"line", "column"}, "text"}]},
                          "fingerprint"}]}],
 "summary": {"error", "warning", "note", "files", "fixed"}}
"""

from __future__ import annotations

import json
from typing import Any

from gpuimage.dockerfile import Source
from gpuimage.finding import Edit, FileReport, Finding, Report


def lint_json(report: Report) -> str:
    """The whole report; keys are only ever added."""
    counts = {severity: report.count(severity) for severity in ("error", "warning", "note")}
    shown = {
        "version": 1,
        "files": [_file(file) for file in report.files],
        "summary": {**counts, "files": len(report.files), "fixed": report.fixed},
    }
    return json.dumps(shown, indent=2, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"


def _file(file: FileReport) -> dict[str, Any]:
    waste = file.waste
    return {
        "path": file.path,
        "failure": file.failure,
        "waste": {
            "low": waste.low,
            "high": waste.high,
            "image_low": waste.image_low,
            "image_high": waste.image_high,
        },
        "findings": [finding_json(file.source, finding) for finding in file.findings],
    }


def finding_json(source: Source, finding: Finding) -> dict[str, Any]:
    """One finding as plain values."""
    hit = finding.hit
    fix = hit.fix
    return {
        "rule": finding.rule.code,
        "name": finding.rule.name,
        "severity": finding.severity,
        "message": hit.message,
        "help": hit.help,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "cost": {"low": hit.cost.low, "high": hit.cost.high, "basis": hit.cost.basis} if hit.cost else None,
        "fix": {"says": fix.says, "safe": fix.safe, "edits": [_edit(source, edit) for edit in fix.edits]}
        if fix
        else None,
        "fingerprint": finding.fingerprint,
    }


def _edit(source: Source, edit: Edit) -> dict[str, Any]:
    (line, column), (end_line, end_column) = source.position(edit.span.start), source.position(edit.span.end)
    return {
        "start": {"line": line, "column": column},
        "end": {"line": end_line, "column": end_column},
        "text": edit.text,
    }
