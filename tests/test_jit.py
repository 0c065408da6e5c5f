"""What `jit` promises, in real images: compilers that compile, and images with one part missing that say which."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuimage.build import BuildOptions, BuildResult, build
from gpuimage.engine import BuildRequest, Engine
from gpuimage.engine.types import ignore_event
from gpuimage.reporters.progress import Quiet
from gpuimage.reporters.smoke_text import smoke_text
from gpuimage.smoke import Verdict, probe
from gpuimage.smoke.run import probe_source
from gpuimage.spec import load_spec
from tests.lab import Lab
from tests.lab.cuobjdump import listed
from tests.readme import compare, shown

EXAMPLE = Path(__file__).parent.parent / "examples" / "run-time-compile"
PYTHON = "python:3.13-slim-trixie"
KEPT = "/tmp/kept"
HOME = "/usr/local/cuda"

TRITON_SPEC = """
image: example.com/gpuimage/jit-triton:1
python: "3.13"
arch: "8.0;9.0"
wheels: [triton==3.4.0]
jit: triton
"""

Built = Iterator[BuildResult]


def built(engine: Engine, lab: Lab, spec: Path, context: Path) -> Built:
    """The image of a spec, and beside it the same one with root as its user; both are removed again."""
    lab.base(PYTHON)
    options = BuildOptions(mirrors=lab.mirrors, ca=lab.ca, network="host")
    result = build(load_spec(spec), engine, options, Quiet())
    tag = result.tags[0]
    request = BuildRequest(
        dockerfile=f"FROM {tag}\nUSER root\n", context=context, tags=(tag + "-root",), network="host"
    )
    engine.build(request, ignore_event)
    yield result
    for name in (tag + "-root", tag):
        engine.remove(name)


@pytest.fixture(scope="module")
def triton(docker_engine: Engine, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Built:
    work = tmp_path_factory.mktemp("triton")
    (work / "spec.yaml").write_text(TRITON_SPEC)
    yield from built(docker_engine, lab, work / "spec.yaml", work)


@pytest.fixture(scope="module")
def nvcc(docker_engine: Engine, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Built:
    work = tmp_path_factory.mktemp("nvcc")
    shutil.copytree(EXAMPLE, work / "example")
    yield from built(docker_engine, lab, work / "example" / "spec.yaml", work)


def verdicts(rows: Any) -> dict[str, tuple[str, str]]:
    """The probes about `jit`, by name: status and reason."""
    return {row["probe"]: (row["status"], row["reason"]) for row in rows if row["probe"].startswith("jit-")}


def proven(report: Any) -> dict[str, Verdict]:
    return {one.probe: one for one in report.verdicts if one.probe.startswith("jit-")}


def asked(
    engine: Engine, image: str, damage: str, target: Path | None = None, **expect: Any
) -> dict[str, tuple[str, str]]:
    """Damage a container of an image, probe it, and put the files the compilers made into `target`."""
    expect = {"timeout": 300, **expect, **({"keep": KEPT} if target else {})}
    after = f"; cd {KEPT} && tar -c *.cubin $(ls total libtotal.so 2>/dev/null) | base64" if target else ""
    result = engine.run(
        image,
        ["sh", "-c", f"{damage}; python3 -{after}"],
        stdin=probe_source(),
        env={"GPUIMAGE_PROBE": json.dumps(expect)},
        timeout=600,
    )
    _, found, rest = result.stdout.rpartition(probe.BEGIN)
    assert found, result.stderr
    document, _, files = rest.partition(probe.END)
    if target:
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(files))) as archive:
            archive.extractall(target, filter="data")
    return verdicts(json.loads(document)["verdicts"])


# --- triton -------------------------------------------------------------------------------------------------


@pytest.mark.engine
def test_triton_compiles_for_each_architecture_and_builds_its_own_module(
    triton: BuildResult, docker_engine: Engine, tmp_path: Path
) -> None:
    assert triton.report is not None
    assert [one for one in triton.report.verdicts if one.status == "failed"] == []
    found = proven(triton.report)
    assert found["jit-cubin"].reason == "triton 3.4.0 compiled a kernel for 8.0, 9.0"
    assert found["jit-link"].status == "passed"
    assert found["jit-link"].reason.startswith("/usr/bin/gcc builds")
    asked(docker_engine, triton.tags[0], "true", tmp_path, jit="triton", arch="8.0;9.0;12.0")
    assert {path.name: set(listed(path)) for path in tmp_path.glob("*.cubin")} == {
        "kernel.8.0.cubin": {("cubin", "8.0")},
        "kernel.9.0.cubin": {
            ("cubin", "9.0a")
        },  # triton takes the form with every feature where there is one
        "kernel.12.0.cubin": {("cubin", "12.0a")},
    }


@pytest.mark.engine
@pytest.mark.parametrize(
    ("damage", "arch", "cubin", "link"),
    [
        ("rm /usr/bin/*gcc*", "8.0", "passed", "no host compiler: RuntimeError: Failed to find C compiler"),
        ("rm /usr/include/python3.13/Python.h", "8.0", "passed", "no headers of Python: "),
        ("rm /usr/include/stdlib.h", "8.0", "passed", "no headers of the C library: "),
        ("true", "3.5", "this compiler makes no code for it: ptxas fatal", "passed"),
        ("chmod 0 /tmp; export HOME=/proc", "8.0", "/proc/.triton", "passed"),
        ("pip uninstall -q --yes triton", "8.0", "No module named 'triton'", None),
    ],
    ids=["no compiler", "no Python.h", "no libc headers", "a GPU too old", "no cache", "no triton"],
)
def test_a_triton_image_with_one_fault_says_which(
    triton: BuildResult, docker_engine: Engine, damage: str, arch: str, cubin: str, link: str | None
) -> None:
    found = asked(docker_engine, triton.tags[0] + "-root", damage, jit="triton", arch=arch)
    for name, wanted in (("jit-cubin", cubin), ("jit-link", link)):
        if wanted is None:
            assert name not in found
            continue
        status, reason = found[name]
        assert status == ("passed" if wanted == "passed" else "failed"), reason
        assert wanted == "passed" or wanted in reason


@pytest.mark.wheels
@pytest.mark.parametrize("version", ["3.0.0", "3.2.0", "3.3.1", "3.6.0", "3.9.0"])
def test_every_triton_since_3_0_compiles_without_a_gpu_and_without_torch(
    version: str, tmp_path: Path
) -> None:
    """Its interfaces moved between these versions; here with the compiler and headers of this machine."""
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--target", str(site)]
    subprocess.run([*pip, f"triton=={version}"], check=True, capture_output=True)
    expect = {"jit": "triton", "arch": "8.0;9.0", "keep": str(tmp_path / "kept")}
    done = subprocess.run(
        [sys.executable, "-"],
        input=probe_source(),
        env={
            **os.environ,
            "PYTHONPATH": str(site),
            "HOME": str(tmp_path),
            "GPUIMAGE_PROBE": json.dumps(expect),
        },
        capture_output=True,
        check=False,
    )
    text = done.stdout.decode().rpartition(probe.BEGIN)[2].partition(probe.END)[0]
    found = verdicts(json.loads(text)["verdicts"])
    assert {name: status for name, (status, _) in found.items()} == {
        "jit-cubin": "passed",
        "jit-link": "passed",
    }
    assert found["jit-cubin"][1] == f"triton {version} compiled a kernel for 8.0, 9.0"
    assert set(listed(tmp_path / "kept" / "kernel.8.0.cubin")) == {("cubin", "8.0")}
    shutil.rmtree(site)  # a gigabyte


# --- nvcc -----------------------------------------------------------------------------------------------------


@pytest.mark.engine
def test_nvcc_from_wheels_compiles_cub_for_exactly_the_specs_architectures(
    nvcc: BuildResult, docker_engine: Engine, tmp_path: Path
) -> None:
    assert nvcc.report is not None
    assert [one for one in nvcc.report.verdicts if one.status == "failed"] == []
    found = proven(nvcc.report)
    assert found["jit-cubin"].reason == "nvcc 13.0 compiled a kernel with CUB for 8.0, 9.0"
    assert found["jit-link"].reason.endswith("with code for 8.0, 9.0 and PTX for 9.0")
    compare(shown("### smoke")[1], smoke_text(nvcc.report))
    assert any("there is no GPU to run it" in line for one in nvcc.report.verdicts for line in one.evidence)
    asked(docker_engine, nvcc.tags[0], "true", tmp_path, jit="nvcc", cuda="13.0", arch="8.6;12.0a+PTX")
    for name in ("total", "libtotal.so"):
        assert set(listed(tmp_path / name)) == {("cubin", "8.6"), ("cubin", "12.0a"), ("ptx", "12.0a")}


@pytest.mark.engine
@pytest.mark.parametrize(
    ("damage", "arch", "cubin", "link"),
    [
        (f"rm -r {HOME}/include/cccl/cub", "8.0", "no headers of CUB (CUDA's cccl): total.cu:", None),
        ("rm /usr/libexec/gcc/*/*/cc1plus", "8.0", "the host compiler is not whole: ", None),
        ("rm /usr/bin/*g++* /usr/bin/*gcc*", "8.0", "no host compiler: ", None),
        (f"rm -r {HOME}/include/crt", "8.0", "a part of nvcc is missing (CUDA's crt): ", None),
        (f"rm -r {HOME}/nvvm/bin", "8.0", "a part of nvcc is missing (CUDA's nvvm): ", None),
        (f"rm {HOME}/include/cuda_runtime.h", "8.0", "no headers of the CUDA runtime: ", None),
        (f"sed -i 's/__GNUC__ > [0-9]*/__GNUC__ > 9/' {HOME}/include/crt/host_config.h", "8.0",
         "this nvcc refuses the host compiler: ", None),
        (f"rm {HOME}/lib64", "8.0", "passed",
         "no link of a program with the static cudart: the CUDA runtime is not where the linker looks: "),
        (f"rm {HOME}/lib/libcudart.so", "8.0", "passed",
         "no link of a library with the shared cudart: the CUDA runtime is not where the linker looks: "),
        ("true", "5.0", "this compiler makes no code for it: nvcc fatal   : Unsupported gpu architecture 'compute_50'", None),
        (f"rm -r {HOME} && PATH=/usr/local/bin:/usr/bin:/bin && rm -r /usr/local/lib/python3*/dist-packages/nvidia", "8.0",
         "there is no nvcc on PATH", None),
    ],
    ids=["no CUB", "a C compiler only", "no host compiler", "no crt", "no nvvm", "no runtime headers", "a host compiler too new",
         "no lib64", "no shared cudart", "an architecture too old", "no nvcc"],
)  # fmt: skip
def test_an_nvcc_image_with_one_fault_says_which(
    nvcc: BuildResult, docker_engine: Engine, damage: str, arch: str, cubin: str, link: str | None
) -> None:
    found = asked(docker_engine, nvcc.tags[0] + "-root", damage, jit="nvcc", arch=arch)
    status, reason = found.pop("jit-cubin")
    assert (status, cubin in reason or cubin == status) == ("passed" if link else "failed", True), reason
    if link:
        status, reason = found.pop("jit-link")
        assert status == "failed"
        assert reason.startswith(link)
    assert found == {}  # what could not be compiled is not linked either


@pytest.mark.wheels
@pytest.mark.engine
def test_cuda_12s_nvcc_as_packages_compiles_too(docker_engine: Engine, lab: Lab, tmp_path: Path) -> None:
    """By Debian's own packages: those of NVIDIA's repository, which a rendered image takes, are not to be had here."""
    tag = "example.com/gpuimage/jit-nvcc-12:1"
    dockerfile = (
        f"FROM {lab.base(PYTHON)}\n"
        "RUN sed -i 's/ main$/ main contrib non-free/' /etc/apt/sources.list && apt-get update"
        " && apt-get install --yes --no-install-recommends nvidia-cuda-toolkit && rm -rf /var/lib/apt/lists/*\n"
    )
    request = BuildRequest(dockerfile=dockerfile, context=tmp_path, tags=(tag,), network="host")
    docker_engine.build(request, ignore_event)
    try:
        found = asked(docker_engine, tag, "true", tmp_path, jit="nvcc", cuda="12.4", arch="8.0;9.0a+PTX")
        refused = asked(docker_engine, tag, "true", jit="nvcc", arch="12.0")
    finally:
        docker_engine.remove(tag)
    assert found["jit-cubin"] == ("passed", "nvcc 12.4 compiled a kernel with CUB for 8.0, 9.0a")
    assert found["jit-link"][0] == "passed"
    for name in ("total", "libtotal.so"):
        assert set(listed(tmp_path / name)) == {("cubin", "8.0"), ("cubin", "9.0a"), ("ptx", "9.0a")}
    assert "Unsupported gpu architecture 'compute_120'" in refused["jit-cubin"][1]
