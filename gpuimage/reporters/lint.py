"""What `gpuimage lint` prints: one format a module, loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from gpuimage.finding import Report

_FORMATS = ("text", "json", "sarif", "github", "gitlab", "checkstyle", "junit", "markdown")


class _Reporters(Mapping[str, Callable[[Report], str]]):
    """Formats by name; a format's module is loaded on its first use, so that one file is linted at once."""

    def __getitem__(self, name: str) -> Callable[[Report], str]:
        if name not in _FORMATS:
            raise KeyError(name)
        found: Callable[[Report], str] = getattr(
            import_module(f"gpuimage.reporters.lint_{name}"), f"lint_{name}"
        )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_FORMATS)

    def __len__(self) -> int:
        return len(_FORMATS)


LINT_REPORTERS: Mapping[str, Callable[[Report], str]] = _Reporters()
