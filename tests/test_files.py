"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuimage.errors import SpecError
from gpuimage.files import write_atomic, write_together


def test_an_interrupted_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "spec.lock"
    path.write_text("old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(path, "new")
    assert [p.name for p in tmp_path.iterdir()] == ["spec.lock"]
    assert path.read_text() == "old"


def test_a_link_stays_a_link_and_its_target_keeps_its_permissions(tmp_path: Path) -> None:
    target, link = tmp_path / "real", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_atomic(link, b"new\r\n")
    assert link.is_symlink()
    assert target.read_bytes() == b"new\r\n"
    assert target.stat().st_mode & 0o777 == 0o640


def test_what_cannot_be_written_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="gone"):
        write_atomic(tmp_path / "gone" / "file", "text")


def test_several_files_are_written_all_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, new = tmp_path / "one", tmp_path / "two", tmp_path / "new"
    one.write_text("old one")
    two.write_text("old two")
    with pytest.raises(SpecError, match="gone"):
        write_together({one: "1", new: "2", tmp_path / "gone" / "x": "3"})
    real, calls = Path.replace, []

    def stopped(self: Path, goal: Path) -> Path:
        calls.append(goal)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, goal)

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        write_together({one: "1", new: "2", two: "3"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "one": "old one",
        "two": "old two",
    }
    monkeypatch.undo()
    write_together({one: "1", new: "2", two: "3"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "one": "1",
        "two": "3",
        "new": "2",
    }
