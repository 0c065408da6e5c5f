"""The lab itself: what it starts it stops, what it makes is what it says, and it makes it once."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import lab as lab_module
from tests.lab import Lab, LabError, bases, daemon, demo, packages, podman, processes, registry
from tests.lab.home import Home, Use
from tests.lab.rootfs import apt_settings, fingerprints, mirrors
from tests.lab.shell import run, which

PYTHON_BASE = "python:3.13-slim-trixie"
DEVEL_BASE = "nvidia/cuda:13.0.3-cudnn-devel-ubuntu24.04"
BOOKWORM_KEY = Path("/usr/share/keyrings/debian-archive-bookworm-stable.gpg")
KERNEL = """
#include <cub/cub.cuh>
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
int main() { twice<<<1, 1>>>(nullptr); return 0; }
"""


@pytest.mark.parametrize(
    ("name", "suite", "repository", "tag"),
    [
        ("python:3.11-slim-bookworm", "bookworm", "library/python", "3.11-slim-bookworm"),
        ("docker.io/library/python:3.12-slim", "noble", "library/python", "3.12-slim"),
        ("python:3.13.5-slim-trixie", "trixie", "library/python", "3.13.5-slim-trixie"),
        ("debian:bookworm-slim", "bookworm", "library/debian", "bookworm-slim"),
        ("ubuntu:22.04", "jammy", "library/ubuntu", "22.04"),
        ("nvidia/cuda:13.0.2-devel-ubuntu24.04", "noble", "nvidia/cuda", "13.0.2-devel-ubuntu24.04"),
    ],
)
def test_a_stand_in_is_made_of_the_distribution_its_name_asks_for(
    name: str, suite: str, repository: str, tag: str
) -> None:
    recipe = bases.recipe(name)
    assert (recipe.distribution.suite, recipe.repository, recipe.tag) == (suite, repository, tag)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("python:3.9-slim", "Python 3.9"),
        ("ubuntu:18.04", "ubuntu 18.04"),
        ("nvidia/cuda:13.0.2-devel-rockylinux9", "only python:3.X-slim"),
        ("redis:7", "redis:7"),
    ],
)
def test_a_name_without_a_stand_in_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(LabError, match=re.escape(reason)):
        bases.recipe(name)


def test_a_changed_recipe_has_another_digest() -> None:
    names = ["python:3.11-slim", "python:3.12-slim", "nvidia/cuda:13.0.2-base-ubuntu24.04"]
    names += ["nvidia/cuda:13.0.2-runtime-ubuntu24.04", "nvidia/cuda:13.0.2-cudnn-runtime-ubuntu24.04"]
    assert len({bases.recipe(name).digest() for name in names}) == len(names)


@pytest.mark.skipif(not BOOKWORM_KEY.exists() or which("gpg") is None, reason="needs Debian's keys and gpg")
def test_fingerprints_are_those_gpg_computes(tmp_path: Path) -> None:
    gpg = ["gpg", "--homedir", str(tmp_path), "--with-colons", "--with-subkey-fingerprint"]
    shown = run([*gpg, "--show-keys", str(BOOKWORM_KEY)])
    expected = tuple(line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr:"))
    assert expected
    assert fingerprints(BOOKWORM_KEY.read_bytes()) == expected


def test_the_demo_finds_the_bases_of_a_dockerfile_and_no_stages(tmp_path: Path) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(
        "FROM nvidia/cuda:13.0.2-devel-ubuntu24.04 AS builder\nRUN true\n"
        "FROM --platform=linux/amd64 python:3.12-slim\nCOPY --from=builder /x /x\nFROM builder\n"
    )
    assert demo.bases_of(dockerfile) == ("nvidia/cuda:13.0.2-devel-ubuntu24.04", "python:3.12-slim")


def test_a_long_checkout_path_gets_a_short_socket(tmp_path: Path) -> None:
    near, far = Home(Path("/srv/x/.lab")), Home(tmp_path / ("deep" * 30))
    assert near.socket == Path("/srv/x/.lab/docker.sock")
    assert len(os.fsencode(far.socket)) < 108 <= len(os.fsencode(far.root / "docker.sock"))
    assert far.run != near.run


def test_without_root_sudo_and_tools_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(packages, "is_root", lambda: False)
    with pytest.raises(LabError, match=r"missing: podman, newuidmap.*apt-get install podman uidmap"):
        packages.ensure(("podman",))


def test_a_lab_in_use_is_not_stopped_by_another_run(tmp_path: Path) -> None:
    home = Home(tmp_path / "lab")
    first, second = Use(home), Use(home)
    assert not first.is_last()
    second.close()
    assert first.is_last()
    first.close()


@pytest.mark.skipif(which("apt-config") is None, reason="needs apt")
def test_mirrors_and_proxies_come_from_the_hosts_apt() -> None:
    assert all(uri.startswith(("http", "file:", "mirror")) for uri in mirrors("debian") + mirrors("ubuntu"))
    assert all(name.startswith("Acquire::") and '"' not in value for name, value in apt_settings().items())


def test_up_twice_is_the_same_lab_and_quick(lab: Lab) -> None:
    started = time.monotonic()
    again = lab_module.up(lab.home)
    assert time.monotonic() - started < 2
    assert (again.registry, again.docker_host) == (lab.registry, lab.docker_host)
    assert daemon.answers(lab.home.socket)
    assert registry.answers(lab.registry)


def test_the_private_daemon_leaves_the_hosts_network_alone(lab: Lab) -> None:
    _, body = daemon.request(lab.home.socket, "GET", "/networks")
    assert {network["Name"] for network in json.loads(body)} == {"host", "none"}


def test_a_base_is_made_once_and_says_that_it_stands_in(lab: Lab) -> None:
    reference = lab.base(PYTHON_BASE)
    assert reference == f"{lab.registry}/library/{PYTHON_BASE}"
    before = registry.digest_of(lab.registry, "library/python", "3.13-slim-trixie")
    started = time.monotonic()
    assert lab.base(f"docker.io/library/{PYTHON_BASE}") == reference
    assert time.monotonic() - started < 2
    assert registry.digest_of(lab.registry, "library/python", "3.13-slim-trixie") == before
    config = _config(lab, "library/python", "3.13-slim-trixie")
    assert config["Labels"]["gpuimage.stand-in-for"] == f"library/{PYTHON_BASE}"
    assert config["Labels"]["gpuimage.stand-in-made-of"] == "debian trixie packages"


def _config(lab: Lab, repository: str, tag: str) -> dict[str, dict[str, str]]:
    manifest = json.loads(run(["curl", "-fsS", _url(lab, repository, "manifests", tag), "-H", _ACCEPT]))
    raw = run(["curl", "-fsS", _url(lab, repository, "blobs", manifest["config"]["digest"])])
    found: dict[str, dict[str, str]] = json.loads(raw)["config"]
    return found


_ACCEPT = "Accept: application/vnd.docker.distribution.manifest.v2+json"


def _url(lab: Lab, repository: str, kind: str, name: str) -> str:
    return f"http://{lab.registry}/v2/{repository}/{kind}/{name}"


def test_an_interrupted_push_leaves_no_image_behind(lab: Lab, tmp_path: Path) -> None:
    path = tmp_path / "layer.tar.gz"
    path.write_bytes(b"cut off")
    broken = registry.Layer(path, "sha256:" + "0" * 64, "sha256:" + "1" * 64, path.stat().st_size)
    with pytest.raises(LabError, match="refused a blob"):
        registry.push(lab.registry, "library/broken", "1", (broken,), {"created": ""}, "test")
    assert registry.digest_of(lab.registry, "library/broken", "1") is None


@pytest.fixture
def podman_base(lab: Lab) -> Iterator[str]:
    """Return the Python base in podman's storage, and take it out again."""
    _need_podman()
    reference = lab.base(PYTHON_BASE)
    run(["podman", "pull", "--quiet", reference])
    yield reference
    run(["podman", "rmi", "--force", reference])


def _need_podman() -> None:
    try:
        podman.ensure()
    except LabError as error:
        pytest.skip(str(error))


def _in_podman(image: str, *command: str, options: tuple[str, ...] = ()) -> str:
    return run(["podman", "run", "--rm", "--network", "none", *options, image, *command])


def test_the_python_base_has_pip_venv_and_little_else(podman_base: str) -> None:
    seen = _in_podman(
        podman_base,
        "sh",
        "-ec",
        "id -u; command -v python; python --version; pip --version; python -m venv /tmp/v; /tmp/v/bin/pip --version;"
        "ls /usr/share/man /usr/share/locale /var/lib/apt/lists | grep -c . || true;"
        "find / -xdev -name EXTERNALLY-MANAGED",
    ).splitlines()
    assert seen[:3] == ["0", "/usr/local/bin/python", seen[2]]
    assert seen[2].startswith("Python 3.13.")
    assert seen[3].startswith("pip ")
    assert seen[4].startswith("pip ")
    assert not any("EXTERNALLY-MANAGED" in line for line in seen)


def test_podman_keeps_everything_in_the_lab(lab: Lab, podman_base: str) -> None:
    store = json.loads(run(["podman", "info", "--format", "json"]))["store"]
    for key in ("graphRoot", "runRoot", "volumePath"):
        assert Path(store[key]).is_relative_to(lab.home.root) or Path(store[key]).is_relative_to(lab.home.run)
    assert podman_base in run(["podman", "images", "--format", "{{.Repository}}:{{.Tag}}"])


def test_docker_runs_the_python_base(lab: Lab) -> None:
    docker = which("docker")
    if docker is None:
        pytest.skip("the docker client is not installed")
    reference = lab.base(PYTHON_BASE)
    command = [docker, "--host", lab.docker_host, "run", "--rm", "--network", "none", reference]
    try:
        assert run([*command, "python3", "-c", "import ssl, ctypes; print(6 * 7)"]) == "42\n"
    finally:
        run([docker, "--host", lab.docker_host, "rmi", "--force", reference])


def test_nvcc_of_the_devel_base_makes_code_for_the_architectures_asked_for(lab: Lab, tmp_path: Path) -> None:
    _need_podman()
    (tmp_path / "kernel.cu").write_text(KERNEL)
    reference = lab.base(DEVEL_BASE)
    gencode = "-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90"
    build = (
        f"nvcc {gencode} -c kernel.cu -o kernel.o && nvcc kernel.o -o kernel && nvcc -cudart shared kernel.o"
    )
    try:
        options = ("--volume", f"{tmp_path}:/work", "--workdir", "/work")
        _in_podman(reference, "sh", "-ec", f"{build}; ldd a.out", options=options)
    finally:
        run(["podman", "rmi", "--force", reference])
    assert _cubins(lab, tmp_path / "kernel.o") == {"sm_80", "sm_90"}


def _cubins(lab: Lab, path: Path) -> set[str]:
    """Return the architectures NVIDIA's own cuobjdump finds in a binary."""
    tools = lab.home.root / "cuobjdump"
    if not (tools / "nvidia").exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tools)]
        run([*pip, "nvidia-cuda-cuobjdump==13.2.86"])
    program = next(tools.glob("nvidia/*/bin/cuobjdump"))
    return set(re.findall(r"\.(sm_\d+[af]?)\.cubin", run([str(program), "--list-elf", str(path)])))


@pytest.fixture
def own_lab(tmp_path: Path, lab: Lab) -> Iterator[Home]:
    """Return the home of a second lab, which a test may kill."""
    home = Home(tmp_path / "lab")
    yield home
    lab_module.down(home, remove=True)


def test_a_killed_lab_starts_again_and_stops_without_a_trace(own_lab: Home) -> None:
    lab_module.up(own_lab)
    victims = (*daemon.pids(own_lab), *registry.pids(own_lab))
    assert len(victims) == 2
    for pid in victims:
        run(["kill", "-9", str(pid)], root=True)
    again = lab_module.up(own_lab)
    assert daemon.answers(own_lab.socket)
    assert registry.answers(again.registry)
    lab_module.down(own_lab)
    lab_module.down(own_lab)
    assert not _ours(own_lab)
    assert not own_lab.socket.exists()
    assert not own_lab.run.exists()
    mounts = Path("/proc/self/mounts").read_text()
    assert str(own_lab.root) not in mounts
    assert str(own_lab.run) not in mounts


def _ours(home: Home) -> list[tuple[str, ...]]:
    places = (str(home.root), str(home.run))
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            args = processes.command_line(int(entry.name))
            if any(place in arg for arg in args for place in places):
                found.append(args)
    return found


def test_an_interrupted_base_is_made_from_the_start_the_next_time(own_lab: Home) -> None:
    """Kill the making half-way: no mount, no image, no marker stays; `down` cleans what the kill left."""
    env = {**os.environ, "GPUIMAGE_LAB": str(own_lab.root)}
    command = [sys.executable, "-m", "tests.lab", "bases", "debian:bookworm-slim"]
    log = own_lab.bases / "library_debian_bookworm-slim.log"
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as making:
        deadline = time.monotonic() + 60
        while "extracting archives" not in (log.read_text() if log.exists() else ""):
            assert time.monotonic() < deadline
            assert making.poll() is None
            time.sleep(0.1)
        making.send_signal(signal.SIGINT)
        assert making.wait(60) == 130
    assert not list(own_lab.bases.glob("*.json"))
    assert not list(own_lab.tmp.iterdir())
    assert str(own_lab.root) not in Path("/proc/self/mounts").read_text()


def test_the_command_line_says_what_runs(lab: Lab) -> None:
    shown = run([sys.executable, "-m", "tests.lab", "status"])
    assert f"docker     {lab.docker_host}  running" in shown
    assert f"registry   {lab.registry}  running" in shown
