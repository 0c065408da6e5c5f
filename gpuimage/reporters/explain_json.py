"""What is behind known errors, for programs; the keys are those of gpuimage.explain.Diagnosis and of the tables' row."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gpuimage import __version__
from gpuimage.explain import Cause, Diagnosis
from gpuimage.tables import edition


def explain_json(found: Sequence[Diagnosis]) -> str:
    """One document, also where nothing is known; ends in a line break."""
    document = {
        "gpuimage": __version__,
        "edition": edition(),
        "known": bool(found),
        "diagnoses": [_diagnosis(one) for one in found],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _diagnosis(one: Diagnosis) -> dict[str, object]:
    error = one.error
    return {
        "id": error.id, "stage": error.stage, "line": one.line, "count": one.count, "text": one.text,
        "cause": error.cause, "follows": one.follows, "facts": list(one.facts),
        "check": error.check, "fix": error.fix, "source": error.source, "verified": error.verified,
        "spec": [_cause(cause) for cause in one.spec], "image": [_cause(cause) for cause in one.image],
    }  # fmt: skip


def _cause(cause: Cause) -> dict[str, object]:
    where = cause.where
    return {
        "verdict": cause.verdict, "key": cause.key, "value": cause.value,
        "file": str(where.path) if where else None, "line": where.line if where else None,
        "column": where.column if where else None, "because": cause.because, "change": cause.change,
    }  # fmt: skip
