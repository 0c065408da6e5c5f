"""Lines about certificates: which company's authority this machine trusts, and whether its files can be used."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Mapping
from functools import partial
from time import time

from msgspec import Struct

from gpuimage.doctor.host import Host, quoted
from gpuimage.doctor.types import Line

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----[\s!-~]+?-----END CERTIFICATE-----", re.ASCII)
_line = partial(Line, area="network", name="CA")

VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE")
"""The variables by which programs are given a bundle."""

_ANCHORS = ("/usr/local/share/ca-certificates", "/etc/pki/ca-trust/source/anchors", "/etc/pki/trust/anchors")
_SYSTEM = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


class Bundle(Struct, frozen=True):
    """A file of certificates, named by `by`; `problem` says why it cannot be used, `expired` counts its dead ones."""

    path: str
    by: str
    expired: int = 0
    problem: str | None = None


def read_bundle(host: Host, path: str, by: str) -> Bundle:
    """Read a bundle of certificates as TLS libraries do; what stands around them may be anything."""
    try:
        blocks = _PEM.findall(host.text(path))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if not blocks:
            return Bundle(path, by, problem="it holds no certificate")
        context.load_verify_locations(cadata="\n".join(blocks))
    except ssl.SSLError as error:
        return Bundle(path, by, problem=f"a certificate in it is broken ({error.reason or error})")
    except OSError as error:
        return Bundle(path, by, problem=error.strerror or str(error))
    now = time()
    ends = [str(one["notAfter"]) for one in context.get_ca_certs() if "notAfter" in one]
    return Bundle(path, by, expired=sum(ssl.cert_time_to_seconds(end) < now for end in ends))


def ca_lines(
    host: Host, environment: Mapping[str, str], named: Mapping[str, str], given: str | None
) -> Iterator[Line]:
    """The bundles that variables, settings and the system name; `named` are files by who names them.

    `given` is the bundle that builds are given already.
    """
    variables = {name: environment[name] for name in VARIABLES if environment.get(name)}
    bundles = [read_bundle(host, path, by) for by, path in {**variables, **named}.items()]
    for bundle in bundles:
        if bundle.problem:
            yield _broken(bundle)
    anchors = [read_bundle(host, path, path.rpartition("/")[0]) for path in _anchors(host)]
    for anchor in anchors:
        if anchor.problem or anchor.expired:
            yield _dead_anchor(host, anchor)
    own = [one for one in (*anchors, *bundles) if not one.problem and not _public(host, one.path)]
    if not own:
        yield _line(status="ok", seen="no company's certificate is set up")
    elif given:
        yield _line(status="ok", seen=f"{_named(own)}; builds get {given}")
    else:
        yield _line(
            status="warning",
            seen=_named(own),
            why="steps of a build do not know it: where it signs the traffic, downloads in them fail",
            mend=(f"gpuimage build --ca {quoted(_whole(host, own))} spec.yaml",),
        )


def _public(host: Host, path: str) -> bool:
    """Whether a bundle is the system's, or that of certifi or conda, and so no company's."""
    system = {host.resolve(name) for name in _SYSTEM}
    return host.resolve(path) in system or path.endswith(("/certifi/cacert.pem", "/ssl/cacert.pem"))


def _named(bundles: list[Bundle]) -> str:
    first = bundles[0]
    more = f" and {len(bundles) - 1} more" if len(bundles) > 1 else ""
    return f"a company's certificate is set up: {first.path}{more}"


def _whole(host: Host, own: list[Bundle]) -> str:
    """The bundle that serves every download: the system's, which its anchors are part of, else the named one."""
    anchored = any(bundle.path.startswith(_ANCHORS) for bundle in own)
    system = next((path for path in _SYSTEM if host.exists(path)), None)
    return system if anchored and system else own[0].path


def _anchors(host: Host) -> Iterator[str]:
    for folder in _ANCHORS:
        for name in host.names(folder):
            if name.endswith((".crt", ".pem", ".cer")):
                yield f"{folder}/{name}"


def _broken(bundle: Bundle) -> Line:
    return _line(
        status="missing",
        seen=f"{bundle.by} names {bundle.path}: {bundle.problem}",
        why="pip, curl and gpuimage itself cannot open a TLS connection with it",
        mend=(f"unset {bundle.by}",) if bundle.by in VARIABLES else ("pip config debug",),
    )


def _dead_anchor(host: Host, anchor: Bundle) -> Line:
    updates = {"apt": "sudo update-ca-certificates --fresh", "zypper": "sudo update-ca-certificates"}
    return _line(
        status="warning",
        seen=f"{anchor.path}: {anchor.problem or 'it has expired'}",
        why="ask for the new one, put it in its place, and update the system's bundle",
        mend=host.commands(updates.get(host.system or "", "sudo update-ca-trust")),
    )
