"""A machine that is to build images and to run them on GPUs, looked at from all sides: what is there, what is missing."""

from gpuimage.doctor.checkup import doctor
from gpuimage.doctor.types import Checkup, Line

__all__ = ["Checkup", "Line", "doctor"]
