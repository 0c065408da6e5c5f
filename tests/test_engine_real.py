"""Real engines build, run, export and push, and leave nothing behind: docker by its API, podman, buildah."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpuimage import process
from gpuimage.engine import BuildEvent, BuildRequest, Engine, ImageInfo, buildx
from gpuimage.engine.context import load_ignore, walk
from gpuimage.engine.docker import DockerEngine
from gpuimage.errors import BuildError, SpecError, UnavailableError

if TYPE_CHECKING:
    from tests.lab import Lab

pytestmark = pytest.mark.engine

BASE = "python:3.13-slim-trixie"
ENGINES = ("docker", "buildx", "podman", "buildah")


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Docker twice: with BuildKit through its API whatever is installed, and with buildx where it is."""
    if request.param not in ("docker", "buildx"):
        found: Engine = request.getfixturevalue(f"{request.param}_engine")
        return found
    request.getfixturevalue("docker_engine")
    if request.param == "buildx" and not buildx.available():
        pytest.skip("the docker CLI has no buildx plugin here")
    lab: Lab = request.getfixturevalue("lab")
    return DockerEngine(lab.docker_host, builder="api" if request.param == "docker" else "buildx")


@pytest.fixture(scope="module")
def base(lab: Lab) -> str:
    return lab.base(BASE)


@pytest.fixture(scope="module")
def image(engine: Engine, base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A small image with an entry point that fails, a user and some files."""
    context = tmp_path_factory.mktemp("context")
    (context / "hello.txt").write_text("hello\n")
    dockerfile = (
        f"FROM {base}\nENV GREETING=moin\nRUN useradd --uid 1234 app\nCOPY hello.txt /srv/hello.txt\n"
        'USER app\nENTRYPOINT ["false"]\nCMD ["never"]\n'
    )
    tag = f"gpuimage-test/{secrets.token_hex(4)}:1"
    engine.build(BuildRequest(dockerfile, context, tags=(tag,)), lambda _event: None)
    yield tag
    engine.remove(tag)


@pytest.fixture
def token() -> str:
    return f"token{secrets.token_hex(8)}"


def eventually(true: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.1)
    return true()


def build(engine: Engine, request: BuildRequest) -> tuple[ImageInfo, list[BuildEvent]]:
    events: list[BuildEvent] = []
    return engine.build(request, events.append), events


def processes_with(token: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if token in command and "gpuimage.engine" not in command:
            found.append(command)
    return found


def images_with(engine: Engine, token: str, docker_host: str) -> list[str]:
    """The images, intermediate ones too, whose history mentions a token."""
    if engine.name == "docker":
        import docker  # noqa: PLC0415

        client = docker.APIClient(base_url=docker_host, version="auto")
        try:
            ids = {str(found["Id"]) for found in client.images(all=True)}
            return [i for i in ids if token in str(client.history(i))]  # type: ignore[no-untyped-call]
        finally:
            client.close()
    listed = process.run(["podman", "images", "--all", "--quiet", "--no-trunc"], check=True).stdout.split()
    return [i for i in set(listed) if token in process.run(["podman", "history", "--no-trunc", i]).stdout]


def containers(engine: Engine, docker_host: str) -> set[str]:
    if engine.name == "docker":
        import docker  # noqa: PLC0415

        client = docker.APIClient(base_url=docker_host, version="auto")
        try:
            return {str(found["Id"]) for found in client.containers(all=True)}
        finally:
            client.close()
    return set(process.run(["podman", "ps", "--all", "--external", "--quiet"], check=True).stdout.split())


def test_a_healthy_engine_says_version_storage_and_room(engine: Engine) -> None:
    health = engine.health()
    assert health.available
    assert health.version
    assert health.storage is not None
    assert health.free_bytes is not None
    stat = os.statvfs(health.storage)
    assert abs(health.free_bytes - stat.f_bavail * stat.f_frsize) < 2e9
    assert "cache-mounts" in health.features


def test_mounts_stages_arguments_and_labels_work_and_steps_have_lines(
    engine: Engine, base: str, tmp_path: Path, token: str
) -> None:
    (tmp_path / "in.txt").write_text("from the context\n")
    dockerfile = f"""\
FROM {base} AS builder
ARG WORD
RUN --mount=type=cache,target=/var/cache/x,id={token} \\
    --mount=type=bind,source=in.txt,target=/tmp/in.txt \\
    --mount=type=bind,source=ca/root.pem,target=/tmp/root.pem \\
    echo "$WORD" >> /var/cache/x/seen && cat /tmp/in.txt /tmp/root.pem /var/cache/x/seen > /out && cat /out

FROM {base}
COPY --from=builder /out /out
ENV A=1
"""
    request = BuildRequest(
        dockerfile,
        tmp_path,
        tags=(f"gpuimage-test/{token}:1", f"gpuimage-test/{token}:latest"),
        build_args={"WORD": token},
        labels={"gpuimage.test": token},
        extra_files={"ca/root.pem": b"a certificate\n"},
    )
    try:
        info, events = build(engine, request)
        assert info.labels["gpuimage.test"] == token
        assert "A=1" in info.env
        assert len(info.tags) == 2
        assert info.layers[-1].bytes >= len("from the context\n")
        assert sum(layer.bytes for layer in info.layers) == pytest.approx(info.size, rel=0.1)
        said = [event for event in events if event.kind == "output" and event.text == token]
        assert [(event.line, event.step.split()[0]) for event in said] == [(3, "RUN")]
        assert {event.line for event in events if event.kind in ("done", "cached")} >= {3, 9}
        shown = engine.run(request.tags[0], ["cat", "/out"])
        assert shown.stdout == f"from the context\na certificate\n{token}\n"

        again, events = build(engine, request)
        assert again.id == info.id
        assert {event.line for event in events if event.kind == "cached"} >= {9}

        # Another argument runs the step again, on the same cache.
        build(engine, dataclasses.replace(request, build_args={"WORD": "second"}))
        assert engine.run(request.tags[0], ["cat", "/out"]).stdout.endswith(f"{token}\nsecond\n")
    finally:
        for tag in request.tags:
            engine.remove(tag)


def test_an_image_is_described(engine: Engine, image: str) -> None:
    info = engine.inspect(image)
    assert info.user == "app"
    assert "GREETING=moin" in info.env
    assert info.entrypoint == ("false",)
    assert info.command == ("never",)
    assert info.architecture in ("amd64", "arm64")
    assert all(layer.bytes > 0 for layer in info.layers)
    assert any("useradd" in layer.created_by for layer in info.layers)


def test_an_image_that_is_not_there_is_a_mistake_of_the_user(engine: Engine) -> None:
    for question in (engine.inspect, lambda name: engine.run(name, ["true"])):
        with pytest.raises(SpecError, match="no image"):
            question("gpuimage-test/not-there:1")
    engine.remove("gpuimage-test/not-there:1")


def test_a_command_runs_without_entry_point_as_the_images_user_and_without_network(
    engine: Engine, image: str
) -> None:
    script = "id -u; echo $GREETING $EXTRA; cat; grep -c : /proc/net/dev; echo err >&2; exit 3"
    result = engine.run(image, ["sh", "-c", script], stdin=b"input\n", env={"EXTRA": "a b=c"})
    assert (result.returncode, result.stderr) == (3, "err\n")
    assert result.stdout == "1234\nmoin a b=c\ninput\n1\n"
    assert engine.run(image, ["id", "-u"], user="0").stdout == "0\n"


def test_a_network_is_there_when_asked_for(engine: Engine, image: str) -> None:
    names = engine.run(image, ["cut", "-d:", "-f1", "/proc/net/dev"], network=True).stdout.split()
    without = engine.run(image, ["cut", "-d:", "-f1", "/proc/net/dev"]).stdout.split()
    assert len(names) > len(without)


def test_a_command_that_does_not_exist_ends_as_in_a_shell(engine: Engine, image: str) -> None:
    assert engine.run(image, ["no-such-command"]).returncode == 127


def test_much_input_and_output_at_once_does_not_stop(engine: Engine, image: str) -> None:
    script = "import sys; sys.stderr.write('e' * 2000000); sys.stdout.write(str(len(sys.stdin.read())))"
    result = engine.run(image, ["python3", "-c", script], stdin=b"x" * 3_000_000, timeout=120)
    assert (result.returncode, result.stdout) == (0, "3000000")
    assert result.stderr.count("e") >= 2_000_000


def test_a_command_that_takes_too_long_is_ended_with_its_container(
    engine: Engine, image: str, lab: Lab, token: str
) -> None:
    before = containers(engine, lab.docker_host)
    begin = time.monotonic()
    script = f"trap '' TERM; echo begun; sleep 300; echo {token}"
    result = engine.run(image, ["sh", "-c", script], timeout=4)
    assert result.timed_out
    assert result.stdout == "begun\n"
    assert time.monotonic() - begin < 30
    assert eventually(lambda: not processes_with(token))
    assert eventually(lambda: containers(engine, lab.docker_host) <= before)


def test_the_root_file_system_is_exported_flat(engine: Engine, image: str) -> None:
    with engine.export(image) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        found = {}
        for member in archive:
            if member.name == "srv/hello.txt":
                file = archive.extractfile(member)
                assert file is not None
                found[member.name] = file.read()
            else:
                found[member.name] = b""
    assert found["srv/hello.txt"] == b"hello\n"
    assert any(name.startswith("usr/bin/python3") for name in found)


def test_an_export_may_be_left_early(engine: Engine, image: str, lab: Lab) -> None:
    before = containers(engine, lab.docker_host)
    with engine.export(image) as stream:
        assert stream.read(512)
    assert eventually(lambda: containers(engine, lab.docker_host) <= before)


@dataclasses.dataclass
class Saved:
    """An image as its archive describes it; layers as plain tars."""

    config: dict[str, Any]
    layers: list[bytes]

    @classmethod
    def read(cls, engine: Engine, image: str, into: Path) -> Saved:
        with engine.archive(image) as stream, into.open("wb") as file:
            shutil.copyfileobj(stream, file)
        with tarfile.open(into) as archive:

            def content(name: str) -> bytes:
                file = archive.extractfile(name)  # also by the link that docker 20.10 writes for equal layers
                assert file is not None
                data = file.read()
                return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data

            (only,) = json.loads(content("manifest.json"))
            return cls(json.loads(content(only["Config"])), [content(name) for name in only["Layers"]])


def test_an_archive_holds_the_image_with_all_its_layers(engine: Engine, image: str, tmp_path: Path) -> None:
    saved = Saved.read(engine, image, tmp_path / "image.tar")
    assert "GREETING=moin" in saved.config["config"]["Env"]
    digests = [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in saved.layers]
    assert digests == saved.config["rootfs"]["diff_ids"]
    assert len(digests) == len(engine.inspect(image).layers)
    names = []
    for layer in saved.layers:
        with tarfile.open(fileobj=io.BytesIO(layer), mode="r:") as archive:
            names.append(archive.getnames())
    assert "srv/hello.txt" in names[-1]
    assert all(names)


def test_an_archive_of_a_name_holds_none_of_its_other_tags(
    engine: Engine, image: str, tmp_path: Path, token: str
) -> None:
    (tmp_path / "one").write_text("1")
    name = f"gpuimage-test/{token}"
    build(engine, BuildRequest("FROM scratch\nCOPY one /\n", tmp_path, tags=(f"{name}:latest",)))
    engine.tag(image, f"{name}:1")
    try:
        assert len(Saved.read(engine, name, tmp_path / "image.tar").layers) == 1
    finally:
        engine.remove(f"{name}:latest")
        engine.remove(f"{name}:1")


def test_an_archive_of_an_image_that_is_not_there_is_a_mistake_of_the_user(engine: Engine) -> None:
    with pytest.raises(SpecError, match="no image"), engine.archive("gpuimage-test/not-there:1"):
        pass


def temporary_files(engine: Engine, directory: Path) -> list[Path]:
    """What is kept beside an archive: by the daemon in its own directory, by podman and buildah in TMPDIR."""
    if engine.name != "docker":
        return list(directory.iterdir())
    return list(Path(engine.health().storage or "").glob("tmp/docker-export-*"))


def test_an_archive_may_be_left_early(
    engine: Engine, image: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = containers(engine, lab.docker_host)
    with engine.archive(image) as stream:
        assert stream.read(512)
    assert not processes_with(image)
    assert eventually(lambda: not temporary_files(engine, tmp_path))
    assert containers(engine, lab.docker_host) <= before


IGNORES = {
    "nothing": "",
    "names": "*.log\n**/*.pyc\n",
    "below": "node_modules\nbuild/\n/top.txt\n",
    "exception": "*\n!src\n!top.txt\n",
    "exception in a directory": "src\n!src/keep\n",
    "exception then again": "*.md\n!README*.md\nREADME-secret.md\n",
    "wildcards": "**/temp*\nsrc/?.py\n*/*/deep\n",
    "comment": "# a.log\n\n  *.log  \n",
}
TREE = (
    *("top.txt", "a.log", "README.md", "README-secret.md", "notes.md", ".hidden"),
    *("src/a.py", "src/ab.py", "src/a.pyc", "src/keep/k", "src/keep/x.log", "src/temp1", "src/x/deep/y"),
    *("build/out", "node_modules/m/index.js", "src/build/kept"),
)


@pytest.mark.parametrize("case", IGNORES)
def test_what_is_sent_is_what_the_engine_itself_would_send(engine: Engine, case: str, tmp_path: Path) -> None:
    for path in TREE:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    (tmp_path / ".dockerignore").write_text(IGNORES[case])
    ignore = load_ignore(tmp_path)
    ours = {entry.path for entry in walk(tmp_path, ignore) if entry.source.is_file()}
    info, _events = build(engine, BuildRequest("FROM scratch\nCOPY . /\n", tmp_path))
    try:
        with engine.export(info.id) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            files = {member.name for member in archive if member.isfile()}
    finally:
        engine.remove(info.id)
    # What docker's daemon and our own API build add; what podman writes into a container.
    added = {
        ".dockerenv",
        ".gpuimage.Dockerfile",
        "dev/console",
        "etc/hostname",
        "etc/hosts",
        "etc/resolv.conf",
    }
    assert files - added - {"run/.containerenv"} == ours


def test_a_step_that_fails_is_named_and_leaves_nothing(
    engine: Engine, base: str, lab: Lab, tmp_path: Path, token: str
) -> None:
    before = containers(engine, lab.docker_host)
    dockerfile = f"FROM {base}\nRUN echo {token}\n\nRUN echo one && \\\n    echo two && exit 7\n"
    with pytest.raises(BuildError) as caught:
        build(engine, BuildRequest(dockerfile, tmp_path, tags=(f"gpuimage-test/{token}:1",)))
    error = caught.value
    assert error.exit_code == 4
    assert error.where is not None
    assert error.where.line == 4
    assert "RUN echo one" in error.what
    assert "7" in (error.why or "")
    assert error.log[-2:] == ("one", "two")
    assert not images_with(engine, token, lab.docker_host)
    assert eventually(lambda: containers(engine, lab.docker_host) <= before)


def test_a_full_disk_is_recognised(engine: Engine, base: str, tmp_path: Path) -> None:
    step = "python3 -c \"open('/dev/full', 'wb', 0).write(b'x')\""
    with pytest.raises(BuildError, match="disk is full"):
        build(engine, BuildRequest(f"FROM {base}\nRUN {step}\n", tmp_path))


def test_a_base_that_the_registry_does_not_have_is_unavailable(
    engine: Engine, lab: Lab, tmp_path: Path
) -> None:
    missing = f"{lab.registry}/library/not-there:1"
    with pytest.raises(UnavailableError) as caught:
        build(engine, BuildRequest(f"\nFROM {missing}\nRUN true\n", tmp_path))
    assert caught.value.exit_code == 3
    assert missing in caught.value.what
    assert caught.value.where is not None
    assert caught.value.where.line == 2
    assert caught.value.hint


def test_a_registry_that_does_not_answer_is_unavailable(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        build(engine, BuildRequest("FROM 127.0.0.1:9/x:1\nRUN true\n", tmp_path))
    assert "127.0.0.1:9/x:1" in caught.value.what
    assert "does not answer" in (caught.value.hint or "")


def test_a_file_that_the_context_lacks_is_a_failed_step(engine: Engine, base: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build(engine, BuildRequest(f"FROM {base}\nCOPY not-there /x\n", tmp_path))
    assert caught.value.where is not None
    assert caught.value.where.line == 2


def test_an_instruction_that_does_not_exist_is_named_with_its_line(
    engine: Engine, base: str, tmp_path: Path
) -> None:
    with pytest.raises(BuildError) as caught:
        build(engine, BuildRequest(f"FROM {base}\nRUN true\nNOSUCH thing\n", tmp_path))
    assert caught.value.where is not None
    assert caught.value.where.line == 3


def test_an_image_is_tagged_pushed_removed_and_pulled(
    engine: Engine, image: str, lab: Lab, token: str
) -> None:
    tag = f"{lab.registry}/{token}/{engine.name}:1"
    identifier = engine.inspect(image).id
    events: list[BuildEvent] = []
    engine.tag(image, tag)
    digest = engine.push(tag, events.append)
    try:
        assert any(event.kind == "transfer" for event in events)
        url = f"http://{lab.registry}/v2/{token}/{engine.name}/manifests/1"
        accept = (
            "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json"
        )
        question = urllib.request.Request(url, method="HEAD", headers={"Accept": accept})
        with urllib.request.urlopen(question, timeout=20) as answer:
            assert answer.headers["Docker-Content-Digest"] == digest
        engine.remove(tag)
        with pytest.raises(SpecError):
            engine.inspect(tag)
        engine.pull(tag)
        assert engine.inspect(tag).id == identifier
    finally:
        engine.remove(tag)


def test_a_pull_of_what_is_not_there_is_unavailable(engine: Engine, lab: Lab) -> None:
    with pytest.raises(UnavailableError) as caught:
        engine.pull(f"{lab.registry}/library/not-there:1")
    assert "not-there:1" in caught.value.what


def test_a_step_may_use_the_hosts_network(engine: Engine, base: str, lab: Lab, tmp_path: Path) -> None:
    ask = (
        f"import urllib.request; print(urllib.request.urlopen('http://{lab.registry}/v2/', timeout=9).status)"
    )
    dockerfile = f'FROM {base}\nRUN python3 -c "{ask}" > /status\n'
    info, _events = build(engine, BuildRequest(dockerfile, tmp_path, network="host", no_cache=True))
    try:
        assert engine.run(info.id, ["cat", "/status"]).stdout == "200\n"
    finally:
        engine.remove(info.id)


def test_secrets_reach_the_step_and_not_the_image(engine: Engine, base: str, tmp_path: Path) -> None:
    secret = tmp_path / "token.txt"
    secret.write_text("s3cret")
    context = tmp_path / "context"
    context.mkdir()
    dockerfile = f"FROM {base}\nRUN --mount=type=secret,id=token wc -c < /run/secrets/token > /length\n"
    request = BuildRequest(dockerfile, context, secrets=(f"id=token,src={secret}",), no_cache=True)
    if "secrets" not in engine.health().features:
        with pytest.raises(UnavailableError, match="secrets"):
            build(engine, request)
        return
    info, _events = build(engine, request)
    try:
        assert engine.run(info.id, ["cat", "/length"]).stdout == "6\n"
        assert engine.run(info.id, ["cat", "/run/secrets/token"]).returncode != 0
    finally:
        engine.remove(info.id)


INTERRUPTED = """
import sys, time
from pathlib import Path
from gpuimage.engine import BuildRequest, select_engine
from gpuimage.engine.docker import DockerEngine
name, host, what, text, context = sys.argv[1:]
engine = DockerEngine(host, builder=name) if host else select_engine(name)
print("ready", flush=True)
if what == "build":
    request = BuildRequest(text, Path(context), tags=("gpuimage-test/interrupted:1",))
    engine.build(request, lambda event: print(event.text, flush=True))
elif what == "archive":
    with engine.archive(text) as stream:
        stream.read(512)
        Path(context).touch()
        time.sleep(300)
else:
    engine.run(text, ["sh", "-c", context])
"""


def interrupt(engine: Engine, lab: Lab, what: str, text: str, more: str, begun: Callable[[], bool]) -> str:
    """Build, archive or run in a process of its own and press Ctrl-C once it has begun."""
    host = lab.docker_host if isinstance(engine, DockerEngine) else ""
    name = engine.builder if isinstance(engine, DockerEngine) else engine.name
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, name, host, what, text, more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert eventually(begun, 60), "it did not begin"
        os.kill(child.pid, signal.SIGINT)
        _out, errors = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    return errors


def test_ctrl_c_on_a_build_leaves_no_process_no_container_and_no_image(
    engine: Engine, base: str, lab: Lab, tmp_path: Path, token: str
) -> None:
    before = containers(engine, lab.docker_host)
    dockerfile = f"FROM {base}\nRUN echo {token} > /x\nRUN sleep 300; echo {token}\n"
    sleeping = f"sleep 300; echo {token}"
    errors = interrupt(
        engine, lab, "build", dockerfile, str(tmp_path), lambda: bool(processes_with(f"-c {sleeping}"))
    )
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert eventually(lambda: not processes_with(sleeping))
    assert not images_with(engine, token, lab.docker_host)
    assert eventually(lambda: containers(engine, lab.docker_host) <= before)


def test_ctrl_c_on_a_command_leaves_no_process_and_no_container(
    engine: Engine, image: str, lab: Lab, token: str
) -> None:
    before = containers(engine, lab.docker_host)
    sleeping = f"sleep 300; echo {token}"
    errors = interrupt(engine, lab, "run", image, sleeping, lambda: bool(processes_with(f"sh -c {sleeping}")))
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert eventually(lambda: not processes_with(sleeping))
    assert eventually(lambda: containers(engine, lab.docker_host) <= before)


def test_ctrl_c_on_an_archive_leaves_no_process_and_no_file(
    engine: Engine, image: str, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, temporary = tmp_path / "begun", tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    errors = interrupt(engine, lab, "archive", image, str(begun), begun.exists)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert eventually(lambda: not processes_with(image))
    assert eventually(lambda: not temporary_files(engine, temporary))


def test_podman_and_buildah_leave_the_hosts_files_alone(lab: Lab) -> None:
    before = json.dumps(sorted(os.environ.items()))
    named = Path(os.environ["CONTAINERS_REGISTRIES_CONF"])
    text = named.read_text()
    from gpuimage.engine.registries import registries  # noqa: PLC0415

    with registries((lab.registry,)):
        pass
    assert named.read_text() == text
    assert json.dumps(sorted(os.environ.items())) == before
