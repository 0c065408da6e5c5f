"""Plan, render, build and prove the smallest correct container image for a GPU service."""

__version__ = "0.1.0"
