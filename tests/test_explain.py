"""Known errors in messages and logs: the right one, the first cause first, with what the message itself tells; the command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.explain import explain, explain_log
from gpuimage.tables import known_errors
from tests.conftest import Command
from tests.error_texts import LOGS, SINGLE, UNRELATED, Text
from tests.readme import blocks, compare, section, shown

KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"


# --- the corpus -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [*SINGLE, *LOGS], ids=lambda text: text.name)
def test_a_text_is_diagnosed_with_its_first_cause_first(text: Text) -> None:
    found = explain(text.text)
    assert tuple(one.error.id for one in found) == text.ids
    told = " | ".join(found[0].facts)
    assert all(part in told for part in text.facts), told
    if text.line is not None:
        assert found[0].line == text.line


@pytest.mark.parametrize("text", UNRELATED.values(), ids=UNRELATED.keys())
def test_what_nobody_knows_is_not_guessed(text: str) -> None:
    assert explain(text) == ()


def test_the_corpus_is_as_large_as_it_should_be() -> None:
    assert (len(SINGLE) + len(LOGS) >= 40, len(LOGS) >= 12, len(UNRELATED) >= 15) == (True, True, True)


@pytest.mark.parametrize("text", SINGLE, ids=lambda text: text.name)
def test_a_message_is_found_in_the_noise_of_a_log_and_counted(text: Text) -> None:
    message = text.text.split("\n")[0] if len(explain(text.text.split("\n")[0])) else text.text
    noise = ["loading weights 12%"] * 40
    found = explain("\n".join([*noise, f"[rank0] {message}", "retrying in 5 s", f"[rank0] {message}"]))
    lines = message.count("\n")
    assert (found[0].error.id, found[0].line - lines <= 41 <= found[0].line, found[0].count >= 2) == (
        text.first,
        True,
        True,
    )


# --- order ------------------------------------------------------------------------------------------------------


def test_the_first_error_comes_first_whatever_the_tables_order() -> None:
    late, early = KERNEL, "nvcc fatal   : Unsupported gpu architecture 'compute_120'"
    assert [one.error.id for one in explain(f"{early}\n\n{late}")] == [
        "nvcc-unsupported-arch",
        "no-kernel-image",
    ]


def test_a_consequence_names_its_cause_and_stands_behind_it_wherever_it_was_printed() -> None:
    found = explain("RuntimeError: No CUDA GPUs are available\nstep\nFound no NVIDIA driver on your system")
    assert [(one.error.id, one.line, one.follows) for one in found] == [
        ("torch-no-driver", 3, None),
        ("torch-no-gpus", 1, "torch-no-driver"),
    ]


def test_no_error_is_its_own_cause_by_way_of_others() -> None:
    follows = {error.id: error.follows for error in known_errors()}

    def reaches(name: str, seen: frozenset[str] = frozenset()) -> bool:
        return name in seen or any(reaches(other, seen | {name}) for other in follows[name])

    assert [name for name in follows if reaches(name)] == []


# --- the form of a log ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: text.encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: text.replace("\n", "\r\n").encode("utf-16"),
        lambda text: text.replace("CUDA", "CU\0DA").encode(),
        lambda text: b"\xfa\x80" + text.encode(),
        lambda text: text.replace("no kernel", "\x1b[31mno\x1b[0m \x1b[1mkernel").encode(),
        lambda text: text.replace("no kernel", "\\u001b[31mno\\u001b[0m kernel").encode(),
        lambda text: text.replace(
            "no kernel", "\x1b]8;;https://example.org\x07no kernel\x1b]8;;\x07"
        ).encode(),
    ],
)
def test_encodings_line_ends_and_terminal_codes_hide_nothing(encode: object) -> None:
    log = f"step 1\n{KERNEL}\nstep 3\n"
    [found] = explain_log([encode(log)])  # type: ignore[operator]
    assert (found.error.id, found.line) == ("no-kernel-image", 2)
    assert "\x1b" not in found.text


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_a_log_read_in_parts_says_the_same_as_one_read_whole(size: int) -> None:
    data = (LOGS[0].text + LOGS[2].text + LOGS[9].text).encode()
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    assert explain_log(parts) == explain_log([data])


def test_a_message_that_lies_across_parts_of_a_megabyte_is_found_once_with_its_line() -> None:
    filler = "step 1 loss 0.5\n" * 80_000
    for shift in (0, 5, 40):
        data = (filler[: (1 << 20) - 20 - shift] + f"\n{KERNEL}\n" + filler).encode()
        [found] = explain_log([data[: 1 << 20], data[1 << 20 :]])
        before = data[: data.index(KERNEL.encode())].count(b"\n")
        assert (found.count, found.line) == (1, before + 1)


def test_a_huge_log_takes_little_memory() -> None:
    part = ("[rank0] step 1 loss 0.5 running CUDA kernel of /opt/venv/lib/x.so\n" * 2000).encode()

    def parts() -> Iterator[bytes]:
        for _ in range(250):  # 33 MB
            yield part
        yield f"{KERNEL}\n".encode()

    tracemalloc.start()
    try:
        [found] = explain_log(parts())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.error.id, found.line) == ("no-kernel-image", 500_001)
    assert peak < 8_000_000


def test_lines_of_megabytes_are_searched_to_their_end() -> None:
    [found] = explain("x" * 3_000_000 + f" {KERNEL} " + "y" * 1_000_000 + "\n" + "z" * 100)
    assert (found.line, found.count) == (1, 1)
    assert len(found.text) < 500
    [later] = explain("x" * 3_000_000 + "\n" + KERNEL)
    assert later.line == 2


def test_documentation_that_quotes_a_message_in_a_sentence_is_no_log() -> None:
    assert (
        explain("The error `no kernel image is available for execution on the device` has one cause.") == ()
    )
    assert (
        explain("| `no kernel image is available for execution on the device` |")[0].error.id
        == "no-kernel-image"
    )


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    explain(text)


# --- the tables -------------------------------------------------------------------------------------------------


def test_every_known_error_says_cause_check_and_cure() -> None:
    assert len(known_errors()) > 110
    assert all(one.cause and one.check and one.fix and one.source for one in known_errors())


@pytest.mark.parametrize("error", known_errors(), ids=lambda error: error.id)
def test_what_a_pattern_matches_holds_one_of_its_words(error: object) -> None:
    @settings(max_examples=12, deadline=None, database=None)
    @given(st.from_regex(error.pattern, fullmatch=True))  # type: ignore[attr-defined]
    def holds(text: str) -> None:
        assert any(word in text for word in error.words)  # type: ignore[attr-defined]

    holds()


def test_no_pattern_takes_long_on_hostile_text() -> None:
    """In a process of its own, so that one that never ends fails instead of hanging."""
    code = """
from gpuimage.explain import explain
from gpuimage.tables import known_errors
for filler in ("", " ", "a", "/", "'", '"', ".so.", "lib", "0.", "\\\\n", "\\\\", "(", ": ", "nvcc"):
    texts = []
    for error in known_errors():
        for word in error.words:
            texts.append((word + filler * 40) * 20 + word + filler * 3000)
            for _ in error.pattern.finditer(texts[-1]): pass
    explain("".join(texts[::7]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_patterns_have_bounds_and_no_nested_repeats() -> None:
    for error in known_errors():
        assert not re.search(r"[*+}]\)?[*+{]", re.sub(r"\\.|\[[^\]]*\]", "x", error.pattern.pattern)), (
            error.id
        )
        assert not re.search(r"(?<!\\)\.[*+]", re.sub(r"\[[^\]]*\]", "x", error.pattern.pattern)), error.id


# --- the command ------------------------------------------------------------------------------------------------


@pytest.fixture
def run(command: Command) -> Command:
    return partial(command, "explain")


def test_the_command_explains_a_message_a_log_and_a_rule(run: Command) -> None:
    code, out, _ = run(KERNEL)
    assert code == 0
    assert "try: Rebuild with the GPU in TORCH_CUDA_ARCH_LIST" in out
    code, out, _ = run("-", stdin=b"\xff noise \x1b[31m\n" + LOGS[2].text.encode())
    assert (code, "\x1b" in out) == (0, False)
    assert "follows from: line 7, torch-driver-too-old" in out
    assert "The first one is the likeliest cause" in out
    assert run("GI301")[1].startswith("## GI301")
    assert json.loads(run("GI301", "--format", "json")[1])["rules"][0]["code"] == "GI301"
    assert run("no-kernel-image-anywhere at all")[0] == 1
    code, _, err = run("GI3011")
    assert (code, "did you mean GI301?" in err) == (2, True)


def test_nothing_known_is_said_with_exit_code_1(run: Command, work: Path) -> None:
    code, out, err = run("hello world")
    assert (code, out) == (1, "")
    assert err.startswith("not known")
    code, out, err = run("-", "--format", "json", stdin=b"step 1\n")
    assert (code, json.loads(out)["known"], json.loads(out)["diagnoses"]) == (1, False, [])
    (work / "build.log").write_text(KERNEL, encoding="utf-8")
    code, _, err = run("build.log")
    assert (code, "gpuimage explain - < build.log" in err) == (1, True)


def test_json_says_the_same_with_the_documented_keys(run: Command) -> None:
    code, out, _ = run("-", "--format", "json", stdin=LOGS[2].text.encode())
    document = json.loads(out)
    first, second = document["diagnoses"]
    assert (code, document["known"]) == (0, True)
    assert (first["id"], first["line"], first["follows"]) == ("torch-driver-too-old", 6, None)
    assert (second["id"], second["follows"]) == ("torch-no-gpus", "torch-driver-too-old")
    assert all(f"`{key}`" in section("### explain") for key in first)


def test_the_readme_shows_what_explain_says(run: Command, work: Path) -> None:
    (work / "spec.yaml").write_text(blocks("### explain", "yaml")[0], encoding="utf-8")
    examples = shown("### explain")
    assert len(examples) >= 3
    for example in examples:
        compare(example, run(*example.arguments[1:])[1])
