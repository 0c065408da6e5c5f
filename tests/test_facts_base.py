"""What a stage's base is known to hold, by its name alone, and what USER and WORKDIR make of it."""

from __future__ import annotations

import pytest

from gpuimage.dockerfile import Source, parse
from gpuimage.facts import Base, StageFacts, stages
from gpuimage.facts.base import read_base

DIGEST = "sha256:" + "0123456789abcdef" * 4


def last(text: str, **build_args: str) -> StageFacts:
    return stages(parse(Source.of(text)), build_args=build_args)[-1]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", "cuda"),
        ("nvcr.io/nvidia/cuda:12.4.1-base-ubuntu22.04", "cuda"),
        ("docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04", "cuda"),
        ("registry.example.com:5000/proxy/nvidia/cuda:12.4.1-base-ubuntu22.04", "cuda"),
        ("localhost:5000/nvidia/cuda:12.4.1-base-ubuntu22.04@" + DIGEST, "cuda"),
        ("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel", "pytorch"),
        ("mirror.gcr.io/pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", "pytorch"),
        ("nvcr.io/nvidia/pytorch:25.03-py3", "ngc-torch"),
        ("nvcr.io/nvidia/tritonserver:25.03-py3", "ngc"),
        ("nvcr.io/nvidia/isaac-sim:4.5.0", "ngc"),
        ("nvcr.io/nvidia/distroless/cc:v3.1.9", "other"),
        ("python", "python"),
        ("python:3.12-slim", "python"),
        ("docker.io/library/python:3.12", "python"),
        ("public.ecr.aws/docker/library/python:3.12-slim", "python"),
        ("python@" + DIGEST, "python"),
        ("ubuntu:22.04", "plain"),
        ("debian:bookworm-slim", "plain"),
        ("registry.access.redhat.com/ubi9/ubi-minimal:9.4", "plain"),
        ("gcr.io/distroless/python3-debian12", "plain"),
        ("continuumio/miniconda3:24.7.1-0", "conda"),
        ("mambaorg/micromamba:2.0-cuda12.4.1-ubuntu22.04", "conda"),
        ("rocm/pytorch:latest", "rocm"),
        ("tensorflow/tensorflow:2.16.1-gpu", "tensorflow"),
        ("ghcr.io/acme/python:3.12", "other"),
        ("acme/pytorch:2.8", "other"),
        ("scratch", "scratch"),
        ("Ubuntu:22.04", "unknown"),
        ("nvidia/cuda:", "unknown"),
    ],
)
def test_the_name_tells_the_kind_through_registries_and_mirrors(text: str, kind: str) -> None:
    assert read_base(text).kind == kind
    assert read_base(text).text == text


def test_a_reference_that_only_the_build_knows_is_an_unknown_base() -> None:
    found = read_base(None)
    assert (found.kind, found.text, dict(found.env)) == ("unknown", None, {})
    assert (found.user, found.workdir, found.has_cuda, found.has_nvcc) == (None, None, None, None)


@pytest.mark.parametrize(
    ("tag", "cuda", "flavor", "cudnn", "os"),
    [
        ("12.4.1-cudnn-devel-ubuntu22.04", "12.4.1", "devel", True, "ubuntu22.04"),
        ("12.2.2-cudnn8-runtime-ubuntu20.04", "12.2.2", "runtime", True, "ubuntu20.04"),
        ("11.8.0-base-ubi8", "11.8.0", "base", False, "ubi8"),
        ("10.2-cudnn7-devel-ubuntu18.04", "10.2", "devel", True, "ubuntu18.04"),
        # of a tag that was never published, what it says all the same
        ("12.4-runtime", "12.4", "runtime", False, None),
        ("12.4.1-cudnn-devel", "12.4.1", "devel", True, None),
        ("12.4.1", "12.4.1", None, False, None),
        ("latest", None, None, False, None),
    ],
)
def test_a_tag_of_nvidia_cuda_tells_version_flavor_cudnn_and_system(
    tag: str, cuda: str | None, flavor: str | None, cudnn: bool, os: str | None
) -> None:
    found = read_base(f"nvidia/cuda:{tag}")
    assert (found.cuda, found.flavor, found.cudnn, found.os) == (cuda, flavor, cudnn, os)


def test_a_digest_alone_tells_no_version() -> None:
    found = read_base("nvidia/cuda@" + DIGEST)
    assert (found.kind, found.cuda, found.flavor, found.has_cuda, found.has_nvcc) == (
        "cuda",
        None,
        None,
        True,
        None,
    )


@pytest.mark.parametrize(
    ("text", "cuda", "nvcc"),
    [
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", True, True),
        ("nvidia/cuda:12.4.1-runtime-ubuntu22.04", True, False),
        ("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime", True, False),
        ("pytorch/pytorch:latest", True, None),
        ("nvcr.io/nvidia/pytorch:25.03-py3", True, True),
        ("nvcr.io/nvidia/tensorrt:25.03-py3", True, None),
        ("python:3.12-slim", False, False),
        ("ubuntu:22.04", False, False),
        ("tensorflow/tensorflow:2.16.1", None, None),
        ("ghcr.io/acme/base:1", None, None),
    ],
)
def test_whether_cuda_and_nvcc_are_in_it_is_yes_no_or_unknown(
    text: str, cuda: bool | None, nvcc: bool | None
) -> None:
    found = read_base(text)
    assert (found.has_cuda, found.has_nvcc) == (cuda, nvcc)


@pytest.mark.parametrize(
    ("text", "python", "slim", "os"),
    [
        ("python:3.12-slim-bookworm", "3.12", True, "debian12"),
        ("python:3.12.8-slim", "3.12.8", True, None),
        ("python:3-trixie", "3", False, "debian13"),
        ("python:3.13-rc-slim", "3.13", True, None),
        ("python:3.12-alpine3.20", "3.12", False, None),
        ("python:slim", None, True, None),
        ("python:slim-bullseye", None, True, "debian11"),
        ("python:latest", None, False, None),
        ("python", None, False, None),
        ("ubuntu:22.04", None, False, "ubuntu22.04"),
        ("ubuntu:noble-20250404", None, False, "ubuntu24.04"),
        ("ubuntu:latest", None, False, None),
        ("debian:12.5-slim", None, False, "debian12"),
        ("debian:bookworm-slim", None, False, "debian12"),
        ("debian:stable", None, False, None),
    ],
)
def test_python_and_system_of_ordinary_images(
    text: str, python: str | None, slim: bool, os: str | None
) -> None:
    found = read_base(text)
    assert (found.python, found.slim, found.os) == (python, slim, os)


def test_a_tag_of_pytorch_tells_torch_cuda_and_flavor() -> None:
    found = read_base("pytorch/pytorch:2.8.0-cuda12.8-cudnn9-devel")
    assert (found.torch, found.cuda, found.cuda_minor, found.cuda_major) == ("2.8.0", "12.8", "12.8", 12)
    assert (found.flavor, found.cudnn) == ("devel", True)


def test_the_environment_of_a_base_holds_in_its_stage_and_unknown_values_stay_unknown() -> None:
    found = last(
        "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nENV A=$CUDA_VERSION B=$LD_LIBRARY_PATH C=$NVIDIA_REQUIRE_CUDA\n"
    )
    assert found.env["A"] == "12.4.1"
    assert found.env["B"] == "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"
    assert found.env["C"] is None
    assert found.env["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert found.env["LIBRARY_PATH"] == "/usr/local/cuda/lib64/stubs"
    assert "LIBRARY_PATH" not in last("FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n").env
    assert last("FROM nvidia/cuda:latest\n").env["CUDA_VERSION"] is None
    assert "LD_LIBRARY_PATH" not in last("FROM python:3.12-slim\n").env


def test_what_is_known_of_one_base_does_not_leak_into_another() -> None:
    read_base("nvidia/cuda:12.4.1-devel-ubuntu22.04")
    assert read_base("nvidia/cuda:12.8.1-base-ubuntu22.04").env["CUDA_VERSION"] == "12.8.1"
    assert read_base("nvidia/cuda:latest").env["CUDA_VERSION"] is None


def test_the_root_comes_through_stages_and_arguments() -> None:
    text = "ARG CUDA=12.4.1\nFROM nvidia/cuda:${CUDA}-base-ubuntu22.04 AS a\nFROM a AS b\nFROM b\n"
    assert last(text).root.cuda == "12.4.1"
    assert last(text, CUDA="12.8.1").root.cuda == "12.8.1"
    assert last("ARG CUDA\nFROM nvidia/cuda:${CUDA}-base-ubuntu22.04\n").root == Base("unknown")


@pytest.mark.parametrize(
    ("text", "user"),
    [
        ("FROM python:3.12-slim\n", ""),
        ("FROM scratch\n", ""),
        ("FROM ghcr.io/acme/base:1\n", None),
        ("FROM mambaorg/micromamba:2.0\n", "mambauser"),
        ("FROM python:3.12-slim\nUSER app\n", "app"),
        ("FROM python:3.12-slim\nUSER 10001:10001\n", "10001"),
        ("FROM python:3.12-slim\nUSER app\nUSER root\n", "root"),
        ("FROM python:3.12-slim AS a\nUSER app\nFROM a\n", "app"),
        ("FROM python:3.12-slim\nARG WHO=app\nUSER $WHO\n", "app"),
        ("FROM python:3.12-slim\nARG WHO\nUSER $WHO\n", None),
        ("FROM python:3.12-slim\nONBUILD USER app\n", ""),
    ],
)
def test_the_user_is_the_one_of_the_base_until_another_is_given(text: str, user: str | None) -> None:
    assert last(text).end.user == user


@pytest.mark.parametrize(
    ("text", "workdir"),
    [
        ("FROM python:3.12-slim\n", "/"),
        ("FROM nvcr.io/nvidia/pytorch:25.03-py3\n", "/workspace"),
        ("FROM ghcr.io/acme/base:1\n", None),
        ("FROM ghcr.io/acme/base:1\nWORKDIR app\n", None),
        ("FROM ghcr.io/acme/base:1\nWORKDIR /srv\nWORKDIR app\n", "/srv/app"),
        ("FROM python:3.12-slim\nWORKDIR a\nWORKDIR b/../c\n", "/a/c"),
        ("FROM pytorch/pytorch:2.8.0-cuda12.8-cudnn9-runtime\nWORKDIR app\n", "/workspace/app"),
        ("FROM python:3.12-slim\nARG D=/srv\nWORKDIR $D/app\n", "/srv/app"),
        ("FROM python:3.12-slim\nARG D\nWORKDIR $D\nWORKDIR app\n", None),
        ("FROM python:3.12-slim AS a\nWORKDIR /a\nFROM a\nWORKDIR b\n", "/a/b"),
        ('FROM python:3.12-slim\nWORKDIR "/a b"\n', "/a b"),
    ],
)
def test_the_directory_is_the_one_of_the_base_or_leads_on_from_the_one_before(
    text: str, workdir: str | None
) -> None:
    assert last(text).end.workdir == workdir


@pytest.mark.parametrize(
    ("script", "stops"),
    [
        ("set -e\na\n", True),
        ("set -eux\na\n", True),
        ("set -x -e\na\n", True),
        ("set -o pipefail -o errexit\na\n", True),
        ("set -xo errexit\na\n", True),
        ("#!/bin/bash -eu\na\n", True),
        ("#!/bin/bash\na\n", False),
        ("set -x\na\n", False),
        ("set -o pipefail\na\n", False),
        ("echo set -e\na\n", False),
    ],
)
def test_a_script_stops_at_an_error_where_it_or_its_shell_says_so(script: str, stops: bool) -> None:
    assert last("FROM python:3.12-slim\n").end.stops_on_errors(script) is stops
    strict = last('FROM python:3.12-slim\nSHELL ["/bin/bash", "-euo", "pipefail", "-c"]\n').end
    assert strict.stops_on_errors(script) is (stops or not script.startswith("#!"))
