"""A finished build for programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from gpuimage import __version__, tables
from gpuimage.build import BuildResult
from gpuimage.reporters.smoke_json import document


def build_json(result: BuildResult) -> str:
    """The result as one JSON document, ending in a line break; bytes are bytes on disk."""
    plan, image = result.plan, result.image
    predicted = plan.predicted_bytes
    budget = plan.spec.spec.budget
    whole = {
        "gpuimage": __version__,
        "data": tables.edition(),
        "spec": {"path": str(plan.spec.path), "sha256": plan.spec.digest},
        "engine": result.engine,
        "tags": list(result.tags),
        "digests": dict(result.digests),
        "id": image.id,
        "passed": result.passed,
        "bytes": {
            "total": image.size,
            "predicted": {"low": predicted[0], "high": predicted[1]} if predicted else None,
            "budget": {"image": budget.image, "layer": budget.layer, "wheel": budget.wheel},
            "layers": [asdict(layer) for layer in image.layers],
        },
        "smoke": document(result.report) if result.report else None,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
