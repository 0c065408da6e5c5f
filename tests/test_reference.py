"""Image references, mirrors and the tags of nvidia/cuda."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.reference import CudaTag, ImageReference, ReferenceSyntaxError, check_mirror

P = ImageReference.parse
HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("python", "docker.io", "library/python", None, None),
        ("python:3.12-slim", "docker.io", "library/python", "3.12-slim", None),
        ("nvidia/cuda:12.8.1-base-ubuntu24.04", "docker.io", "nvidia/cuda", "12.8.1-base-ubuntu24.04", None),
        ("docker.io/python", "docker.io", "library/python", None, None),
        ("index.docker.io/library/python", "docker.io", "library/python", None, None),
        ("ghcr.io/a/b/c:t", "ghcr.io", "a/b/c", "t", None),
        ("localhost/x", "localhost", "x", None, None),
        ("localhost:5000", "docker.io", "library/localhost", "5000", None),  # as docker reads it: a tag
        ("registry:5000/x", "registry:5000", "x", None, None),
        ("127.0.0.1:5000/a/b:t", "127.0.0.1:5000", "a/b", "t", None),
        ("[::1]:5000/a", "[::1]:5000", "a", None, None),
        (f"x@sha256:{HEX}", "docker.io", "library/x", None, f"sha256:{HEX}"),
        (f"r.io/x:1@sha256:{HEX}", "r.io", "x", "1", f"sha256:{HEX}"),
        ("a_b/c__d/e-f/g--h/i.j", "docker.io", "a_b/c__d/e-f/g--h/i.j", None, None),
    ],
)
def test_a_reference_is_read_as_docker_reads_it(
    text: str, registry: str, repository: str, tag: str | None, digest: str | None
) -> None:
    assert P(text) == ImageReference(registry, repository, tag, digest)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("Team/infer", "capital letters"),
        ("ghcr.io/Team/infer", "write team"),
        ("infer:", "no tag"),
        ("infer:-x", "no tag"),
        ("infer:" + "x" * 129, "no tag"),
        ("infer:a:b", "no tag"),
        ("infer@sha256:abc", "no digest"),
        (f"infer@sha512:{HEX}", "no digest"),
        (f"infer@sha256:{HEX.upper()}", "no digest"),
        ("a//b", "empty"),
        ("/a", "empty"),
        ("a/", "empty"),
        ("a/b c", "white space"),
        ("a/b\n", "white space"),
        ("https://ghcr.io/a/b", "scheme"),
        ("ghcr.io/a/b:${TAG}", "variable"),
        ("a..b/c", "no registry"),
        ("a/-b", "no part of an image name"),
        ("a_-b", "no part of an image name"),
        ("bücher", "no part of an image name"),
        (HEX, "id"),
        ("x" * 250, "longer than 255"),
    ],
)
def test_what_is_no_reference_gives_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ReferenceSyntaxError, match=re.escape(reason)):
        P(text)


def test_the_familiar_form_leaves_out_what_docker_adds() -> None:
    assert str(P("docker.io/library/python:3.12")) == "python:3.12"
    assert str(P("docker.io/nvidia/cuda")) == "nvidia/cuda"
    assert str(P("ghcr.io/library/x")) == "ghcr.io/library/x"
    assert str(P("docker.io/library/a/b")) == "library/a/b"
    assert P("python:3.12").full == "docker.io/library/python:3.12"
    # shortened, this would name a registry
    assert str(P("docker.io/foo.bar/baz")) == "docker.io/foo.bar/baz"


@pytest.mark.parametrize(
    ("text", "mirrors", "served_as"),
    [
        (
            "python:3.12-slim",
            {"docker.io": "registry.local:5000"},
            "registry.local:5000/library/python:3.12-slim",
        ),
        ("python", {"ghcr.io": "registry.local:5000"}, "python"),
        ("nvidia/cuda:1", {"docker.io": "a:1", "docker.io/nvidia": "b:2/nv"}, "b:2/nv/cuda:1"),
        ("nvidia/cuda:1", {"docker.io/nvidia/cuda": "b:2/cuda", "docker.io/nvidia": "c:3"}, "b:2/cuda:1"),
        ("nvidiax/cuda", {"docker.io/nvidia": "b:2"}, "nvidiax/cuda"),
        ("python", {"index.docker.io/": "a.b/hub/"}, "a.b/hub/library/python"),
        (f"x.io/a:1@sha256:{HEX}", {"x.io": "y.io"}, f"y.io/a:1@sha256:{HEX}"),
        ("x.io/a", {"x.io": "y.io", "y.io": "z.io"}, "y.io/a"),
        ("x.io/a", {"x.io": "docker.io"}, "a"),
    ],
)
def test_a_mirror_serves_an_image_by_the_longest_key(
    text: str, mirrors: dict[str, str], served_as: str
) -> None:
    assert str(P(text).through(mirrors)) == served_as


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dockerhub", "a:1"),
        ("docker.io", "mirror"),
        ("docker.io", "http://a:1"),
        ("docker.io", ""),
        ("docker.io/A", "a:1"),
    ],
)
def test_a_mirror_must_be_a_registry_on_both_sides(key: str, value: str) -> None:
    with pytest.raises(ReferenceSyntaxError):
        check_mirror(key, value)


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("12.8.1-base-ubuntu24.04", CudaTag("12.8.1", "base", None, "ubuntu24.04")),
        ("12.8.1-cudnn-runtime-ubuntu24.04", CudaTag("12.8.1", "runtime", "cudnn", "ubuntu24.04")),
        ("11.8.0-cudnn8-devel-rockylinux8", CudaTag("11.8.0", "devel", "cudnn8", "rockylinux8")),
        ("10.2-cudnn8-devel-ubuntu18.04", CudaTag("10.2", "devel", "cudnn8", "ubuntu18.04")),
        (
            "13.0.1-tensorrt-runtime-ubuntu24.04",
            CudaTag("13.0.1", "runtime", None, "ubuntu24.04", tensorrt=True),
        ),
    ],
)
def test_a_tag_of_nvidia_cuda_is_read_and_written(text: str, tag: CudaTag) -> None:
    assert CudaTag.parse(text) == tag
    assert str(tag) == text


def test_a_cuda_tag_knows_its_minor_version() -> None:
    assert CudaTag.parse("12.8.1-base-ubuntu24.04").minor == "12.8"


@pytest.mark.parametrize(
    "text",
    [
        "latest",
        "12.8.1",
        "12.8.1-cudnn-base-ubuntu24.04",
        "12.8.1-runtime-cudnn-ubuntu24.04",
        "12-base-ubuntu24.04",
        "12.8.1-base-ubuntu24.04\n",
        "12.8.1-base-debian12",
        "",
    ],
)
def test_other_tags_are_no_cuda_tags(text: str) -> None:
    with pytest.raises(ReferenceSyntaxError):
        CudaTag.parse(text)


# ------------------------------------------------------------------------------------------- properties

components = st.from_regex(r"[a-z0-9]{1,8}([._-][a-z0-9]{1,8}){0,2}", fullmatch=True)
registries = st.sampled_from(
    ["docker.io", "ghcr.io", "localhost", "localhost:5000", "10.0.0.1:80", "Registry.Example:1"]
)
references = st.builds(
    lambda registry, parts, tag, digest: P(
        f"{registry}/{'/'.join(parts)}" + (f":{tag}" if tag else "") + (f"@sha256:{digest}" if digest else "")
    ),
    registries,
    st.lists(components, min_size=1, max_size=4),
    st.none() | st.from_regex(r"\w[\w.-]{0,20}", fullmatch=True).filter(str.isascii),
    st.none() | st.just(HEX),
)


@settings(deadline=None)
@given(references)
def test_both_forms_of_a_reference_parse_back_to_it(reference: ImageReference) -> None:
    assert P(str(reference)) == reference
    assert P(reference.full) == reference


@settings(deadline=None)
@given(references, st.dictionaries(registries, registries, max_size=4))
def test_a_mirror_keeps_tag_and_digest_and_its_answer_is_a_reference(
    reference: ImageReference, mirrors: dict[str, str]
) -> None:
    served = reference.through(mirrors)
    assert (served.tag, served.digest) == (reference.tag, reference.digest)
    assert P(served.full) == served
    assert served.registry == mirrors.get(reference.registry, reference.registry)


@settings(deadline=None)
@given(st.text(alphabet="abcAB.:/@-_05 \n$é[]", max_size=40))
def test_any_text_is_a_reference_that_round_trips_or_an_error(text: str) -> None:
    try:
        reference = P(text)
    except ReferenceSyntaxError:
        return
    assert P(str(reference)) == reference
    assert P(reference.full) == reference
