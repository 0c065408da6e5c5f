"""The spec: what a user writes about an image, read strictly.

`load_spec` gives a `SpecFile`, or one `SpecError` with file, line, column and the smallest change that helps.
Nothing here knows what CUDA, torch or a GPU can do: a well-formed value that no table knows is the plan's
affair.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from gpuimage.errors import Location, SpecError
from gpuimage.spec.checks import closest
from gpuimage.spec.document import Document, KeyPath, dotted, parse_document
from gpuimage.spec.files import read_text
from gpuimage.spec.overrides import apply, resolve
from gpuimage.spec.reader import Reader, bare, fields_of, is_table, root_type
from gpuimage.spec.together import check_together
from gpuimage.spec.types import (
    App,
    BadValueError,
    Budget,
    Build,
    ByteSize,
    Compile,
    Matrix,
    Smoke,
    Spec,
    decode,
    encode,
    json_schema,
)

__all__ = [
    "App",
    "BadValueError",
    "Budget",
    "Build",
    "ByteSize",
    "Compile",
    "KeyPath",
    "Matrix",
    "Smoke",
    "Spec",
    "SpecFile",
    "closest",
    "encode",
    "json_schema",
    "key_path",
    "load_spec",
    "parse_spec",
    "spec_default",
    "spec_keys",
    "variants",
]


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A spec with its file; `digest` is the sha256 of all of it but `build`, which changes no image.

    In hexadecimal, of the canonical JSON of the decoded spec: defaults count, order and comments do not.
    `variant` names a combination of the matrix ("cu126-py312"), and is empty for a spec without one.
    """

    path: Path
    spec: Spec
    digest: str
    document: Document | None = field(default=None, repr=False, compare=False)
    variant: str = ""

    @property
    def directory(self) -> Path:
        """Where every relative path in the spec begins, and the build context."""
        return self.path.parent

    def at(self, key: str) -> Location:
        """Give the place of a value such as `compile[0].package`, or of its nearest parent in the file."""
        if self.document is None:
            return Location(self.path, key=key)
        return self.document.location(_find(self.document, key))._replace(key=key)


def load_spec(path: str | Path, *, overrides: Mapping[str, str] | None = None) -> SpecFile:
    """Read a spec file; `SpecError` for whatever is wrong with it.

        >>> from gpuimage import load_spec
        >>> spec = load_spec("examples/quickstart/spec.yaml").spec
        >>> spec.flavor, spec.python, spec.wheels
        ('runtime', '3.13', ('cupy-cuda13x[ctk]==14.2.0',))

    `overrides` are values from the command line by their place (`build.ca`, `build.mirrors.docker.io`,
    `compile[0].package`); a list or mapping is given as YAML (`"[A10G, L4]"`). They replace what the file
    says.
    """
    path = Path(path)
    return parse_spec(read_text(path), path, overrides=overrides)


def parse_spec(text: str, path: Path, *, overrides: Mapping[str, str] | None = None) -> SpecFile:
    """The same for a text that shall stand in a file at `path`, which need not be there yet."""
    document = parse_document(text, path)
    if overrides:
        document = apply(document, overrides)
    data = Reader(document, path.parent).read()
    try:
        spec = decode(data)
    except msgspec.ValidationError as error:  # pragma: no cover  the reader refuses it first, with a position
        raise SpecError(f"this spec cannot be read: {error}", where=Location(path)) from None
    check_together(spec, document)
    return SpecFile(path, spec, _digest(spec), document)


def variants(spec: SpecFile) -> tuple[SpecFile, ...]:
    """Expand the matrix: one spec for each combination, with `-cu126-py312` at the end of its tag.

    CUDA changes slowest. Without a matrix, the spec alone. Only what the matrix names goes into the tag.
    """
    matrix = spec.spec.matrix
    if matrix is None:
        return (spec,)
    axes = (("cuda", "cu", matrix.cuda), ("python", "py", matrix.python))
    chosen = [
        [(name, f"{short}{_digits(value)}", n, value) for n, value in enumerate(values)]
        for name, short, values in axes
        if values
    ]
    return tuple(_variant(spec, cell) for cell in itertools.product(*chosen))


def key_path(spec: SpecFile, key: str) -> KeyPath:
    """Give the place that a dotted key names (`compile[0].package`); `SpecError` with a did-you-mean where no spec has it."""
    document = spec.document or Document(spec.path, {}, {}, {})
    return resolve(document, key)[0]


def spec_keys() -> tuple[str, ...]:
    """List every key of a spec: `image`, `app`, `app.copy` and so on, without those inside lists."""
    names: list[str] = []
    for name, field_ in fields_of(root_type()).items():
        kind = bare(field_.type)
        inner = [f"{name}.{key}" for key in fields_of(kind)] if is_table(kind) else []
        names += [name, *inner]
    return tuple(names)


def spec_default(path: KeyPath) -> object:
    """Give what a key is where a spec leaves it out, as plain data; None for nothing, and inside lists and mappings."""
    kind, default = root_type(), None
    for n, part in enumerate(path):
        if not isinstance(part, str) or not is_table(kind) or part not in fields_of(kind):
            return None
        found = fields_of(kind)[part]
        made = found.default_factory() if callable(found.default_factory) else found.default
        default = None if made is msgspec.NODEFAULT else encode(made)
        if n < len(path) - 1:
            kind = bare(found.type)  # type: ignore[assignment]
    return default


def _variant(file: SpecFile, cell: tuple[tuple[str, str, int, str], ...]) -> SpecFile:
    image = file.spec.image
    variant = "-".join(label for _, label, _, _ in cell)
    tag = f"{image.tag}-{variant}" if image.tag else variant
    values = {name: value for name, _, _, value in cell}
    spec = msgspec.structs.replace(
        file.spec, image=msgspec.structs.replace(image, tag=tag), matrix=None, **values
    )
    document = file.document
    if document is not None:
        marks = dict(document.values)
        marks |= {
            (name,): marks[("matrix", name, n)] for name, _, n, _ in cell if ("matrix", name, n) in marks
        }
        document = replace(document, values=marks)
    return SpecFile(file.path, spec, _digest(spec), document, variant)


def _digits(version: str) -> str:
    return "".join(version.split(".")[:2])


def _digest(spec: Spec) -> str:
    data = encode(spec)
    del data["build"]  # mirrors, certificates and caches of this host change nothing in the image
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _find(document: Document, key: str) -> KeyPath:
    """Find the longest path in the file that a dotted key begins with; keys may hold dots themselves."""
    fitting = (
        path
        for path in (*document.values, *document.overridden)
        if path and (key == (text := dotted(path)) or key.startswith((f"{text}.", f"{text}[")))
    )
    return max(fitting, key=len, default=())
