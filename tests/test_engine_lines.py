"""Steps that engines name are found in the Dockerfile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuimage.engine.lines import LineMap, Step, scan, step_text

DOCKERFILE = """\
# syntax is not needed
ARG BASE=python:3.12-slim

FROM ${BASE} AS Builder
ENV A=1
RUN one \\
    # a comment inside
    && two

WORKDIR /w
COPY <<EOF /etc/x
FROM not an instruction
EOF
RUN three
FROM builder
LABEL a=b
COPY --from=builder /w /w
CMD ["x"]
"""


def lines_of(dockerfile: str) -> list[tuple[str, int, int]]:
    return [(step.keyword, step.line, step.stage) for step in scan(dockerfile)]


def test_instructions_are_found_with_their_lines_and_stages() -> None:
    assert lines_of(DOCKERFILE) == [
        ("ARG", 2, -1),
        ("FROM", 4, 0),
        ("ENV", 5, 0),
        ("RUN", 6, 0),
        ("WORKDIR", 10, 0),
        ("COPY", 11, 0),
        ("RUN", 14, 0),
        ("FROM", 15, 1),
        ("LABEL", 16, 1),
        ("COPY", 17, 1),
        ("CMD", 18, 1),
    ]


def test_a_continued_instruction_is_one_text_without_its_comments() -> None:
    assert next(step.text for step in scan(DOCKERFILE) if step.line == 6) == "RUN one     && two"


def test_heredocs_with_dashes_and_two_of_them_are_passed_over() -> None:
    text = "FROM a\nRUN <<-A cat <<'B'\nRUN x\n\tA\nRUN y\nB\nRUN z\n"
    assert lines_of(text) == [("FROM", 1, 0), ("RUN", 2, 0), ("RUN", 7, 0)]


def test_another_escape_character_continues_lines() -> None:
    assert lines_of("# escape=`\nFROM a\nRUN one `\n  two\nRUN c:\\\nRUN d\n") == [
        ("FROM", 2, 0),
        ("RUN", 3, 0),
        ("RUN", 5, 0),
        ("RUN", 6, 0),
    ]


@given(st.text())
def test_any_text_is_scanned_into_lines_that_exist(text: str) -> None:
    steps = scan(text)
    assert all(1 <= step.line <= len(text.splitlines()) for step in steps)
    assert [step.line for step in steps] == sorted({step.line for step in steps})


def line(step: Step | None) -> int | None:
    return step.line if step else None


def test_a_stage_from_an_image_counts_its_base_as_the_first_step() -> None:
    lines = LineMap(DOCKERFILE)
    # FROM, RUN, WORKDIR, COPY, RUN: five; ENV makes no step.
    assert line(lines.buildkit("builder", 1, 5, "FROM docker.io/library/python:3.12-slim@sha256:00")) == 4
    assert line(lines.buildkit("builder", 2, 5, "RUN one     && two")) == 6
    assert line(lines.buildkit("builder", 3, 5, "WORKDIR /w")) == 10
    assert line(lines.buildkit("builder", 5, 5, "RUN three")) == 14


def test_a_stage_from_a_stage_does_not() -> None:
    assert line(LineMap(DOCKERFILE).buildkit("stage-1", 1, 1, "COPY --from=builder /w /w")) == 17


def test_variables_that_the_engine_filled_in_do_not_hide_the_line() -> None:
    lines = LineMap("FROM scratch\nENV A=1\nRUN echo $A\nRUN echo $A\n")
    assert line(lines.buildkit(None, 1, 2, "RUN echo 1")) == 3
    assert line(lines.buildkit(None, 2, 2, "RUN echo 1")) == 4


def test_a_count_that_does_not_fit_falls_back_to_the_text() -> None:
    lines = LineMap("FROM onbuild\nRUN a\nRUN b\n")
    # Two triggers of ONBUILD come before the Dockerfile's own steps.
    assert line(lines.buildkit(None, 5, 5, "RUN b")) == 3
    assert line(lines.buildkit(None, 2, 5, "COPY . /app")) is None


def test_a_text_that_occurs_twice_decides_nothing() -> None:
    assert line(LineMap("FROM onbuild\nRUN a\nRUN a\n").buildkit(None, 5, 5, "RUN a")) is None


def test_a_stage_that_does_not_exist_is_not_found() -> None:
    assert line(LineMap(DOCKERFILE).buildkit("stage-9", 1, 1, "RUN x")) is None


def test_podman_counts_every_instruction() -> None:
    lines = LineMap(DOCKERFILE)
    assert line(lines.numbered(1, 1, "FROM python:3.12-slim AS Builder")) == 4
    assert line(lines.numbered(1, 3, "RUN one     && two")) == 6
    assert line(lines.numbered(2, 3, "COPY --from=builder /w /w")) == 17
    assert line(lines.numbered(2, 5, 'LABEL "added"="by the command line"')) is None


def test_a_step_is_shown_without_its_mounts() -> None:
    step = "RUN --mount=type=cache,target=/x --network=none  pip install \\\n  --mount=kept torch"
    assert step_text(step) == "RUN pip install \\ --mount=kept torch"
    assert step_text("COPY --from=a /x /y") == "COPY --from=a /x /y"
