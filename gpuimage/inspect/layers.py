"""Images as archives: `docker save`, OCI archives and layouts. Layers are read as they come and put together at the end."""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from gpuimage.errors import Location
from gpuimage.inspect.collect import Collector, Files, absolute, inspection
from gpuimage.inspect.merge import merge
from gpuimage.inspect.tar import TAR_ERRORS, Forward, Readable, entries, plain
from gpuimage.inspect.tree import read_members
from gpuimage.inspect.types import InspectError, Inspection, Layer

_IMAGE_ENTRY = re.compile(
    r"^(\./)?(blobs(/|$)|[0-9a-f]{64}(/|\.json$|\.tar$|$)|(manifest|index)\.json$|oci-layout$|repositories$)"
)
_MOST_TEXT_BYTES = 32 << 20  # of manifests and configurations in one archive
_NO_LAYER = 3  # bytes of docker's VERSION files
_INDEX_DEPTH = 4

_T = TypeVar("_T")


class _Platform(Struct, frozen=True):
    os: str = ""
    architecture: str = ""


class _Descriptor(Struct, frozen=True, rename="camel"):
    digest: str
    platform: _Platform | None = None
    annotations: dict[str, str] | None = None


class _Oci(Struct, frozen=True):
    """An OCI index (`manifests`) or manifest (`config`, `layers`)."""

    manifests: tuple[_Descriptor, ...] | None = None
    config: _Descriptor | None = None
    layers: tuple[_Descriptor, ...] | None = None


class _Saved(Struct, frozen=True, rename="pascal"):
    """One image in docker's manifest.json."""

    config: str
    layers: tuple[str, ...] | None = None
    repo_tags: tuple[str, ...] | None = None


class _Step(Struct, frozen=True):
    created_by: str = ""
    empty_layer: bool = False


class _RootFs(Struct, frozen=True):
    diff_ids: tuple[str, ...] | None = None


class _Settings(Struct, frozen=True, rename="pascal"):
    env: tuple[str, ...] | None = None


class _Config(Struct, frozen=True):
    """An image's configuration."""

    config: _Settings | None = None
    rootfs: _RootFs | None = None
    history: tuple[_Step, ...] | None = None


@dataclass(slots=True)
class _Blobs:
    """What an archive holds, by name: small JSON documents, layers as they were read, links between names."""

    texts: dict[str, bytes] = field(default_factory=dict)
    layers: dict[str, Files] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    pool: list[bytearray] = field(default_factory=list)
    text_bytes: int = 0

    def text(self, name: str) -> bytes:
        """A document; InspectError where the archive has none of that name."""
        name = self.links.get(name, name)
        if name not in self.texts:
            raise InspectError(f"the image archive names {name}, which is not in it")
        return self.texts[name]


def is_image_entry(name: str) -> bool:
    """Whether the first entry of a tar archive says that it is an image and not a root file system."""
    return bool(_IMAGE_ENTRY.match(name))


def inspect_image(
    stream: Readable, *, image: str | None = None, platform: str | None = None, every_section: bool = False
) -> Inspection:
    """Read an image archive once, front to back.

    `image` chooses by name where it holds several, `platform` ("linux/arm64") where it is an index of several.
    Memory is bounded by the number of files, not by their bytes. InspectError where no image can be read from it.
    """
    blobs = _Blobs()
    try:
        for member, content in entries(plain(stream)):
            _note(member, content, blobs, every_section=every_section)
    except TAR_ERRORS as error:
        if not blobs.texts and not blobs.layers:
            raise InspectError(f"this is not an image archive: {error}") from error
        blobs.problems.append(f"the archive ends early: {error}")
    return _put_together(blobs, image, platform)


def inspect_layout(
    folder: Path, *, image: str | None = None, platform: str | None = None, every_section: bool = False
) -> Inspection:
    """Read an OCI layout, the directory that `skopeo copy … oci:PATH` writes; see `inspect_image`."""
    blobs = _Blobs()
    for path in (folder / "index.json", *sorted((folder / "blobs").glob("*/*"))):
        name = path.relative_to(folder).as_posix()
        try:
            with path.open("rb") as file:
                _note_blob(name, path.stat().st_size, file, blobs, every_section=every_section)
        except OSError as error:
            raise InspectError(
                "cannot read this part of the OCI layout", where=Location(path), why=error.strerror
            ) from error
    return _put_together(blobs, image, platform)


def _note(member: tarfile.TarInfo, content: Readable | None, blobs: _Blobs, *, every_section: bool) -> None:
    name = absolute(member.name)[1:]
    if member.issym() or member.islnk():  # docker 20.10 links equal layers to each other
        start = "" if member.islnk() else name.rpartition("/")[0]
        blobs.links[name] = absolute(f"{start}/{member.linkname}")[1:]
    elif content is not None:
        _note_blob(name, member.size, content, blobs, every_section=every_section)


def _note_blob(name: str, size: int, content: Readable, blobs: _Blobs, *, every_section: bool) -> None:
    stream = Forward(content)
    if stream.peek(1) in (b"{", b"["):
        blobs.text_bytes += size
        if blobs.text_bytes <= _MOST_TEXT_BYTES:
            blobs.texts[name] = stream.read(size)
    elif size > _NO_LAYER:
        layer = Collector(layer=True, every_section=every_section, pool=blobs.pool)
        try:
            read_members(stream, layer)
        except InspectError as error:
            layer.files.problems.append(f"{name}: {error.what}")
        blobs.layers[name] = layer.files


def _put_together(blobs: _Blobs, image: str | None, platform: str | None) -> Inspection:
    config_name, layer_names = _chosen(blobs, image, platform)
    config = _decoded(blobs.text(config_name), _Config, config_name)
    made_by = [step.created_by for step in config.history or () if not step.empty_layer]
    diff_ids = (config.rootfs or _RootFs()).diff_ids or ()
    if len(made_by) != len(layer_names):  # squashed and imported images have no history that fits
        made_by = [""] * len(layer_names)
    layers: list[Files] = []
    problems = list(blobs.problems)
    for number, name in enumerate(layer_names):
        files = blobs.layers.get(blobs.links.get(name, name))
        if files is None:
            problems.append(f"layer {number + 1} ({name}) is not in the archive, or could not be read")
        layers.append(files or Files())
    merged, layer_of, hidden = merge(layers)
    merged.problems = [*problems, *(problem for files in layers for problem in files.problems)]
    covered = [0] * len(layers)
    for one in hidden:
        covered[one.layer] += one.bytes
    described = tuple(
        Layer(
            digest=diff_ids[number] if number < len(diff_ids) else "",
            created_by=" ".join(made_by[number].split()),
            bytes=sum(files.sizes.values()),
            files=len(files.sizes),
            hidden_bytes=covered[number],
        )
        for number, files in enumerate(layers)
    )
    settings = config.config or _Settings()
    return replace(
        inspection(merged), layers=described, layer_of=layer_of, hidden=hidden, env=settings.env or ()
    )


def _chosen(blobs: _Blobs, image: str | None, platform: str | None) -> tuple[str, tuple[str, ...]]:
    """The names of the configuration and of the layers, the base's first."""
    if "manifest.json" in blobs.texts:
        saved = _decoded(blobs.texts["manifest.json"], tuple[_Saved, ...], "manifest.json")
        if len(saved) > 1:
            named = [one for one in saved if image in (one.repo_tags or ())]
            if len(named) != 1:
                tags = ", ".join(tag for one in saved for tag in one.repo_tags or ()) or "none has a name"
                raise InspectError(
                    f"the archive holds {len(saved)} images ({tags})", hint="name one with --image"
                )
            saved = (named[0],)
        if not saved:
            raise InspectError("the archive's manifest.json names no image")
        return saved[0].config, saved[0].layers or ()
    if "index.json" not in blobs.texts:
        raise InspectError("this archive holds neither manifest.json nor index.json: it is no image")
    manifest = _manifest(blobs, "index.json", image, platform, _INDEX_DEPTH)
    if manifest.config is None:
        raise InspectError("the image's manifest names no configuration")
    return _blob_name(manifest.config), tuple(map(_blob_name, manifest.layers or ()))


def _manifest(blobs: _Blobs, name: str, image: str | None, platform: str | None, depth: int) -> _Oci:
    found = _decoded(blobs.text(name), _Oci, name)
    if not found.manifests:
        return found
    if not depth:
        raise InspectError("the image's index refers to itself")
    # Attestations stand beside images, for a platform "unknown/unknown"; an archive may lack what its index names.
    images = [
        one
        for one in found.manifests
        if not (one.platform and one.platform.os == "unknown") and _blob_name(one) in blobs.texts
    ]
    if image is not None:
        images = [one for one in images if image in (one.annotations or {}).values()] or images
    if platform is not None:
        images = [one for one in images if one.platform is None or _platform(one) == platform]
    if len(images) != 1:
        what = ", ".join(filter(None, (_platform(one) for one in images)))
        raise InspectError(
            f"the index holds {len(images)} images that fit" + (f" ({what})" if what else ""),
            hint="choose one with --platform or --image" if images else None,
        )
    return _manifest(blobs, _blob_name(images[0]), None, platform, depth - 1)


def _platform(one: _Descriptor) -> str:
    return f"{one.platform.os}/{one.platform.architecture}" if one.platform else ""


def _blob_name(one: _Descriptor) -> str:
    return "blobs/" + one.digest.replace(":", "/", 1)


def _decoded(raw: bytes, kind: type[_T], name: str) -> _T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise InspectError(f"{name} in the image archive is damaged: {error}") from error
