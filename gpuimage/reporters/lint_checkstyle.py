"""Findings as Checkstyle's XML, which many CI servers read."""

from __future__ import annotations

from xml.etree import ElementTree

from gpuimage.finding import Report
from gpuimage.reporters.lint_words import message
from gpuimage.reporters.xml import clean, document

_SEVERITIES = {"error": "error", "warning": "warning", "note": "info"}


def lint_checkstyle(report: Report) -> str:
    """A file element for each file, an error element for each finding."""
    root = ElementTree.Element("checkstyle", version="4.3")
    for file in report.files:
        inner = ElementTree.SubElement(root, "file", name=clean(file.path))
        if file.failure is not None:
            ElementTree.SubElement(
                inner,
                "error",
                line="1",
                severity="error",
                message=clean(file.failure),
                source="gpuimage.unreadable",
            )
        for one in file.findings:
            ElementTree.SubElement(
                inner,
                "error",
                line=str(one.line),
                column=str(one.column),
                severity=_SEVERITIES[one.severity],
                message=clean(message(one)),
                source=f"gpuimage.{one.rule.code}",
            )
    return document(root)
