"""What follows from a Dockerfile's text, stage by stage; the rules of the linter ask here."""

from gpuimage.facts.base import Base
from gpuimage.facts.beside import Copy
from gpuimage.facts.file import FileFacts
from gpuimage.facts.paths import Change, covers
from gpuimage.facts.python import PythonInstall
from gpuimage.facts.requirements import Wanted
from gpuimage.facts.runs import Call
from gpuimage.facts.settings import Settings
from gpuimage.facts.stages import Mount, StageFacts, Step, stages
from gpuimage.facts.system import Package, SystemCall

__all__ = [
    "Base",
    "Call",
    "Change",
    "Copy",
    "FileFacts",
    "Mount",
    "Package",
    "PythonInstall",
    "Settings",
    "StageFacts",
    "Step",
    "SystemCall",
    "Wanted",
    "covers",
    "stages",
]
