"""What a command really runs, behind the wrappers people put in front of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.dockerfile.wrappers import programs


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("pip install x", ["pip install x"]),
        ("sudo -E env A=b DEBIAN_FRONTEND=x apt-get install -y gcc", ["apt-get install -y gcc"]),
        ("sudo -u app -- pip3 install x", ["pip install x"]),
        ("env -i -u X /usr/bin/pip3.11 install x", ["pip install x"]),
        ("python3 -m pip install x", ["pip install x"]),
        ("python -u -B -m pip install x", ["pip install x"]),
        ("python3 -m venv /v", ["venv /v"]),
        ("python3 setup.py -m x", ["python3 setup.py -m x"]),
        ("bash -c 'a && b c'", ["a", "b c"]),
        ('bash -euxo pipefail -c "a; b"', ["a", "b"]),
        ("bash -o pipefail -lc 'a'", ["a"]),
        ("sh script.sh -c x", ["sh script.sh -c x"]),
        ("sudo bash -c \"sh -c 'pip install x'\"", ["pip install x"]),
        ("timeout -k 5 60 pip install x", ["pip install x"]),
        ("nice -n 10 time make -j4", ["make -j4"]),
        ("conda run --no-capture-output -n env pip install x", ["pip install x"]),
        ("uv run --with y python -m pip list", ["pip list"]),
        ("uv pip install x", ["uv pip install x"]),
        ("uv sync", ["uv sync"]),
        ("poetry install", ["poetry install"]),
        ("exec gosu app server", ["server"]),
        ("find . | xargs -n 1 rm -rf", ["find .", "rm -rf"]),
        ("command -v nvcc", ["command -v nvcc"]),
        ("sudo", ["sudo"]),
        ("time", []),
        ("bash", ["bash"]),
        ("$TOOL install x", [" install x"]),
    ],
)
def test_the_program_behind_the_wrappers_is_found(script: str, expected: list[str]) -> None:
    found = [" ".join([one.name, *(value or "?" for value in one.values)]) for one in programs(script)]
    assert found == expected


def test_wrappers_are_named_and_modules_marked() -> None:
    [one] = programs("sudo env A=1 python3 -m pip install x")
    assert one.through == ("sudo", "env", "python3")
    assert one.module


def test_places_inside_a_quoted_script_are_those_of_the_outer_one() -> None:
    script = "cd /a && bash -c 'pip  install x'"
    found = list(programs(script))
    words = [script[word.span.start : word.span.end] for word in found[1].command.words]
    assert words == ["pip", "install", "x"]
    assert found[1].command.before == "&&"


@given(
    st.lists(
        st.sampled_from(
            [
                "sudo",
                "env",
                "A=b",
                "bash -c '",
                "'",
                "-u",
                "python3",
                "-m",
                "pip",
                "uv run",
                "timeout",
                '"',
                "$X",
            ]
        ),
        max_size=9,
    )
)
@settings(deadline=None)
def test_any_chain_of_wrappers_ends(words: list[str]) -> None:
    script = " ".join(words)
    for one in programs(script):
        assert all(0 <= word.span.start <= word.span.end <= len(script) for word in one.command.words)
