"""Commands of a script, against bash itself: it is asked which commands it would run, with which arguments."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.dockerfile.shell import Command, commands

# bash calls this function for every command that it does not find, and PATH is empty.
PROLOGUE = "command_not_found_handle() { printf '%s\\1' \"$@\"; printf '\\2'; }\nset -f\n"
BUILTIN = frozenset({"true", "false", "set", "cd"})


def bash(script: str) -> list[list[str]]:
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", PROLOGUE + script], env={"PATH": "/nowhere", "KNOWN": "k v"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [part.split("\1")[:-1] for part in done.stdout.split("\2")[:-1]]


def ours(script: str) -> list[list[str]]:
    found = tuple(commands(script, {"KNOWN": "k v"}.get))
    return [[str(word) for word in one.words] for one in found if one.words and one.name not in BUILTIN]


WORDS = st.sampled_from(
    ["a", "b=1", "-y", "'x y'", '"x y"', '"$KNOWN"', '"${KNOWN}z"', "'$KNOWN'", "a\\ b", '"q\\"q"', "x''y", '""', "\\;", "a#b",
     '"a # b"', "'&&'", "--opt='v w'", '"${NOT_SET:-d e}"', "é"]
)  # fmt: skip
SIMPLE = st.builds(
    lambda name, words: " ".join([name, *words]),
    st.sampled_from(["cmd", "pip", "x-y"]),
    st.lists(WORDS, max_size=4),
)
JOINED = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(lambda a, o, b: f"{a}{o}{b}", inner, st.sampled_from([" && ", "; ", "\n", "&&", " ;", " && \\\n", "\n# c && d\n"]), inner),
        inner.map(lambda a: f"( {a})"),  # two parentheses together are arithmetic
        inner.map(lambda a: f"{{ {a}; }}"),
        inner.map(lambda a: f"if true; then {a}; fi"),
        inner.map(lambda a: f"for i in 1; do {a}\ndone"),
        inner.map(lambda a: f"case x in y) false;; x|z) {a};; esac"),
        st.builds(lambda a, b: f"{a} <<'EOF'\nbody && rm 'x\nEOF\n{b}", SIMPLE, inner),
        inner.map(lambda a: f"true && {{ {a}; }} 2>&1"),
    ),
    max_leaves=5,
)  # fmt: skip


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
@given(JOINED)
@settings(max_examples=int(os.environ.get("GPUIMAGE_EXAMPLES", "150")), deadline=None)
def test_the_commands_are_those_that_bash_would_run(script: str) -> None:
    # What is not known here bash knows to be unset; it makes a word of its default.
    expected = bash(script)
    found = ours(script)
    assert [["d e" if word == '"${NOT_SET:-d e}"' else word for word in one] for one in found] == expected


def read(script: str) -> tuple[Command, ...]:
    return tuple(commands(script))


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("a | b |& c & d", ["a", "b", "c", "d"]),
        ("x=$(a \"$(b)\" | c) && d `e`", ["a", "c", "b", "d", "e"]),
        ("cat <<A <<B; next\n1\nA\n2 && 3\nB\nlast", ["cat", "next", "last"]),
        ("f() { a; }\nfunction g { b; }\nf", ["a", "b", "f"]),
        ('if [ -f x ]; then a; elif b; then c; else d; fi', ["[", "a", "b", "c", "d"]),
        ("/usr/bin/env python3 -m pip", ["env"]),
        ("case $x in a) b;; (c|d) e ;; *) f; esac; g", ["b", "e", "f", "g"]),
        ("until a; do b; done", ["a", "b"]),
        ("! a && time b", ["a", "b"]),
        ("a 'never closed", ["a"]),
        ("a \"$(b", ["a", "b"]),
        ("", []),
        ("# only a comment", []),
        ("echo $((1 + 2)) ${x:-$(y)}", ["echo"]),
    ],
)  # fmt: skip
def test_each_command_is_found_and_nothing_else(script: str, names: list[str]) -> None:
    assert sorted(one.name for one in read(script) if one.words) == sorted(names)


def test_what_joins_commands_and_holds_them_is_kept() -> None:
    found = read("a && (b || c); if d; then e; fi | f")
    assert [(one.name, one.before, one.inside) for one in found] == [
        ("a", "", ()), ("b", "&&", ("(",)), ("c", "||", ("(",)), ("d", ";", ("if",)), ("e", ";", ("if",)), ("f", "|", ()),
    ]  # fmt: skip


def test_an_assignment_counts_where_it_must_happen_and_is_unknown_where_it_may_not() -> None:
    found = read("V=1; a $V; if b; then V=2; fi; c $V; for V in x; do d $V; done; W=3 e $W")
    values = {one.name: one.arguments[0].value for one in found if one.name in "acde" and one.arguments}
    assert values == {"a": "1", "c": None, "d": None, "e": None}


def test_spans_are_places_in_the_script_also_in_substitutions() -> None:
    script = 'a "$(b  c)" && d \\\n  e'
    for one in read(script):
        for word in one.words:
            assert script[word.span.start : word.span.end] == word.raw


def test_redirections_are_no_arguments() -> None:
    [one] = read("a >out 2>&1 </dev/null &>>log b")
    assert [word.raw for word in one.words] == ["a", "b"]
    assert [(r.operator, r.target.raw) for r in one.redirections] == [
        (">", "out"),
        ("2>&", "1"),
        ("<", "/dev/null"),
        ("&>>", "log"),
    ]


@given(st.text(alphabet="ab $(){}[]'\"`\\;|&<>#\n=!-", max_size=40))
@settings(deadline=None)
def test_any_text_is_read_without_an_error(script: str) -> None:
    for one in read(script):
        assert all(0 <= word.span.start <= word.span.end <= len(script) for word in one.words)
