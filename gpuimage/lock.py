"""The lock: exact versions, hashes and sizes of every distribution an image installs.

A lock is a requirements file with hashes, so that any pip installs from it (`pip install --no-deps
--require-hashes -r spec.lock`) through any mirror: it names no host. Two extra facts stand behind each
requirement as a comment, both read from the package index: the bytes to download and the bytes on disk.
The header holds a digest of all that went into the resolution; a lock whose digest differs is stale.

uv resolves; this module is the only one that calls it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name, parse_wheel_filename

from gpuimage import process
from gpuimage.errors import Location, ResolveError, SpecError, UnavailableError
from gpuimage.files import write_atomic
from gpuimage.remote import RemoteFile
from gpuimage.spec import SpecFile

FORMAT = 1
PYTORCH_INDEX = "https://download.pytorch.org/whl"

_REQUIREMENT = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)(?:==(?P<version>\S+)| @ (?P<url>\S+\.whl))(?P<hashes>(?: --hash=sha256:[0-9a-f]{64})+)"
    r"(?:  # (?P<download>\d+|\?) bytes, (?P<installed>\d+|\?) installed)?$"
)


@dataclass(frozen=True, slots=True)
class Locked:
    """One distribution of the lock; sizes in bytes, None where the index did not tell.

    `url` is that of a wheel which the spec names by its URL: no index would find it again.
    """

    name: str
    version: str
    hashes: tuple[str, ...]
    download_bytes: int | None = None
    installed_bytes: int | None = None
    url: str | None = None

    def __str__(self) -> str:
        sizes = f"  # {_bytes(self.download_bytes)} bytes, {_bytes(self.installed_bytes)} installed"
        what = f"{self.name} @ {self.url}" if self.url else f"{self.name}=={self.version}"
        return what + "".join(f" --hash=sha256:{h}" for h in self.hashes) + sizes


def _bytes(value: int | None) -> str:
    return "?" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The question put to the resolver; its digest tells a fresh lock from a stale one.

    requirements are PEP 508 lines; local are wheel files beside the spec (path, sha256), whose dependencies are
    locked; files are requirement files (path, content); sources are packages whose source archive is locked for
    a builder stage; torch_backend is `cpu`, `cu126` … where
    torch comes from the PyTorch index; index replaces PyPI.
    """

    requirements: tuple[str, ...]
    local: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    sources: tuple[str, ...] = ()
    python: str = "3.12"
    platform: str = "x86_64-manylinux_2_28"
    torch_backend: str | None = None
    index: str | None = None

    @property
    def digest(self) -> str:
        """Sha256 (hex) over everything that can change the answer."""
        asked = [
            FORMAT, self.requirements, self.local, self.files, self.sources,
            self.python, self.platform, self.torch_backend, self.index,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to resolve."""
        return not (self.requirements or self.local or self.files or self.sources)

    @property
    def index_options(self) -> tuple[str, ...]:
        """The pip options that find the same files again; none for PyPI, so that pip's own setting holds."""
        if self.index:
            return (f"--index-url {self.index}",)
        if self.torch_backend:
            return (f"--extra-index-url {PYTORCH_INDEX}/{self.torch_backend}",)
        return ()


@dataclass(frozen=True, slots=True)
class Lock:
    """A resolution's answer: `packages` to install, `sources` to compile in a builder stage."""

    digest: str
    packages: tuple[Locked, ...]
    sources: tuple[Locked, ...] = ()
    resolved: str = ""
    options: tuple[str, ...] = ()

    @property
    def download_bytes(self) -> int:
        """The bytes to download, as far as the index told them."""
        return sum(package.download_bytes or 0 for package in self.packages)

    def version(self, name: str) -> str | None:
        """The locked version of a distribution, or None where the lock does not hold it."""
        wanted = canonicalize_name(name)
        return next((p.version for p in self.packages if p.name == wanted), None)

    def text(self) -> str:
        """The lock as a requirements file (sources stand in the header: pip must not install them here)."""
        lines = [
            f"# gpuimage lock {FORMAT}, resolved {self.resolved}. Made by `gpuimage lock`; do not edit.",
            f"# inputs: sha256:{self.digest}",
            *(f"# source: {source}" for source in self.sources),
            *self.options,
            *(str(package) for package in self.packages),
        ]
        return "\n".join(lines) + "\n"


def lock_path(spec: SpecFile) -> Path:
    """Where the lock of a spec lives: beside it, `spec.yaml` -> `spec.lock`; `spec.cu126-py312.lock` for a variant."""
    return spec.path.with_suffix(f".{spec.variant}.lock" if spec.variant else ".lock")


def read_lock(path: Path) -> Lock | None:
    """The lock at `path`, or None when there is none; SpecError when the file is not a lock."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"the lock cannot be read: {error}", where=Location(path)) from error
    return _parse(text, path)


def lock_beside(spec: SpecFile) -> Lock | None:
    """The lock that stands beside a spec's file; None and SpecError as `read_lock` says."""
    return read_lock(lock_path(spec))


def _parse(text: str, path: Path) -> Lock:
    lines = text.splitlines()
    head = re.match(rf"# gpuimage lock {FORMAT}, resolved (\S+)\. ", lines[0]) if lines else None
    digest = re.match(r"# inputs: sha256:([0-9a-f]{64})$", lines[1]) if len(lines) > 1 else None
    if not head or not digest:
        raise SpecError(
            "this is not a lock of this version of gpuimage",
            where=Location(path, 1, 1),
            hint=f"delete {path.name} and run `gpuimage lock` again",
        )
    packages: list[Locked] = []
    sources: list[Locked] = []
    options: list[str] = []
    for number, line in enumerate(lines[2:], start=3):
        if line.startswith("--"):
            options.append(line)
            continue
        target = sources if line.startswith("# source: ") else packages
        found = _REQUIREMENT.match(line.removeprefix("# source: "))
        if not found:
            raise SpecError(
                "this line of the lock is damaged",
                where=Location(path, number, 1),
                hint=f"delete {path.name} and run `gpuimage lock` again",
            )
        target.append(
            Locked(
                name=found["name"],
                version=found["version"] or _version_of(found["url"]),
                hashes=tuple(re.findall(r"sha256:([0-9a-f]{64})", found["hashes"])),
                download_bytes=_size(found["download"]),
                installed_bytes=_size(found["installed"]),
                url=found["url"],
            )
        )
    return Lock(digest[1], tuple(packages), tuple(sources), head[1], tuple(options))


def _version_of(url: str) -> str:
    """The version in the file name of a wheel."""
    return str(parse_wheel_filename(unquote(urlsplit(url).path.rpartition("/")[2]))[1])


def _size(text: str | None) -> int | None:
    return int(text) if text and text != "?" else None


def write_lock(lock: Lock, path: Path) -> None:
    """Write the lock in one step: a reader sees the old file or the new one, never half of it."""
    write_atomic(path, lock.text())


def resolve(request: Resolution, *, directory: Path, measure: bool = True) -> Lock:
    """Resolve with uv.

    `directory` is where relative paths in requirement files start. Raises ResolveError when the request has
    no solution and UnavailableError when an index does not answer. With `measure`, the installed size of each
    wheel is read from its archive directory by range requests; where an index refuses those, it stays None.
    """
    wanted = (*request.requirements, *(path for path, _ in request.local))
    packages = _compile(request, wanted, directory, only_wheels=True)
    sources = _compile(request, request.sources, directory, only_wheels=False) if request.sources else ()
    if measure:
        with ThreadPoolExecutor(max_workers=8) as pool:
            packages = tuple(pool.map(_measured, packages))
    return Lock(
        digest=request.digest,
        packages=tuple(package.locked for package in packages),
        sources=tuple(source.locked for source in sources),
        resolved=datetime.now(UTC).date().isoformat(),
        options=request.index_options,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    locked: Locked
    url: str | None


def _compile(
    request: Resolution, requirements: tuple[str, ...], directory: Path, *, only_wheels: bool
) -> tuple[_Found, ...]:
    files = request.files if only_wheels else ()
    if not requirements and not files:
        return ()
    from uv import find_uv_bin  # noqa: PLC0415  # resolving is rare; rendering and linting never need uv

    args = [
        find_uv_bin(), "pip", "compile", "-", *(name for name, _ in files), "--quiet", "--no-config",
        "--format", "pylock.toml", "--python-version", request.python, "--python-platform", request.platform,
        *(["--only-binary", ":all:"] if only_wheels else ["--no-deps", "--no-binary", ":all:"]),
        *(["--torch-backend", request.torch_backend] if request.torch_backend else []),
        *(["--default-index", request.index] if request.index else []),
    ]  # fmt: skip
    done = process.run(
        args,
        input="\n".join(requirements).encode(),
        env={"UV_HTTP_RETRIES": "1", "UV_HTTP_TIMEOUT": "60", "UV_SYSTEM_CERTS": "1", "NO_COLOR": "1"},
        cwd=directory,
    )
    if done.returncode:
        raise _explained(done.stderr, request)
    packages = tomllib.loads(done.stdout).get("packages", [])
    return tuple(_found(package) for package in packages if not _is_local(package))


def _is_local(package: Mapping[str, object]) -> bool:
    """Whether a pylock entry is one of the wheel files beside the spec, which a build takes from there."""
    wheels = package.get("wheels")
    entry = wheels[0] if isinstance(wheels, list) and wheels else package.get("archive")
    return isinstance(entry, dict) and "path" in entry


def _explained(output: str, request: Resolution) -> ResolveError | UnavailableError:
    """Turn uv's words into ours: what failed in the first line, its causes as the reason."""
    lines = [
        re.sub(r"^(error|cause|hint|×|├─▶|╰─▶|│)\s*:?\s*", "", line.strip()) for line in output.splitlines()
    ]
    lines = [line for line in lines if line]
    said = " ".join(lines)
    if re.search(r"Failed to fetch|error sending request|Could not connect|dns error|timed out", said):
        return UnavailableError(
            "a package index does not answer, so the wheels cannot be resolved",
            why=" ".join(lines[:3]),
            hint="check the network, a proxy (HTTPS_PROXY) and the company CA (SSL_CERT_FILE); a committed lock needs no network",
        )
    causes = [line for line in lines if line.startswith(("Because", "And because", "So,"))]
    hint = "change the versions in `wheels:`"
    source_only = re.search(r"(\S+?)(?:==\S+)? has no (?:usable )?wheels", said)
    if source_only:
        hint = f"move {source_only[1]} to `compile:` so that a builder stage makes the wheel, or pin a version with wheels"
    return ResolveError(
        f"these requirements have no solution for Python {request.python}",
        why=" ".join(causes) or said[:600],
        hint=hint,
    )


def _found(package: Mapping[str, object]) -> _Found:
    wheels = package.get("wheels")
    archive = (
        wheels[0] if isinstance(wheels, list) and wheels else package.get("sdist", package.get("archive"))
    )
    if not isinstance(archive, dict) or "hashes" not in archive:
        raise ResolveError(
            f"{package.get('name')} has no file with a hash to lock",
            why="it resolves to a directory or a version-control checkout",
            hint="list it under `compile:`, or build a wheel of it and name that file",
        )
    entries = wheels if isinstance(wheels, list) and wheels else [archive]
    named = str(archive["url"]) if "archive" in package else None
    if named and not urlsplit(named).path.endswith(".whl"):
        raise ResolveError(
            f"{package.get('name')} is a source archive, which no image installs as it is",
            why=f"the spec names it by its URL: {named}",
            hint="list it under `compile:`, or build a wheel of it and name that file",
        )
    return _Found(
        Locked(
            name=str(package["name"]),
            version=str(package["version"]),
            hashes=tuple(str(entry["hashes"]["sha256"]) for entry in entries),
            download_bytes=archive.get("size"),
            url=named,
        ),
        url=archive.get("url") if wheels or named else None,
    )


def _measured(found: _Found) -> _Found:
    if not found.url or not found.url.startswith("https://"):
        return found
    try:
        total = _installed_bytes(found.url)
    except (OSError, zipfile.BadZipFile, ValueError):
        return found
    return replace(found, locked=replace(found.locked, installed_bytes=total))


def _installed_bytes(url: str) -> int:
    """Sum of the unpacked sizes in a remote wheel, from its archive directory (a few range requests)."""
    with zipfile.ZipFile(io.BufferedReader(RemoteFile(url), 1 << 18)) as wheel:
        return sum(entry.file_size for entry in wheel.infolist())


def packages_of_pylock(path: Path) -> tuple[str, ...]:
    """The pins of a `pylock.toml` (PEP 751) as requirement lines, markers kept."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        return tuple(
            f"{package['name']}=={package['version']}"
            + (f" ; {package['marker']}" if "marker" in package else "")
            for package in data["packages"]
            if "version" in package
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise SpecError(
            f"this is not a pylock.toml: {error}",
            where=Location(path),
            hint="make one with `uv export --format pylock.toml`, or name a requirements file under `requirements:`",
        ) from error


def packages_of_uv_lock(path: Path) -> tuple[str, ...]:
    """The pins of a project's `uv.lock` as requirement lines, as uv itself exports them."""
    from uv import find_uv_bin  # noqa: PLC0415

    args = [
        find_uv_bin(), "export", "--frozen", "--quiet", "--no-dev", "--no-emit-project", "--no-hashes",
        "--no-annotate", "--no-header", "--format", "requirements.txt",
    ]  # fmt: skip
    done = process.run(args, cwd=path.parent)
    if done.returncode:
        raise SpecError(
            "uv cannot export this lock",
            where=Location(path),
            why=done.stderr.strip()[:600],
            hint="run `uv lock` there",
        )
    return tuple(line for line in done.stdout.splitlines() if line and not line.startswith("#"))


def total(packages: Iterable[Locked], size: Callable[[Locked], int | None]) -> int | None:
    """Sum of sizes in bytes, or None when one of them is unknown."""
    sizes = [size(package) for package in packages]
    return None if any(s is None for s in sizes) else sum(s for s in sizes if s is not None)
