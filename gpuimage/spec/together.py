"""Rules that concern two values of a spec at once."""

from __future__ import annotations

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuimage.spec.document import Document, KeyPath
from gpuimage.spec.types import ByteSize, Spec


def check_together(spec: Spec, document: Document) -> None:
    """Refuse what is right by itself but not beside another value (`SpecError`)."""
    _one_source_of_wheels(spec, document)
    _each_package_once(spec, document)
    _budget(spec, document)
    _matrix(spec, document)


def _one_source_of_wheels(spec: Spec, document: Document) -> None:
    if spec.requirements is not None and spec.lock is not None:
        raise document.error(
            ("lock",),
            "requirements and lock are both given",
            why="a lock holds what its requirements resolved to, and the two may disagree",
            hint="keep lock, or remove it to have the requirements resolved",
            of_key=True,
        )


def _each_package_once(spec: Spec, document: Document) -> None:
    places: dict[str, KeyPath] = {}
    given: list[tuple[KeyPath, str]] = [(("wheels", n), text) for n, text in enumerate(spec.wheels)]
    given += [(("compile", n, "package"), item.package) for n, item in enumerate(spec.compile)]
    for path, text in given:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:  # a local file; its name was checked already
            continue
        if requirement.marker is not None:
            continue
        name = canonicalize_name(requirement.name)
        if name in places:
            first = document.location(places[name])
            raise document.error(
                path,
                f"{name} is asked for twice",
                why=f"the first stands in line {first.line}" if first.line else None,
                hint="keep one of them",
            )
        places[name] = path


def _budget(spec: Spec, document: Document) -> None:
    budget = spec.budget
    if budget.image is None:
        return
    parts: tuple[tuple[str, ByteSize | None], ...] = (("layer", budget.layer), ("wheel", budget.wheel))
    for name, size in parts:
        if size is not None and size > budget.image:
            raise document.error(
                ("budget", name),
                f"budget.{name} ({size}) is more than budget.image ({budget.image})",
                hint="lower it: an image is at least as large as each part of it",
            )


def _matrix(spec: Spec, document: Document) -> None:
    if spec.matrix is None:
        return
    if not spec.matrix.cuda and not spec.matrix.python:
        raise document.error(("matrix",), "matrix names nothing", hint="give cuda or python, or leave it out")
    for name, versions in (("cuda", spec.matrix.cuda), ("python", spec.matrix.python)):
        seen: dict[str, str] = {}
        for n, version in enumerate(versions):
            minor = ".".join(version.split(".")[:2])
            if minor in seen:
                raise document.error(
                    ("matrix", name, n),
                    f"matrix.{name} names {minor} twice ({seen[minor]}, {version})",
                    why="both variants would get the same tag",
                    hint="keep one of them",
                )
            seen[minor] = version
