"""Variables against a real shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.dockerfile.variables import UNDEFINED, Undefined, expand

VALUES: Mapping[str, str] = {"A": "one", "EMPTY": "", "P": "/a/b/b.tar.gz", "V": "12.8.1", "Q": "a b"}


def lookup(name: str) -> str | Undefined | None:
    return None if name == "LATER" else VALUES.get(name, UNDEFINED)


def bash(word: str) -> str | None:
    """What bash makes of a word, None where it refuses it."""
    script = f"set -f; printf %s {word}"
    env = {"PATH": os.environ["PATH"], **VALUES}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, check=False)
    return done.stdout.decode() if done.returncode == 0 else None


NAMES = st.sampled_from([*VALUES, "GONE"])
PATTERNS = st.sampled_from(
    ["*", "*.", ".*", "/*/", "?", "b", "b*", "*b", "one", "\\*", ".", "1?", "", "/", "a"]
)
DEFAULTS = st.sampled_from(["", "x", "1.2", "$A", "${EMPTY:-z}", "a-b"])
USES = st.one_of(
    NAMES.map(lambda n: f"${n}"),
    NAMES.map(lambda n: f"${{{n}}}"),
    st.builds(lambda n, o, d: f"${{{n}{o}{d}}}", NAMES, st.sampled_from(["-", ":-", "+", ":+"]), DEFAULTS),
    st.builds(lambda n, o, p: f"${{{n}{o}{p}}}", NAMES, st.sampled_from(["#", "##", "%", "%%"]), PATTERNS),
    st.builds(
        lambda n, o, p, d: f"${{{n}{o}{p}/{d}}}", NAMES, st.sampled_from(["/", "//"]),
        st.sampled_from(["b", ".", "a/b", "one", "?", "1"]), st.sampled_from(["", "X", "y z"]),
    ),
)  # fmt: skip


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
@given(st.lists(st.one_of(USES, st.sampled_from(["x", ":", "-", "\\$A", "'$A'"])), min_size=1, max_size=3))
@settings(max_examples=int(os.environ.get("GPUIMAGE_EXAMPLES", "150")), deadline=None)
def test_a_variable_is_what_bash_makes_of_it(parts: list[str]) -> None:
    # Between double quotes, so that bash does not split words; what is quoted by itself stands outside of them.
    word = "".join(part if part[0] in "'\\" else f'"{part}"' for part in parts)
    assert expand(word, lookup).value == bash(word)


@pytest.mark.parametrize(
    ("text", "value", "undefined"),
    [
        ("${LATER}", None, ()),
        ("${LATER:-x}", None, ()),
        ("x${GONE}y", "xy", ("GONE",)),
        ("${GONE:-1}", "1", ()),
        ("${GONE:-$ALSO}", "", ("ALSO",)),
        ("${A:+$LATER}", None, ()),
        ("${EMPTY:+$LATER}", "", ()),
        ("$", "$", ()),
        ("${", "${", ()),
        ("${A!x}", "${A!x}", ()),
        ("'${A}'", "${A}", ()),
        ("a\\ b", "a b", ()),
        ("cuda:${V%.*}-devel", "cuda:12.8-devel", ()),
    ],
)
def test_what_nobody_can_know_stays_unknown_and_what_is_not_set_is_named(
    text: str, value: str | None, undefined: tuple[str, ...]
) -> None:
    found = expand(text, lookup)
    assert (found.value, found.undefined) == (value, undefined)


@given(st.text(alphabet="${}A:-+#%/'\"\\ x`", max_size=20))
def test_any_text_is_expanded_without_an_error(text: str) -> None:
    expand(text, lookup)
