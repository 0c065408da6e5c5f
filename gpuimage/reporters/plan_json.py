"""A plan for programs; the keys are those of gpuimage.plan.Plan."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from gpuimage import __version__, tables
from gpuimage.plan import Plan


def plan_json(plan: Plan) -> str:
    """The plan as one JSON document, ending in a line break."""
    return json.dumps(document(plan), indent=2, ensure_ascii=False) + "\n"


def document(plan: Plan) -> dict[str, Any]:
    """The plan as plain values; sizes are bytes."""
    spec = plan.spec.spec
    predicted = plan.predicted_bytes
    return {
        "gpuimage": __version__,
        "data": tables.edition(),
        "spec": {"path": str(plan.spec.path), "sha256": plan.spec.digest},
        "image": str(spec.image),
        "flavor": spec.flavor,
        "python": spec.python,
        "base": str(plan.base),
        "cuda": plan.cuda,
        "variant": plan.variant,
        "arch": str(plan.arch) if plan.arch else None,
        "driver": asdict(plan.driver) if plan.driver else None,
        "decisions": [asdict(decision) for decision in plan.decisions],
        "warnings": [asdict(warning) for warning in plan.warnings],
        "refusals": [asdict(refusal) for refusal in plan.refusals],
        "stages": [
            {
                "name": stage.name,
                "from": str(stage.reference),
                "because": stage.because,
                "steps": [step.kind for step in stage.steps],
            }
            for stage in plan.stages
        ],
        "bytes": {
            "low": predicted[0] if predicted else None,
            "high": predicted[1] if predicted else None,
            "parts": [asdict(part) for part in plan.parts],
        },
        "wheels": None
        if plan.lock is None
        else [
            {
                "name": p.name,
                "version": p.version,
                "sha256": list(p.hashes),
                "download": p.download_bytes,
                "installed": p.installed_bytes,
            }
            for p in plan.lock.packages
        ],
    }
