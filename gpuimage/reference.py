"""Image references, mirrors, and the tags of nvidia/cuda.

The grammar of references is the one of the distribution project (github.com/distribution/reference), with its
familiar short form: `python:3.12-slim` is `docker.io/library/python:3.12-slim`. The first part of a name is a
registry if it holds a `.` or a `:`, or is `localhost`. Digests are sha256 only: no registry serves another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.patterns import pattern

DOCKER_HUB = "docker.io"

_LABEL = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)"
_HOST = pattern(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]{{1,5}})?", re.ASCII)
_COMPONENT = pattern(r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*", re.ASCII)
_TAG = pattern(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", re.ASCII)
_DIGEST = pattern(r"sha256:[0-9a-f]{64}", re.ASCII)
_HEX_ID = pattern(r"[0-9a-f]{64}", re.ASCII)
_LONGEST_NAME = 255  # characters of registry and repository together; the limit of the distribution project

# facts: base_images.json, nvidia_cuda.tag_regex (the CUDA container sources, 2025-08-18)
_CUDA_TAG = pattern(
    r"(?P<version>\d+\.\d+(?:\.\d+)?)(?:-(?P<extra>cudnn\d*|tensorrt))?-(?P<flavor>base|runtime|devel)"
    r"-(?P<os>ubuntu\d\d\.\d\d|ubi\d+|rockylinux\d+|centos\d|oraclelinux\d|opensuse15|amzn2023|azl3|cm2)",
    re.ASCII,
)


class ReferenceSyntaxError(ValueError):
    """A text that is no image reference, tag or mirror: the reason, and the smallest change that helps."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{reason} ({hint})" if hint else reason)
        self.reason = reason
        self.hint = hint


class ImageReference(Struct, frozen=True):
    """The name of an image: registry (`docker.io` where none was written), repository, tag and digest."""

    registry: str
    repository: str
    tag: str | None = None
    digest: str | None = None

    @classmethod
    def parse(cls, text: str) -> ImageReference:
        """Read a reference as docker does; `ReferenceSyntaxError` (a ValueError) tells what is wrong."""
        _refuse_what_is_no_reference(text)
        rest, at, digest = text.partition("@")
        if at and not _DIGEST.fullmatch(digest):
            raise ReferenceSyntaxError(
                f"{_short(digest)} is no digest", "a digest is sha256: and 64 hexadecimal digits"
            )
        head, slash, last = rest.rpartition("/")
        name, colon, tag = last.partition(":")
        if colon and not _TAG.fullmatch(tag):
            raise ReferenceSyntaxError(
                f"{_short(tag)} is no tag",
                "a tag holds 1 to 128 letters, digits, '_', '.', '-', no '.' or '-' first",
            )
        registry, repository = _split_name(head + slash + name)
        return cls(registry, repository, tag if colon else None, digest if at else None)

    def __str__(self) -> str:
        return self._familiar_name + self._suffix

    @property
    def name(self) -> str:
        """Registry and repository in full, without tag and digest: `docker.io/library/python`."""
        return f"{self.registry}/{self.repository}"

    @property
    def full(self) -> str:
        """The reference in full: `docker.io/library/python:3.12-slim`."""
        return self.name + self._suffix

    def through(self, mirrors: Mapping[str, str]) -> ImageReference:
        """Give the reference by which a mirror serves this image; itself where no key fits.

        A key is a registry, or a registry with the first parts of a path (`docker.io/nvidia`); the longest
        key that fits wins, and its value takes its place. Tag and digest stay. A mirror has no mirror.
        """
        fitting = [
            (key, value)
            for key, value in ((_prefix(k), v) for k, v in mirrors.items())
            if f"{self.name}/".startswith(f"{key}/")
        ]
        if not fitting:
            return self
        key, value = max(fitting, key=lambda pair: len(pair[0]))
        registry, repository = _split_name(_prefix(value) + self.name.removeprefix(key))
        return replace(self, registry=registry, repository=repository)

    @property
    def _suffix(self) -> str:
        return (f":{self.tag}" if self.tag is not None else "") + (f"@{self.digest}" if self.digest else "")

    @property
    def _familiar_name(self) -> str:
        if self.registry != DOCKER_HUB:
            return self.name
        parts = self.repository.split("/")
        short = parts[-1] if len(parts) == 2 and parts[0] == "library" else self.repository
        # `docker.io/foo.bar/baz` shortened would name a registry foo.bar
        return self.name if "/" in short and _is_registry(short.partition("/")[0]) else short


class CudaTag(Struct, frozen=True):
    """A tag of nvidia/cuda by its grammar; whether NVIDIA ever published it is a question for the tables."""

    version: str  # "12.8.1"; "10.2" for the two-part tags of CUDA 10
    flavor: str  # base | runtime | devel
    cudnn: str | None  # "cudnn", "cudnn8"; None without
    os: str  # "ubuntu24.04"
    tensorrt: bool = False

    @classmethod
    def parse(cls, text: str) -> CudaTag:
        """Read `12.8.1-cudnn-runtime-ubuntu24.04`; `ReferenceSyntaxError` for a tag of another kind."""
        match = _CUDA_TAG.fullmatch(text)
        if not match:
            raise ReferenceSyntaxError(
                f"{_short(text)} is no tag of nvidia/cuda",
                "such a tag reads VERSION[-cudnn]-(base|runtime|devel)-OS: 12.8.1-runtime-ubuntu24.04",
            )
        extra = match["extra"]
        if extra and match["flavor"] == "base":
            raise ReferenceSyntaxError(
                f"{_short(text)}: base images never carry {extra}", "take runtime or devel"
            )
        cudnn = extra if extra and extra.startswith("cudnn") else None
        return cls(match["version"], match["flavor"], cudnn, match["os"], tensorrt=extra == "tensorrt")

    def __str__(self) -> str:
        extra = "tensorrt" if self.tensorrt else self.cudnn
        return "-".join(part for part in (self.version, extra, self.flavor, self.os) if part)

    @property
    def minor(self) -> str:
        """The toolkit's minor version: `12.8` for `12.8.1`."""
        return ".".join(self.version.split(".")[:2])


def check_mirror(key: str, value: str) -> None:
    """Refuse a mirror whose key or value is no registry with an optional path (`ReferenceSyntaxError`)."""
    _prefix(key)
    _prefix(value)


def _prefix(text: str) -> str:
    """Read a registry with an optional path, in its normal form and without a slash at the end."""
    _refuse_what_is_no_reference(text)
    registry, *path = text.rstrip("/").split("/")
    if not _is_registry(registry) or not _HOST.fullmatch(registry):
        raise ReferenceSyntaxError(
            f"{_short(text)} does not begin with a registry",
            "a registry has a dot or a port: docker.io, cache:5000",
        )
    for component in path:
        _check_component(component)
    return "/".join((_canonical_host(registry), *path))


def _split_name(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if slash and _is_registry(first):
        if not _HOST.fullmatch(first):
            raise ReferenceSyntaxError(f"{_short(first)} is no registry", "a registry is HOST or HOST:PORT")
        registry, repository = _canonical_host(first), rest
    else:
        registry, repository = DOCKER_HUB, name
    components = repository.split("/")
    for component in components:
        _check_component(component)
    if registry == DOCKER_HUB and len(components) == 1:
        if _HEX_ID.fullmatch(repository):
            raise ReferenceSyntaxError("64 hexadecimal digits are an image's id, not its name")
        repository = f"library/{repository}"
    if len(registry) + 1 + len(repository) > _LONGEST_NAME:
        raise ReferenceSyntaxError(f"the name is longer than {_LONGEST_NAME} characters")
    return registry, repository


def _is_registry(first: str) -> bool:
    return "." in first or ":" in first or first == "localhost"


def _canonical_host(host: str) -> str:
    return DOCKER_HUB if host == "index.docker.io" else host


def _check_component(component: str) -> None:
    if _COMPONENT.fullmatch(component):
        return
    if _COMPONENT.fullmatch(component.lower()):
        raise ReferenceSyntaxError(
            f"{_short(component)} has capital letters, and a repository has none",
            f"write {component.lower()}" if len(component) <= 80 else None,
        )
    if not component:
        raise ReferenceSyntaxError("a part of the name is empty", "put exactly one '/' between two parts")
    raise ReferenceSyntaxError(
        f"{_short(component)} is no part of an image name",
        "lower-case letters and digits, parted by '.', '_', '__' or '-'",
    )


def _refuse_what_is_no_reference(text: str) -> None:
    """Give the common mistakes a reason of their own."""
    if not text:
        raise ReferenceSyntaxError("the name is empty")
    if "://" in text:
        scheme, _, rest = text.partition("://")
        raise ReferenceSyntaxError(
            f"an image name has no scheme {_short(scheme + '://')}", f"write {_short(rest)}"
        )
    if "$" in text or "{" in text:
        raise ReferenceSyntaxError(f"{_short(text)} holds a variable", "write the name out")
    if any(char.isspace() for char in text):
        raise ReferenceSyntaxError(f"{_short(text)} holds white space", "leave it out")


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
