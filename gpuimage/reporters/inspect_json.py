"""What was found in an image, wheel or file, for programs; README.md documents the keys."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict

import msgspec

from gpuimage import __version__
from gpuimage.examine import Examination
from gpuimage.inspect import (
    Comparison,
    Coverage,
    GpuFile,
    Inspection,
    Library,
    categories,
    closure,
    copies,
    driver_needs,
    shares,
    tree,
)

_MOST_COPIES = 200
_MOST_HIDDEN = 200
FORMAT = 1
"""Raised when a key changes its meaning or goes away; new keys may come at any time."""


def inspect_json(found: Examination) -> str:
    """The whole as one JSON document, ending in a line break."""
    return _json(document(found))


def document(found: Examination) -> dict[str, object]:
    """The whole as plain values; all sizes are bytes on disk."""
    inspection = found.inspection
    hidden = sorted(inspection.hidden, key=lambda one: (-one.bytes, one.path))
    same = copies(inspection)
    targets = found.targets or None
    return {
        "format": FORMAT,
        "gpuimage": __version__,
        "target": found.target,
        "kind": found.kind,
        "passed": found.passed,
        "promised": found.promised,
        "targets": [str(target) for target in found.targets],
        "driver": found.driver,
        "bytes": inspection.bytes,
        "files": inspection.files,
        "hidden_bytes": sum(one.bytes for one in hidden),
        "hidden_files": len(hidden),
        "duplicate_bytes": sum(one.wasted for one in same),
        "duplicate_files": sum(len(one.paths) - 1 for one in same),
        "layers": [{"index": number, **asdict(layer)} for number, layer in enumerate(inspection.layers)],
        "wheels": _wheels(inspection),
        "architectures": [msgspec.structs.asdict(share) for share in shares(inspection.gpu, targets)],
        "libraries": _libraries(inspection, found.coverage),
        "loader": _loader(inspection),
        "categories": [msgspec.structs.asdict(one) for one in categories(inspection)],
        "duplicates": [
            {"paths": list(one.paths), "bytes": one.bytes, "wasted": one.wasted}
            for one in same[:_MOST_COPIES]
        ],
        "hidden": [asdict(one) for one in hidden[:_MOST_HIDDEN]],
        "verdicts": [
            {"probe": one.probe, "status": one.status, "reason": one.reason, "evidence": list(one.evidence)}
            for one in found.verdicts
        ],
        "tree": msgspec.to_builtins(tree(inspection, found.target)),
        "problems": list(inspection.problems),
    }


def _wheels(inspection: Inspection) -> list[dict[str, object]]:
    code: Counter[int] = Counter()
    for file in inspection.gpu:
        owner = inspection.owners.get(file.path)
        if owner is not None:
            code[owner] += file.code_bytes
    rows = [
        {"name": wheel.name, "version": wheel.version, "bytes": wheel.bytes, "gpu_bytes": code[number], "location": wheel.location}
        for number, wheel in enumerate(inspection.wheels)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-int(str(row["bytes"])), str(row["name"])))


def _libraries(inspection: Inspection, answers: tuple[Coverage, ...]) -> list[dict[str, object]]:
    """Every file with a dynamic section or with GPU code, those with the most GPU code first."""
    linked = {library.path: library for library in inspection.libraries}
    gpu = {file.path: file for file in inspection.gpu}
    covered: dict[str, list[Coverage]] = {}
    for answer in answers:
        covered.setdefault(answer.path, []).append(answer)
    paths = sorted({*linked, *gpu}, key=lambda path: (-(gpu[path].code_bytes if path in gpu else 0), path))
    return [
        _library(inspection, path, linked.get(path), gpu.get(path), covered.get(path, [])) for path in paths
    ]


def _library(
    inspection: Inspection, path: str, linked: Library | None, gpu: GpuFile | None, covered: list[Coverage]
) -> dict[str, object]:
    wheel = inspection.wheel_of(path)
    codes = [code for container in gpu.containers for code in container.code] if gpu else []
    kinds = Counter(code.kind for code in codes)
    return {
        "path": path,
        "kind": gpu.kind if gpu else "library",
        "bytes": inspection.sizes.get(path, 0),
        "layer": inspection.layer_of.get(path),
        "wheel": wheel.label if wheel else None,
        "soname": linked.soname if linked else None,
        "needed": list(linked.needed) if linked else [],
        "cubins": kinds["cubin"],
        "ptx": kinds["ptx"],
        "gpu_bytes": sum(code.bytes for code in codes),
        "code": [
            {"kind": share.kind, "arch": share.arch, "count": share.count, "bytes": share.bytes}
            for share in shares([gpu] if gpu else [])
        ],
        "containers": {
            "count": len(gpu.containers) if gpu else 0,
            "loadable": sum(container.loadable for container in gpu.containers) if gpu else 0,
            "sections": dict(Counter(container.section for container in gpu.containers)) if gpu else {},
            "groups": _groups(gpu) if gpu else [],
        },
        "compression": sorted({code.compression for code in codes}),
        "debug": sum(code.debug for code in codes),
        "ptx_isa": sorted({code.isa for code in codes if code.isa}, key=_number),
        "driver": [msgspec.structs.asdict(need) for need in driver_needs(gpu)] if gpu else [],
        "coverage": [
            {key: value if key != "target" else str(value) for key, value in msgspec.structs.asdict(one).items() if key != "path"}
            for one in covered
        ],
    }  # fmt: skip


def _groups(gpu: GpuFile) -> list[dict[str, object]]:
    """Containers that hold code for the same, together: what one lacks for a GPU, the others of its group lack too."""
    counts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    sizes: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for container in gpu.containers:
        held = {(code.kind, str(code.capability or "?")) for code in container.code if not code.bare}
        key = container.section, tuple(f"{kind} {arch}" for kind, arch in sorted(held))
        counts[key] += 1
        sizes[key] += sum(code.bytes for code in container.code)
    return [
        {"section": section, "code": list(code), "count": count, "bytes": sizes[section, code]}
        for (section, code), count in counts.most_common()
    ]


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _loader(inspection: Inspection) -> dict[str, object]:
    env = dict(entry.split("=", 1) for entry in inspection.env if "=" in entry)
    found = closure(inspection, env=env)
    return {
        "checked": found.checked,
        "missing": [asdict(one) for one in found.missing],
        "optional": [asdict(one) for one in found.optional],
        "off_path": [asdict(one) for one in found.off_path],
        "driver": [asdict(one) for one in found.driver],
        "versions": [asdict(one) for one in found.versions],
        "twice": [
            {"soname": one.soname, "taken_by": {path: list(users) for path, users in one.taken_by.items()}}
            for one in found.twice
        ],
    }


def compare_json(made: Comparison, found: Examination) -> str:
    """A comparison as one JSON document, with that of the newer target in it; ends in a line break."""
    rows = {
        name: [{**msgspec.structs.asdict(one), "grown": one.grown} for one in changes]
        for name, changes in (("changes", made.changes), ("architectures", made.architectures))
    }
    totals = {
        "before": made.before, "after": made.after,
        "hidden_before": made.hidden_before, "hidden_after": made.hidden_after,
    }  # fmt: skip
    return _json({**document(found), "against": {**totals, **rows}})


def _json(value: dict[str, object]) -> str:
    """Half characters, as an image's history may hold them, become escapes that JSON knows."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
