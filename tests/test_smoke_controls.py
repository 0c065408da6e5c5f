"""Negative controls: an image with one known fault must fail, with the reason; the same image without it passes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpuimage.build import BuildOptions, build, expectation
from gpuimage.engine import BuildRequest, Engine
from gpuimage.engine.types import ignore_event
from gpuimage.reporters.progress import Quiet
from gpuimage.reporters.smoke_text import smoke_text
from gpuimage.smoke import Expectation, SmokeReport, smoke
from gpuimage.spec import load_spec
from tests.lab import Lab
from tests.readme import compare, shown

pytestmark = pytest.mark.engine
EXAMPLES = Path(__file__).parent.parent / "examples"
PYTHON = "python:3.13-slim-trixie"
WHOLE = "example.com/gpuimage/control:whole"
CA = ".ca.pem"

Derive = Callable[[str, Expectation], SmokeReport]


def make(engine: Engine, lab: Lab, context: Path, dockerfile: str, tag: str) -> None:
    """Build a Dockerfile of ours, with the lab's CA beside it as `.ca.pem`."""
    extra = {CA: lab.ca.read_bytes() if lab.ca else b""}
    request = BuildRequest(
        dockerfile=dockerfile, context=context, tags=(tag,), extra_files=extra, network="host"
    )
    engine.build(request, ignore_event)


def pip(lab: Lab, arguments: str) -> str:
    ca = "PIP_CERT=/tmp/ca.pem " if lab.ca else ""
    mounts = f"--mount=type=cache,target=/root/.cache/pip --mount=type=bind,source={CA},target=/tmp/ca.pem"
    return f"RUN {mounts} {ca}pip install --no-compile {arguments}\n"


@pytest.fixture(scope="module")
def promised(docker_engine: Engine, lab: Lab) -> Expectation:
    """Build the quickstart and return what its plan promises, without its budget (cuDNN comes on top)."""
    lab.base(PYTHON)
    options = BuildOptions(policy="locked", mirrors=lab.mirrors, ca=lab.ca, network="host", smoke=False)
    result = build(load_spec(EXAMPLES / "quickstart" / "spec.yaml"), docker_engine, options, Quiet())
    wanted = expectation(result.plan)
    return Expectation(
        flavor=wanted.flavor,
        jit=wanted.jit,
        arch=wanted.arch,
        cuda=wanted.cuda,
        frameworks=wanted.frameworks,
        imports=wanted.imports,
        run=wanted.run,
    )


@pytest.fixture(scope="module")
def derive(
    docker_engine: Engine, lab: Lab, promised: Expectation, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Derive]:
    """Return a function that adds lines to the whole image (the quickstart and cuDNN) and smoke-tests the result."""
    context = tmp_path_factory.mktemp("controls")
    quickstart = load_spec(EXAMPLES / "quickstart" / "spec.yaml").spec.image
    # Kept apart from the rest, so that every control adds one small layer to the same large ones.
    make(
        docker_engine, lab, context,
        f"FROM {quickstart}\nUSER root\n{pip(lab, '--no-deps nvidia-cudnn-cu13==9.26.0.51')}", WHOLE,
    )  # fmt: skip
    made = [WHOLE]

    def run(lines: str, wanted: Expectation) -> SmokeReport:
        tag = f"example.com/gpuimage/control:{len(made)}"
        made.append(tag)
        make(docker_engine, lab, context, lines, tag)
        return smoke(docker_engine, tag, wanted)

    yield run
    for tag in made:
        docker_engine.remove(tag)


def failures(report: SmokeReport) -> dict[str, str]:
    return {verdict.probe: verdict.reason for verdict in report.verdicts if verdict.status == "failed"}


def test_the_whole_image_passes(derive: Derive, promised: Expectation) -> None:
    report = derive(f"FROM {WHOLE}\nLABEL control=positive\n", promised)
    assert failures(report) == {}
    [families] = [verdict for verdict in report.verdicts if verdict.probe == "dlopen-families"]
    assert any("cuDNN 9" in line for line in families.evidence)


def test_a_cudnn_without_libcudnn_ops_fails_though_every_import_passes(
    derive: Derive, promised: Expectation
) -> None:
    report = derive(f"FROM {WHOLE}\nRUN find / -xdev -name 'libcudnn_ops.so*' -delete\n", promised)
    found = failures(report)
    assert "libcudnn_ops.so.9" in found["dlopen-families"]
    assert {probe: reason for probe, reason in found.items() if probe.startswith("import")} == {}
    compare(shown("### smoke")[0], smoke_text(report))


def test_a_stub_of_the_driver_on_the_library_path_fails_and_says_so(
    derive: Derive, promised: Expectation, lab: Lab
) -> None:
    dockerfile = (EXAMPLES / "extension" / "Dockerfile").read_text()
    found = re.search(r"nvidia/cuda:\S+-devel-\S+", dockerfile)
    assert found is not None
    devel = found[0]
    lab.base(devel)
    # What NVIDIA's stub answers to cuInit: CUDA_ERROR_STUB_LIBRARY, so that a program can tell it from a driver.
    stub = "int cuInit(unsigned f) { return 34; }"
    report = derive(
        f"FROM {lab.registry}/{devel} AS stub\n"
        f"RUN echo '{stub}' | gcc -x c - -shared -fPIC -Wl,-soname,libcuda.so.1 -o /libcuda.so\n"
        f"FROM {WHOLE}\n"
        "COPY --from=stub /libcuda.so /usr/local/cuda/lib64/stubs/libcuda.so\n"
        "RUN ln -s /usr/local/cuda/lib64/stubs/libcuda.so /usr/lib/x86_64-linux-gnu/libcuda.so.1\n",
        promised,
    )
    found_here = failures(report)
    assert "/usr/lib/x86_64-linux-gnu/libcuda.so.1" in found_here["stubs-off-the-library-path"]
    [gpu] = [verdict for verdict in report.verdicts if verdict.tier == "T2"]
    assert gpu.status == "skipped"
    assert "34" in gpu.reason


def test_a_missing_dependency_fails_by_name(derive: Derive, promised: Expectation) -> None:
    report = derive(f"FROM {WHOLE}\nRUN pip uninstall --yes numpy\n", promised)
    found = failures(report)
    assert "numpy" in found["dependencies"]
    assert "numpy" in found["versions"]
    assert "No module named 'numpy'" in found["import cupy"]


def test_a_cpu_torch_where_cuda_was_asked_fails_and_prints_the_familiar_line(
    docker_engine: Engine, derive: Derive, lab: Lab
) -> None:
    # Debian's own torch is built without CUDA, and needs no index.
    install = "apt-get update && apt-get install --yes --no-install-recommends python3-torch"
    report = derive(
        f"FROM {lab.registry}/library/{PYTHON}\nRUN {install} && rm -rf /var/lib/apt/lists/*\n",
        Expectation(cuda="13.0", imports=("torch",)),
    )
    found = failures(report)
    assert "is a CPU build, CUDA 13.0 was asked for" in found["torch-cuda"]
    assert re.fullmatch(r"Torch Version: 2\.\S+, Is CUDA Available: False", report.line or "")
