"""Root file systems from distribution packages: what mmdebstrap is asked for, and whose keys it trusts."""

from __future__ import annotations

import hashlib
import io
import shlex
import subprocess
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from tests.lab import packages, processes
from tests.lab.home import Home
from tests.lab.registry import Layer, pack_layer
from tests.lab.shell import LabError, as_root, is_root, read_text, run, tail, which

EPOCH = 1735689600  # 2025-01-01: the time stamp of every file and of the images


@dataclass(frozen=True, slots=True)
class Distribution:
    """A release of Debian or Ubuntu. `python` is its python3; `version` the number in image names."""

    family: str
    suite: str
    version: str
    python: str

    @property
    def components(self) -> str:
        return "main" if self.family == "debian" else "main universe"


DISTRIBUTIONS = (
    Distribution("ubuntu", "jammy", "22.04", "3.10"),
    Distribution("debian", "bookworm", "12", "3.11"),
    Distribution("ubuntu", "noble", "24.04", "3.12"),
    Distribution("debian", "trixie", "13", "3.13"),
)

_MIRRORS = {
    "debian": ("http://deb.debian.org/debian", "http://deb.debian.org/debian-security"),
    "ubuntu": ("http://archive.ubuntu.com/ubuntu", "http://archive.ubuntu.com/ubuntu"),
}
_KEYRINGS = {
    "debian": (Path("/usr/share/keyrings/debian-archive-keyring.gpg"), "debian-archive-keyring"),
    "ubuntu": (Path("/usr/share/keyrings/ubuntu-archive-keyring.gpg"), "ubuntu-keyring"),
}
# Debian does not package Ubuntu's keys: take them from Ubuntu's archive and trust the key by its
# fingerprint, published as "Ubuntu Archive Automatic Signing Key (2018)".
_UBUNTU_KEY_PACKAGE = "pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb"
_UBUNTU_KEY_FILE = "./etc/apt/trusted.gpg.d/ubuntu-keyring-2018-archive.gpg"
_UBUNTU_FINGERPRINT = "F6ECB3762474EDA9D21B7022871920D1991BC93C"

# As the slim images of Docker's library do: manuals and translations stay out.
_LEFT_OUT = (
    "/usr/share/man/*",
    "/usr/share/doc/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/share/lintian/*",
    "/usr/share/groff/*",
)
# A hook of mmdebstrap: its apt knows the suite, and "$1" is the new root.
_HEADERS = (
    'set -e; work="$(mktemp -d)"; cd "$work"; APT_CONFIG="$MMDEBSTRAP_APT_CONFIG" apt-get download {package};'
    ' dpkg-deb --fsys-tarfile ./*.deb | tar --extract --directory "$1" ./usr/include; rm -r "$work"'
)


@dataclass(frozen=True, slots=True)
class Rootfs:
    """What a root file system is made of: packages, files left out, and an archive unpacked over it.

    Of `headers`, a package, only /usr/include is taken: neither the rest of it nor what it depends on.
    """

    distribution: Distribution
    packages: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    overlay: Path | None = None
    headers: str | None = None


def bootstrap(home: Home, wanted: Rootfs, work: Path, log: Path) -> Layer:
    """Make the root file system with mmdebstrap, straight into a layer file in the directory `work`.

    Root's rights are needed (mmdebstrap's other ways need user namespaces that hosts often forbid).
    """
    program = which("mmdebstrap")
    if program is None:
        raise LabError("there is no mmdebstrap")
    args = [program, *_options(home, wanted), wanted.distribution.suite, "-", *_sources(wanted.distribution)]
    command = ["env", f"SOURCE_DATE_EPOCH={EPOCH}", f"TMPDIR={work}", *args]
    if not is_root():
        run(["true"], root=True)  # sudo asks now, while it has the terminal
    with log.open("wb") as errors:
        process = subprocess.Popen(
            as_root(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,  # so that its apt and dpkg can be stopped with it
        )
        try:
            assert process.stdout is not None  # it is a pipe
            with process.stdout as tar:
                layer = pack_layer(tar, work)
            code = process.wait()
        except BaseException:
            processes.stop([process.pid], seconds=5, group=True)
            process.wait()
            raise
    if code != 0:
        raise LabError(f"mmdebstrap failed; the end of {log}:\n{tail(read_text(log))}")
    return layer


def _options(home: Home, wanted: Rootfs) -> list[str]:
    overlay = [f"tar-in {shlex.quote(str(wanted.overlay))} /"] if wanted.overlay else []
    hooks = [*overlay, 'chroot "$1" ldconfig'] if overlay else []
    if wanted.headers:
        hooks.append(_HEADERS.format(package=shlex.quote(wanted.headers)))
    return [
        "--mode=root",
        "--variant=minbase",
        "--format=tar",
        f"--include={','.join(wanted.packages)}",
        f"--keyring={keyring(home, wanted.distribution.family)}",
        "--dpkgopt=force-unsafe-io",  # as in Docker's own images: no fsync for each file
        *(f"--dpkgopt=path-exclude={path}" for path in (*_LEFT_OUT, *wanted.left_out)),
        *(f'--aptopt={name} "{value}"' for name, value in apt_settings().items()),
        *(f"--customize-hook={hook}" for hook in hooks),
    ]


def _sources(distribution: Distribution) -> list[str]:
    main, security = mirrors(distribution.family)
    suite, components = distribution.suite, distribution.components
    return [
        f"deb {main} {suite} {components}",
        f"deb {main} {suite}-updates {components}",
        f"deb {security} {suite}-security {components}",
    ]


def mirrors(family: str) -> tuple[str, str]:
    """Return the archive and the security archive of a family: the host's own where it is of it."""
    main, security = _MIRRORS[family]
    listed = run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    ).splitlines()
    suites = {item.suite for item in DISTRIBUTIONS if item.family == family}
    for line in listed:
        uri, _, release = line.partition(" ")
        if release in suites:
            main = uri.rstrip("/")
        elif release.removesuffix("-security") in suites and release.endswith("-security"):
            security = uri.rstrip("/")
    return main, security


def apt_settings() -> dict[str, str]:
    """Return what the host's apt says about proxies and dates; mmdebstrap does not read it by itself."""
    found = {}
    for line in run(["apt-config", "dump"]).splitlines():
        name, _, value = line.rstrip(";").partition(" ")
        wanted = name.lower().endswith("::proxy") or name in {
            "Acquire::Check-Valid-Until",
            "Acquire::Check-Date",
        }
        if name.startswith("Acquire::") and wanted and value.strip('"'):
            found[name] = value.strip('"')
    return found


def keyring(home: Home, family: str) -> Path:
    """Return a file with the archive keys of a distribution."""
    path, package = _KEYRINGS[family]
    if path.exists():
        return path
    if family == "debian":
        packages.ensure_keyring(path, package)
        return path
    ours = home.root / "keys" / "ubuntu-archive.gpg"
    if not ours.exists():
        ours.parent.mkdir(parents=True, exist_ok=True)
        fresh = ours.with_suffix(".new")
        fresh.write_bytes(_fetch_ubuntu_key())
        fresh.replace(ours)
    return ours


def _fetch_ubuntu_key() -> bytes:
    proxies = {
        name.split("::")[1].lower(): value
        for name, value in apt_settings().items()
        if name.lower() in {"acquire::http::proxy", "acquire::https::proxy"} and value != "DIRECT"
    }
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies or None))
    url = f"{mirrors('ubuntu')[0]}/{_UBUNTU_KEY_PACKAGE}"
    try:
        with opener.open(url, timeout=60) as answer:
            package = answer.read()
    except OSError as error:
        raise LabError(f"{url} does not answer: {error}") from error
    unpacked = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", "/dev/stdin"], input=package, capture_output=True, check=False
    )
    with tarfile.open(fileobj=io.BytesIO(unpacked.stdout)) as archive:
        member = archive.extractfile(_UBUNTU_KEY_FILE)
        key = member.read() if member else b""
    if fingerprints(key) != (_UBUNTU_FINGERPRINT,):
        raise LabError(f"{url} does not hold Ubuntu's archive key of 2018: not trusted")
    return key


def fingerprints(ring: bytes) -> tuple[str, ...]:
    """Return the fingerprints of all keys in an OpenPGP keyring (RFC 4880, version 4; sub-keys included)."""
    found, at = [], 0
    while at < len(ring):
        tag, body, at = _packet(ring, at)
        if tag in {6, 14}:
            digest = hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body, usedforsecurity=False)
            found.append(digest.hexdigest().upper())
    return tuple(found)


def _packet(ring: bytes, at: int) -> tuple[int, bytes, int]:
    head, at = ring[at], at + 1
    if head & 0x40:  # the new format: the length says itself how long it is
        tag, first = head & 0x3F, ring[at]
        if first < 192:
            size, at = first, at + 1
        elif first < 224:
            size, at = ((first - 192) << 8) + ring[at + 1] + 192, at + 2
        else:
            size, at = int.from_bytes(ring[at + 1 : at + 5], "big"), at + 5
    else:
        tag, width = (head >> 2) & 0xF, 1 << (head & 3)
        size, at = int.from_bytes(ring[at : at + width], "big"), at + width
    return tag, ring[at : at + size], at + size
