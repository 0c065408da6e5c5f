"""Lines about what a build downloads from: registries, their mirrors, and the index of Python packages."""

from __future__ import annotations

import configparser
import http.client
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from gpuimage.doctor.host import Host
from gpuimage.doctor.types import Line
from gpuimage.doctor.waiting import together
from gpuimage.errors import UnavailableError
from gpuimage.reference import DOCKER_HUB
from gpuimage.remote import INDEX_VARIABLES, PYPI, request
from gpuimage.remote import shown as without_login

_line = partial(Line, area="network")

SECONDS = 5.0
"""How long each of them has to answer; all are asked at once."""

_HUB = "registry-1.docker.io"  # what docker.io stands for, by the engines
_PIP_FILES = ("/etc/pip.conf", "/etc/xdg/pip/pip.conf", "~/.pip/pip.conf", "~/.config/pip/pip.conf")


class Place(Struct, frozen=True):
    """Something to download from: its URL, who names it, what else may be tried where it does not answer."""

    name: str
    url: str
    by: str
    mend: tuple[str, ...] = ()


class Answer(Struct, frozen=True):
    """What a place said: an HTTP status, or why there is none; `untrusted` where its certificate is the reason."""

    status: int | None = None
    problem: str = ""
    untrusted: bool = False


# What there is


def registries(mirrors: Mapping[str, str], daemon: tuple[str, ...]) -> tuple[Place, ...]:
    """Docker Hub and the mirrors: those of the spec by registry, and those of the daemon's settings.

    A registry that a mirror of the spec stands for is not asked itself.
    """
    found = [
        Place(f"mirror of {registry}", _registry_url(host), "build.mirrors")
        for registry, host in mirrors.items()
    ]
    found += [Place("mirror of docker.io", _registry_url(url), "the daemon's settings") for url in daemon]
    if not any(key.split("/")[0] == DOCKER_HUB for key in mirrors):
        mend = (f"gpuimage build --mirror {DOCKER_HUB}=HOST spec.yaml",)
        found.append(Place("registry docker.io", _registry_url(_HUB), "the default", mend))
    return tuple(found)


def _registry_url(host: str) -> str:
    """Where a registry's API begins; one on this machine is spoken to without TLS, as engines do."""
    if "://" not in host:
        loopback = urlsplit(f"//{host}").hostname in ("localhost", "127.0.0.1", "::1")
        host = f"{'http' if loopback else 'https'}://{host}"
    parts = urlsplit(host)
    return f"{parts.scheme}://{parts.netloc}/v2/"


def index(host: Host, environment: Mapping[str, str], spec: str | None) -> Place:
    """The index of Python packages: the spec's, that of uv's or pip's variables, of pip's files, or PyPI."""
    mend = ("export PIP_INDEX_URL=URL UV_DEFAULT_INDEX=URL",)
    if spec is not None:
        return Place("package index", spec, "the spec", mend)
    for name in INDEX_VARIABLES:
        if environment.get(name):
            return Place("package index", environment[name], name, mend)
    url, by = _pip(host, environment, "index-url")
    return Place("package index", url or PYPI, by or "the default", mend)


def pip_certificate(host: Host, environment: Mapping[str, str]) -> dict[str, str]:
    """The bundle that pip's files name, by the name of the file."""
    path, by = _pip(host, environment, "cert")
    return {by: path} if path else {}


def _pip(host: Host, environment: Mapping[str, str], key: str) -> tuple[str, str]:
    """A setting of pip and its file; what stands later in the order of pip's files counts."""
    found = ("", "")
    own = environment.get("PIP_CONFIG_FILE")
    for path in (*_PIP_FILES, *((own,) if own else ())):
        if path.startswith("~") and not host.here:
            continue
        parser = configparser.RawConfigParser()
        try:
            parser.read_string(host.read(str(Path(path).expanduser())) or "")
            value = parser.get("global", key, fallback="").split()
        except (configparser.Error, RuntimeError):
            continue
        found = (value[0], path) if value else found
    return found


# Whether it answers


def network_lines(places: tuple[Place, ...], ca: Path | None) -> Iterator[Line]:
    """Ask all places at once and say which answer; `ca` is a bundle to trust besides the system's."""
    asked = {
        place.name + place.url: place for place in places if place.url.startswith(("http://", "https://"))
    }
    answers = together({key: partial(ask, _page(place), ca) for key, place in asked.items()}, SECONDS + 1)
    for place in places:
        key = place.name + place.url
        if key in asked:
            yield _judged(place, answers.get(key, Answer(problem=f"no answer within {SECONDS:g} seconds")))
        else:
            yield _line(
                name=place.name,
                status="skipped",
                seen=f"{shown(place.url)} ({place.by})",
                why="it is no web address",
            )


def _page(place: Place) -> str:
    """A page that is there and small: the list of all packages is neither."""
    return place.url if place.url.endswith("/v2/") else f"{place.url.rstrip('/')}/pip/"


def ask(url: str, ca: Path | None) -> Answer:
    """Get the head of a page; proxies of the environment are used."""
    try:
        # An opener of its own: the module's common one keeps the proxies of its first use.
        with urllib.request.build_opener(*_tls(url, ca)).open(request(url, {}), timeout=SECONDS) as got:
            return Answer(got.status)
    except urllib.error.HTTPError as error:
        error.close()
        return Answer(error.code)
    except UnavailableError as error:
        return Answer(problem=error.what)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        return Answer(problem=_said(reason), untrusted=isinstance(reason, ssl.SSLCertVerificationError))


def _tls(url: str, ca: Path | None) -> tuple[urllib.request.HTTPSHandler, ...]:
    if not url.startswith("https://"):
        return ()
    context = ssl.create_default_context()
    if ca is not None:
        context.load_verify_locations(cafile=ca)
    return (urllib.request.HTTPSHandler(context=context),)


def _said(reason: object) -> str:
    if isinstance(reason, TimeoutError):
        return f"no answer within {SECONDS:g} seconds"
    if isinstance(reason, socket.gaierror):
        return "its name cannot be resolved"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {reason.verify_message}"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return " ".join(str(reason).split()) or type(reason).__name__


def shown(url: str) -> str:
    """A URL without what may be secret in it."""
    return without_login(url.partition("?")[0])


def _judged(place: Place, answer: Answer) -> Line:
    seen = f"{shown(place.url)} ({place.by})"
    line = partial(_line, name=place.name)
    if answer.untrusted:
        return line(
            status="warning",
            seen=f"{seen}: {answer.problem}",
            why="where a company's proxy signs the traffic, its certificate must be known here and in builds",
            mend=("export SSL_CERT_FILE=company-ca.pem", "gpuimage build --ca company-ca.pem spec.yaml"),
        )
    if answer.status is None:
        return line(status="warning", seen=f"{seen}: {answer.problem}", why=_proxies(), mend=place.mend)
    # A registry that wants a login says so with 401, and is there.
    if answer.status < 300 or answer.status == 401:
        return line(status="ok", seen=f"{seen} answers")
    return line(
        status="warning", seen=f"{seen} answers with status {answer.status}", why=_proxies(), mend=place.mend
    )


def _proxies() -> str:
    """Which proxies were used; their names only."""
    found = {
        scheme: shown(url)
        for scheme, url in urllib.request.getproxies().items()
        if scheme in ("http", "https")
    }
    if not found:
        return "no proxy is set (HTTPS_PROXY)"
    return "by the proxy " + ", ".join(sorted(set(found.values())))
