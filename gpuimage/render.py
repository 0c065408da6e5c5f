"""From a plan to a Dockerfile and its .dockerignore: the only user of jinja2.

The text is stable byte for byte for the same spec, lock and tables. It names no syntax image, which an
air-gapped builder could not fetch; every engine of the last years knows what it uses (RUN --mount).
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from gpuimage import __version__, tables
from gpuimage.errors import GpuImageError, SpecError
from gpuimage.files import write_atomic
from gpuimage.lock import lock_path
from gpuimage.plan import Plan
from gpuimage.reference import ImageReference

_WIDTH = 110
_CA = "/tmp/ca.pem"  # noqa: S108  # inside the build's container, for one command


@dataclass(frozen=True, slots=True)
class Rendered:
    """The two files, and for the Dockerfile lines (from 1) that a spec key asked for, that key."""

    dockerfile: str
    dockerignore: str
    keys: Mapping[int, str]

    def files(self, folder: Path) -> dict[Path, str]:
        """The two files as they belong into a directory."""
        return {folder / "Dockerfile": self.dockerfile, folder / ".dockerignore": self.dockerignore}

    def stale(self, folder: Path) -> tuple[Path, ...]:
        """Those of the two that a directory does not hold, or holds otherwise."""
        return tuple(
            path
            for path, text in self.files(folder).items()
            if not path.is_file() or path.read_text(encoding="utf-8") != text
        )

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write both into a directory; SpecError where that is not there or cannot be written."""
        if not folder.is_dir():
            raise SpecError(f"there is no directory {folder}", hint=f"mkdir -p {folder}")
        for path, text in self.files(folder).items():
            write_atomic(path, text)
        return tuple(self.files(folder))

    def key_at(self, line: int) -> str | None:
        """Return the spec key of the instruction that holds a line: that of the last marked line up to it."""
        before = [number for number in self.keys if number <= line]
        return self.keys[max(before)] if before else None


def render(plan: Plan, *, mirrors: Mapping[str, str] | None = None, ca: str | None = None) -> Rendered:
    """Render a plan.

    `mirrors` replaces registries in FROM and COPY --from; the committed file names none. `ca` is a CA bundle's
    name in the build context, instead of the spec's own.

        >>> from gpuimage import load_spec, lock_beside, plan, render
        >>> spec = load_spec("examples/quickstart/spec.yaml")
        >>> render(plan(spec, lock_beside(spec))).stale(spec.directory)
        ()
    """
    spec = plan.spec.spec
    template = _environment(plan.spec.directory, mirrors or {}).get_template("Dockerfile.j2")
    text = template.render(
        plan=plan,
        image=spec.image,
        spec_name=plan.spec.path.name,
        version=__version__,
        edition=tables.edition(),
        downloads=_Downloads(
            ca or spec.build.ca, _secret_ids(spec.build.secrets), cached=spec.build.cache == "auto"
        ),
    )
    lines: list[str] = []
    keys: dict[int, str] = {}
    for line in re.sub(r"\n{3,}", "\n\n", text).strip().splitlines():
        if line.startswith("#key "):
            keys[len(lines) + 1] = line.removeprefix("#key ").strip()
        else:
            lines.append(line.rstrip())
    return Rendered("\n".join(lines) + "\n", _dockerignore(plan), keys)


@dataclass(frozen=True, slots=True)
class _Downloads:
    """What every command that uses the network gets, for that one command: cache, company CA, secrets."""

    ca: str | None
    secrets: tuple[str, ...]
    cached: bool

    def mounts(self, cache: str) -> list[str]:
        """Return the mounts of a command; nothing of them stays in a layer."""
        locked = ",sharing=locked" if "apt" in cache else ""  # apt holds a lock on its cache, pip does not
        return [
            *([f"--mount=type=cache,target={cache}{locked}"] if self.cached else []),
            *([f"--mount=type=bind,source={self.ca},target={_CA}"] if self.ca else []),
            *(f"--mount=type=secret,id={secret}" for secret in self.secrets),
        ]

    def pip(self, subcommand: str, venv: str | None) -> str:
        """Return a pip command, told of the CA and of secrets whose names it knows (`netrc`, `pip.conf`)."""
        environment = [f"PIP_CERT={_CA}", f"SSL_CERT_FILE={_CA}"] if self.ca else []
        if "netrc" in self.secrets:
            environment.append("NETRC=/run/secrets/netrc")
        if "pip.conf" in self.secrets:
            environment.append("PIP_CONFIG_FILE=/run/secrets/pip.conf")
        target = [f"--python {venv}"] if venv else []
        return " ".join(
            [*environment, "pip", *target, subcommand, *([] if self.cached else ["--no-cache-dir"])]
        )

    @property
    def apt_get(self) -> str:
        """The command apt-get, told of the CA."""
        return f"apt-get -o Acquire::https::CAInfo={_CA}" if self.ca else "apt-get"

    @property
    def apt_clean(self) -> str:
        """What removes apt's downloads where no cache mount holds them."""
        return "" if self.cached else "apt-get clean \\\n && "


def _secret_ids(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """The names of secrets; where each comes from is the business of the machine that builds."""
    return tuple(
        part.removeprefix("id=") for secret in secrets for part in secret.split(",") if part.startswith("id=")
    )


def _environment(directory: Path, mirrors: Mapping[str, str]) -> Environment:
    # A Dockerfile is no HTML: nothing to escape, and values are quoted for where they stand.
    environment = Environment(
        loader=FileSystemLoader(_templates()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701
    )
    environment.filters |= {
        "beside": _beside,
        "comment": _comment,
        "value": _value,
        "exec": _exec,
        "paths": _paths,
        "sh": shlex.quote,
        "mirrored": lambda reference: _mirrored(reference, mirrors),
    }
    environment.tests |= {"directory": lambda path: (directory / path).is_dir()}
    return environment


def _templates() -> Path:
    """Find the templates inside an installed wheel, or at the top of the checkout of an editable install."""
    inside = Path(__file__).parent / "templates"
    beside = Path(__file__).parent.parent / "templates"
    for folder in (inside, beside):
        if (folder / "Dockerfile.j2").is_file():
            return folder
    raise GpuImageError(
        "the templates are missing",
        why=f"neither {inside} nor {beside} holds Dockerfile.j2",
        hint="install gpuimage again",
    )


def _beside(path: str) -> str:
    """Write a path beside the spec as it stands in the build context."""
    return path.removeprefix("./").rstrip("/")


def _comment(text: str) -> str:
    """Write a reason as comment lines that start with a capital letter and fit the width."""
    sentence = text[:1].upper() + text[1:] + "."
    wrapped = textwrap.wrap(sentence, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "\n".join(f"# {line}" for line in wrapped)


def _value(text: str) -> str:
    """Quote a value of ENV or LABEL where it has to be; `$` is literal but for a PATH that is extended."""
    if re.fullmatch(r"[A-Za-z0-9_./:,@%+=-]+", text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not re.fullmatch(r"[^$]*:\$PATH", text):
        escaped = escaped.replace("$", "\\$")
    return f'"{escaped}"'


def _exec(command: tuple[str, ...]) -> str:
    """Write the exec form (JSON), so that signals reach the process and no shell is needed."""
    return json.dumps(list(command), ensure_ascii=False)


def _paths(paths: list[str]) -> str:
    """The operands of COPY or ADD: as words, or in the JSON form where a path holds white space or a `$`."""
    if any(re.search(r"[\s$\\\"\[]", path) for path in paths):
        return json.dumps([path.replace("$", "\\$") for path in paths], ensure_ascii=False)
    return " ".join(paths)


def _mirrored(reference: ImageReference, mirrors: Mapping[str, str]) -> str:
    return str(reference.through(mirrors)) if mirrors and str(reference) != "scratch" else str(reference)


def _dockerignore(plan: Plan) -> str:
    """Let in what the Dockerfile copies or mounts, and nothing else."""
    lines = [
        f"# Rendered by gpuimage {__version__} from {plan.spec.path.name}: the build gets what it copies or mounts.",
        "*",
        *(f"!{name}" for name in dict.fromkeys(map(_beside, _taken(plan)))),
        "**/__pycache__",
        "**/.git",
    ]
    return "\n".join(lines) + "\n"


def _taken(plan: Plan) -> Iterator[str]:
    spec = plan.spec.spec
    steps = [step for stage in plan.stages for step in stage.steps]
    if any(step.kind == "install_lock" for step in steps):
        yield lock_path(plan.spec).name
    for step in steps:
        if step.kind in ("install_local", "build_wheels"):
            yield from step.paths
        elif step.kind == "rootfs":
            yield step.path
    if spec.app:
        yield from spec.app.copy
    if spec.build.ca:
        yield spec.build.ca
