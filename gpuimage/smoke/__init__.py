"""Proof that an image works: four tiers of probes, each with a verdict that says why."""

from gpuimage.smoke.run import smoke, smoke_here
from gpuimage.smoke.static import static_verdicts
from gpuimage.smoke.verdict import Expectation, SmokeReport, Status, Tier, Verdict

__all__ = [
    "Expectation",
    "SmokeReport",
    "Status",
    "Tier",
    "Verdict",
    "smoke",
    "smoke_here",
    "static_verdicts",
]
