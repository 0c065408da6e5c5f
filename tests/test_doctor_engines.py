"""What doctor says of engines: none, stopped, forbidden, hanging, a full disk; real daemons and real sockets."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpuimage.doctor import Checkup, Line, doctor
from gpuimage.doctor import host as host_module
from gpuimage.doctor.engines import room
from gpuimage.errors import SpecError
from gpuimage.tables import SizeFact, torch_set_bytes
from tests.conftest import Command
from tests.lab import LabError, daemon
from tests.lab.home import Home
from tests.machines import OS

if TYPE_CHECKING:
    from gpuimage.engine import Engine
    from tests.lab import Lab

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user, or mount")


def named(found: Checkup, name: str) -> Line:
    [line] = [line for line in found.lines if line.name == name]
    return line


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which no program of an engine is found, and no socket."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.setattr(host_module, "_PROGRAMS", (str(tmp_path),))
    return tmp_path


def command_there(folder: Path, name: str) -> None:
    (folder / name).write_text("#!/bin/sh\nexit 1\n")
    (folder / name).chmod(0o755)


# --- no daemon that serves ----------------------------------------------------------------------------------------


def test_without_any_engine_one_is_installed_and_the_rest_is_told(bare: Path) -> None:
    found = doctor(offline=True)
    assert (found.can_build, found.passed, found.engine) == (False, False, None)
    line = named(found, "engine")
    assert (line.status, line.stops) == ("missing", "build")
    assert [named(found, name).status for name in ("docker", "podman", "buildah")] == ["skipped"] * 3
    if (
        "ID=debian" in Path("/etc/os-release").read_text()
        or "ID=ubuntu" in Path("/etc/os-release").read_text()
    ):
        assert "apt-get install -y docker.io" in line.mend[0]


@pytest.mark.parametrize("name", ["podman", "buildah"])
def test_an_engine_that_was_asked_for_is_the_one_to_be_installed(bare: Path, name: str) -> None:
    line = named(doctor(offline=True, engine=name), "engine")
    assert line.seen == f"no {name}"
    assert all(command.endswith(f"install -y {name}") for command in line.mend)


def test_an_engine_that_does_not_exist_is_a_mistake_of_the_user() -> None:
    with pytest.raises(SpecError, match="kaniko"):
        doctor(offline=True, engine="kaniko")


def test_a_daemon_that_is_installed_and_not_started_is_started(bare: Path) -> None:
    command_there(bare, "dockerd")
    line = named(doctor(offline=True), "docker")
    assert line.status == "missing"
    assert "there is no such socket" in line.seen
    assert line.mend == (command_to_start(f"unix://{bare}/docker.sock"),)


def command_to_start(address: str) -> str:
    return f"{'' if os.geteuid() == 0 else 'sudo '}dockerd --host={address}"


def test_a_socket_that_nobody_listens_on_is_a_stopped_daemon(bare: Path) -> None:
    command_there(bare, "dockerd")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(bare / "docker.sock"))
    found = doctor(offline=True)
    line = named(found, "docker")
    assert (line.status, line.mend) == ("missing", (command_to_start(f"unix://{bare}/docker.sock"),))
    assert "nothing listens" in line.seen
    assert not found.can_build


def test_a_daemon_that_accepts_and_never_answers_is_told(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpuimage.engine import _docker_api  # noqa: PLC0415

    monkeypatch.setattr(_docker_api, "CONNECT_SECONDS", 0.3)
    command_there(bare, "dockerd")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(bare / "docker.sock"))
        listener.listen()
        found = doctor(offline=True)
    assert "timed out" in named(found, "docker").seen.lower()
    assert named(found, "engine").mend == (f"docker --host=unix://{bare}/docker.sock info",)


def test_an_engine_whose_own_command_fails_is_told(bare: Path) -> None:
    command_there(bare, "podman")
    found = doctor(offline=True, engine="podman")
    assert named(found, "podman").status == "missing"
    assert named(found, "engine").mend == ("podman info",)


def test_broken_settings_are_told_beside_the_daemon_that_does_not_start_with_them(
    tmp_path: Path, command: Command
) -> None:
    (tmp_path / "etc" / "docker").mkdir(parents=True)
    (tmp_path / "etc" / "os-release").write_text(OS["debian"])
    (tmp_path / "etc" / "docker" / "daemon.json").write_text("{,}")
    code, out, _ = command(
        "doctor", "--root", str(tmp_path), "--host", f"unix://{tmp_path}/no.sock", "--offline"
    )
    assert code == 1
    assert "daemon.json: line 1, column 2" in out


@needs_root
def test_a_user_who_may_not_use_the_socket_is_told_how_to_be_let_in(docker_engine: Engine, lab: Lab) -> None:
    found = as_nobody(lab.docker_host)
    docker = next(line for line in found["lines"] if line["name"] == "docker")
    assert docker["status"] == "missing"
    assert "may not use the socket" in docker["seen"]
    assert docker["mend"] == ["sudo usermod -aG docker $USER", "newgrp docker"]
    assert found["passed"] is False


def as_nobody(address: str) -> dict[str, Any]:
    """Run doctor in a child of the user nobody; what it needs is loaded before, for it may not read our files."""
    import docker  # noqa: F401, PLC0415

    from gpuimage.engine import docker as _docker  # noqa: F401, PLC0415
    from gpuimage.reporters.doctor import doctor_json  # noqa: PLC0415

    doctor_json(doctor(host=address, offline=True))
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            os.write(send, doctor_json(doctor(host=address, offline=True)).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as file:
        text = file.read()
    os.waitpid(child, 0)
    answer: dict[str, Any] = json.loads(text)
    return answer


# --- a daemon that serves -----------------------------------------------------------------------------------------


def test_a_daemon_that_serves_is_described_as_it_describes_itself(docker_engine: Engine, lab: Lab) -> None:
    import docker  # noqa: PLC0415

    with closing(docker.APIClient(base_url=lab.docker_host, version="auto")) as client:
        info, version = client.info(), client.version()
    found = doctor(host=lab.docker_host, offline=True)
    assert (found.engine, found.can_build) == ("docker", True)
    seen = named(found, "docker").seen
    for part in (version["Version"], version["ApiVersion"], info["CgroupDriver"], lab.docker_host):
        assert part in seen
    assert named(found, "storage").seen == f"{info['Driver']} in {info['DockerRootDir']}"
    assert named(found, "disk").status in ("ok", "warning")
    assert named(found, "BuildKit").status == "ok"


def test_auto_takes_what_a_build_would_take(
    docker_engine: Engine, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpuimage.engine import select_engine  # noqa: PLC0415

    monkeypatch.setenv("DOCKER_HOST", lab.docker_host)
    found = doctor(offline=True)
    assert found.engine == select_engine().name
    assert "--engine auto" in named(found, "engine").seen


def test_podman_and_buildah_are_described(podman_engine: Engine, buildah_engine: Engine) -> None:
    for engine in (podman_engine, buildah_engine):
        found = doctor(engine=engine.name, offline=True)
        health = engine.health()
        assert (found.engine, found.can_build) == (engine.name, True)
        assert str(health.version) in named(found, engine.name).seen
        assert str(health.storage) in named(found, "storage").seen


# --- the disk -----------------------------------------------------------------------------------------------------


@pytest.fixture
def small(lab: Lab, tmp_path: Path) -> Iterator[Home]:
    """A Docker daemon whose storage lies on a file system of 24 MB, in a loop mount."""
    home = Home(tmp_path)
    home.make()
    data = home.docker / "data"
    data.mkdir(parents=True)
    image = tmp_path / "disk"
    image.touch()
    os.truncate(image, 24_000_000)
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("no mkfs.ext4 to make a small disk")
    made = [["mkfs.ext4", "-q", "-N", "1024", str(image)], ["mount", "-o", "loop", str(image), str(data)]]
    for step in made:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no loop mount here: {done.stderr.strip()}")
    try:
        daemon.start(home)
        yield home
    except LabError as error:
        pytest.skip(f"no second daemon here: {error}")
    finally:
        daemon.stop(home)
        subprocess.run(["umount", "--lazy", str(data)], check=False)
        shutil.rmtree(home.run, ignore_errors=True)


@needs_root
def test_a_disk_that_not_even_a_base_fits_on_stops_a_build(small: Home) -> None:
    found = doctor(host=f"unix://{small.socket}", offline=True)
    line = named(found, "disk")
    assert (line.status, line.stops) == ("missing", "build")
    assert str(small.docker / "data") in line.seen
    assert line.mend == ("docker system df", "docker system prune")
    assert not found.passed
    free = shutil.disk_usage(small.docker / "data").free
    assert f"{free / 10**6:.0f} MB" in line.seen


def test_the_room_that_is_asked_for_follows_from_what_was_measured() -> None:
    need = room(None)
    version = need.of.partition("torch ")[2].split()[0]
    sizes = [torch_set_bytes(version, variant) for variant in ("cu126", "cu128", "cu130", "cu132")]
    assert any(
        isinstance(size, SizeFact) and 2.5 * size.high < need.bytes < 2.7 * size.high for size in sizes
    )
    assert room(4_000_000_000).bytes == 10_000_000_000
    assert need.files > 10_000


def test_below_a_root_the_disk_of_that_machine_counts(
    docker_engine: Engine, lab: Lab, tmp_path: Path
) -> None:
    found = doctor(tmp_path, host=lab.docker_host, offline=True)
    assert named(found, "disk").status == "skipped"  # the daemon's directory is not there
    storage = str(docker_engine.health().storage)
    (tmp_path / storage.lstrip("/")).mkdir(parents=True)
    assert storage in named(doctor(tmp_path, host=lab.docker_host, offline=True), "disk").seen


# --- Ctrl-C -------------------------------------------------------------------------------------------------------


def test_an_interrupt_ends_it_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    """A registry accepts and never answers, while somebody presses Ctrl-C."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        arguments = ["doctor", "--root", str(tmp_path), "--mirror", f"docker.io={address}"]
        child = subprocess.Popen(
            [sys.executable, "-m", "gpuimage", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        server.settimeout(30)
        connection, _ = server.accept()
        with connection:
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, "")
    assert "interrupted" in err
    assert "Traceback" not in err
