"""Plan, render, build and prove the smallest correct container image for a GPU service.

What the command line does, a program can do; the command line uses nothing else than what this module exports:

    >>> from gpuimage import load_spec, lock_beside, plan, render
    >>> spec = load_spec("examples/quickstart/spec.yaml")
    >>> made = plan(spec, lock_beside(spec))
    >>> str(made.base), made.cuda
    ('python:3.13-slim-trixie', '13.0')
    >>> render(made).dockerfile.splitlines()[5]
    'FROM python:3.13-slim-trixie'

Every error is a `GpuImageError` with what, where, why and the smallest change. Results are frozen; sizes are bytes.
Nothing is imported before a name is used, so that a program pays only for what it calls.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gpuimage import tables
    from gpuimage.arch import ArchError, ArchList, ComputeCapability
    from gpuimage.build import BuildOptions, BuildResult, Display, build, expectation
    from gpuimage.compat import Compatibility, Question, compat, compat_matrix
    from gpuimage.doctor import Checkup, doctor
    from gpuimage.engine import Engine, select_engine
    from gpuimage.errors import (
        BuildError,
        GpuImageError,
        Location,
        PlanError,
        ResolveError,
        SpecError,
        UnavailableError,
    )
    from gpuimage.examine import Examination, inspect
    from gpuimage.explain import Diagnosis, explain, explain_key, explain_log, image_causes, spec_causes
    from gpuimage.finding import Finding, Report, Rule
    from gpuimage.growth import Baseline, GrowthLimit, read_baseline
    from gpuimage.init import Draft, draft_spec
    from gpuimage.inspect import Comparison, Inspection, compare
    from gpuimage.lint.gate import Gate, gate
    from gpuimage.lint.run import FixedFile, LintOptions, fixed, fixes, lint, lint_bytes
    from gpuimage.lock import Lock, lock_beside, lock_path
    from gpuimage.plan import LockPolicy, Plan, plan, prepare
    from gpuimage.refresh import Refresh, keep_rows, package_index, refresh
    from gpuimage.render import Rendered, render
    from gpuimage.report import BuildReport, report_build
    from gpuimage.rules import all_rules
    from gpuimage.smoke import Expectation, SmokeReport, Verdict, smoke, smoke_here
    from gpuimage.spec import Spec, SpecFile, json_schema, load_spec, variants
    from gpuimage.verify import Proof, verify

__all__ = [
    "ArchError",
    "ArchList",
    "Baseline",
    "BuildError",
    "BuildOptions",
    "BuildReport",
    "BuildResult",
    "Checkup",
    "Comparison",
    "Compatibility",
    "ComputeCapability",
    "Diagnosis",
    "Display",
    "Draft",
    "Engine",
    "Examination",
    "Expectation",
    "Finding",
    "FixedFile",
    "Gate",
    "GpuImageError",
    "GrowthLimit",
    "Inspection",
    "LintOptions",
    "Location",
    "Lock",
    "LockPolicy",
    "Plan",
    "PlanError",
    "Proof",
    "Question",
    "Refresh",
    "Rendered",
    "Report",
    "ResolveError",
    "Rule",
    "SmokeReport",
    "Spec",
    "SpecError",
    "SpecFile",
    "UnavailableError",
    "Verdict",
    "__version__",
    "all_rules",
    "build",
    "compare",
    "compat",
    "compat_matrix",
    "doctor",
    "draft_spec",
    "expectation",
    "explain",
    "explain_key",
    "explain_log",
    "fixed",
    "fixes",
    "gate",
    "image_causes",
    "inspect",
    "json_schema",
    "keep_rows",
    "lint",
    "lint_bytes",
    "load_spec",
    "lock_beside",
    "lock_path",
    "package_index",
    "plan",
    "prepare",
    "read_baseline",
    "refresh",
    "render",
    "report_build",
    "select_engine",
    "smoke",
    "smoke_here",
    "spec_causes",
    "tables",
    "variants",
    "verify",
]

_PLACES = {
    "ArchError": "arch",
    "ArchList": "arch",
    "Baseline": "growth",
    "BuildError": "errors",
    "BuildOptions": "build",
    "BuildReport": "report",
    "BuildResult": "build",
    "Checkup": "doctor",
    "Comparison": "inspect",
    "Compatibility": "compat",
    "ComputeCapability": "arch",
    "Diagnosis": "explain",
    "Display": "build",
    "Draft": "init",
    "Engine": "engine",
    "Examination": "examine",
    "Expectation": "smoke",
    "Finding": "finding",
    "FixedFile": "lint.run",
    "Gate": "lint.gate",
    "GpuImageError": "errors",
    "GrowthLimit": "growth",
    "Inspection": "inspect",
    "LintOptions": "lint.run",
    "Location": "errors",
    "Lock": "lock",
    "LockPolicy": "plan",
    "Plan": "plan",
    "PlanError": "errors",
    "Proof": "verify",
    "Question": "compat",
    "Refresh": "refresh",
    "Rendered": "render",
    "Report": "finding",
    "ResolveError": "errors",
    "Rule": "finding",
    "SmokeReport": "smoke",
    "Spec": "spec",
    "SpecError": "errors",
    "SpecFile": "spec",
    "UnavailableError": "errors",
    "Verdict": "smoke",
    "all_rules": "rules",
    "build": "build",
    "compare": "inspect",
    "compat": "compat",
    "compat_matrix": "compat",
    "doctor": "doctor",
    "draft_spec": "init",
    "expectation": "build",
    "explain": "explain",
    "explain_key": "explain",
    "explain_log": "explain",
    "fixed": "lint.run",
    "fixes": "lint.run",
    "gate": "lint.gate",
    "image_causes": "explain",
    "inspect": "examine",
    "json_schema": "spec",
    "keep_rows": "refresh",
    "lint": "lint.run",
    "lint_bytes": "lint.run",
    "load_spec": "spec",
    "lock_beside": "lock",
    "lock_path": "lock",
    "package_index": "refresh",
    "plan": "plan",
    "prepare": "plan",
    "read_baseline": "growth",
    "refresh": "refresh",
    "render": "render",
    "report_build": "report",
    "select_engine": "engine",
    "smoke": "smoke",
    "smoke_here": "smoke",
    "spec_causes": "explain",
    "variants": "spec",
    "verify": "verify",
}


class _Package(ModuleType):
    """This module: a name that both a function and the module around it bear (`plan`) is the function's.

    The import system makes each module that is loaded an attribute of its package; those are not taken. Both stay within
    reach: `from gpuimage import plan` is the function, `from gpuimage.plan import Decision` reads the module.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _PLACES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


if not TYPE_CHECKING:  # a type checker shall still refuse a name that is not there

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"gpuimage.{_PLACES[name]}"), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
