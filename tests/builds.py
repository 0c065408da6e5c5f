"""Made-up builds of the quickstart, as an engine and the smoke test would describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec

from gpuimage.build import BuildResult
from gpuimage.engine import ImageInfo, LayerInfo
from gpuimage.errors import GpuImageError
from gpuimage.growth import Baseline, GrowthLimit, growth, read_baseline
from gpuimage.inspect import WheelInfo
from gpuimage.lock import lock_beside
from gpuimage.plan import Plan, plan
from gpuimage.render import render
from gpuimage.report import BuildReport
from gpuimage.reporters.build_json import build_json
from gpuimage.smoke import SmokeReport, Verdict
from gpuimage.spec import Budget, ByteSize, SpecFile, load_spec

SPEC = Path(__file__).parent.parent / "examples" / "quickstart" / "spec.yaml"
LAYERS = (
    LayerInfo("RUN |1 TOKEN=secret /bin/sh -c apt-get update # buildkit", 100_000_000),
    LayerInfo("RUN /bin/sh -c pip install --requirement /tmp/spec.lock # buildkit", 2_000_000_000),
    LayerInfo("/bin/sh -c #(nop) COPY file:1 in /x", 700),
)
WHEELS = (
    WheelInfo("nvidia-cublas", "13.1.1.3", 597_000_000, "/site"),
    WheelInfo("cupy-cuda13x", "14.2.0", 188_000_000, "/site"),
    WheelInfo("numpy", "2.5.5", 52_000_000, "/site"),
    WheelInfo("without-a-record", "1.0", 0, "/dist"),
)
VERDICTS = (
    Verdict("elf-closure", "T0", "passed", "813 libraries find all they need", 0.25, ("a note",)),
    Verdict("gpu", "T2", "skipped", "there is no GPU here (no /dev/nvidia*)"),
    Verdict("python3 saxpy.py --check", "T3", "passed", "ended with status 0", 0.5),
)


def budgeted(**budget: str | None) -> SpecFile:
    """The quickstart's spec with other budgets."""
    file = load_spec(SPEC)
    sizes = {name: ByteSize.parse(text) if text else None for name, text in budget.items()}
    spec = msgspec.structs.replace(file.spec, budget=Budget(**sizes))
    return replace(file, spec=spec)


def _plan(file: SpecFile) -> Plan:
    return plan(file, lock_beside(file))


@cache
def _quickstart() -> Plan:
    return _plan(load_spec(SPEC))


def made(
    *,
    file: SpecFile | None = None,
    layers: Sequence[LayerInfo] = LAYERS,
    wheels: Sequence[WheelInfo] | None = WHEELS,
    verdicts: Sequence[Verdict] = VERDICTS,
    smoked: bool = True,
    baseline: Baseline | None = None,
    limit: GrowthLimit | None = None,
    failure: GpuImageError | None = None,
    tag: str = "",
) -> BuildReport:
    """A build of these layers; `failure` is what happened behind it."""
    planned = _quickstart() if file is None else _plan(file)
    file = planned.spec
    tag = tag or str(file.spec.image)
    image = ImageInfo("sha256:" + "0" * 64, sum(layer.bytes for layer in layers), tuple(layers))
    held = None if wheels is None else tuple(wheels)
    smoke = SmokeReport(tag, "docker", tuple(verdicts), None, held) if smoked else None
    result = BuildResult(planned, image, "docker", (tag,), smoke)
    if baseline:
        result = replace(result, growth=growth(baseline, image, result.wheels, limit or GrowthLimit()))
    return BuildReport(
        spec=file,
        engine="docker",
        started=datetime(2026, 12, 1, 8, 30, tzinfo=UTC),
        plan=planned,
        rendered=render(planned),
        result=result,
        failure=failure,
        seconds={"plan": 0.25, "build": 60.0, "smoke": 8.5},
    )


def failed(failure: GpuImageError, *, planned: bool = True) -> BuildReport:
    """A build that made no image."""
    whole = made(failure=failure)
    if planned:
        return replace(whole, result=None)
    return replace(whole, result=None, plan=None, rendered=None)


def baseline_from(report: BuildReport, folder: Path) -> Baseline:
    """What a former report says, written and read again."""
    path = folder / "baseline.json"
    path.write_text(build_json(report), encoding="utf-8")
    return read_baseline(path, report.spec)
