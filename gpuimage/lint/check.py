"""Runs the rules over one file: hits become findings, with the config's severities and without what is ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from gpuimage.dockerfile import Source, parse
from gpuimage.facts import FileFacts
from gpuimage.finding import FileReport, Finding, Hit, Rule
from gpuimage.lint.config import Config
from gpuimage.lint.ignores import Ignores, read
from gpuimage.lint.waste import waste_of
from gpuimage.rules import all_rules, load, rule


def check(source: Source, path: str, config: Config, directory: Path | None) -> FileReport:
    """Lint one text; `directory` is where the files beside it are looked for."""
    findings, file = _findings(source, config, directory)
    return FileReport(path, source, tuple(findings), waste_of(file, findings))


def findings_of(source: Source, config: Config, directory: Path | None) -> Sequence[Finding]:
    """The findings of one text, in the order of its lines."""
    return _findings(source, config, directory)[0]


def _findings(source: Source, config: Config, directory: Path | None) -> tuple[list[Finding], FileFacts]:
    file = FileFacts(parse(source), config.settings, directory)
    ignores = read(file.dockerfile, all_rules)
    found = [
        (one, hit)
        for one in load(file.words, optional=bool(config.select))
        if config.selects(one)
        for hit in dict.fromkeys(one.check(file))
        if not ignores.covers(one, hit.span.start)
    ]
    if file.dockerfile is file.whole:
        found += _about_comments(ignores, config)
    found = _without_secrets(found, source)
    found.sort(key=lambda pair: (pair[1].span.start, pair[0].code, pair[1].message))
    return list(_placed(found, source, config)), file


def _without_secrets(found: list[tuple[Rule, Hit]], source: Source) -> list[tuple[Rule, Hit]]:
    """The same with the secrets that a hit points at taken out of what all of them say."""
    secrets = {text for _, hit in found if hit.secret and len(text := source[hit.span].strip("\"'")) > 5}

    def clean(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, "***")
        return text

    if not secrets:
        return found
    return [(one, replace(hit, message=clean(hit.message), help=clean(hit.help))) for one, hit in found]


def _about_comments(ignores: Ignores, config: Config) -> list[tuple[Rule, Hit]]:
    """What is wrong with the comments that ignore findings; only where all rules ran can one be called unused."""
    comments = rule("GI906") if ignores else None
    if comments is None or not config.selects(comments):
        return []
    left = ignores.leftovers(require_reason=config.require_reason)
    return [(comments, Hit(span, message)) for span, message in left]


def _placed(found: Sequence[tuple[Rule, Hit]], source: Source, config: Config) -> Iterator[Finding]:
    seen: Counter[str] = Counter()
    for one, hit in found:
        line, column = source.position(hit.span.start)
        end_line, end_column = source.position(max(hit.span.end, hit.span.start + 1))
        print_of = f"{one.code}\0{' '.join(source[hit.span].split())}"
        seen[print_of] += 1
        severity = config.severity(one, hit.severity or one.severity)
        if severity is not None:
            yield Finding(
                one, severity, hit, line, column, end_line, end_column, f"{print_of}\0{seen[print_of]}"
            )
