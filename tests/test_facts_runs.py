"""The programs of a RUN: where each stands, what holds for it, and whether the step goes on when it fails."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.dockerfile import Source, parse
from gpuimage.facts import Call, FileFacts, Step

NAMES = ("cmd", "pip", "x-y", "/usr/bin/nvcc", "python3")
WORDS = (
    "a",
    "-y",
    "'x y'",
    '"x y"',
    "a\\ b",
    "x==1.0",
    "--opt='v w'",
    '"q\\"q"',
    "é",
    "$V",
    '"${V}z"',
    "a#b",
    "'&&'",
    "[1]",
)
JOINTS = (
    " && ",
    " || ",
    "; ",
    " | ",
    " \\\n  && ",
    " \\\n# why\n  && ",
    " && \\\n\n    ",
    " \\\n   # a ; b\n ; ",
)
GAPS = (" ", "  ", " \\\n    ", " \\\n# note's \"quote\n    ", "\t")


def steps(text: str) -> tuple[FileFacts, tuple[Step, ...]]:
    file = FileFacts(parse(Source.decode(text.encode())))
    return file, tuple(step for stage in file.stages for step in stage.steps)


def run(text: str, head: str = "FROM ubuntu:22.04\n") -> tuple[Call, ...]:
    return steps(head + text)[1][-1].calls


def named(calls: tuple[Call, ...], name: str) -> Call:
    return next(call for call in calls if call.name == name)


@st.composite
def scripts(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """A RUN, and the words of its commands in order."""
    commands = draw(
        st.lists(
            st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(WORDS), max_size=4)),
            min_size=1,
            max_size=4,
        )
    )
    text = draw(st.sampled_from(["RUN ", "run  ", "  RUN \\\n ", "RUN --mount=type=cache,target=/c \\\n  "]))
    for number, (name, words) in enumerate(commands):
        text += draw(st.sampled_from(JOINTS)) if number else ""
        text += name + "".join(draw(st.sampled_from(GAPS)) + word for word in words)
    return text, [[name, *words] for name, words in commands]


@settings(max_examples=300, deadline=None)
@given(scripts(), st.sampled_from(["", "ENV A=1\n", "# a\n\n"]), st.sampled_from(["\n", "\r\n"]))
def test_the_source_holds_each_word_at_its_place(
    made: tuple[str, list[list[str]]], before: str, ending: str
) -> None:
    text, commands = made
    whole = f"FROM ubuntu:22.04\n{before}{text}\nCMD x\n".replace("\n", ending)
    file, found = steps(whole)
    calls = found[-2].calls
    assert [[word.raw for word in call.program.command.words] for call in calls] == commands
    for call in calls:
        for word in call.program.command.words:
            assert file.source[call.place(word)] == word.raw
        assert file.source[call.span].startswith(call.program.command.words[0].raw)
        assert file.source[call.span].endswith(call.program.command.words[-1].raw)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(WORDS), max_size=3)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(
        [
            "RUN <<EOF",
            "RUN <<'EOF'",
            "RUN bash <<EOF",
            "RUN set -e && bash -x <<EOF",
            "RUN --network=none <<EOF",
        ]
    ),
)
def test_the_source_holds_each_word_of_a_heredoc_at_its_place(
    commands: list[tuple[str, list[str]]], head: str
) -> None:
    lines = [" ".join([name, *words]) for name, words in commands]
    file, found = steps("FROM ubuntu:22.04\n" + head + "\n" + "\n".join(lines) + "\nEOF\nUSER 1\n")
    calls = [call for call in found[-2].calls if call.name not in ("bash", "set")]
    assert [[word.raw for word in call.program.command.words] for call in calls] == [
        [name, *words] for name, words in commands
    ]
    for call in calls:
        for word in call.program.command.words:
            assert file.source[call.place(word)] == word.raw


def test_a_heredoc_for_another_program_is_no_script() -> None:
    assert run("RUN <<EOF\n#!/usr/bin/env python3\nimport os\nEOF\n") == ()
    assert [call.name for call in run("RUN python3 <<EOF\nimport os\nprint(1)\nEOF\n")] == ["python3"]
    assert [call.name for call in run("RUN cat <<EOF > /x.sh\nnvidia-smi\nEOF\n")] == ["cat"]
    assert [call.name for call in run("RUN <<EOF\n#!/bin/bash\napt-get update\nEOF\n")] == ["apt-get"]


def test_what_follows_a_heredoc_is_read_too() -> None:
    calls = run("RUN cat <<A > /a && bash <<B && make\ntext\nA\npip install x\nB\n")
    assert [call.name for call in calls] == ["cat", "bash", "pip", "make"]


def test_the_array_form_is_read_as_written_and_its_shell_too() -> None:
    plain = run('RUN ["pip", "install", "a b", "$HOME"]\n')
    assert [(call.name, call.values) for call in plain] == [("pip", ("install", "a b", "$HOME"))]
    file, found = steps('FROM ubuntu:22.04\nRUN ["/bin/bash", "-c", "cd /x && make all"]\n')
    assert [call.name for call in found[-1].calls] == ["cd", "make"]
    assert all(
        file.source[call.span].startswith('["/bin/bash"') or call.span.start > 18 for call in found[-1].calls
    )


@pytest.mark.parametrize(
    ("text", "directory"),
    [
        ("RUN make", "/"),
        ("WORKDIR /app\nRUN make", "/app"),
        ("WORKDIR /app\nWORKDIR b\nRUN make", "/app/b"),
        ("RUN cd /x && make", "/x"),
        ("WORKDIR /app\nRUN cd b && cd ../c && make", "/app/c"),
        ("RUN cd && make", "/root"),
        ("RUN cd ~/y && make", "/root/y"),
        ("ENV D=/d\nRUN cd $D/e && make", "/d/e"),
        ("RUN pushd /x && make", "/x"),
        ("RUN cd $(mktemp -d) && make", None),
        ("ARG D\nRUN cd $D && make", None),
        ("ARG D\nWORKDIR $D\nRUN make", None),
    ],
)
def test_a_command_runs_where_the_script_has_gone(text: str, directory: str | None) -> None:
    assert named(run(text + "\n"), "make").directory == directory


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RUN X=1 make", "1"),
        ("RUN export X=1 && make", "1"),
        ("RUN export X='a b' Y=2 && make", "a b"),
        ("RUN declare -x X=1; make", "1"),
        ("RUN export X=1 && unset X && make", ""),
        ("RUN export X=$(nproc) && make", None),
        ("RUN X=1 && export X && make", None),
        ("RUN env X=1 make", "1"),
        ("RUN sudo X=1 make", "1"),
        ("RUN X=1 bash -c 'make'", "1"),
        ("RUN X=1 bash -c 'X=2 make'", "2"),
        ("ENV X=3\nRUN make", "3"),
        ("ENV X=3\nRUN export X && make", "3"),
        ("ENV X=3\nRUN X=4 make", "4"),
        ("ARG X=5\nRUN make", "5"),
        ("ARG X\nRUN make", None),
    ],
)
def test_a_command_sees_the_variables_of_its_script_and_of_the_stage(text: str, expected: str | None) -> None:
    call = named(run(text + "\n"), "make")
    assert call.variable("X") == expected
    assert call.is_set("X") is (expected != "")


def test_a_variable_of_one_command_is_not_that_of_the_next() -> None:
    calls = run("RUN X=1 make && ninja\n")
    assert (named(calls, "make").is_set("X"), named(calls, "ninja").is_set("X")) == (True, False)
    assert not named(run("RUN make && export X=1\n"), "make").is_set("X")


def test_the_value_of_an_assignment_has_its_place_also_within_bash_c() -> None:
    text = "FROM ubuntu:22.04\nRUN A=1 && B='x y' bash -c \"C=2 make D=3\"\n"
    file, found = steps(text)
    make = named(found[-1].calls, "make")
    places = {
        name: file.source[make.script.place(value.span)] for name, value in make.program.command.assignments
    }
    assert places == {"B": "'x y'", "C": "2"}
    assert file.source[make.place(make.arguments[0])] == "D=3"


@pytest.mark.parametrize(
    ("text", "tolerated"),
    [
        ("x", False),
        ("x && y", False),
        ("y && x", False),
        ("x || true", True),
        ("x && y || true", True),
        ("y || x", False),
        ("x; y", True),
        ("y; x", False),
        ("x & y", True),
        ("x | y", True),
        ("y | x", False),
        ("if x; then y; fi", True),
        ("if y; then x; fi", True),
        ("while x; do y; done", True),
        ("! x", True),
        ("(x) || true", True),
        ("(x && y)", False),
        ("{ x; } || true", True),
        ("set -e; x; y", False),
        ("y $(x)", False),
        ("z=$(x || echo 1) && y", True),
        ("bash -c 'x || true'", True),
        ("bash -c 'x && y'", False),
    ],
)
def test_a_failure_is_tolerated_where_the_shell_goes_on(text: str, tolerated: bool) -> None:
    assert named(run(f"RUN {text}\n"), "x").tolerated is tolerated


def test_a_heredoc_goes_on_after_a_failure_unless_told_otherwise() -> None:
    assert named(run("RUN <<EOF\nx\ny\nEOF\n"), "x").tolerated
    assert not named(run("RUN <<EOF\nset -e\nx\ny\nEOF\n"), "x").tolerated
    assert not named(run("RUN <<EOF\ny\nx\nEOF\n"), "x").tolerated
    head = 'FROM ubuntu:22.04\nSHELL ["/bin/bash", "-euo", "pipefail", "-c"]\n'
    assert not named(run("RUN <<EOF\nx\ny\nEOF\n", head), "x").tolerated


def test_what_is_not_run_here_has_no_commands() -> None:
    for text in (
        "ONBUILD RUN nvidia-smi",
        "CMD nvidia-smi",
        "HEALTHCHECK CMD nvidia-smi",
        'ENTRYPOINT ["nvidia-smi"]',
    ):
        assert run(text + "\n") == ()


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from(list("ab'\"$(){}`|&;<>\\\n #=-E\tO")), max_size=40))
def test_any_run_is_read_without_an_error_and_places_lie_in_the_source(text: str) -> None:
    file, found = steps(f"FROM ubuntu:22.04\nRUN {text}\n")
    for step in found:
        for call in step.calls:
            for word in call.program.command.words:
                span = call.place(word)
                assert 0 <= span.start <= span.end <= len(file.source.text)


@pytest.mark.parametrize(
    ("script", "directories"),
    [
        ("cd /a && x && (cd b && x) && x", ["/a", "/a/b", "/a"]),
        ("(cd /a && x) && (cd b && x)", ["/a", "/w/b"]),
        ("pushd /a && x && pushd b && x && popd && x && popd && x", ["/a", "/a/b", "/a", "/w"]),
        ("x && y=$(cd /a && x) && x", ["/w", "/a", "/w"]),
        ("bash -c 'cd /a && x' && x", ["/a", "/w"]),
        ("((cd /a; x); x); x", ["/a", "/w", "/w"]),
        ("if cd /a; then x; fi; x", ["/a", "/a"]),
        ("popd; x", [None]),
    ],
)
def test_a_command_runs_where_the_shell_stands(script: str, directories: list[str | None]) -> None:
    found = run(f"WORKDIR /w\nRUN {script}\n")
    assert [call.directory for call in found if call.name == "x"] == directories


def test_a_heredoc_that_names_itself_is_read_once() -> None:
    found = run("RUN sh <<EOF\npip install a\nsh <<EOF\nEOF\n")
    assert [call.name for call in found] == ["sh", "pip", "sh"]
