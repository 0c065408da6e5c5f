"""Source archives of real projects, by name and hash, kept in the lab's home."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import urllib.request
from pathlib import Path

from pip._internal.models.index import PyPI

from tests.lab.home import Home
from tests.lab.shell import LabError

_TEXTS = (".py", ".toml", ".cfg", ".txt", ".yml", ".yaml", ".lock", ".in", ".python-version", "PKG-INFO")
_LARGEST = 2_000_000  # bytes of a file that is unpacked


def unpacked(home: Home, project: str, file: str, sha256: str) -> Path:
    """Return the directory of an unpacked source archive, downloaded once; only texts are unpacked."""
    folder = home.root / "sdists" / file
    with home.locked("sdists"):
        if not (folder / ".whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            with tarfile.open(fileobj=io.BytesIO(_download(project, file, sha256))) as tar:
                for member in tar:
                    kept = member.isfile() and member.size < _LARGEST
                    if kept and (member.name.endswith(_TEXTS) or "Dockerfile" in member.name):
                        target = folder / member.name
                        target.parent.mkdir(parents=True, exist_ok=True)
                        content = tar.extractfile(member)
                        target.write_bytes(content.read() if content else b"")
            (folder / ".whole").touch()
    [directory] = [path for path in folder.iterdir() if path.is_dir()]
    return directory


def _download(project: str, file: str, sha256: str) -> bytes:
    request = urllib.request.Request(
        f"{PyPI.simple_url}/{project}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        files = {row["filename"]: row["url"] for row in json.load(answer)["files"]}
    with urllib.request.urlopen(files[file], timeout=300) as answer:
        data: bytes = answer.read()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise LabError(f"{file} is not the archive that was looked at")
    return data
