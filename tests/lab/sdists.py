"""Source archives of real projects, by name and hash, kept in the lab's home."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

from gpuimage import remote
from tests.lab.home import Home

_TEXTS = (".py", ".toml", ".cfg", ".txt", ".yml", ".yaml", ".lock", ".in", ".python-version", "PKG-INFO")
_LARGEST = 2_000_000  # bytes of a file that is unpacked


def unpacked(home: Home, project: str, file: str, sha256: str) -> Path:
    """Return the directory of an unpacked source archive, downloaded once; only texts are unpacked."""
    folder = home.root / "sdists" / file
    with home.locked("sdists"):
        if not (folder / ".whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            archive = folder.with_name(f"{file}.part")
            _download(project, file, sha256, archive)
            with tarfile.open(archive) as tar:
                for member in tar:
                    kept = member.isfile() and member.size < _LARGEST
                    if kept and (member.name.endswith(_TEXTS) or "Dockerfile" in member.name):
                        target = folder / member.name
                        target.parent.mkdir(parents=True, exist_ok=True)
                        content = tar.extractfile(member)
                        target.write_bytes(content.read() if content else b"")
            archive.unlink()
            (folder / ".whole").touch()
    [directory] = [path for path in folder.iterdir() if path.is_dir()]
    return directory


def _download(project: str, file: str, sha256: str, path: Path) -> None:
    listed, _ = remote.read(f"{remote.PYPI}/{project}/", accept="application/vnd.pypi.simple.v1+json")
    files = {row["filename"]: row["url"] for row in json.loads(listed)["files"]}
    remote.download(files[file], path, sha256)
