"""The build context: what is left out, and the archive that is sent."""

from __future__ import annotations

import io
import os
import socket
import tarfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuimage.engine import BuildRequest
from gpuimage.engine.context import load_ignore, tar_context, walk
from gpuimage.engine.ignore import IgnoreList
from gpuimage.engine.staging import ignore_file, staged
from gpuimage.errors import SpecError


def fill(root: Path, *paths: str) -> Path:
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path)
    return root


def sent(root: Path, ignore: str = "") -> list[str]:
    return [entry.path for entry in walk(root, load_ignore(root, ignore)) if not entry.source.is_dir()]


def members(root: Path, **options: object) -> dict[str, tarfile.TarInfo]:
    data = b"".join(tar_context(root, **options))  # type: ignore[arg-type]
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {member.name: member for member in archive}


# The cases of moby/patternmatcher's own tests (patternmatcher_test.go, TestMatches), path and answer.
MOBY = [
    ("**", "file", True),
    ("**", "file/", True),
    ("**/", "file", True),
    ("**/", "dir/file", True),
    ("**/**", "dir/file", True),
    ("dir/**", "dir/file", True),
    ("dir/**", "dir/dir2/file", True),
    ("**/dir", "dir/file", True),
    ("**/dir2/*", "dir/dir2/file", True),
    ("**/dir2/*", "dir/dir2/dir2/file", True),
    ("**/dir2/**", "dir/dir2/file", True),
    ("**file", "file", True),
    ("**file", "dir/file", True),
    ("**/file", "dir/file", True),
    ("**file", "dir/dir/file", True),
    ("**/file*", "dir/dir/file.txt", True),
    ("**/file*txt", "dir/dir/file.txt", True),
    ("**/file*.txt", "dir/dir/file.txt", True),
    ("**/**/*.txt", "dir/dir/file.txt", True),
    ("**/**/*.txt2", "dir/dir/file.txt", False),
    ("**/*.txt", "file.txt", True),
    ("**/**/*.txt", "file.txt", True),
    ("a**/*.txt", "a/file.txt", True),
    ("a**/*.txt", "a/dir/file.txt", True),
    ("a**/*.txt", "a/dir/dir/file.txt", True),
    ("a/*.txt", "a/dir/file.txt", False),
    ("a/*.txt", "a/file.txt", True),
    ("a/*.txt**", "a/file.txt", True),
    ("a[b-d]e", "ae", False),
    ("a[b-d]e", "ace", True),
    ("a[b-d]e", "aae", False),
    ("a[^b-d]e", "aze", True),
    (".*", ".foo", True),
    (".*", "foo", False),
    ("abc.def", "abcdef", False),
    ("abc.def", "abc.def", True),
    ("abc.def", "abcZdef", False),
    ("abc?def", "abcZdef", True),
    ("abc?def", "abcdef", False),
    ("a\\\\", "a\\", True),
    ("**/foo/bar", "foo/bar", True),
    ("**/foo/bar", "dir/foo/bar", True),
    ("**/foo/bar", "dir/dir2/foo/bar", True),
    ("abc/**", "abc", False),
    ("abc/**", "abc/def", True),
    ("abc/**", "abc/def/ghi", True),
    ("**/.foo", ".foo", True),
    ("**/.foo", "bar.foo", False),
    ("a(b)c/def", "a(b)c/def", True),
    ("a(b)c/def", "a(b)c/xyz", False),
    ("a.|)$(}+{bc", "a.|)$(}+{bc", True),
    ("dist/proxy.py-2.4.0rc3.dev36+g08acad9-py3-none-any.whl",) * 2 + (True,),
    ("dist/*.whl", "dist/proxy.py-2.4.0rc3.dev36+g08acad9-py3-none-any.whl", True),
    ("a\\*b", "a*b", True),
    ("a\\*b", "axb", False),
]


@pytest.mark.parametrize(("pattern", "path", "answer"), MOBY)
def test_a_pattern_matches_as_in_moby(pattern: str, path: str, answer: bool) -> None:
    assert IgnoreList.parse(pattern).ignores(path.rstrip("/")) is answer


def test_the_last_pattern_that_matches_decides() -> None:
    ignore = IgnoreList.parse("*.md\n!README*.md\nREADME-secret.md\n")
    assert [name for name in ("a.md", "README.md", "README-secret.md") if ignore.ignores(name)] == [
        "a.md",
        "README-secret.md",
    ]


def test_comments_blank_lines_and_a_byte_order_mark_are_no_patterns() -> None:
    ignore = IgnoreList.parse("\ufeff# note\n\n   \n  secret  \n! \tkept\n")
    assert [pattern.text for pattern in ignore.patterns] == ["secret", "kept"]


def test_paths_are_cleaned_and_a_leading_slash_means_the_root() -> None:
    ignore = IgnoreList.parse("/build\n./x//y/\n")
    assert ignore.ignores("build/file")
    assert ignore.ignores("x/y")
    assert not ignore.ignores("src/build")


@pytest.mark.parametrize("line", ["!", "[", "a[b"])
def test_a_line_that_is_no_pattern_is_refused(line: str) -> None:
    with pytest.raises(SpecError, match=r"\.dockerignore"):
        IgnoreList.parse(line)


@given(st.text(alphabet="ab/*!?.\\ #[]-^\n"), st.from_regex(r"[ab.]{1,3}(/[ab.]{1,3}){0,3}", fullmatch=True))
def test_any_text_is_a_list_of_patterns_or_a_spec_error(text: str, path: str) -> None:
    try:
        ignore = IgnoreList.parse(text)
    except SpecError:
        return
    if not any(pattern.takes_back for pattern in ignore.patterns):
        # Without exceptions, what lies below an ignored path is ignored too.
        assert not ignore.ignores(path) or ignore.ignores(path + "/x")


def test_the_contexts_own_file_counts_unless_patterns_are_given(tmp_path: Path) -> None:
    fill(tmp_path, "a.py", "b.log")
    (tmp_path / ".dockerignore").write_text("*.log\n")
    assert sent(tmp_path) == [".dockerignore", "a.py"]
    assert sent(tmp_path, "*.py\n") == [".dockerignore", "b.log"]


def test_an_exception_inside_an_ignored_directory_is_sent_with_its_parents(tmp_path: Path) -> None:
    fill(tmp_path, "data/big/x", "data/big/keep/y", "data/z", "empty/e")
    for exception in ("!data/big/keep", "!**/keep/*"):
        ignore = load_ignore(tmp_path, f"data\nempty\n{exception}\n")
        assert [entry.path for entry in walk(tmp_path, ignore)][:4] == (
            ["data", "data/big", "data/big/keep", "data/big/keep/y"]
        )
        assert sent(tmp_path, f"data\nempty\n{exception}\n") == ["data/big/keep/y"]


def test_an_ignored_directory_is_not_even_opened(tmp_path: Path) -> None:
    fill(tmp_path, "a", "cache/x")
    (tmp_path / "cache" / "broken").symlink_to("nowhere")
    opened: list[str] = []
    real = os.scandir

    def spy(path: Path) -> object:
        opened.append(path.name)
        return real(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", spy)
        assert sent(tmp_path, "cache\n!cached.txt\n") == ["a"]
    assert "cache" not in opened


def test_the_archive_holds_files_links_modes_and_times(tmp_path: Path) -> None:
    fill(tmp_path, "src/run.sh", "ü/" + "long" * 40 + ".txt")
    (tmp_path / "src" / "run.sh").chmod(0o755)
    os.utime(tmp_path / "src" / "run.sh", (1_600_000_000.9, 1_600_000_000.9))
    (tmp_path / "link").symlink_to("src/run.sh")
    (tmp_path / "broken").symlink_to("/no/where")
    found = members(tmp_path, files={"Dockerfile.x": b"FROM scratch\n", "ca/root.pem": b"pem"})
    assert list(found)[:2] == ["Dockerfile.x", "ca/root.pem"]
    assert set(found) == {
        *("Dockerfile.x", "ca/root.pem", "src", "src/run.sh", "link", "broken", "ü"),
        "ü/" + "long" * 40 + ".txt",
    }
    assert found["src/run.sh"].mode == 0o755
    assert found["src/run.sh"].mtime == 1_600_000_000
    assert found["link"].issym()
    assert found["link"].linkname == "src/run.sh"
    assert found["broken"].linkname == "/no/where"
    assert {(member.uid, member.gid, member.uname) for member in found.values()} == {(0, 0, "")}


def test_the_first_block_is_a_plain_header(tmp_path: Path) -> None:
    # BuildKit takes the body for a Dockerfile when it starts with an extended header.
    first = next(tar_context(tmp_path, files={".gpuimage.Dockerfile": b"FROM scratch\n"}))
    assert first[:20].rstrip(b"\0") == b".gpuimage.Dockerfile"
    assert first[156:157] == b"0"


def test_a_given_file_takes_the_place_of_the_contexts_own_and_no_pattern_acts_on_it(tmp_path: Path) -> None:
    fill(tmp_path, "lock", "other")
    data = b"".join(tar_context(tmp_path, ignore="*\n!lock\n", files={"lock": b"new"}))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert archive.getnames() == ["lock"]
        file = archive.extractfile("lock")
        assert file is not None
        assert file.read() == b"new"


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    fill(tmp_path, "b", "a/x", "c")
    assert b"".join(tar_context(tmp_path)) == b"".join(tar_context(tmp_path))
    assert list(members(tmp_path)) == ["a", "a/x", "b", "c"]


def test_the_archive_is_read_back_by_gnu_tar(tmp_path: Path) -> None:
    context = fill(tmp_path / "context", "a/b", "d" * 120 + "/" + "e" * 120)
    archive = tmp_path / "context.tar"
    archive.write_bytes(b"".join(tar_context(context)))
    from gpuimage import process  # noqa: PLC0415

    out = tmp_path / "out"
    out.mkdir()
    assert process.run(["tar", "-xf", str(archive), "-C", str(out)]).stderr == ""
    assert (out / "a" / "b").read_text() == "a/b"
    assert sent(out) == sent(context)


def test_memory_does_not_grow_with_the_context(tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as file:
        file.truncate(512 << 20)
    tracemalloc.start()
    try:
        length = sum(map(len, tar_context(tmp_path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert length > 512 << 20
    assert peak < 16 << 20


def test_a_socket_and_a_pipe_are_left_out_with_a_note(tmp_path: Path) -> None:
    fill(tmp_path, "a")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener, pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        listener.bind("sock")
        notes: list[str] = []
        names = [entry.path for entry in walk(tmp_path, IgnoreList(), notes.append)]
    assert names == ["a"]
    assert [note.split(": ")[1].split()[0] for note in notes] == ["pipe", "sock"]


def test_a_file_that_shrinks_while_it_is_sent_is_an_error(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        file.truncate(8 << 20)
    stream = tar_context(tmp_path)
    next(stream)
    next(stream)
    os.truncate(tmp_path / "log", 100)
    with pytest.raises(SpecError, match="became shorter"):
        list(stream)


def test_a_context_that_is_no_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="not a directory"):
        list(tar_context(tmp_path / "gone"))


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "."])
def test_an_extra_file_stays_inside_the_context(tmp_path: Path, name: str) -> None:
    with pytest.raises(SpecError, match="not a name inside"):
        list(tar_context(tmp_path, files={name: b""}))


def test_staging_links_instead_of_copying_and_leaves_the_context_alone(tmp_path: Path) -> None:
    context = fill(tmp_path / "context", "a", "lock", "skip/x")
    (context / "link").symlink_to("a")
    request = BuildRequest("", context, ignore="skip\n", extra_files={"lock": b"new", "ca/x.pem": b"pem"})
    with staged(request) as root:
        assert (root / "a").stat().st_ino == (context / "a").stat().st_ino
        assert (root / "link").readlink() == Path("a")
        assert (root / "lock").read_bytes() == b"new"
        assert (root / "ca" / "x.pem").read_bytes() == b"pem"
        assert not (root / "skip").exists()
        assert not IgnoreList.parse(ignore_file(request)).patterns
    assert not root.exists()
    assert (context / "lock").read_text() == "lock"


def test_a_context_without_extra_files_is_used_as_it_is(tmp_path: Path) -> None:
    with staged(BuildRequest("", tmp_path)) as root:
        assert root == tmp_path
