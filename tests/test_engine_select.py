"""Choosing an engine, its disk and its registries: what is tried, and what is said when nothing answers."""

from __future__ import annotations

import json
import os
import socket
import threading
import tomllib
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer

import pytest

from gpuimage.engine import BuildRequest, Health, check_disk, required_disk, select_engine
from gpuimage.engine.registries import VARIABLE, compose, loopback, registries
from gpuimage.errors import SpecError, UnavailableError


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any engine."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    return tmp_path


def test_when_nothing_answers_all_that_was_tried_is_said_with_a_fix_each(nothing: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        select_engine()
    text = str(caught.value)
    for engine in ("docker", "podman", "buildah"):
        assert f"{engine}: " in (caught.value.why or "")
        assert f"{engine}: " in (caught.value.hint or "")
    assert f"unix://{nothing}/docker.sock" in text
    assert "systemctl start docker" in text
    assert caught.value.exit_code == 3


def test_an_engine_that_was_asked_for_is_the_only_one_tried(nothing: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        select_engine("podman")
    assert "not installed" in str(caught.value)
    assert "docker" not in str(caught.value)


def test_a_host_means_docker(nothing: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        select_engine(host=f"unix://{nothing}/other.sock")
    assert "other.sock" in str(caught.value)
    assert "podman" not in str(caught.value)


def test_an_engine_that_does_not_exist_is_a_mistake_of_the_user() -> None:
    with pytest.raises(SpecError, match="kaniko"):
        select_engine("kaniko")


def test_a_socket_that_nobody_serves_is_told_from_one_that_is_not_there(nothing: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(nothing / "docker.sock"))
    with pytest.raises(UnavailableError) as caught:
        select_engine("docker")
    assert "nothing listens" in str(caught.value)


class _Old(BaseHTTPRequestHandler):
    """A daemon of before Docker 20.10: enough of its API to say so."""

    def do_GET(self) -> None:
        body = {"ApiVersion": "1.40", "Version": "19.03.5", "DockerRootDir": "/nowhere/docker"}
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_arguments: object) -> None:
        return


def test_a_daemon_without_buildkit_is_not_taken(tmp_path: Path) -> None:
    path = tmp_path / "old.sock"
    with ThreadingUnixStreamServer(str(path), _Old) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        with pytest.raises(UnavailableError) as caught:
            select_engine("docker", host=f"unix://{path}")
        server.shutdown()
    assert "19.03.5" in str(caught.value)
    assert "20.10" in str(caught.value)


def test_a_build_needs_two_and_a_half_times_the_image() -> None:
    assert required_disk(4_000_000_000) == 10_000_000_000
    assert required_disk(1) == 3


def test_too_small_a_disk_is_refused_with_numbers() -> None:
    health = Health("docker", "28", True, free_bytes=9_000_000_000, storage="/var/lib/docker")
    check_disk(health, 3_600_000_000)
    with pytest.raises(UnavailableError) as caught:
        check_disk(health, 4_000_000_000)
    text = str(caught.value)
    for part in ("10.00 GB needed", "9.00 GB free", "/var/lib/docker", "4.00 GB", "docker system prune"):
        assert part in text


def test_a_disk_of_unknown_size_passes() -> None:
    check_disk(Health("docker", "28", True), 10**15)


def test_loopback_registries_are_found_in_references() -> None:
    text = (
        "FROM 127.0.0.1:5000/library/python:3.12\nCOPY --from=localhost:5001/x /a /b\nRUN curl example.com/x"
    )
    assert loopback(text) == ("127.0.0.1:5000", "localhost:5001")


def test_short_names_mean_docker_hub_unless_the_host_says_otherwise() -> None:
    assert tomllib.loads(compose("", ["r:5000"])) == {
        "unqualified-search-registries": ["docker.io"],
        "short-name-mode": "permissive",
        "registry": [{"location": "r:5000", "insecure": True}],
    }
    host = 'unqualified-search-registries = ["quay.io"]\nshort-name-mode = "enforcing"\n'
    assert tomllib.loads(compose(host, [])) == tomllib.loads(host)


def test_the_hosts_own_registries_and_mirrors_stay() -> None:
    host = '[[registry]]\nprefix = "docker.io"\nlocation = "mirror:1"\n\n[[registry]]\nlocation = "127.0.0.1:5000"\n'
    merged = tomllib.loads(compose(host, ["127.0.0.1:5000", "127.0.0.1:6000"]))
    assert [entry["location"] for entry in merged["registry"]] == [
        "mirror:1",
        "127.0.0.1:5000",
        "127.0.0.1:6000",
    ]


def test_the_temporary_file_goes_away_and_the_named_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "registries.conf"
    own.write_text('[[registry]]\nlocation = "kept:1"\n')
    monkeypatch.setenv(VARIABLE, str(own))
    with registries(["new:2"]) as env:
        merged = tomllib.loads(Path(env[VARIABLE]).read_text())
    assert [entry["location"] for entry in merged["registry"]] == ["kept:1", "new:2"]
    assert not Path(env[VARIABLE]).exists()
    assert own.read_text() == '[[registry]]\nlocation = "kept:1"\n'
    assert os.environ[VARIABLE] == str(own)


def test_secrets_through_the_engine_api_are_refused_with_the_way_out(tmp_path: Path) -> None:
    import docker  # noqa: PLC0415

    from gpuimage.engine import _docker_api  # noqa: PLC0415

    client = docker.APIClient(base_url="unix:///nowhere.sock", version="1.41")
    request = BuildRequest("FROM scratch\n", tmp_path, secrets=("id=token,src=token.txt",))
    with pytest.raises(UnavailableError) as caught:
        _docker_api.build(client, request, None, lambda _event: None)
    client.close()
    for way in ("buildx", "podman", "buildah"):
        assert way in (caught.value.hint or "")
