"""Verdicts as JUnit XML, the form that CI servers read: one suite, a test case for each probe."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from gpuimage.build import BuildResult
from gpuimage.smoke import SmokeReport

# What XML 1.0 cannot hold, not even escaped; programs in an image may print it.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def smoke_junit(report: SmokeReport) -> str:
    """The report as a JUnit document; a tier is the class name, a failure carries its evidence."""
    return _document(report.image, report, {"engine": report.engine})


def build_junit(result: BuildResult) -> str:
    """The smoke report of a build, with the image's id and size as properties; without one an empty suite."""
    properties = {"engine": result.engine, "id": result.image.id, "bytes": str(result.image.size)}
    return _document(result.tags[0], result.report, properties)


def _document(name: str, report: SmokeReport | None, properties: dict[str, str]) -> str:
    verdicts = report.verdicts if report else ()
    suite = ElementTree.Element(
        "testsuite",
        name=_clean(f"gpuimage smoke {name}"),
        tests=str(len(verdicts)),
        failures=str(sum(verdict.status == "failed" for verdict in verdicts)),
        errors="0",
        skipped=str(sum(verdict.status == "skipped" for verdict in verdicts)),
        time=f"{sum(verdict.seconds for verdict in verdicts):.3f}",
    )
    holder = ElementTree.SubElement(suite, "properties")
    for key, value in properties.items():
        ElementTree.SubElement(holder, "property", name=key, value=_clean(value))
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"gpuimage.smoke.{verdict.tier}",
            name=_clean(verdict.probe),
            time=f"{verdict.seconds:.3f}",
        )
        reason, evidence = _clean(verdict.reason), _clean("\n".join(verdict.evidence))
        if verdict.status == "failed":
            ElementTree.SubElement(case, "failure", message=reason).text = evidence or reason
        elif verdict.status == "skipped":
            ElementTree.SubElement(case, "skipped", message=reason)
        else:
            ElementTree.SubElement(case, "system-out").text = "\n".join(filter(None, (reason, evidence)))
    if report and report.line:
        ElementTree.SubElement(suite, "system-out").text = _clean(report.line)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
