"""Verdicts as JUnit XML, the form that CI servers read: one suite, a test case for each probe."""

from __future__ import annotations

from xml.etree import ElementTree

from gpuimage.build import BuildResult
from gpuimage.reporters.xml import clean, document
from gpuimage.smoke import SmokeReport


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
        name=clean(f"gpuimage smoke {name}"),
        tests=str(len(verdicts)),
        failures=str(sum(verdict.status == "failed" for verdict in verdicts)),
        errors="0",
        skipped=str(sum(verdict.status == "skipped" for verdict in verdicts)),
        time=f"{sum(verdict.seconds for verdict in verdicts):.3f}",
    )
    holder = ElementTree.SubElement(suite, "properties")
    for key, value in properties.items():
        ElementTree.SubElement(holder, "property", name=key, value=clean(value))
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"gpuimage.smoke.{verdict.tier}",
            name=clean(verdict.probe),
            time=f"{verdict.seconds:.3f}",
        )
        reason, evidence = clean(verdict.reason), clean("\n".join(verdict.evidence))
        if verdict.status == "failed":
            ElementTree.SubElement(case, "failure", message=reason).text = evidence or reason
        elif verdict.status == "skipped":
            ElementTree.SubElement(case, "skipped", message=reason)
        else:
            ElementTree.SubElement(case, "system-out").text = "\n".join(filter(None, (reason, evidence)))
    if report and report.line:
        ElementTree.SubElement(suite, "system-out").text = clean(report.line)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return document(root)
