"""Image archives made to measure, as `docker save` and OCI tools write them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence

import zstandard

Files = Mapping[str, bytes | str | None]
"""Path to content; a text is the target of a link, None a directory, and `.wh.` names are whiteouts."""

PACKERS: Mapping[str, Callable[[bytes], bytes]] = {
    "tar": lambda data: data,
    "gzip": gzip.compress,
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
}


def tar(files: Files) -> bytes:
    """An archive with these entries, in this order."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            if isinstance(content, bytes):
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
            else:
                info.type = tarfile.DIRTYPE if content is None else tarfile.SYMTYPE
                info.linkname = content or ""
                archive.addfile(info)
    return made.getvalue()


def config(layers: Sequence[Files], env: Sequence[str] = ("PATH=/usr/bin",)) -> bytes:
    """The configuration of an image of these layers, with a step without a layer between each two."""
    history: list[dict[str, object]] = []
    for number in range(len(layers)):
        history += [{"created_by": f"RUN step {number}"}, {"created_by": "ENV x", "empty_layer": True}]
    digests = [f"sha256:{hashlib.sha256(tar(files)).hexdigest()}" for files in layers]
    return json.dumps(
        {"config": {"Env": list(env)}, "rootfs": {"diff_ids": digests}, "history": history, "os": "linux"}
    ).encode()


def saved(
    layers: Sequence[Files], *, tag: str = "example.com/x:1", packer: str = "tar"
) -> dict[str, bytes | str | None]:
    """The entries of `docker save` up to 24: a directory a layer, the manifest last."""
    entries: dict[str, bytes | str | None] = {}
    names = []
    for files in layers:
        data = tar(files)
        name = f"{hashlib.sha256(data).hexdigest()}/layer.tar"
        names.append(name)
        entries[name.replace("layer.tar", "VERSION")] = b"1.0"
        entries[name] = PACKERS[packer](data)
    described = config(layers)
    name = f"{hashlib.sha256(described).hexdigest()}.json"
    entries[name] = described
    entries["manifest.json"] = json.dumps([{"Config": name, "RepoTags": [tag], "Layers": names}]).encode()
    return dict(sorted(entries.items()))


def oci(
    layers: Sequence[Files], *, packer: str = "gzip", platforms: Sequence[str] = ("linux/amd64",)
) -> dict[str, bytes | str | None]:
    """The entries of an OCI archive: an index in the index, with an attestation beside the images."""
    blobs: dict[str, bytes | str | None] = {}

    def blob(data: bytes) -> dict[str, object]:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"digest": f"sha256:{digest}", "size": len(data), "mediaType": "application/x"}

    manifests = []
    for platform in platforms:
        own = [{**files, "platform": platform.encode()} for files in layers] if len(platforms) > 1 else layers
        manifest = {
            "config": blob(config(own)),
            "layers": [blob(PACKERS[packer](tar(files))) for files in own],
        }
        system, architecture = platform.split("/")
        manifests.append(
            {**blob(json.dumps(manifest).encode()), "platform": {"os": system, "architecture": architecture}}
        )
    manifests.append({**blob(b'{"layers": []}'), "platform": {"os": "unknown", "architecture": "unknown"}})
    index = blob(json.dumps({"manifests": manifests}).encode())
    return {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        **blobs,
        "index.json": json.dumps({"manifests": [index]}).encode(),
    }
