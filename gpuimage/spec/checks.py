"""What a pattern cannot say of a value, and the words for what is wrong with it.

Two tables, keyed by the place of a value in the spec (`compile[].package`; `*` is any key): `WORDS` tells
what is wrong with a text that its pattern refused, `CHECKS` refuses texts that no pattern can. Both give the
reason and the smallest change that helps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from gpuimage.reference import ImageReference
from gpuimage.spec.document import short
from gpuimage.spec.types import BadValueError

_PASSWORD = re.compile(r"://[^/@\s]*@")


def closest(word: str, options: Iterable[str]) -> str | None:
    """Find the option a misspelt word most likely means, whatever its case and dashes."""
    plain = {option.lower().replace("-", "_"): option for option in options}
    found = get_close_matches(word.lower().replace("-", "_"), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


# ------------------------------------------------------------------------ words for what a pattern refused


def _python(text: str) -> BadValueError:
    if match := re.fullmatch(r"(?:py|cp|python)?-?(3)\.?(\d{1,2})(?:\.\d+)?", text, re.ASCII | re.IGNORECASE):
        if int(match[2]) == 1:
            return BadValueError(
                "there is no Python 3.1 to build on", 'if you mean 3.10, write "3.10" in quotes'
            )
        if int(match[2]) >= 6:
            return BadValueError(f"{text!r} is not Python's minor version", f'write "3.{int(match[2])}"')
    return BadValueError(f"{short(text)} is no version of Python", 'write a minor version such as "3.12"')


def _cuda(text: str) -> BadValueError:
    if match := re.fullmatch(
        r"(?:cu|cuda)?-?v?(1[0-9])\.?([0-9])(?:\.[0-9]+)?", text, re.ASCII | re.IGNORECASE
    ):
        return BadValueError(
            f"{text!r} is not how CUDA's version is written", f'write "{match[1]}.{match[2]}"'
        )
    return BadValueError(f"{short(text)} is no version of CUDA", 'write two or three parts, such as "12.8"')


def _driver(text: str) -> BadValueError:
    match = re.search(r"(?<!\d)([3-9]\d\d(?:\.\d{1,3}){0,2})(?!\d)", text, re.ASCII)
    hint = f'write "{match[1]}"' if match else 'write a branch such as "550" or a version such as "550.54.14"'
    return BadValueError(f"{short(text)} is no driver version", hint)


def _apt(text: str) -> BadValueError:
    if text.startswith("-"):
        return BadValueError(
            f"{short(text)} is an option, not a package", "apt's options are chosen by the plan"
        )
    if len(text.split()) > 1:
        return BadValueError(
            f"{short(text)} is more than one package", "give each package an entry of its own"
        )
    if re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", text.lower(), re.ASCII):
        return BadValueError(
            f"{short(text)} has capital letters, and no package has", f"write {text.lower()}"
        )
    return BadValueError(f"{short(text)} is no package name", "write a name such as libgl1, or name=version")


def _env_name(text: str) -> BadValueError:
    fixed = re.sub(r"[^A-Za-z0-9_]", "_", text, flags=re.ASCII).lstrip("0123456789")
    hint = f"write {fixed}" if fixed.strip("_") and len(fixed) < 60 else "write letters, digits and '_'"
    return BadValueError(f"{short(text)} is no name of an environment variable", hint)


def _label_name(text: str) -> BadValueError:
    return BadValueError(
        f"{short(text)} is no name of a label", "write letters and digits, parted by '.', '-', '_' or '/'"
    )


def _module(text: str) -> BadValueError:
    fixed = text.replace("-", "_")
    good = re.fullmatch(r"[A-Za-z_][\w.]*", fixed, re.ASCII) and fixed != text
    return BadValueError(
        f"{short(text)} is no name of a module",
        f"write {fixed}" if good else "write what follows import in Python",
    )


def _user(text: str) -> BadValueError:
    return BadValueError(
        f"{short(text)} is no user",
        "write a name (lower-case letters, digits, '_', '-'; at most 32) or a number: app, 1000:1000",
    )


def _workdir(text: str) -> BadValueError:
    return BadValueError(f"{short(text)} is not absolute", f"write /{short(text.removeprefix('./'))[1:-1]}")


WORDS: dict[str, Callable[[str], BadValueError]] = {
    "python": _python,
    "matrix.python[]": _python,
    "cuda": _cuda,
    "matrix.cuda[]": _cuda,
    "driver": _driver,
    "apt[]": _apt,
    "env.*": _env_name,
    "compile[].env.*": _env_name,
    "labels.*": _label_name,
    "smoke.import[]": _module,
    "app.user": _user,
    "app.workdir": _workdir,
}


# ---------------------------------------------------------------------------------- what no pattern can say


def _image(text: str, _: Path) -> None:
    if ImageReference.parse(text).digest:
        raise BadValueError("the image to build has no digest yet", "leave out what follows the @")


def _file(text: str, directory: Path) -> None:
    """Refuse what is no readable file; anywhere on this machine will do."""
    path = directory / text
    if _is(path, Path.is_dir):
        raise BadValueError(f"{short(text)} is a directory", "name the file in it")
    if not _is(path, Path.is_file):
        raise BadValueError(f"there is no file {short(text)}", _missing(text, directory))


def _inside(text: str, directory: Path) -> Path:
    """Refuse a path the build context cannot hold; the context is the directory of the spec."""
    pure = PurePosixPath(text)
    if pure.is_absolute() or text.startswith("~"):
        raise BadValueError(
            f"{short(text)} is not beside the spec", "copy it there and name it by a relative path"
        )
    if ".." in pure.parts:
        raise BadValueError(f"{short(text)} leaves the directory of the spec", "move it, or the spec")
    path = directory / text
    try:
        leaves = not path.resolve().is_relative_to(directory.resolve())
    except (OSError, ValueError, RuntimeError):  # too long, or links that lead in a circle
        leaves = False
    if leaves:
        raise BadValueError(
            f"{short(text)} is a link that leaves the directory of the spec", "copy what it leads to"
        )
    return path


def _copy(text: str, directory: Path) -> None:
    path = _inside(text, directory)
    if _is(path, Path.exists):
        return
    if "**" in text:
        raise BadValueError(f"{short(text)}: COPY knows no '**'", "name the directory")
    if re.search(r"[*?\[]", text):
        try:
            if next(directory.glob(text), None) is not None:
                return
        except (OSError, ValueError, NotImplementedError, IndexError):
            pass
        raise BadValueError(f"nothing beside the spec matches {short(text)}", "check the pattern")
    raise BadValueError(f"there is no file or directory {short(text)}", _missing(text, directory))


def _wheel(text: str, directory: Path) -> None:
    if _is_local(text):
        _wheel_file(text, directory)
    else:
        _requirement(text)


def _wheel_file(text: str, directory: Path) -> None:
    path = _inside(text, directory)
    if not text.endswith(".whl"):
        raise BadValueError(
            f"{short(text)} is no wheel file", "name a .whl; what must be built goes under compile"
        )
    if not _is(path, Path.is_file):
        raise BadValueError(f"there is no wheel {short(text)}", _missing(text, directory))
    try:
        parse_wheel_filename(path.name)
    except InvalidWheelFilename:
        raise BadValueError(
            f"{short(path.name)} is not named as a wheel must be", "NAME-VERSION-PYTHON-ABI-PLATFORM.whl"
        ) from None


def _compile(text: str, directory: Path) -> None:
    if not _is_local(text):
        _requirement(text)
        return
    path = _inside(text, directory)
    if _is(path, Path.is_dir):
        if not any(_is(path / name, Path.is_file) for name in ("pyproject.toml", "setup.py")):
            raise BadValueError(
                f"{short(text)} holds neither pyproject.toml nor setup.py", "name a source directory"
            )
    elif not _is(path, Path.is_file):
        raise BadValueError(f"there is no source {short(text)}", _missing(text, directory))
    elif not text.endswith((".tar.gz", ".zip")):
        raise BadValueError(f"{short(text)} is no source archive", "name a directory, a .tar.gz or a .zip")


def _is_local(text: str) -> bool:
    return text.startswith((".", "/", "~")) or (
        text.endswith((".whl", ".tar.gz", ".zip")) and "://" not in text
    )


def _requirement(text: str) -> None:
    if _PASSWORD.search(text):
        raise _password()
    try:
        Requirement(text)
    except InvalidRequirement:
        raise BadValueError(f"{short(text)} is no requirement", _requirement_hint(text)) from None


def _requirement_hint(text: str) -> str:
    if text.startswith("-"):
        return "pip's options are not taken here; see requirements, lock and index"
    if "://" in text:
        return "write NAME @ URL"
    if match := re.fullmatch(r"([A-Za-z0-9._-]+(?:\[[^\]]*\])?)\s*(?:=|\s)\s*v?(\d[\w.+!]*)", text, re.ASCII):
        return f"write {match[1]}=={match[2]}"
    return "write NAME, NAME==1.2.3 or NAME>=1.2,<2"


def _index(text: str, _: Path) -> None:
    if text in {"auto", "pypi", "cpu"} or re.fullmatch(r"cu1[0-9]{2}", text, re.ASCII):
        return
    if "://" in text:
        _url(text)
        return
    if match := re.fullmatch(r"(?:cu|cuda)?-?(1[0-9])\.([0-9])", text, re.ASCII | re.IGNORECASE):
        raise BadValueError(f"{text!r} is no index", f"write cu{match[1]}{match[2]}")
    hint = closest(text, ("auto", "pypi", "cpu"))
    raise BadValueError(
        f"{short(text)} is no index",
        f"write {hint}" if hint else "write auto, pypi, cpu, cu128 or the URL of an index",
    )


def _url(text: str) -> None:
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in {"http", "https", "file"} or (not host and parts.scheme != "file") or " " in text:
        raise BadValueError(f"{short(text)} is no URL of an index", "write https://HOST/PATH")
    if _PASSWORD.search(text):
        raise _password()


def _password() -> BadValueError:
    return BadValueError(
        "a name or password in a URL would stay in the image's history",
        "leave it out, and name a file in build.secrets",
    )


def _base(text: str, _: Path) -> None:
    kind, colon, rest = text.partition(":")
    if text == "auto":
        return
    if colon and kind in {"oci", "rootfs"}:
        if not rest:
            raise BadValueError(f"{text!r} names no path", f"write {kind}:PATH")
        return
    ImageReference.parse(text)


def _secret(text: str, _: Path) -> None:
    parts = [part.partition("=") for part in text.split(",")]
    names = [name for name, _equals, _value in parts]
    known = {"id", "src", "source", "env", "type"}
    if (
        not all(equals and value for _name, equals, value in parts)
        or not known.issuperset(names)
        or "id" not in names
    ):
        raise BadValueError(f"{short(text)} is no secret", "write id=NAME,src=FILE or id=NAME,env=VARIABLE")
    if len(set(names)) != len(names):
        raise BadValueError(f"{short(text)} gives {names[-1]} twice", "give each of id and src once")


def _path_in_image(text: str, _: Path) -> None:
    if ".." in PurePosixPath(text).parts:
        raise BadValueError(f"{short(text)} holds '..'", "write the path without it")
    if "$" in text:
        raise BadValueError(f"{short(text)} holds a variable", "write the path out")


def _not_blank(text: str, _: Path) -> None:
    if not text.strip():
        raise BadValueError("this is empty", "leave it out, or fill it in")


CHECKS: dict[str, Callable[[str, Path], None]] = {
    "image": _image,
    "gpus[]": _not_blank,
    "wheels[]": _wheel,
    "requirements": _file,
    "lock": _file,
    "index": _index,
    "compile[].package": _compile,
    "base": _base,
    "app.copy[]": _copy,
    "app.workdir": _path_in_image,
    "build.ca": _file,
    "build.secrets[]": _secret,
    "smoke.run[]": _not_blank,
}

# Everything else ends in one line of a Dockerfile or of a command.
MANY_LINES = frozenset({"app.command[]", "smoke.run[]"})


def _is(path: Path, question: Callable[[Path], bool]) -> bool:
    try:
        return question(path)
    except (OSError, ValueError):  # a name that is too long, or not allowed to look
        return False


def _missing(text: str, directory: Path) -> str:
    """Name the neighbour that may have been meant."""
    path = directory / text
    try:
        close = get_close_matches(path.name, (p.name for p in path.parent.iterdir()), n=1)
    except (OSError, ValueError):
        close = []
    if close:
        return f"write {PurePosixPath(text).parent / close[0]}"
    return f"paths begin at the directory of the spec, {directory}"
