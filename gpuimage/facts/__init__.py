"""What follows from a Dockerfile's text, stage by stage; the rules of the linter ask here."""

from gpuimage.facts.stages import Placed, StageFacts, stages

__all__ = ["Placed", "StageFacts", "stages"]
