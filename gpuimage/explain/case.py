"""A spec with its plan, as the causes of errors are looked for in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuimage.arch import ArchList, ComputeCapability
from gpuimage.errors import GpuImageError, Location, PlanError
from gpuimage.explain.key import concerns, written
from gpuimage.explain.types import Cause, Diagnosis, archs_about
from gpuimage.lock import Lock
from gpuimage.plan import Decision, Plan, plan
from gpuimage.spec import Spec, SpecFile, encode, key_path, load_spec
from gpuimage.tables import TorchRelease, Unknown, torch_release


@dataclass(frozen=True)
class Case:
    """One spec, what was found in the log, and the GPUs that the user names."""

    file: SpecFile
    lock: Lock | None
    found: Sequence[Diagnosis]
    targets: tuple[ComputeCapability, ...]

    @property
    def spec(self) -> Spec:
        """The spec itself."""
        return self.file.spec

    @cached_property
    def _planned(self) -> Plan | PlanError:
        try:
            return plan(self.file, self.lock)
        except PlanError as error:
            return error

    @property
    def plan(self) -> Plan | None:
        """The plan, None where the spec has none."""
        return self._planned if isinstance(self._planned, Plan) else None

    @property
    def promised(self) -> ArchList | None:
        """The architectures that the spec asks for."""
        return self.plan.arch if self.plan else self.spec.arch

    def stopped(self, *keys: str) -> Iterator[Cause]:
        """The error that ends the plan, where it is about one of some keys."""
        error = self._planned
        if (
            isinstance(error, PlanError)
            and error.where
            and any(concerns(error.where.key, key) for key in keys)
        ):
            because = error.what + (f": {error.why}" if error.why else "")
            yield self.cause(error.where.key or "", because, error.hint or "")

    def cause(self, key: str, because: str, change: str = "") -> Cause:
        """A cause at a key; where the file does not name the key, its default is the value and the place is the file."""
        document = self.file.document
        given = document is not None and key_path(self.file, key)[:1] in document.values
        where = self.file.at(key) if given else Location(self.file.path, key=key)
        return Cause("cause", because, change, key, self.value(key), where)

    def not_here(self, because: str, change: str = "") -> Cause:
        """Nothing in the spec causes it."""
        return Cause("not-here", f"nothing in {self.file.path.name} causes this: {because}", change)

    def unknown(self, because: str, change: str = "") -> Cause:
        """It cannot be told."""
        return Cause("unknown", because, change)

    def value(self, key: str) -> str | None:
        """What a key is, as a spec writes it."""
        data = encode(self.spec)
        for part in key_path(self.file, key):
            if isinstance(data, list) and isinstance(part, int):
                data = data[part]
            else:
                data = data.get(part) if isinstance(data, dict) else None
        return written(data)

    def key_of(self, topic: str, otherwise: str) -> str:
        """The key that a decision of the plan follows from."""
        for one in self.plan.decisions if self.plan else ():
            if one.topic == topic and one.key:
                return one.key
        return otherwise

    def warnings(self, topic: str) -> tuple[Decision, ...]:
        """What the plan warns of."""
        return tuple(one for one in (self.plan.warnings if self.plan else ()) if one.topic == topic)

    def with_change(self, **changes: str) -> str:
        """What a plan would say with other values: "" where it goes well, else what stops it and what helps."""
        try:
            plan(load_spec(self.file.path, overrides=changes), self.lock)
        except GpuImageError as error:
            return f"{error.what}" + (f" ({error.hint})" if error.hint else "")
        return ""

    def archs(self, one: Diagnosis) -> tuple[ComputeCapability, ...]:
        """The GPUs or architectures that an error is about."""
        return archs_about(one, self.found, self.targets)

    def wheel(self, name: str) -> str | None:
        """The key of the requirement for a project, in `wheels` or `compile`."""
        wanted = canonicalize_name(name)
        entries = [(f"wheels[{n}]", text) for n, text in enumerate(self.spec.wheels)]
        entries += [(f"compile[{n}].package", one.package) for n, one in enumerate(self.spec.compile)]
        return next((key for key, text in entries if project(text) == wanted), None)

    def version(self, name: str) -> str | None:
        """The version of a project: locked, else pinned in the spec."""
        if self.lock and (locked := self.lock.version(name)):
            return locked
        key = self.wheel(name)
        pinned = re.search(r"===?\s*([^\s,;]+)", self.value(key) or "") if key else None
        return pinned[1] if pinned else None

    @property
    def torch(self) -> TorchRelease | None:
        """The torch that ships, as the tables know it."""
        version = self.plan.frameworks.get("torch") if self.plan else self.version("torch")
        found = torch_release(version) if version else None
        return found if isinstance(found, TorchRelease) else None

    def torch_archs(self) -> ArchList | None:
        """What the torch that ships has code for; None where no table knows."""
        torch, variant = self.torch, self.plan.variant if self.plan else None
        found = torch.archs(variant) if torch and variant else None
        return None if found is None or isinstance(found, Unknown) else found

    def environment(self, *names: str) -> Iterator[tuple[str, str]]:
        """Keys and values of variables that the spec sets: for the service, or while a package is compiled."""
        places = [("env", self.spec.env)]
        places += [(f"compile[{n}].env", one.env) for n, one in enumerate(self.spec.compile)]
        for place, values in places:
            yield from ((f"{place}.{name}", values[name]) for name in names if name in values)


def project(text: str) -> str | None:
    """The project that an entry of `wheels` or `compile` names, by its canonical name; None for a directory."""
    try:
        return canonicalize_name(Requirement(text).name)
    except InvalidRequirement:
        stem = text.rpartition("/")[2]
        return canonicalize_name(stem.split("-")[0]) if stem.endswith(".whl") else None


def extras(text: str) -> frozenset[str]:
    """The extras that an entry asks for."""
    try:
        return frozenset(Requirement(text).extras)
    except InvalidRequirement:
        return frozenset()
