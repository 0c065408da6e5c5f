"""Findings as JUnit XML: a suite for each file, a failed case for each finding."""

from __future__ import annotations

from xml.etree import ElementTree

from gpuimage.finding import FileReport, Finding, Report
from gpuimage.reporters.lint_words import message
from gpuimage.reporters.xml import clean, document


def lint_junit(report: Report) -> str:
    """A clean file is one case that passed; notes pass too, with their text as output."""
    root = ElementTree.Element("testsuites", name="gpuimage lint")
    for file in report.files:
        root.append(_suite(file))
    return document(root)


def _suite(file: FileReport) -> ElementTree.Element:
    failed = [one for one in file.findings if one.severity != "note"]
    suite = ElementTree.Element(
        "testsuite",
        name=clean(file.path),
        tests=str(max(len(file.findings), 1)),
        failures=str(len(failed)),
        errors="1" if file.failure is not None else "0",
    )
    if file.failure is not None:
        case = ElementTree.SubElement(suite, "testcase", name="read", classname=clean(file.path))
        ElementTree.SubElement(case, "error", message=clean(file.failure))
    elif not file.findings:
        ElementTree.SubElement(suite, "testcase", name="lint", classname=clean(file.path))
    for one in file.findings:
        _case(suite, file, one)
    return suite


def _case(suite: ElementTree.Element, file: FileReport, one: Finding) -> None:
    name = f"{one.rule.code} {one.rule.name} at line {one.line}"
    case = ElementTree.SubElement(suite, "testcase", name=name, classname=clean(file.path))
    text = clean(f"{file.path}:{one.line}:{one.column}: {message(one)}")
    if one.severity == "note":
        ElementTree.SubElement(case, "system-out").text = text
    else:
        failure = ElementTree.SubElement(case, "failure", message=clean(one.hit.message), type=one.severity)
        failure.text = text
