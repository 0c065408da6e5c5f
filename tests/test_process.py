"""Programs are run to their end, or ended with all that they started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuimage import process
from gpuimage.errors import UnavailableError


def alive(pid: int) -> bool:
    """Say whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def eventually(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return true()


def family(tmp_path: Path, *, session: bool = False, deaf: bool = False) -> tuple[list[str], Path]:
    """A command whose child writes its number into a file and waits; the file."""
    file = tmp_path / "pid"
    child = (
        f"echo $$ > {file}.new; mv {file}.new {file}; {'trap : TERM;' if deaf else ''} sleep 300; sleep 300"
    )
    script = f"{'setsid ' if session else ''}sh -c '{child}' & {'trap : TERM;' if deaf else ''} wait; wait"
    return ["sh", "-c", script], file


def stumble(_after: object) -> None:
    raise ZeroDivisionError


def child_of(file: Path) -> int:
    assert eventually(file.exists)
    return int(file.read_text())


def test_output_and_errors_are_kept_apart() -> None:
    done = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_input_larger_than_a_pipe_comes_back_whole() -> None:
    data = b"0123456789abcdef" * 100_000
    assert process.run(["cat"], input=data).stdout.encode() == data


def test_the_environment_is_added_to_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "1")
    assert process.run(["sh", "-c", "echo $KEPT$NEW"], env={"NEW": "2"}).stdout == "12\n"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert process.run(["printf", r"\377x"]).stdout == "\ufffdx"


def test_a_bad_end_is_an_error_only_when_asked_for() -> None:
    command = ["sh", "-c", "echo reason >&2; exit 9"]
    assert process.run(command).returncode == 9
    with pytest.raises(UnavailableError, match="status 9") as caught:
        process.run(command, check=True)
    assert caught.value.why == "reason"


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(UnavailableError, match="no-such-program"):
        process.run(["no-such-program"])


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError) as caught:
        process.run(["true"], cwd=tmp_path / "gone")
    assert "gone" in str(caught.value)


def test_which_finds_programs_and_only_those() -> None:
    assert process.which("sh") is not None
    assert process.which("no-such-program") is None


@pytest.mark.parametrize("session", [False, True], ids=["in the group", "in a session of its own"])
def test_a_timeout_kills_the_child_of_the_child(tmp_path: Path, session: bool) -> None:
    command, file = family(tmp_path, session=session)
    begin = time.monotonic()
    with pytest.raises(process.ProcessTimeoutError):
        process.run(command, timeout=1.0)
    assert time.monotonic() - begin < 10
    assert eventually(lambda: not alive(child_of(file)))


def test_a_timeout_keeps_what_was_written() -> None:
    with pytest.raises(process.ProcessTimeoutError) as caught:
        process.run(["sh", "-c", "echo so far; sleep 300"], timeout=1.0)
    assert caught.value.stdout == "so far\n"


def test_a_group_that_ignores_the_request_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.3)
    command, file = family(tmp_path, deaf=True)
    with pytest.raises(process.ProcessTimeoutError):
        process.run(command, timeout=1.0)
    assert eventually(lambda: not alive(child_of(file)))


def test_lines_arrive_while_the_program_runs() -> None:
    with process.stream(["sh", "-c", "echo first; sleep 300"]) as running:
        assert next(iter(running)) == "first"


def test_output_errors_and_redrawn_lines_are_merged_into_lines() -> None:
    with process.stream(["sh", "-c", r"printf '1%%\r2%%\r\n'; echo err >&2; exit 4"]) as running:
        assert sorted(running) == ["1%", "2%", "err"]
        assert running.returncode == 4


def test_a_stream_is_fed_while_it_is_read() -> None:
    data = b"line\n" * 200_000
    with process.stream(["cat"], stdin=data) as running:
        assert sum(1 for _ in running) == 200_000


def test_an_error_inside_the_block_ends_the_whole_group(tmp_path: Path) -> None:
    command, file = family(tmp_path)
    with pytest.raises(ZeroDivisionError), process.stream(command, stdin=b"x" * 1_000_000):
        stumble(child_of(file))
    assert eventually(lambda: not alive(child_of(file)))


def test_a_program_that_tidies_up_gets_the_time_for_it(tmp_path: Path) -> None:
    done = tmp_path / "tidied"
    # As buildah does: the step runs in a session of its own; when it fails, the rest is taken down.
    script = f"echo go; setsid -w sleep 300; sleep 0.3; touch {done}"
    with pytest.raises(ZeroDivisionError), process.stream(["sh", "-c", script], tidy=20) as running:
        stumble(next(iter(running)))
    assert done.exists()


def test_what_stood_unread_when_the_block_was_left_is_told() -> None:
    script = "echo first; echo second; echo ready; sleep 300 & wait; echo fourth"
    told: list[str] = []
    with (
        pytest.raises(ZeroDivisionError),
        process.stream(["sh", "-c", script], tidy=20, rest=told.append) as running,
    ):
        stumble(next(iter(running)))
    assert told == ["second", "ready", "fourth"]


def test_what_an_ended_program_left_unread_is_told() -> None:
    told: list[str] = []
    with (
        pytest.raises(ZeroDivisionError),
        process.stream(["sh", "-c", "echo first; echo second"], rest=told.append) as running,
    ):
        stumble(f"{next(iter(running))} {running.returncode}")
    assert told == ["second"]


def test_tidying_up_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.3)
    begin = time.monotonic()
    script = "trap '' TERM; echo go; while :; do sleep 1; done"
    with pytest.raises(ZeroDivisionError), process.stream(["sh", "-c", script], tidy=2) as running:
        stumble(next(iter(running)))
    assert time.monotonic() - begin < 10


def test_a_pipe_gives_bytes_and_hides_nothing_of_a_failure() -> None:
    with process.pipe(["printf", r"\000\377"]) as file:
        assert file.read() == b"\x00\xff"
    with pytest.raises(UnavailableError, match="status 5"), process.pipe(["sh", "-c", "exit 5"]) as file:
        file.read()


def test_a_pipe_may_be_left_before_its_end(tmp_path: Path) -> None:
    with process.pipe(["sh", "-c", "yes; echo gone"]) as file:
        assert file.read(4) == b"y\ny\n"


@pytest.mark.parametrize("how", ["run(c)", "stream"])
def test_ctrl_c_leaves_no_child(tmp_path: Path, how: str) -> None:
    command, file = family(tmp_path)
    body = "process.run(c)" if how == "run(c)" else "with process.stream(c) as s:\n    list(s)"
    script = f"from gpuimage import process\nc = {command!r}\n{body}\n"
    caller = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    child = child_of(file)
    os.kill(caller.pid, signal.SIGINT)
    assert caller.wait(20) != 0
    assert eventually(lambda: not alive(child))


def test_no_zombie_stays() -> None:
    before = zombies()  # other tests' daemons may have ended since
    for _round in range(3):
        process.run(["true"])
        with pytest.raises(process.ProcessTimeoutError):
            process.run(["sleep", "300"], timeout=0.05)
    assert zombies() <= before


def zombies() -> set[str]:
    """The numbers of our children that have ended and were not waited for."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended while we looked
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state == "Z" and parent == str(os.getpid()):
                found.add(path.parent.name)
    return found
