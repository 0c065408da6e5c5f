"""Paths that the commands of a RUN make, fetch, change and delete."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from gpuimage.dockerfile import Span
from gpuimage.dockerfile.shell import Argument
from gpuimage.facts.options import options
from gpuimage.facts.runs import Call

Kind = Literal["removed", "owned", "fetched", "cloned", "unpacked", "copied", "made"]

_WGET_TAKING = frozenset(
    "-O -P -o -t -T -w -Q -e -U --output-document --directory-prefix --header --tries --timeout --user-agent --user --password --post-data".split()
)
_CURL_TAKING = frozenset(
    "-o -H -d -u -X -A -e -m -T -x --output --header --data --user --request --user-agent --retry --retry-delay --max-time --connect-timeout --output-dir --proxy --cacert --url".split()
)
_GIT_TAKING = frozenset(
    "-b --branch --depth -j --jobs -c -C -o --origin --reference --shallow-since --filter --recurse-submodules".split()
) - {"--recurse-submodules"}
_TAR_TAKING = frozenset("-C -f --directory --file --strip-components -I --exclude".split())


class Change(Struct, frozen=True, dict=True):
    """One path that a command touches: absolute, with its pattern as written; None where it is not known.

    `kind`: removed (rm), owned (recursive chown or chmod), fetched (wget, curl, ADD-like), cloned (git), unpacked
    (tar, unzip), copied (cp, mv, install, ln), made (mkdir). `source` is the URL or the path it comes from.
    """

    kind: Kind
    path: str | None
    call: Call
    span: Span
    source: str = ""


def changes(call: Call) -> Iterator[Change]:
    """What one command does to paths."""
    reader = _READERS.get(call.name)
    if reader is not None:
        yield from reader(call)
    for redirection in call.program.command.redirections:
        if redirection.operator.lstrip("0123456789&") in (">", ">>", ">|"):
            path = _path(call, redirection.target)
            if path is not None and not path.startswith("/dev/"):
                yield Change("made", path, call, call.place(redirection.target))


def _path(call: Call, argument: Argument) -> str | None:
    return call.absolute(argument.value) if argument.value else None


def _rm(call: Call) -> Iterator[Change]:
    for argument in options(call.arguments, frozenset()).words:
        yield Change("removed", _path(call, argument), call, call.place(argument))


def _find(call: Call) -> Iterator[Change]:
    text = call.values
    if "-delete" in text or ("-exec" in text and "rm" in text):
        for argument in call.arguments:
            if argument.raw.startswith(("-", "(", "!", "\\(")):
                return
            yield Change("removed", _path(call, argument), call, call.place(argument))


def _chown(call: Call) -> Iterator[Change]:
    given = options(call.arguments, frozenset({"--reference", "--from"}))
    if given.has("-R", "--recursive"):
        for argument in given.words[1:]:
            yield Change("owned", _path(call, argument), call, call.place(argument), str(given.words[0]))


def _wget(call: Call) -> Iterator[Change]:
    given = options(call.arguments, _WGET_TAKING)
    out, directory = given.last("-O", "--output-document"), given.last("-P", "--directory-prefix")
    piped = given.has("-O", "--output-document") and out in ("-", "/dev/stdout")
    for argument in given.words:
        url = str(argument)
        name = posixpath.basename(url.partition("?")[0])
        path = None if piped else call.absolute(out or posixpath.join(directory or ".", name))
        yield Change("fetched", path, call, call.place(argument), url)


def _curl(call: Call) -> Iterator[Change]:
    given = options(call.arguments, _CURL_TAKING)
    out, directory = given.last("-o", "--output"), given.last("--output-dir") or "."
    for argument in (*given.words, *given.arguments("--url")):
        url = str(argument)
        path = None
        if out and out != "-":
            path = call.absolute(posixpath.join(directory, out))
        elif given.has("-O", "--remote-name"):
            path = call.absolute(posixpath.join(directory, posixpath.basename(url.partition("?")[0])))
        yield Change("fetched", path, call, call.place(argument), url)


def _aria(call: Call) -> Iterator[Change]:
    given = options(call.arguments, frozenset("-o -d -x -s -k --dir --out -j".split()))
    for argument in given.words:
        url = str(argument)
        name = given.last("-o", "--out") or posixpath.basename(url.partition("?")[0])
        yield Change(
            "fetched",
            call.absolute(posixpath.join(given.last("-d", "--dir") or ".", name)),
            call,
            call.place(argument),
            url,
        )


def _git(call: Call) -> Iterator[Change]:
    given = options(call.arguments, _GIT_TAKING)
    words = given.words
    if len(words) > 1 and str(words[0]) == "clone":
        url = str(words[1])
        name = re.sub(r"\.git$", "", posixpath.basename(url.rstrip("/")))
        path = (
            _path(call, words[2])
            if len(words) > 2
            else call.absolute(name)
            if name and "$" not in name
            else None
        )
        yield Change("cloned", path, call, call.span, url)


def _tar(call: Call) -> Iterator[Change]:
    given = options(call.arguments, _TAR_TAKING)
    modes = "".join(given.given) + (str(given.words[0]) if given.words else "")
    if "x" in modes:
        into = given.last("-C", "--directory")
        archive = given.last("-f", "--file") or (str(given.words[1]) if len(given.words) > 1 else "")
        yield Change(
            "unpacked",
            call.absolute(into or "."),
            call,
            call.span,
            call.absolute(archive) or archive if archive not in ("", "-") else "",
        )


def _unzip(call: Call) -> Iterator[Change]:
    given = options(call.arguments, frozenset({"-d"}))
    if given.words:
        yield Change(
            "unpacked",
            call.absolute(given.last("-d") or "."),
            call,
            call.span,
            _path(call, given.words[0]) or "",
        )


def _cp(call: Call) -> Iterator[Change]:
    words = options(call.arguments, frozenset({"-t", "-m", "-o", "-g"})).words
    if len(words) > 1:
        target = _path(call, words[-1])
        for argument in words[:-1]:
            source = _path(call, argument) or str(argument)
            yield Change("copied", target, call, call.place(argument), source)
        if call.name == "mv":
            for argument in words[:-1]:
                yield Change("removed", _path(call, argument), call, call.place(argument))


def _mkdir(call: Call) -> Iterator[Change]:
    for argument in options(call.arguments, frozenset({"-m", "--mode"})).words:
        yield Change("made", _path(call, argument), call, call.place(argument))


_READERS = {
    "rm": _rm, "rmdir": _rm, "find": _find, "chown": _chown, "chmod": _chown, "chgrp": _chown, "wget": _wget,
    "curl": _curl, "aria2c": _aria, "git": _git, "tar": _tar, "unzip": _unzip, "cp": _cp, "mv": _cp, "ln": _cp,
    "install": _cp, "mkdir": _mkdir, "touch": _mkdir,
}  # fmt: skip


def covers(pattern: str, path: str) -> bool:
    """Whether what a pattern names (`/tmp/*.whl`, `/src`) holds a path, or lies above it."""
    if not any(char in pattern for char in "*?["):
        return path == pattern or path.startswith(pattern.rstrip("/") + "/")
    depth = pattern.count("/")
    head = "/".join(path.split("/")[: depth + 1])
    return _glob(pattern).fullmatch(head) is not None


def _glob(pattern: str) -> re.Pattern[str]:
    out = "".join("[^/]*" if c == "*" else "[^/]" if c == "?" else re.escape(c) for c in pattern)
    return re.compile(out)
