"""The tables for programs: what they hold, the rows about one thing, and what an index knows by now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gpuimage import __version__
from gpuimage.refresh import Refresh
from gpuimage.tables import FoundRow, Overview, edition


def overview_json(found: Overview) -> str:
    """The counts as one JSON document; ends in a line break."""
    return _document({**_plain(found), "stale": found.stale})


def rows_json(kind: str, name: str, found: Sequence[FoundRow]) -> str:
    """The rows as their files hold them, as one JSON document; ends in a line break."""
    return _document({
        "edition": edition(), "kind": kind, "name": name, "rows": [_plain(one) for one in found],
    })  # fmt: skip


def refresh_json(found: Refresh, files: Sequence[Path]) -> str:
    """The differences as one JSON document; `written` are the files that keep them. Ends in a line break."""
    return _document({"edition": edition(), **_plain(found), "written": [str(path) for path in files]})


def _plain(value: msgspec.Struct) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(value, enc_hook=str)
    return plain


def _document(content: dict[str, object]) -> str:
    return json.dumps({"gpuimage": __version__, **content}, indent=2, ensure_ascii=False) + "\n"
