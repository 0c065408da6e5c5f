"""Verdicts as JUnit XML, the form that CI servers read: a test case for each probe, budget and finding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

from gpuimage.build import BuildResult
from gpuimage.errors import BuildError, GpuImageError
from gpuimage.finding import FileReport
from gpuimage.report import BuildReport
from gpuimage.reporters.build_words import known, over, since
from gpuimage.reporters.lint_words import message
from gpuimage.reporters.xml import clean, document
from gpuimage.smoke import SmokeReport, Verdict
from gpuimage.units import size


@dataclass(frozen=True, slots=True)
class _Case:
    """A test case; `reason` is one line, `details` what stands behind it."""

    group: str
    name: str
    status: Literal["passed", "failed", "skipped", "error"]
    reason: str
    details: str = ""
    seconds: float = 0.0


def smoke_junit(report: SmokeReport) -> str:
    """The report as a JUnit document; a tier is the class name, a failure carries its evidence."""
    return _document([_smoke(report, {"engine": report.engine})])


def build_junit(*reports: BuildReport) -> str:
    """Builds as one JUnit document: for each a suite of what was built, its smoke report and its findings.

    What fails here is what makes the exit code; the linter's findings fail no build, so they are passed cases with output.
    """
    return _document([suite for report in reports for suite in _suites(report)])


def _suites(report: BuildReport) -> Iterable[ElementTree.Element]:
    result, properties = report.result, {"engine": report.engine}
    if result:
        properties |= {"id": result.image.id, "bytes": str(result.image.size)}
    seconds = sum(seconds for stage, seconds in report.seconds.items() if stage != "smoke")
    cases = [_built(report.failure, seconds), *(_limits(result) if result else ())]
    yield _suite(f"gpuimage build {report.name}", cases, properties)
    if result and result.report:
        yield _smoke(result.report, {"engine": result.report.engine})
    if report.findings:
        yield _suite(f"gpuimage lint {report.name}", _findings(report.findings), {})


def _built(failure: GpuImageError | None, seconds: float) -> _Case:
    if failure is None:
        return _Case("gpuimage.build", "build", "passed", "built", seconds=seconds)
    log = failure.log if isinstance(failure, BuildError) else ()
    return _Case("gpuimage.build", "build", "error", failure.what, "\n".join([str(failure), *log]), seconds)


def _limits(result: BuildResult) -> Iterable[_Case]:
    for one in result.measures:
        if one.limit is None:
            reason = f"no budget was set; largest: {known(one.actual)}"
        elif one.actual is None:
            reason = f"the budget is {size(one.limit)}, and only a smoke test measures a {one.part}"
        else:
            reason = over(one) if one.over else f"{size(one.actual)} of {size(one.limit)}"
        details = "\n".join(f"{name}: {size(held)}" for name, held in one.over)
        yield _Case("gpuimage.budget", one.part, one.status, reason, details)
    if found := result.growth:
        yield _Case("gpuimage.budget", "growth", "failed" if found.exceeded else "passed", since(found))


def _findings(found: FileReport) -> Iterable[_Case]:
    if found.failure is not None:
        yield _Case("gpuimage.lint", "Dockerfile", "skipped", found.failure)
    elif not found.findings:
        yield _Case("gpuimage.lint", "Dockerfile", "passed", "no findings")
    for one in found.findings:
        name = f"{one.rule.code} {one.rule.name} at line {one.line}"
        yield _Case("gpuimage.lint", name, "passed", f"{one.severity}: {message(one)}")


def _smoke(report: SmokeReport, properties: Mapping[str, str]) -> ElementTree.Element:
    suite = _suite(f"gpuimage smoke {report.image}", map(_probe, report.verdicts), properties)
    if report.line:
        ElementTree.SubElement(suite, "system-out").text = clean(report.line)
    return suite


def _probe(one: Verdict) -> _Case:
    evidence = "\n".join(one.evidence)
    return _Case(f"gpuimage.smoke.{one.tier}", one.probe, one.status, one.reason, evidence, one.seconds)


def _suite(name: str, found: Iterable[_Case], properties: Mapping[str, str]) -> ElementTree.Element:
    cases = tuple(found)
    suite = ElementTree.Element(
        "testsuite",
        name=clean(name),
        tests=str(len(cases)),
        failures=str(sum(case.status == "failed" for case in cases)),
        errors=str(sum(case.status == "error" for case in cases)),
        skipped=str(sum(case.status == "skipped" for case in cases)),
        time=f"{sum(case.seconds for case in cases):.3f}",
    )
    if properties:
        holder = ElementTree.SubElement(suite, "properties")
        for key, value in properties.items():
            ElementTree.SubElement(holder, "property", name=key, value=clean(value))
    for case in cases:
        suite.append(_element(case))
    return suite


def _element(case: _Case) -> ElementTree.Element:
    made = ElementTree.Element(
        "testcase", classname=case.group, name=clean(case.name), time=f"{case.seconds:.3f}"
    )
    reason, details = clean(case.reason), clean(case.details)
    if case.status in ("failed", "error"):
        tag = "failure" if case.status == "failed" else "error"
        ElementTree.SubElement(made, tag, message=reason).text = details or reason
    elif case.status == "skipped":
        ElementTree.SubElement(made, "skipped", message=reason)
    else:
        ElementTree.SubElement(made, "system-out").text = "\n".join(filter(None, (reason, details)))
    return made


def _document(suites: Iterable[ElementTree.Element]) -> str:
    root = ElementTree.Element("testsuites")
    root.extend(suites)
    return document(root)
