"""A temporary registries.conf for podman and buildah, so that the host's own files stay as they are."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import environ
from pathlib import Path

VARIABLE = "CONTAINERS_REGISTRIES_CONF"
_HOST_FILE = Path("/etc/containers/registries.conf")
_USER_FILE = Path("~/.config/containers/registries.conf")
_LOOPBACK = re.compile(r"\b(?:127(?:\.\d{1,3}){3}|localhost)(?::\d+)?(?=/)")


def loopback(text: str) -> tuple[str, ...]:
    """Return the loopback registries named in a text; Docker too takes those in plain HTTP."""
    return tuple(dict.fromkeys(_LOOPBACK.findall(text)))


def compose(host: str, insecure: Iterable[str]) -> str:
    """Return the host's registries.conf with what a build needs added.

    Short names mean Docker Hub, as they do for Docker, unless the host's file says where else to look.
    """
    known = tomllib.loads(host)
    head = (
        "" if "unqualified-search-registries" in known else 'unqualified-search-registries = ["docker.io"]\n'
    )
    if "short-name-mode" not in known:
        head += 'short-name-mode = "permissive"\n'
    if "registries" in known:
        return host  # the old format, which cannot be mixed with the new one
    listed = {str(entry.get("prefix") or entry.get("location")) for entry in known.get("registry", ())}
    tail = "".join(
        f'\n[[registry]]\nlocation = "{name}"\ninsecure = true\n'
        for name in dict.fromkeys(insecure)
        if name not in listed
    )
    return f"{head}{host}\n{tail}"


@contextmanager
def registries(insecure: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the environment that makes podman and buildah take these registries in plain HTTP."""
    try:
        text = compose(_host_text(), insecure)
    except tomllib.TOMLDecodeError:
        yield {}  # the engine reads the same file and says better what is wrong with it
        return
    with tempfile.NamedTemporaryFile("w", prefix="gpuimage-", suffix=".conf") as file:
        file.write(text)
        file.flush()
        yield {VARIABLE: file.name}


def _host_text() -> str:
    named = environ.get(VARIABLE)
    for path in (Path(named),) if named else (_USER_FILE.expanduser(), _HOST_FILE):
        try:
            return path.read_text()
        except OSError:
            continue
    return ""
