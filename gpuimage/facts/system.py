"""What apt, dnf, apk and their like install."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from gpuimage.dockerfile import Span
from gpuimage.facts.options import Options, options
from gpuimage.facts.runs import Call
from gpuimage.patterns import pattern

_APT_TAKING = frozenset(
    {"-o", "-t", "-c", "-a", "--target-release", "--option", "--config-file", "--default-release"}
)
_DNF_TAKING = frozenset(
    {"-c", "-x", "--enablerepo", "--disablerepo", "--setopt", "--exclude", "--releasever", "--installroot"}
)
_APK_TAKING = frozenset({"-t", "--virtual", "-X", "--repository", "-p", "--root", "--repositories-file"})
_ZYPPER_TAKING = frozenset({"-r", "--repo", "--from", "-t", "--type"})
_VERBS = {
    "apt": frozenset({"install", "reinstall", "build-dep"}),
    "dnf": frozenset({"install", "reinstall", "localinstall", "groupinstall"}),
    "apk": frozenset({"add"}),
    "zypper": frozenset({"install", "in"}),
}
_MANAGERS = {
    "apt-get": "apt", "apt": "apt", "aptitude": "apt", "dnf": "dnf", "yum": "dnf", "microdnf": "dnf", "tdnf": "dnf",
    "apk": "apk", "zypper": "zypper",
}  # fmt: skip
_TAKING = {"apt": _APT_TAKING, "dnf": _DNF_TAKING, "apk": _APK_TAKING, "zypper": _ZYPPER_TAKING}
_VERSION = pattern(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9.+_-]*?)(?::[a-z0-9]+)?(?:(?:=|==|~=|[<>]=?)(?P<version>.+)|/.*)?"
)


class Package(Struct, frozen=True):
    """A package that is asked for: `version` None where none is given; `name` is as far as it is known."""

    name: str
    version: str | None
    span: Span
    known: bool = True


class SystemCall(Struct, frozen=True, dict=True):
    """One command of a package manager: `verb` install, update, upgrade, remove, clean …; `manager` apt, dnf, apk, zypper."""

    manager: str
    verb: str
    call: Call
    given: Options
    packages: tuple[Package, ...]

    @property
    def installs(self) -> bool:
        """Whether packages come into the image."""
        return self.verb in _VERBS[self.manager]

    def find(self, pattern: str) -> Package | None:
        """The first package whose whole name a regular expression fits."""
        return next((one for one in self.packages if re.fullmatch(pattern, one.name)), None)


def system_call(call: Call) -> SystemCall | None:
    """Read a command of a package manager; None for any other."""
    manager = _MANAGERS.get(call.name)
    if manager is None:
        return None
    given = options(call.arguments, _TAKING[manager])
    if not given.words:
        return None
    verb = str(given.words[0])
    packages = tuple(
        _packages(call, given)
        if verb in _VERBS[manager] | {"remove", "purge", "autoremove", "del", "erase"}
        else ()
    )
    return SystemCall(manager, verb, call, given, packages)


def _packages(call: Call, given: Options) -> Iterator[Package]:
    for argument in given.words[1:]:
        span = call.place(argument)
        if argument.value is None:
            name = argument.raw.strip("'\"")
            yield Package(
                re.split(r"[=$]", name)[0] if not name.startswith("$") else "",
                None,
                span,
                known="$" not in name,
            )
            continue
        for text in argument.value.split() or []:
            match = _VERSION.fullmatch(text)
            name = match["name"] if match and not text.startswith(("/", ".")) else text
            yield Package(name, match["version"] if match else None, span)
