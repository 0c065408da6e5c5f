"""The parser against BuildKit's own (PyPI `dockerfile`), on every Dockerfile here and on generated ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import dockerfile as buildkit
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.dockerfile import Dockerfile, Flag, Instruction, Source, parse

ROOT = Path(__file__).parent.parent
# The cases with planted faults lie beside the checkout on a developer's machine.
FILES = sorted([*ROOT.glob("examples/*/Dockerfile"), *ROOT.parent.glob("shared/cases/**/Dockerfile")])


def read(text: str) -> Dockerfile:
    return parse(Source.of(text))


def name(flag: Flag) -> str:
    return flag.name if flag.value is None else f"{flag.name}={flag.value}"


def ours(found: Instruction) -> tuple[Any, ...]:
    return (
        found.keyword,
        found.onbuild,
        found.line,
        found.end_line,
        found.texts,
        found.json,
        # The oracle's Python side passes on neither flags nor heredocs under ONBUILD; the lines show that it read them.
        () if found.onbuild else tuple(name(flag) for flag in found.flags),
        () if found.onbuild else tuple(heredoc.marker.name for heredoc in found.heredocs),
    )


def theirs(found: Any) -> tuple[Any, ...]:
    onbuild = found.cmd.upper() == "ONBUILD" and bool(found.sub_cmd)
    return (
        (found.sub_cmd if onbuild else found.cmd).upper(),
        onbuild,
        found.start_line,
        found.end_line,
        found.value,
        found.json,
        tuple(flag.removeprefix("--") for flag in found.flags),
        tuple(heredoc.name for heredoc in found.heredocs),
    )


def agree(text: str) -> None:
    """Hold our reading against BuildKit's; a file it refuses whole must still be read here, with its problem."""
    made = read(text)
    tiles(made)
    refused, oracle = "", tuple[Any, ...]()
    try:
        # A continuation that nothing follows is an instruction without a name there, and blank here.
        oracle = tuple(one for one in buildkit.parse_string(text) if one.cmd)
    except buildkit.GoParseError as error:
        refused = str(error)
    if refused:
        assert list(made.problems) or ("no instructions" in refused and made.instructions == ()), refused
        return
    for own, other in zip(made.instructions, oracle, strict=True):
        if own.problem:  # BuildKit finds it later, or drops the arguments of what it does not know
            assert ours(own)[:4] == theirs(other)[:4]
        else:
            assert ours(own) == theirs(other)


def tiles(made: Dockerfile) -> None:
    """The pieces of a file cover it without gap and overlap, and every span lies inside its instruction."""
    at = 0
    for piece in made.pieces:
        assert piece.span.start == at
        assert len(piece.span) > 0
        at = piece.span.end
    assert at == len(made.source.text)
    for one in made.instructions:
        for span in (
            one.keyword_span,
            *(flag.span for flag in one.flags),
            *(value.span for value in one.values),
        ):
            assert one.span.start <= span.start <= span.end <= one.span.end


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_file_here_is_read_as_buildkit_reads_it(path: Path) -> None:
    agree(path.read_text())


@pytest.mark.parametrize(
    "text",
    [
        'RUN ["a"] x\n', "RUN [1,2]\n", "RUN []\n", 'COPY [ "a", "b" ]  \n', 'RUN [ "a",]\n', "\\\nRUN a\n",
        "RUN a \\\\\nRUN b\n", "RUN a \\\n", "RUN a \\\n\n\n  # c\n", "RUN\ta\n", 'RUN --mount="type=x,a b" c --d\n',
        "RUN -- --x\n", "RUN --a\n", "  RUN   a\n", "EXPOSE 80   90\\\n 7\n", 'HEALTHCHECK --a=b  CMD   ["x","y"]\n',
        "HEALTHCHECK none\n", "ONBUILD COPY <<a /b\nx\na\n", 'ONBUILD RUN ["a"]\n', 'ARG A="b c" D\n', "ENV A b=c\n",
        "ENV A= B=\n", "LABEL x y\n", "LABEL x\n", "MAINTAINER\n", "run echo <<a <<-b\n1\na\n\t\tb\n",
        'RUN echo "<<a"\n', 'RUN echo <<"a b"\nx\na b\n', "RUN 3<<E cat\n1\nE\n", "RUN cat<<E\nRUN 1\n", "SHELL bash\n",
        "STOPSIGNAL a b\n", "USER a b\n", "VOLUME [\"/a\"]\n", 'VOLUME a ["b"]\n', "CMD\n", "RUN a\\\n  b\n",
        "RUN a\r\nRUN b\\\r\n c\r\n", "#escape=`\nRUN a `\n b\n", "\n# escape=`\nRUN a `\nRUN b\n", "RUN a \\ \n b\n",
        "ONBUILD\n", "RUN <<\nRUN b\n", "RUN <<-\nRUN b\n", "RUN cat <<EOF>x\n1\nEOF>x\n", "RUN cat <<'E'\\''F'\n1\n",
        "RUN <<EOF\n1\nEOF\nRUN b\n", "RUN <<EOF\n1\nEOF\n# c\nRUN b\n", "RUN cat <<-\\EOT >f && x\n\tRUN a\n\tEOT\nCMD x\n",
        "FROM localhost:5000/x/y:tag@sha256:0 AS b\n", "EXPOSE ${P:-99}/udp\n", "RUN --mount=type=zzz,nope=1 x\n",
        "RUN --device=nvidia.com/gpu=all x\n", "# comment\n\n", "", "FROM a\nRUN", "FROM a\n COPY\n", "ENV a\\\n=b c=d\n",
        "ENV A='x\\' B=y\n", 'ENV A="x\\" y" B=z\n', "RUN echo \\\n# gone\nhi\n", "FROM a AS B\nFROM b\n",
        "RUN a \\\n \\\n b\n", "COPY --from=x --link a b\n", "RUN --mount=type=cache,target=/x \\\n  --network=none cmd\n",
    ],
)  # fmt: skip
def test_a_torture_is_read_as_buildkit_reads_it(text: str) -> None:
    agree(text)


FRAGMENTS = st.sampled_from(
    [
        "RUN ", "FROM ", "COPY ", "ENV ", "ARG ", "LABEL ", "CMD ", "ONBUILD ", "HEALTHCHECK ", "EXPOSE ", "USER ",
        "a", "b c", "A=1", "A='x y'", 'B="q', "--mount=type=cache,target=/x ", "--from=a ", "<<EOF", "<<-'E'", "EOF", "E",
        "\\\n", "\\ \n", "\\\\", "`", "\n", "\n\n", "\t", " ", "# c", "# escape=`\n", '["a", "b"]', "[", "$X", "${A:-b}",
        "\r\n", "&& ", "|", "'", '"', ";", "é", "/",
    ]
)  # fmt: skip


@given(st.lists(FRAGMENTS, max_size=30).map("".join))
@settings(max_examples=int(os.environ.get("GPUIMAGE_EXAMPLES", "400")), deadline=None)
def test_a_generated_file_is_read_as_buildkit_reads_it(text: str) -> None:
    agree(text)


@given(st.binary(max_size=400))
def test_any_bytes_are_read_and_come_back_the_same(data: bytes) -> None:
    source = Source.decode(data)
    tiles(parse(source))
    assert source.encode() == data


@pytest.mark.parametrize(
    "data",
    [b"\xef\xbb\xbfFROM a\r\n", "FROM a\nRUN é\n".encode("utf-16"), "FROM a\nRUN é\n".encode("latin-1")],
    ids=["utf-8 with a mark", "utf-16", "latin-1"],
)
def test_other_encodings_are_read(data: bytes) -> None:
    source = Source.decode(data)
    assert parse(source).instructions[0].texts == ("a",)
    assert source.encode() == data


def test_a_bad_instruction_is_one_problem_and_the_rest_is_read() -> None:
    made = read("FROM a\nENV X\nRUNN b\n{% if x %}\nCOPY only\nRUN c\n")
    assert [one.problem is not None for one in made.instructions] == [False, True, True, True, True, False]
    assert made.source.position(next(made.problems).span.start) == (2, 1)


def test_places_in_continued_lines_are_those_of_the_source() -> None:
    text = "FROM a\nENV A=1 \\\n    # why\n    BB='2 3' \\\n\n    C=4\n"
    env = read(text).instructions[1]
    assert [env.texts[i] for i in (2, 3)] == ["BB", "'2 3'"]
    places = [read(text).source.position(value.span.start) for value in env.values]
    assert places == [(2, 5), (2, 7), (4, 5), (4, 8), (6, 5), (6, 7)]
    assert [text[value.span.start : value.span.end] for value in env.values] == list(env.texts)


def test_stages_have_names_images_and_what_follows() -> None:
    made = read(
        "ARG V=1\nFROM --platform=linux/arm64 x:${V} AS Build\nRUN a\nFROM build\nCOPY --from=build /a /b\n"
    )
    assert [one.keyword for one in made.before] == ["ARG"]
    assert [(s.image, s.name, s.platform, len(s.instructions)) for s in made.stages] == [
        ("x:${V}", "build", "linux/arm64", 2),
        ("build", None, None, 2),
    ]
    assert made.stages[1].instructions[1].flag("from") == "build"


def test_a_long_line_and_a_long_file_are_read_in_time_that_grows_with_their_length() -> None:
    long = "FROM a\nRUN echo " + "\\ x" * 1_000_000 + "\nRUN b\n"
    assert len(read(long).instructions) == 3
    many = "FROM a\n" + "RUN a \\\n b\n" * 50_000
    assert len(read(many).instructions) == 50_001
