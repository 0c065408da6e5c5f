"""Proof that an image works: four tiers of probes, each with a verdict that says why."""

from gpuimage.smoke.measure import Measure, Part, measure
from gpuimage.smoke.run import smoke, smoke_here
from gpuimage.smoke.static import static_verdicts
from gpuimage.smoke.verdict import Expectation, SmokeReport, Status, Tier, Verdict

__all__ = [
    "Expectation",
    "Measure",
    "Part",
    "SmokeReport",
    "Status",
    "Tier",
    "Verdict",
    "measure",
    "smoke",
    "smoke_here",
    "static_verdicts",
]
