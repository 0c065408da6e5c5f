"""What doctor says of registries, indexes and certificates: servers on this machine that answer, hang, refuse, lie."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpuimage.doctor import Line, network
from gpuimage.doctor.certificates import ca_lines, read_bundle
from gpuimage.doctor.host import Host
from gpuimage.doctor.network import Place, index, network_lines, pip_certificate, registries
from tests.conftest import Command
from tests.machines import Machine


class _Server(BaseHTTPRequestHandler):
    """Answers /v2/ with 401 as registries do, /simple/pip/ with 200, /own/pip/ to a login, all else with 503."""

    def do_GET(self) -> None:
        login = self.headers.get("Authorization") == f"Basic {base64.b64encode(b'me:secret').decode()}"
        self.send_response(
            {"/v2/": 401, "/simple/pip/": 200, "/own/pip/": 200 if login else 403}.get(self.path, 503)
        )
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_arguments: object) -> None:
        return


@contextmanager
def serving(certificate: Path | None = None) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def asked(*places: Place, ca: Path | None = None) -> list[Line]:
    return list(network_lines(places, ca))


def certificate(folder: Path) -> Path:
    """A certificate that signs itself, and beside it (.key) the file with its key too."""
    file = folder / "company.pem"
    key = folder / "key"
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate")
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=company", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip(f"this openssl makes no such certificate: {made.stderr.strip()[-100:]}")
    file.with_suffix(".key").write_text(key.read_text() + file.read_text())
    return file


# Made with openssl for January 2020; its key was thrown away.
EXPIRED = """\
-----BEGIN CERTIFICATE-----
MIIBCzCBsgIBATAKBggqhkjOPQQDAjASMRAwDgYDVQQDDAdleHBpcmVkMB4XDTIw
MDEwMTAwMDAwMFoXDTIwMDIwMTAwMDAwMFowEjEQMA4GA1UEAwwHZXhwaXJlZDBZ
MBMGByqGSM49AgEGCCqGSM49AwEHA0IABGhI4V3UDP1IiqO7dHl67erF46w+ADh/
MgSbyl+ZNjM1yU/UF1O27C6x9/fZHui5MtF+NU4nQIZ0CuYumqLQnvowCgYIKoZI
zj0EAwIDSAAwRQIgZbI0VmhRHpDYDshrJMx2nD8M07w5pu8RntiejW1ZHkcCIQC2
zhslxA0Y4WKv+t4oQz6necaajbAh+sSIrYKNGSuUyg==
-----END CERTIFICATE-----
"""


# --- registries and indexes -----------------------------------------------------------------------------------------


def test_a_registry_that_wants_a_login_and_an_index_answer() -> None:
    with serving() as address:
        [mirror] = registries({"docker.io": address}, ())
        assert mirror.url == f"http://{address}/v2/"
        place = Place("package index", f"http://{address}/simple/", "PIP_INDEX_URL")
        assert [line.status for line in asked(mirror, place)] == ["ok", "ok"]


def test_what_hangs_is_a_warning_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        url = f"http://127.0.0.1:{hanging.getsockname()[1]}/v2/"
        [line] = asked(Place("mirror", url, "here", ("mend",)))
    assert (line.status, line.mend, line.stops) == ("warning", ("mend",), None)
    assert "no answer within 0.5 seconds" in line.seen


def test_what_refuses_or_has_no_name_is_a_warning_with_its_reason() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        urls = [f"http://127.0.0.1:{closed.getsockname()[1]}/v2/", "https://no-such-host.invalid/v2/"]
        lines = asked(*(Place(f"mirror {n}", url, "here", ("mend",)) for n, url in enumerate(urls)))
    assert [(line.status, line.mend, line.stops) for line in lines] == [("warning", ("mend",), None)] * 2
    assert "refused" in lines[0].seen


def test_all_are_asked_at_once() -> None:
    """Nobody is answered before everybody has come."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:

        def answer_all() -> None:
            connections = [server.accept()[0] for _ in range(20)]
            for connection in connections:
                with connection:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        threading.Thread(target=answer_all, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/v2/"
        lines = asked(*(Place(f"mirror {n}", url, "here") for n in range(20)))
    assert [line.status for line in lines] == ["ok"] * 20


def test_a_server_in_trouble_is_told_with_its_status() -> None:
    with serving() as address:
        [line] = asked(Place("package index", f"http://{address}/other", "here"))
    assert line.status == "warning"
    assert "503" in line.seen


def test_a_certificate_that_is_not_trusted_asks_for_the_ca_and_is_trusted_with_it(tmp_path: Path) -> None:
    own = certificate(tmp_path)
    with serving(own.with_suffix(".key")) as address:
        place = Place("mirror of docker.io", f"https://{address}/v2/", "build.mirrors")
        [line] = asked(place)
        assert line.status == "warning"
        assert "not trusted" in line.seen
        assert any("--ca" in command for command in line.mend)
        assert asked(place, ca=own)[0].status == "ok"


def test_a_proxy_is_used_and_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("http_proxy", f"http://user:secret@127.0.0.1:{closed.getsockname()[1]}")
        with serving() as address:
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            [line] = asked(Place("mirror", f"http://{address}/v2/", "here"))
    assert line.status == "warning"
    assert "by the proxy http://127.0.0.1:" in line.why
    assert "secret" not in str(line)


def test_passwords_in_addresses_are_used_and_not_shown() -> None:
    with serving() as address:
        [line] = asked(Place("package index", f"http://me:secret@{address}/own", "PIP_INDEX_URL"))
        assert (line.status, "secret" in str(line)) == ("ok", False)
        [line] = asked(Place("package index", f"http://me:wrong@{address}/own", "PIP_INDEX_URL"))
        assert (line.status, "wrong" in str(line)) == ("warning", False)
    [line] = asked(Place("package index", "file:///srv/simple", "PIP_INDEX_URL"))
    assert line.status == "skipped"
    assert network.shown("https://me:secret@index.example/simple?token=1") == "https://index.example/simple"


def test_a_registry_behind_a_mirror_is_not_asked_itself() -> None:
    assert [place.name for place in registries({"docker.io": "m:5000"}, ())] == ["mirror of docker.io"]
    names = [place.name for place in registries({"quay.io": "m:5000"}, ("https://mirror.example/",))]
    assert names == ["mirror of quay.io", "mirror of docker.io", "registry docker.io"]


def test_the_index_is_that_of_the_spec_the_variables_or_pips_files(tmp_path: Path) -> None:
    machine = Machine(tmp_path).write(
        "/etc/pip.conf", "[global]\nindex-url = https://files.example/simple\ncert = /etc/ca.pem\n"
    )
    host = Host(machine.root)
    assert index(host, {}, None).url == "https://files.example/simple"
    assert index(host, {"PIP_INDEX_URL": "https://a.example"}, None).url == "https://a.example"
    assert (
        index(host, {"PIP_INDEX_URL": "https://a.example"}, "https://spec.example").url
        == "https://spec.example"
    )
    assert pip_certificate(host, {}) == {"/etc/pip.conf": "/etc/ca.pem"}
    assert (
        index(Host(Machine(tmp_path / "b").write("/etc/pip.conf", "index-url = x").root), {}, None).by
        == "the default"
    )


def test_the_mirrors_of_a_spec_are_asked(tmp_path: Path, command: Command) -> None:
    with serving() as address:
        (tmp_path / "ca.pem").write_text(certificate(tmp_path).read_text())
        spec = tmp_path / "spec.yaml"
        spec.write_text(
            f"image: example.com/a:1\nindex: http://{address}/simple\n"
            f"build: {{mirrors: {{docker.io: '{address}'}}, ca: ca.pem}}\n"
        )
        code, out, _ = command(
            "doctor", "--root", str(Machine(tmp_path / "m").root), "--spec", str(spec), "--json"
        )
    lines = {line["name"]: line for line in json.loads(out)["lines"]}
    assert (code, lines["mirror of docker.io"]["status"], lines["package index"]["status"]) == (0, "ok", "ok")
    assert "registry docker.io" not in lines


def test_a_ca_bundle_that_cannot_be_used_is_an_error_of_its_own(tmp_path: Path, command: Command) -> None:
    root = str(Machine(tmp_path).root)
    for name, said in (("nothing.pem", "No such file"), ("etc/os-release", "no certificate")):
        code, out, err = command("doctor", "--root", root, "--ca", str(tmp_path / name), "--offline")
        assert (code, out) == (2, "")
        assert said in err


# --- certificates ---------------------------------------------------------------------------------------------------


def told(machine: Machine, environment: dict[str, str] | None = None, given: str | None = None) -> list[Line]:
    return list(ca_lines(Host(machine.root), environment or {}, {}, given))


def test_a_companys_certificate_must_be_given_to_builds(tmp_path: Path) -> None:
    pem = certificate(tmp_path).read_text()
    machine = Machine(tmp_path / "m").write("/usr/local/share/ca-certificates/company.crt", pem)
    machine.write("/etc/ssl/certs/ca-certificates.crt", pem)
    [line] = told(machine)
    assert (line.status, line.mend) == (
        "warning",
        ("gpuimage build --ca /etc/ssl/certs/ca-certificates.crt spec.yaml",),
    )
    [line] = told(machine, given="company.pem")
    assert line.status == "ok"
    assert told(Machine(tmp_path / "n"))[0].seen == "no company's certificate is set up"


def test_a_bundle_that_a_variable_names_is_a_companys_unless_it_is_the_systems(tmp_path: Path) -> None:
    pem = certificate(tmp_path).read_text()
    machine = (
        Machine(tmp_path / "m").write("/opt/ca.pem", pem).write("/etc/ssl/certs/ca-certificates.crt", pem)
    )
    machine.link("/opt/system.pem", "/etc/ssl/certs/ca-certificates.crt").write(
        "/opt/certifi/cacert.pem", pem
    )
    [line] = told(machine, {"SSL_CERT_FILE": "/opt/ca.pem"})
    assert line.mend == ("gpuimage build --ca /opt/ca.pem spec.yaml",)
    for path in ("/etc/ssl/certs/ca-certificates.crt", "/opt/system.pem", "/opt/certifi/cacert.pem"):
        assert told(machine, {"SSL_CERT_FILE": path})[0].status == "ok"


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"no certificate",
        b"\x00\xff",
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ],
)
def test_a_bundle_that_cannot_be_used_is_missing(tmp_path: Path, content: bytes | None) -> None:
    machine = Machine(tmp_path)
    if content is not None:
        machine.write("/opt/ca.pem", content)
    first = told(machine, {"REQUESTS_CA_BUNDLE": "/opt/ca.pem"})[0]
    assert first.status == "missing"
    assert first.seen.startswith("REQUESTS_CA_BUNDLE names /opt/ca.pem: ")


def test_an_expired_certificate_is_told(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "rocky").write("/etc/pki/ca-trust/source/anchors/old.pem", EXPIRED)
    assert read_bundle(Host(machine.root), "/etc/pki/ca-trust/source/anchors/old.pem", "x").expired == 1
    line = told(machine)[0]
    assert (line.status, line.mend) == ("warning", ("sudo update-ca-trust",))
    assert "expired" in line.seen
