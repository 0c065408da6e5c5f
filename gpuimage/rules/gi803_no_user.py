"""The image names no user, so it runs as root.

## Why
Without USER, and on a base that sets none, every process of the container is root. See GI802 for what follows from that.

## Cost
No bytes.

## Instead
`USER 10001` at the end; `COPY --chown` for what the service writes to.

## Bad
```dockerfile
FROM python:3.12-slim
CMD ["python", "-m", "app"]
```

## Good
```dockerfile
FROM python:3.12-slim
USER 10001
CMD ["python", "-m", "app"]
```

## Not judged
70 of 100 Dockerfiles in a sample of real ones name no user (notes on linting, 2026-12): a policy, not a fault, so the rule
is off unless it is selected by name. Bases that are not known may set a user themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.shared import head_of


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at images on a base that sets no user, without a USER."""
    for stage in file.targets:
        if stage.end.user == "" and file.settings.deploy != "dev":
            yield Hit(
                head_of(file, stage),
                "the image names no user, so it runs as root",
                "add USER with a number: USER 10001",
            )


RULE = Rule("GI803", "no-user", "note", check, optional=True)
