"""A build for programs: the document of `build --format json` and of `report.json`.

README.md lists its keys; new ones may come at any time. `gpuimage.growth` reads it again as a baseline.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import msgspec

from gpuimage import __version__, tables
from gpuimage.build import BuildResult
from gpuimage.errors import BuildError, GpuImageError
from gpuimage.growth import FORMAT, KIND, Growth
from gpuimage.inspect import Change
from gpuimage.lock import lock_path
from gpuimage.report import BuildReport
from gpuimage.reporters import plan_json, smoke_json
from gpuimage.reporters.build_words import headline, wheels
from gpuimage.reporters.lint_json import finding_json


def build_json(report: BuildReport) -> str:
    """The report as one JSON document, ending in a line break."""
    text = json.dumps(document(report), indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace").decode()  # halves of characters, as a program may print them


def document(report: BuildReport) -> dict[str, Any]:
    """The report as plain values: `bytes` are bytes on disk, `seconds` wall time."""
    file, result = report.spec, report.result
    spec = file.spec
    return {
        "format": FORMAT,
        "kind": KIND,
        "gpuimage": __version__,
        "data": tables.edition(),
        "passed": report.passed,
        "says": headline(report),
        "failure": _failure(report.failure),
        "spec": {"path": str(file.path), "sha256": file.digest},
        "image": str(spec.image),
        "flavor": spec.flavor,
        "variant": file.variant,
        "platform": spec.platforms[0],
        "engine": report.engine,
        "tags": list(result.tags) if result else [],
        "digests": dict(result.digests) if result else {},
        "id": result.image.id if result else None,
        "started": report.started.isoformat(timespec="seconds"),
        "seconds": {stage: round(seconds, 3) for stage, seconds in report.seconds.items()},
        "bytes": _bytes(report),
        "budgets": [
            {**asdict(one), "over": _named(one.over), "status": one.status} for one in result.measures
        ]
        if result
        else [],
        "wheels": _wheels(result) if result else None,
        "growth": _growth(result.growth) if result and result.growth else None,
        "smoke": smoke_json.document(result.report) if result and result.report else None,
        "findings": _findings(report),
        "lock": _lock(report),
        "plan": plan_json.document(report.plan) if report.plan else None,
        "dockerfile": report.rendered.dockerfile if report.rendered else None,
    }


def _failure(error: GpuImageError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "what": error.what,
        "where": str(error.where) if error.where else None,
        "why": error.why,
        "hint": error.hint,
        "exit_code": error.exit_code,
        "log": list(error.log) if isinstance(error, BuildError) else [],
    }


def _bytes(report: BuildReport) -> dict[str, Any]:
    result, budget = report.result, report.spec.spec.budget
    predicted = report.plan.predicted_bytes if report.plan else None
    return {
        "total": result.image.size if result else None,
        "predicted": {"low": predicted[0], "high": predicted[1]} if predicted else None,
        "budget": {"image": budget.image, "layer": budget.layer, "wheel": budget.wheel},
        "layers": [{"created_by": one.instruction, "bytes": one.bytes} for one in result.image.layers]
        if result
        else [],
    }


def _named(pairs: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    return [{"name": name, "bytes": held} for name, held in pairs]


def _wheels(result: BuildResult) -> list[dict[str, Any]] | None:
    found = wheels(result)
    return None if found is None else [row._asdict() for row in found]


def _growth(found: Growth) -> dict[str, Any]:
    base = found.baseline
    return {
        "baseline": {"path": str(base.path), "image": base.image, "id": base.id},
        "before": found.before,
        "after": found.after,
        "grown": found.grown,
        "limit": {"says": str(found.limit), "bytes": found.limit.allowed(found.before)},
        "exceeded": found.exceeded,
        "layers": list(map(_change, found.layers)),
        "wheels": None if found.wheels is None else list(map(_change, found.wheels)),
    }


def _change(one: Change) -> dict[str, Any]:
    return {**msgspec.structs.asdict(one), "grown": one.grown}


def _findings(report: BuildReport) -> list[dict[str, Any]] | None:
    """None where nothing was linted: there was no Dockerfile, or the linter's config cannot be read."""
    found = report.findings
    if found is None or found.failure is not None:
        return None
    return [finding_json(found.source, one) for one in found.findings]


def _lock(report: BuildReport) -> dict[str, Any] | None:
    """The locked wheels stand in the plan."""
    lock = report.plan.lock if report.plan else None
    if lock is None:
        return None
    return {
        "file": lock_path(report.spec).name,
        "resolved": lock.resolved,
        "inputs": lock.digest,
        "download": lock.download_bytes,
    }
