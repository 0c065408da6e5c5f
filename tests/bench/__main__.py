"""`make bench`: start-up time, the linter against hadolint, inspect against cuobjdump, our torch image against a tutorial's.

Both images are built by the same engine in the same run from the same wheel files, without a cache. Needs about
35 GB of free disk; everything it makes is removed again.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from gpuimage.build import BuildOptions, build, expectation
from gpuimage.engine import BuildRequest, Engine, ImageInfo, select_engine
from gpuimage.reporters.progress import progress_display
from gpuimage.smoke import SmokeReport, smoke
from gpuimage.spec import load_spec
from tests import lab
from tests.bench import inspect, lint
from tests.bench.clock import in_turns, quietly
from tests.lab import Lab
from tests.lab.home import CHECKOUT, Home, Use

SPEC = CHECKOUT / "examples" / "torch-inference" / "spec.yaml"
NAIVE = """\
FROM {base}
RUN apt-get update && apt-get install -y python3-pip git
WORKDIR /app
COPY *.whl /tmp/
RUN PIP_CERT=/app/ca.pem pip install --break-system-packages /tmp/*.whl numpy
RUN rm /tmp/*.whl
COPY . /app
CMD python3 inference.py
"""
NAIVE_TAG = "gpuimage-bench/naive:1"
_RUNS = 15
_STATIC = 60  # seconds for T0 on a whole torch image


@dataclass(frozen=True, slots=True)
class Built:
    """An image and how long its build took, in seconds of wall time."""

    image: ImageInfo
    seconds: float


def main() -> int:
    """Run all benchmarks and print a table; 1 where our image failed its smoke test or a bound does not hold."""
    startup = help_ratio()
    print(
        f"gpuimage --help: {startup.ours * 1000:.0f} ms, python -c 'import click': {startup.peer * 1000:.0f} ms"
    )
    print(f"  bound 2 x + 50 ms = {startup.bound * 1000:.0f} ms: {'holds' if startup.holds else 'BROKEN'}")
    linted, inspected = lint.main(), inspect.main()
    home = Home.find()
    with contextlib.closing(Use(home)) as use:
        running = lab.up(home)
        engine = select_engine("docker", host=running.docker_host)
        try:
            ours, report = ours_built(running, engine)
            naive = naive_built(running, engine)
            print_table(ours, naive, report)
        finally:
            for tag in (str(load_spec(SPEC).spec.image), NAIVE_TAG):
                engine.remove(tag)
            if use.is_last() and not home.keep.exists():
                lab.down(home, sweep=True)
    return 0 if startup.holds and linted and inspected and report.passed else 1


@dataclass(frozen=True, slots=True)
class Startup:
    """Medians in seconds, taken in turns so that a busy machine slows both."""

    ours: float
    peer: float

    @property
    def bound(self) -> float:
        """Twice the peer and 50 ms."""
        return 2 * self.peer + 0.05

    @property
    def holds(self) -> bool:
        """Whether we start within the bound."""
        return self.ours <= self.bound


def help_ratio() -> Startup:
    """Time `gpuimage --help` against importing click alone."""
    gpuimage = [str(Path(sys.executable).with_name("gpuimage")), "--help"]
    click = [sys.executable, "-c", "import click"]
    return Startup(*in_turns(lambda: quietly(gpuimage), lambda: quietly(click), _RUNS))


def ours_built(running: Lab, engine: Engine) -> tuple[Built, SmokeReport]:
    """Build and smoke-test examples/torch-inference; the time is that of the build alone."""
    running.base("python:3.13-slim-trixie")
    options = BuildOptions(
        policy="frozen", mirrors=running.mirrors, ca=running.ca, network="host", no_cache=True, smoke=False
    )
    began = time.monotonic()
    with progress_display("plain", "torch-inference") as display:
        result = build(load_spec(SPEC), engine, options, display)
        took = time.monotonic() - began
        report = smoke(engine, result.tags[0], expectation(result.plan), display.verdict)
    return Built(result.image, took), report


def naive_built(running: Lab, engine: Engine) -> Built:
    """Build the tutorial's Dockerfile over a CUDA runtime base's stand-in, with the same torch wheel."""
    base = running.base("nvidia/cuda:13.0.2-cudnn-runtime-ubuntu24.04")
    with tempfile.TemporaryDirectory(dir=running.home.root) as folder:
        context = Path(folder)
        version = "3.12"  # Ubuntu 24.04's own
        subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
                "--python-version", version, "--platform", "manylinux_2_28_x86_64", "--dest", str(context), "torch===2.13.0",
            ],
            check=True,
        )  # fmt: skip
        (context / "inference.py").write_bytes((SPEC.parent / "inference.py").read_bytes())
        if running.ca:
            (context / "ca.pem").write_bytes(running.ca.read_bytes())
        text = NAIVE.format(base=base)
        if not running.ca:
            text = text.replace("PIP_CERT=/app/ca.pem ", "")
        else:
            text = text.replace("COPY *.whl /tmp/", "COPY ca.pem /app/\nCOPY *.whl /tmp/")
        request = BuildRequest(
            dockerfile=text, context=context, tags=(NAIVE_TAG,), no_cache=True, network="host",
            insecure_registries=(running.registry,),
        )  # fmt: skip
        began = time.monotonic()
        with progress_display("plain", "naive") as display:
            image = engine.build(request, display.event)
        return Built(image, time.monotonic() - began)


def print_table(ours: Built, naive: Built, report: SmokeReport) -> None:
    """Size and time side by side, and the ratio."""
    verdict = "passed" if report.passed else "FAILED"
    print(f"\n{'':12}{'size':>10}{'time':>10}   layers")
    for name, built in (("gpuimage", ours), ("naive", naive)):
        print(
            f"{name:12}{built.image.size / 1e9:>7.2f} GB{built.seconds:>8.0f} s   {len(built.image.layers)}"
        )
    print(
        f"{'ratio':12}{naive.image.size / ours.image.size:>9.2f}x{naive.seconds / ours.seconds:>9.2f}x   smoke test of ours: {verdict}"
    )
    saved = naive.image.size - ours.image.size
    static = sum(verdict.seconds for verdict in report.verdicts if verdict.tier == "T0")
    print(
        f"the static tier of our smoke test took {static:.0f} s (at most {_STATIC}: {'holds' if static <= _STATIC else 'BROKEN'})"
    )
    print(
        f"{saved / 1e9:.2f} GB less, over a stand-in of the CUDA base that holds fewer libraries than the real one"
    )


if __name__ == "__main__":
    sys.exit(main())
