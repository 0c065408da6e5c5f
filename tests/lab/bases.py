"""Stand-ins for the images of Docker Hub that specs start from, made of distribution packages and wheels."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path

from tests.lab import cuda, packages, processes, registry
from tests.lab.home import Home
from tests.lab.rootfs import DISTRIBUTIONS, EPOCH, Distribution, Rootfs, bootstrap
from tests.lab.shell import LabError, read_text, say, write_text

_PYTHON = re.compile(r"(?:library/)?python:(?P<python>3\.\d+)(?:\.\d+)?-slim(?:-(?P<suite>[a-z]+))?$")
_PLAIN = re.compile(r"(?:library/)?(?P<family>debian|ubuntu):(?P<release>[a-z]+|\d+\.\d+)(?:-slim)?$")
_CUDA = re.compile(
    r"nvidia/cuda:(?P<version>\d+\.\d+\.\d+)(?P<cudnn>-cudnn)?-(?P<flavor>base|runtime|devel)"
    r"-ubuntu(?P<release>\d\d\.\d\d)$"
)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PYTHON_PACKAGES = ("ca-certificates", "python3", "python3-pip", "python3-venv")
_DEVEL_PACKAGES = ("g++", "gcc", "make", "ninja-build", "python3-dev")
# Debian's minimal system has apt of itself, Ubuntu's does not.
_APT = {"debian": (), "ubuntu": ("apt", "ubuntu-keyring")}
_FORMAT = 3  # raise it when the same recipe gives other images: the cached ones are then made anew


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a stand-in is made. `repository` and `tag` are those of the image it stands in for."""

    repository: str
    tag: str
    distribution: Distribution
    kind: str  # "python" | "plain" | "cuda"
    version: str = ""
    flavor: str = ""
    cudnn: bool = False

    def digest(self) -> str:
        """Return a digest that changes when the image would."""
        return hashlib.sha256(f"{_FORMAT} {self!r} {cuda.COMPONENTS}".encode()).hexdigest()


def recipe(name: str) -> Recipe:
    """Read an image name ("python:3.12-slim-bookworm"); LabError when no stand-in can be made for it."""
    short = name.removeprefix("docker.io/")
    if match := _PYTHON.match(short):
        distribution = _with_python(match["python"], match["suite"])
        return _recipe(short, distribution, "python", version=match["python"])
    if match := _CUDA.match(short):
        return _recipe(
            short,
            _release("ubuntu", match["release"]),
            "cuda",
            version=match["version"],
            flavor=match["flavor"],
            cudnn=bool(match["cudnn"]),
        )
    if match := _PLAIN.match(short):
        return _recipe(short, _release(match["family"], match["release"]), "plain")
    raise LabError(
        f"no stand-in for {name!r}: only python:3.X-slim[-SUITE], debian:SUITE-slim, ubuntu:YY.MM and "
        "nvidia/cuda:X.Y.Z-[cudnn-](base|runtime|devel)-ubuntuYY.MM"
    )


def _recipe(
    short: str,
    distribution: Distribution,
    kind: str,
    *,
    version: str = "",
    flavor: str = "",
    cudnn: bool = False,
) -> Recipe:
    repository, _, tag = short.partition(":")
    full = repository if "/" in repository else f"library/{repository}"
    return Recipe(full, tag, distribution, kind, version, flavor, cudnn)


def _with_python(python: str, suite: str | None) -> Distribution:
    """Return the distribution whose own python3 this is: the suite asked for, else any that has it."""
    for distribution in sorted(DISTRIBUTIONS, key=lambda item: item.suite != suite):
        if distribution.python == python:
            return distribution
    known = ", ".join(item.python for item in DISTRIBUTIONS)
    raise LabError(f"no stand-in with Python {python}: the distributions at hand have {known}")


def _release(family: str, release: str) -> Distribution:
    for distribution in DISTRIBUTIONS:
        if distribution.family == family and release in {distribution.suite, distribution.version}:
            return distribution
    raise LabError(f"no stand-in for {family} {release}")


def make(home: Home, where: str, name: str) -> str:
    """Make the stand-in unless the registry has it; return its reference there.

    Half-made images are never seen: the registry learns the name last, the marker file after that.
    """
    wanted = recipe(name)
    reference = f"{where}/{wanted.repository}:{wanted.tag}"
    slug = f"{wanted.repository}:{wanted.tag}".replace("/", "_").replace(":", "_")
    marker = home.bases / f"{slug}.json"
    if _is_made(marker, where, wanted):
        return reference
    with home.locked(f"base-{slug}"):
        if _is_made(marker, where, wanted):
            return reference
        packages.ensure(packages.BASE_TOOLS)
        say(
            f"making {wanted.repository}:{wanted.tag} from {wanted.distribution.suite} (once, about a minute)"
        )
        started = time.monotonic()
        digest = _build(home, where, wanted, home.bases / f"{slug}.log")
        write_text(marker, json.dumps({"recipe": wanted.digest(), "digest": digest}) + "\n")
        say(f"made {wanted.repository}:{wanted.tag} in {time.monotonic() - started:.0f} s")
    return reference


def _is_made(marker: Path, where: str, wanted: Recipe) -> bool:
    text = read_text(marker)
    if not text:
        return False
    known = json.loads(text)
    return bool(
        known["recipe"] == wanted.digest()
        and registry.digest_of(where, wanted.repository, wanted.tag) == known["digest"]
    )


def _build(home: Home, where: str, wanted: Recipe, log: Path) -> str:
    work = home.tmp / log.stem
    _clear(work)  # of a run that was killed
    work.mkdir()
    try:
        layer = bootstrap(home, _rootfs(wanted, _overlay(home, work, wanted)), work, log)
        made_by = f"gpuimage lab: {wanted.distribution.suite} packages as a stand-in"
        return registry.push(where, wanted.repository, wanted.tag, (layer,), _config(wanted), made_by)
    finally:
        _clear(work)


def _clear(work: Path) -> None:
    processes.unmount_under(work)
    processes.remove_tree(work)


def _overlay(home: Home, work: Path, wanted: Recipe) -> Path | None:
    if wanted.kind == "cuda":
        return cuda.overlay(home, work, wanted.version, wanted.flavor, cudnn=wanted.cudnn)
    if wanted.kind == "python":
        # The official image has its Python in /usr/local: give the distribution's that address too.
        names = {"python": "python3", "python3": "python3", "pip": "pip3", "pip3": "pip3"}
        names[f"python{wanted.version}"] = f"python{wanted.version}"
        targets = {f"usr/local/bin/{name}": f"/usr/bin/{target}" for name, target in names.items()}
        return cuda.links(work / "links.tar", targets)
    return None


def _rootfs(wanted: Recipe, overlay: Path | None) -> Rootfs:
    apt = _APT[wanted.distribution.family]
    if wanted.kind == "plain":
        return Rootfs(wanted.distribution, ("ca-certificates", *apt))
    if wanted.kind == "python":
        managed = ("/usr/lib/python3*/EXTERNALLY-MANAGED",)  # the official image lets pip install
        # The official image has Python's headers, and none of the C library.
        headers = f"libpython{wanted.version}-dev"
        return Rootfs(wanted.distribution, (*_PYTHON_PACKAGES, *apt), managed, overlay, headers)
    more = _DEVEL_PACKAGES if wanted.flavor == "devel" else ()
    return Rootfs(wanted.distribution, (*_PYTHON_PACKAGES, *more, *apt), (), overlay)


def _config(wanted: Recipe) -> dict[str, object]:
    env = {"PATH": _PATH}
    command = ["bash"]
    if wanted.kind == "python":
        env |= {"LANG": "C.UTF-8", "PYTHON_VERSION": wanted.version}
        command = ["python3"]
    elif wanted.kind == "cuda":
        env = cuda.environment(wanted.version, wanted.flavor)
    made_of = f"{wanted.distribution.family} {wanted.distribution.suite} packages"
    if wanted.kind == "cuda":
        made_of += " and nvidia wheels"
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": datetime.datetime.fromtimestamp(EPOCH, datetime.UTC).isoformat(),
        "config": {
            "Env": [f"{name}={value}" for name, value in env.items()],
            "Cmd": command,
            "Labels": {
                "gpuimage.stand-in-for": f"{wanted.repository}:{wanted.tag}",
                "gpuimage.stand-in-made-of": made_of,
            },
        },
    }
