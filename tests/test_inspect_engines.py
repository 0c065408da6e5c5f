"""An image as engines hand it out, layer by layer and flat: both must show the same files, whatever the layers did."""

from __future__ import annotations

import json
import secrets
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from gpuimage import cli
from gpuimage.arch import ComputeCapability
from gpuimage.engine import BuildRequest, Engine
from gpuimage.engine.types import ignore_event
from gpuimage.errors import SpecError
from gpuimage.examine import Examination, inspect
from gpuimage.inspect import inspect_tar
from tests.fatbins import container, entry, library
from tests.lab import Lab

pytestmark = pytest.mark.engine

DOCKERFILE = """\
FROM {base}
COPY k.so big /opt/k/
RUN echo replaced > /opt/k/big && mkdir /opt/gone && cp /opt/k/k.so /opt/gone/ && ln -s ../k/k.so /opt/gone/link.so
RUN rm -rf /opt/gone && rm /etc/os-release && ln /opt/k/k.so /opt/k/hard.so
RUN rm -rf /opt/k/k.so && mkdir /opt/k/k.so && echo x > /opt/k/k.so/inside
"""
BIG = 2_000_000


@pytest.fixture(scope="module", params=["docker", "podman", "buildah"])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(f"{request.param}_engine")
    return found


@pytest.fixture(scope="module")
def image(engine: Engine, lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    context = tmp_path_factory.mktemp("context")
    (context / "k.so").write_bytes(library(container(entry("cubin", "8.0"))))
    (context / "big").write_bytes(b"x" * BIG)
    tag = f"gpuimage-test/{secrets.token_hex(4)}:1"
    text = DOCKERFILE.format(base=lab.base("python:3.13-slim-trixie"))
    engine.build(BuildRequest(text, context, tags=(tag,)), ignore_event)
    yield tag
    engine.remove(tag)


@pytest.fixture(scope="module")
def found(engine: Engine, image: str) -> Examination:
    return inspect(image, targets=(ComputeCapability(8, 6), ComputeCapability(9, 0)), engine=lambda: engine)


# What an engine puts into every container itself.
_MOUNTED = (
    "/dev/",
    "/proc/",
    "/sys/",
    "/run/",
    "/etc/hosts",
    "/etc/hostname",
    "/etc/resolv.conf",
    "/etc/mtab",
    "/.dockerenv",
)


def test_the_layers_put_together_are_the_file_system_of_a_container(
    engine: Engine, image: str, found: Examination
) -> None:
    with engine.export(image) as stream:
        flat = inspect_tar(stream)
    layered = found.inspection
    assert (found.kind, layered.problems) == ("image", ())

    def own(paths: Iterable[str]) -> set[str]:
        return {path for path in paths if not path.startswith(_MOUNTED)}

    # Of the names of one file, layers and export may call different ones the first.
    assert own(layered.sizes) == own(flat.sizes)
    assert own({*layered.links} - {*layered.sizes}) == own({*flat.links} - {*flat.sizes})
    assert Counter(one.bytes for one in layered.libraries) == Counter(one.bytes for one in flat.libraries)
    assert [(wheel.name, wheel.bytes) for wheel in layered.wheels] == [
        (wheel.name, wheel.bytes) for wheel in flat.wheels
    ]


def test_each_layer_is_as_large_as_the_engine_says_within_its_headers(
    engine: Engine, image: str, found: Examination
) -> None:
    told = engine.inspect(image)
    assert sum(layer.bytes for layer in found.inspection.layers) == pytest.approx(told.size, rel=0.15)


def test_what_later_layers_cover_is_told(found: Examination) -> None:
    hidden = {one.path: (one.bytes, one.deleted) for one in found.inspection.hidden}
    assert hidden["/opt/k/big"] == (BIG, False)
    assert "/opt/gone/k.so" not in hidden or hidden["/opt/gone/k.so"][1]
    assert found.inspection.sizes["/opt/k/k.so/inside"] == 2
    assert any("COPY" in layer.created_by and layer.hidden_bytes >= BIG for layer in found.inspection.layers)


def test_its_gpu_code_is_held_against_the_targets(found: Examination) -> None:
    assert [(one.path, str(one.target), one.state) for one in found.coverage] == [
        ("/opt/k/hard.so", "8.6", "native"),
        ("/opt/k/hard.so", "9.0", "none"),
    ]
    assert not found.passed


def test_the_command_takes_an_image_of_the_engine_and_leaves_nothing(
    engine: Engine, image: str, lab: Lab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, work: Path
) -> None:  # fmt: skip
    where = ["--engine", engine.name, *(["--host", lab.docker_host] if engine.name == "docker" else [])]
    monkeypatch.setattr(
        sys, "argv", ["gpuimage", "inspect", image, *where, "--format", "json", "--arch", "8.0"]
    )
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    document = json.loads(out)
    assert (stopped.value.code, document["kind"], document["passed"]) == (0, "image", True)
    assert {one["probe"] for one in document["verdicts"]} >= {"elf-closure", "gpu-code", "one-cuda-only"}
    assert list(work.iterdir()) == []


def test_an_image_that_is_not_there_is_a_mistake_of_the_user(engine: Engine) -> None:
    with pytest.raises(SpecError):
        inspect("gpuimage-test/never-built:1", engine=lambda: engine)
