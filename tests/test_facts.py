"""What holds in each stage, against what a real engine makes of the same text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gpuimage.dockerfile import Source, parse
from gpuimage.engine import BuildRequest, Engine
from gpuimage.engine.types import ignore_event
from gpuimage.facts import StageFacts, stages

SCOPES = """\
ARG GLOBAL=g
ARG OTHER=${GLOBAL}2
ARG HIDDEN=h
FROM scratch AS base
ARG GLOBAL
ARG OTHER=own
ARG PLAIN="a b"
ENV A=1 B=$A C=${PLAIN} D=${GLOBAL}${HIDDEN}
ENV B=$A
ENV A=2 E=${A}${B:+set}${GONE:-none}
ENV OLD form of $A
ENV Q='$A' R="$A" S=\\$A T="x\\"y"
FROM base
ENV F=$PLAIN/$OTHER/$GLOBAL G=$A
ARG A=arg
ENV H=$A
ARG F
ENV J=$F
ENV GLOBAL=env
ENV I=$GLOBAL
"""


def facts(text: str, **more: object) -> tuple[StageFacts, ...]:
    return stages(parse(Source.of(text)), **more)  # type: ignore[arg-type]


@pytest.mark.engine
@pytest.mark.parametrize(
    "given", [{}, {"GLOBAL": "G", "OTHER": "O", "PLAIN": "P"}], ids=["defaults", "build args"]
)
def test_the_environment_is_the_one_that_buildkit_computes(
    docker_engine: Engine, tmp_path: Path, given: Mapping[str, str]
) -> None:
    tag = "example.com/gpuimage/facts:1"
    request = BuildRequest(SCOPES + "LABEL a=b\n", tmp_path, tags=(tag,), build_args=given)
    try:
        image = docker_engine.build(request, ignore_event)
    finally:
        docker_engine.remove(tag)
    actual = dict(entry.split("=", 1) for entry in image.env)
    actual.pop("PATH", None)  # BuildKit's own default
    assert facts(SCOPES, build_args=given)[-1].env == actual


def test_a_base_may_bring_variables_that_nobody_sees_and_an_argument_without_default_is_unknown() -> None:
    [one] = facts("FROM debian\nARG X\nENV A=$FROM_BASE B=${X}y C=z\n")
    assert one.env == {"A": None, "B": None, "C": "z"}
    [other] = facts("FROM scratch\nENV A=$NOWHERE\n")
    assert other.env == {"A": ""}


def test_from_is_resolved_by_the_global_arguments_alone() -> None:
    text = "ARG V=12.8\nARG GIVEN\nFROM cuda:${V} AS a\nARG W=1\nFROM cuda:$W\nFROM cuda:$GIVEN\nFROM x:$TARGETARCH\nFROM A\n"
    found = facts(text)
    assert [(one.base, one.parent, one.undefined) for one in found] == [
        ("cuda:12.8", None, ()), ("cuda:", None, ("W",)), (None, None, ()), (None, None, ()), (None, 0, ()),
    ]  # fmt: skip
    assert facts(text, build_args={"V": "13"})[0].base == "cuda:13"


STAGES = """\
FROM a AS base
FROM base AS builder
FROM b AS tools
FROM c AS unused
FROM base AS final
COPY --from=builder /w /w
RUN --mount=type=bind,from=tools,source=/t,target=/t true
COPY --from=nginx:1 /x /x
FROM d AS test
COPY --from=final / /
"""


@pytest.mark.parametrize(
    ("target", "ships", "feeds"),
    [
        (None, ["unused", "test"], ["base", "builder", "tools", "final"]),
        ("final", ["base", "final"], ["builder", "tools"]),
        ("FINAL", ["base", "final"], ["builder", "tools"]),
        ("1", ["base", "builder"], []),
    ],
)
def test_what_ships_and_what_only_gives_files_follows_from_the_target(
    target: str | None, ships: list[str], feeds: list[str]
) -> None:
    found = facts(STAGES, target=target)
    assert [one.stage.name for one in found if one.ships] == ships
    assert [one.stage.name for one in found if one.feeds] == feeds
    unused = next(one for one in found if one.stage.name == "unused")
    assert unused.used is unused.is_target is (target is None)  # without a target it may be somebody's


@pytest.mark.parametrize("name", ["test", "dev", "lint", "py-tests", "test-gpu", "development", "ci"])
def test_a_leaf_that_is_named_for_tests_or_development_does_not_ship(name: str) -> None:
    first, last = facts(f"FROM a AS {name}\nFROM b\n")
    assert (first.ships, first.used, last.ships) == (False, False, True)
    assert [one.ships for one in facts(f"FROM a AS app\nFROM b AS {name}\n")] == [True, True]
    assert [one.ships for one in facts("FROM a AS latest\nFROM b AS device\nFROM c\n")] == [True, True, True]


def test_a_file_without_stages_has_no_facts() -> None:
    assert facts("ARG A=1\n") == ()
    assert facts("") == ()
