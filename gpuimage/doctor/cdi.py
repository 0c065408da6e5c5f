"""CDI: the files that tell an engine how to give a GPU to a container."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from gpuimage.doctor.host import Host

DIRECTORIES = ("/etc/cdi", "/var/run/cdi")
"""Where engines look, unless they are told otherwise."""

_KIND = "nvidia.com/gpu"
_DRIVER_FILE = re.compile(r"(?:^|/)lib(?:cuda|nvidia-ml)\.so\.(\d{3}(?:\.\d+)+)$")


class CdiFile(Struct, frozen=True):
    """One file about NVIDIA's GPUs: names of devices, versions of the driver whose files it mounts, what is gone.

    `problem` says why nothing could be read from it.
    """

    path: str
    devices: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    problem: str | None = None


def read_cdi(host: Host, directories: Iterable[str] = DIRECTORIES) -> tuple[CdiFile, ...]:
    """Read every file about NVIDIA's GPUs in the directories; a device of a later directory is the one that counts."""
    found = []
    for folder in directories:
        for name in host.names(folder):
            if name.endswith((".yaml", ".yml", ".json")):
                file = _read(host, f"{folder}/{name}")
                found += [file] if file else []
    return tuple(found)


def _read(host: Host, path: str) -> CdiFile | None:
    import yaml  # noqa: PLC0415  # JSON is YAML too; only where there is such a file

    try:
        text = host.text(path)
        spec = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  # safe, both
    except (OSError, yaml.YAMLError, RecursionError, ValueError) as error:
        named = "nvidia" in path
        return CdiFile(path, problem=" ".join(str(error).split())) if named else None
    if not isinstance(spec, dict) or spec.get("kind") != _KIND:
        return None
    devices = _dicts(spec.get("devices"))
    edits = [spec.get("containerEdits"), *(device.get("containerEdits") for device in devices)]
    paths = [path for edit in edits if isinstance(edit, dict) for path in _paths(edit)]
    versions = (_DRIVER_FILE.search(path) for path in paths)
    return CdiFile(
        path,
        devices=tuple(str(device["name"]) for device in devices if "name" in device),
        drivers=tuple(sorted({match[1] for match in versions if match})),
        gone=tuple(sorted({path for path in paths if not host.exists(path)})),
    )


def _paths(edit: dict[str, Any]) -> Iterator[str]:
    """The files and device nodes of the machine that an edit puts into a container."""
    for entry in (*_dicts(edit.get("mounts")), *_dicts(edit.get("deviceNodes"))):
        path = entry.get("hostPath") or entry.get("path")
        if isinstance(path, str):
            yield path


def _dicts(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
