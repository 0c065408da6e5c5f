"""Findings as SARIF 2.1.0, for GitHub code scanning and editors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gpuimage import __version__
from gpuimage.dockerfile import Source
from gpuimage.finding import FileReport, Finding, Fix, Report, Rule
from gpuimage.reporters.lint_words import message
from gpuimage.rules import all_rules


def lint_sarif(report: Report) -> str:
    """One run with every rule and every finding; files that could not be read are notifications."""
    by_code = {rule.code: rule for rule in all_rules()} | {
        one.rule.code: one.rule for _, one in report.findings
    }
    rules = sorted(by_code)
    index = {code: number for number, code in enumerate(rules)}
    failures = [_failure(file) for file in report.files if file.failure is not None]
    run = {
        "tool": {
            "driver": {
                "name": "gpuimage",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(by_code[code]) for code in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not failures, "toolExecutionNotifications": failures}],
        "results": [_result(file, one, index) for file, one in report.findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False).encode("utf-8", "replace").decode() + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    first, _, rest = rule.page.partition("\n")
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": first or rule.name},
        "fullDescription": {"text": first or rule.name},
        "help": {"text": rest.strip() or first or rule.name, "markdown": rule.page or rule.name},
        "defaultConfiguration": {"level": rule.severity, "enabled": not rule.optional},
        "properties": {"tags": [rule.family]},
    }


def _result(file: FileReport, one: Finding, index: dict[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": one.rule.code,
        "ruleIndex": index[one.rule.code],
        "level": one.severity,
        "message": {"text": message(one)},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": _uri(file.path)}, "region": _region(one)}}
        ],
        "partialFingerprints": {"gpuimage/v1": one.fingerprint},
    }
    if one.hit.fix:
        result["fixes"] = [_fix(file, one.hit.fix)]
    return result


def _region(one: Finding) -> dict[str, int]:
    return {
        "startLine": one.line,
        "startColumn": one.column,
        "endLine": one.end_line,
        "endColumn": one.end_column,
    }


def _fix(file: FileReport, fix: Fix) -> dict[str, Any]:
    changes = [
        {
            "deletedRegion": _span(file.source, edit.span.start, edit.span.end),
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.says},
        "artifactChanges": [{"artifactLocation": {"uri": _uri(file.path)}, "replacements": changes}],
    }


def _span(source: Source, start: int, end: int) -> dict[str, int]:
    (line, column), (end_line, end_column) = source.position(start), source.position(end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _failure(file: FileReport) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": f"{file.path}: {file.failure}"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(file.path)}}}],
    }


def _uri(path: str) -> str:
    """A relative path as an URI; an absolute one below the current directory becomes relative to it."""
    parts: Sequence[str] = Path(path).parts
    if Path(path).is_absolute():
        try:
            parts = Path(path).relative_to(Path.cwd()).parts
        except ValueError:
            return Path(path).as_uri()
    return "/".join(quote(part) for part in parts)
