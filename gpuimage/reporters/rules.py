"""The rules and their pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from gpuimage.finding import FAMILIES, Rule


def page(rule: Rule) -> str:
    """A rule's page as Markdown, under its code and name."""
    body = re.sub(r"^## ", "### ", rule.page, flags=re.MULTILINE)
    facts = f"Severity: {rule.severity}. Fix: {rule.fix}."
    if rule.twins:
        facts += f" hadolint: {', '.join(rule.twins)}."
    if rule.optional:
        facts += " Off unless it is selected."
    head, _, rest = body.partition("\n")
    return f"## {rule.code} {rule.name}\n\n{head}\n\n{facts}\n{rest}\n"


def rules_text(rules: Sequence[Rule]) -> str:
    """A line a rule."""
    wide = max((len(rule.name) for rule in rules), default=0)
    return "".join(
        f"{rule.code}  {rule.severity:<7}  {rule.name:<{wide}}  {rule.summary}\n" for rule in rules
    )


def rules_json(rules: Sequence[Rule]) -> str:
    """Code, name, severity, fix, summary and page of each rule."""
    rows = [
        {
            "code": rule.code, "name": rule.name, "family": rule.family, "severity": rule.severity, "fix": rule.fix,
            "optional": rule.optional, "hadolint": list(rule.twins), "summary": rule.summary, "page": rule.page,
        }
        for rule in rules
    ]  # fmt: skip
    return json.dumps({"version": 1, "rules": rows}, indent=2, ensure_ascii=False) + "\n"


def rules_markdown(rules: Sequence[Rule]) -> str:
    """One document: a table, then every page."""
    lines = ["# Rules of `gpuimage lint`", "", "Written by `make docs` from the rules themselves.", ""]
    for digit, family in FAMILIES.items():
        own = [rule for rule in rules if rule.code[2] == digit]
        if own:
            lines += [
                f"**{digit} {family}**",
                "",
                "| rule | severity | fix | finds |",
                "| --- | --- | --- | --- |",
            ]
            lines += [
                f"| [{rule.code} {rule.name}](#{rule.code.lower()}-{rule.name}) | {rule.severity} | {rule.fix} | {rule.summary} |"
                for rule in own
            ]
            lines.append("")
    return "\n".join(lines) + "\n" + "\n".join(page(rule) for rule in rules)


RULES_REPORTERS: Mapping[str, Callable[[Sequence[Rule]], str]] = {
    "text": rules_text,
    "json": rules_json,
    "markdown": rules_markdown,
}
