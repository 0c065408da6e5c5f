"""From a spec to a proven image, with real engines and real CUDA wheels."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gpuimage
from gpuimage.build import BuildOptions, BuildResult, build
from gpuimage.engine import Engine
from gpuimage.errors import BuildError, PlanError, SpecError, UnavailableError
from gpuimage.report import BuildReport
from gpuimage.reporters.build_text import build_text
from gpuimage.reporters.progress import Quiet
from gpuimage.spec import load_spec
from tests.conftest import Command
from tests.lab import Lab
from tests.lab.cuobjdump import listed
from tests.readme import compare, shown
from tests.test_library import run_examples

pytestmark = pytest.mark.engine
EXAMPLES = Path(__file__).parent.parent / "examples"
PYTHON = "python:3.13-slim-trixie"


def options(lab: Lab, **more: object) -> BuildOptions:
    return BuildOptions(mirrors=lab.mirrors, ca=lab.ca, network="host", **more)  # type: ignore[arg-type]


def build_here(work: Path, engine: Engine, lab: Lab, text: str, **more: object) -> BuildResult:
    lab.base(PYTHON)
    (work / "spec.yaml").write_text('python: "3.13"\n' + text)
    return build(load_spec(work / "spec.yaml"), engine, options(lab, **more), Quiet())


@pytest.fixture(params=["docker_engine", "podman_engine"])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def quickstart(engine: Engine, lab: Lab, tmp_path: Path) -> Iterator[BuildResult]:
    folder = shutil.copytree(EXAMPLES / "quickstart", tmp_path / "quickstart")
    lab.base(PYTHON)
    result = build(load_spec(folder / "spec.yaml"), engine, options(lab, policy="locked"), Quiet())
    yield result
    for tag in result.tags:
        engine.remove(tag)


def test_the_quickstart_passes_and_carries_nothing_it_should_not(
    quickstart: BuildResult, engine: Engine
) -> None:
    report = quickstart.report
    assert report is not None
    assert [v for v in report.verdicts if v.status == "failed"] == []
    if engine.name == "docker":  # each engine tells layers in its own way
        told = BuildReport(quickstart.plan.spec, quickstart.engine, datetime.now(UTC), result=quickstart)
        compare(shown("### build")[0], build_text(told), measured=True)
    assert {v.tier for v in report.verdicts} == {"T0", "T1", "T2", "T3"}
    assert any(v.tier == "T2" and v.status == "skipped" and v.reason for v in report.verdicts)
    predicted = quickstart.plan.predicted_bytes
    assert predicted is not None
    wheels = (
        sum(package.installed_bytes or 0 for package in quickstart.plan.lock.packages)
        if quickstart.plan.lock
        else 0
    )
    assert wheels * 0.98 < quickstart.image.size < predicted[1] * 1.02
    assert quickstart.image.user == "10001:10001"
    with engine.export(quickstart.tags[0]) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        members = {member.name.removeprefix("./"): member.size for member in archive}
    ensurepip = "usr/share/python-wheels/"  # Debian's own, part of the stand-in base
    assert not [name for name in members if name.endswith(".whl") and not name.startswith(ensurepip)]
    assert not [name for name in members if re.match(r"root/\.cache/pip/.", name)]
    assert members.get("tmp/ca.pem", 0) == 0
    assert members.get("tmp/spec.lock", 0) == 0
    assert members["app/saxpy.py"] > 0
    assert "app/spec.yaml" not in members


def test_the_extension_holds_code_for_exactly_the_specs_archs(
    docker_engine: Engine, lab: Lab, tmp_path: Path
) -> None:
    folder = shutil.copytree(EXAMPLES / "extension", tmp_path / "extension")
    for line in re.findall(
        r"^FROM (\S+)|--from=(\S+:\S+)", (folder / "Dockerfile").read_text(), re.MULTILINE
    ):
        lab.base(line[0] or line[1])
    result = build(load_spec(folder / "spec.yaml"), docker_engine, options(lab), Quiet())
    try:
        assert result.passed, result.report
        assert result.image.size < 300_000_000  # the devel stage is gigabytes; only its wheel came over
        library = tmp_path / "libscale.so"
        with (
            docker_engine.export(result.tags[0]) as stream,
            tarfile.open(fileobj=stream, mode="r|") as archive,
        ):
            for member in archive:
                if member.name.endswith("/libscale.so"):
                    content = archive.extractfile(member)
                    assert content is not None
                    library.write_bytes(content.read())
    finally:
        docker_engine.remove(result.tags[0])
    assert listed(library) == {("cubin", "8.0"): 1, ("cubin", "9.0"): 1}


def test_a_failing_step_names_its_spec_key_and_leaves_nothing(engine: Engine, lab: Lab, work: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build_here(
            work, engine, lab, "image: example.com/gpuimage/broken:1\napt: [no-such-package-anywhere]\n"
        )
    error = caught.value
    assert error.exit_code == 4
    assert error.where is not None
    assert (error.where.path.name, error.where.line, error.where.key) == ("spec.yaml", 3, "apt")
    assert re.fullmatch(
        r"Dockerfile line \d+, from `apt`: its command ended with exit code \d+", str(error.why)
    )
    assert any("no-such-package-anywhere" in line for line in error.log)
    with pytest.raises(SpecError):
        engine.inspect("example.com/gpuimage/broken:1")


def test_a_base_that_is_nowhere_is_unavailable_not_a_failed_step(
    docker_engine: Engine, lab: Lab, work: Path
) -> None:
    (work / "spec.yaml").write_text("image: example.com/gpuimage/x:1\nbase: nosuch/image:1\n")
    with pytest.raises(UnavailableError) as caught:
        build(load_spec(work / "spec.yaml"), docker_engine, options(lab), Quiet())
    assert "nosuch/image:1" in str(caught.value)


def test_a_disk_that_is_too_small_stops_before_anything_is_built(
    docker_engine: Engine, lab: Lab, work: Path
) -> None:
    (work / "spec.yaml").write_text(
        'image: example.com/gpuimage/x:1\npython: "3.13"\nwheels: [numpy==2.3.5]\n'
    )
    (work / "spec.lock").write_text("")
    made = load_spec(work / "spec.yaml")
    with pytest.raises(SpecError, match="not a lock"):
        build(made, docker_engine, options(lab, policy="frozen"), Quiet())
    question = "0" * 64
    huge = "big==1.0 --hash=sha256:" + "a" * 64 + "  # 1 bytes, 900000000000000 installed"
    (work / "spec.lock").write_text(
        f"# gpuimage lock 1, resolved 2026-12-01. Made by `gpuimage lock`; do not edit.\n# inputs: sha256:{question}\n{huge}\n"
    )
    with pytest.raises(UnavailableError, match="not enough disk"):
        build(made, docker_engine, options(lab, policy="frozen"), Quiet())


def test_the_examples_of_build_and_smoke_give_what_they_show(
    docker_engine: Engine, lab: Lab, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.base(PYTHON)
    mirrors = ", ".join(f"{name}: {json.dumps(host)}" for name, host in lab.mirrors.items())
    (work / "spec.yaml").write_text(
        f"image: gpuimage-test/library:1\npython: '3.13'\nindex: cpu\nbuild: {{mirrors: {{{mirrors}}}}}\n"
    )
    monkeypatch.setenv("DOCKER_HOST", lab.docker_host)
    try:
        run_examples(gpuimage.build)
        run_examples(gpuimage.smoke)
    finally:
        docker_engine.remove("gpuimage-test/library:1")


def test_a_stale_lock_stops_a_locked_build(docker_engine: Engine, lab: Lab, work: Path) -> None:
    for name in ("spec.yaml", "spec.lock", "saxpy.py"):
        shutil.copy(EXAMPLES / "quickstart" / name, work / name)
    spec = work / "spec.yaml"
    spec.write_text(spec.read_text().replace('cuda: "13.0"', 'cuda: "13.1"'))
    with pytest.raises(PlanError, match="stale"):
        build(load_spec(spec), docker_engine, options(lab, policy="locked"), Quiet())


SMALL = 'image: example.com/gpuimage/report:1\npython: "3.13"\nwheels: [six==1.16.0{more}]\n'


@pytest.fixture
def report(lab: Lab, docker_engine: Engine, work: Path, command: Command) -> Iterator[Command]:
    """Return `gpuimage build spec.yaml --report report` with further options, on the lab's engine."""
    lab.base(PYTHON)
    fixed = [
        "--engine", "docker", "--host", lab.docker_host, "--network", "host", "--mirror", f"docker.io={lab.registry}",
        *(["--ca", str(lab.ca)] if lab.ca else []), "--quiet", "--report", "report",
    ]  # fmt: skip
    yield lambda *more: command("build", "spec.yaml", *fixed, *more)
    docker_engine.remove("example.com/gpuimage/report:1")


def test_a_build_writes_its_report_and_the_next_one_fails_by_its_budgets_and_its_growth(
    report: Command, docker_engine: Engine, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(work / "summary.md"))
    (work / "spec.yaml").write_text(
        SMALL.format(more="") + "budget: {image: 1GB, layer: 900MB, wheel: 1MB}\n"
    )
    code, out, _ = report("--summary", "--format", "json")
    assert code == 0
    assert (work / "report" / "report.json").read_text() == out
    assert (work / "summary.md").read_text() == (work / "report" / "report.md").read_text()
    told = json.loads(out)
    image = docker_engine.inspect("example.com/gpuimage/report:1")
    assert (told["id"], told["bytes"]["total"]) == (image.id, image.size)
    assert [budget["status"] for budget in told["budgets"]] == ["passed", "passed", "passed"]
    [six] = [wheel for wheel in told["wheels"] if wheel["name"] == "six"]
    assert abs(six["bytes"] - six["predicted"]) < 10_000  # pip adds files of its own
    assert list(told["seconds"]) == ["plan", "build", "smoke"]
    assert told["findings"] == []
    assert (work / "spec.lock").read_bytes() == (work / "report" / "spec.lock").read_bytes()

    (work / "spec.yaml").write_text(
        SMALL.format(more=", numpy==2.3.5") + "budget: {image: 20MB, wheel: 1MB}\n"
    )
    code, out, _ = report("--baseline", "report", "--max-growth", "1MB")
    assert code == 1
    told = json.loads((work / "report" / "report.json").read_text())
    assert told["growth"]["before"] == image.size
    assert told["growth"]["exceeded"] is True
    numpy = next(one for one in told["growth"]["wheels"] if one["name"] == "numpy")
    assert (numpy["before"], numpy["because"]) == (None, "2.3.5, new")
    assert numpy["grown"] == pytest.approx(told["growth"]["grown"], rel=0.1)
    assert [budget["status"] for budget in told["budgets"]] == ["failed", "skipped", "failed"]
    assert "FAILED: the image budget is 20 MB, and the image has" in out
    assert "FAILED: the image grew too much: +" in out
    assert "size-budget" in (work / "report" / "report.md").read_text()


def test_a_failed_step_is_reported_with_all_there_was_and_keeps_its_exit_code(
    report: Command, work: Path
) -> None:
    (work / "spec.yaml").write_text(
        SMALL.format(more="") + "apt: [no-such-package-anywhere]\nbuild: {cache: none}\n"
    )
    code, out, err = report()
    assert (code, out) == (4, "")
    assert "no-such-package-anywhere" in err
    told = json.loads((work / "report" / "report.json").read_text())
    assert (told["passed"], told["failure"]["exit_code"], told["id"]) == (False, 4, None)
    assert told["failure"]["where"].startswith("spec.yaml:4:")
    assert any("no-such-package-anywhere" in line for line in told["failure"]["log"])
    assert "no-such-package-anywhere" in (work / "report" / "Dockerfile").read_text()
    assert (work / "report" / "spec.lock").read_bytes() == (work / "spec.lock").read_bytes()
    for name in ("report.md", "report.html", "junit.xml"):
        assert "no-such-package-anywhere" in (work / "report" / name).read_text()


@pytest.mark.parametrize(
    ("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "cancelled"]
)
def test_an_interrupted_build_leaves_no_image_and_says_so(
    docker_engine: Engine, lab: Lab, work: Path, sent: signal.Signals, code: int
) -> None:
    lab.base(PYTHON)
    docker_engine.remove("example.com/gpuimage/slow:1")
    (work / "spec.yaml").write_text(
        'image: example.com/gpuimage/slow:1\npython: "3.13"\nwheels: ["torch==2.13.0"]\n'
    )
    command = [
        sys.executable, "-m", "gpuimage", "build", "spec.yaml", "--engine", "docker", "--host", lab.docker_host, "--network", "host",
        "--mirror", f"docker.io={lab.registry}", "--progress", "plain", "--no-cache", *(["--ca", str(lab.ca)] if lab.ca else []),
    ]  # fmt: skip
    child = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr is not None
    for line in child.stderr:
        if "Downloading" in line:
            break
    child.send_signal(sent)
    out, err = child.communicate(timeout=120)
    assert child.returncode == code, err
    assert out == ""
    assert "nothing was left behind" in err
    assert "Traceback" not in err
    with pytest.raises(SpecError):
        docker_engine.inspect("example.com/gpuimage/slow:1")
