"""A comment that ignores findings names no rule, has nothing to ignore, or gives no reason.

## Why
A comment like `# gpuimage: ignore=GI301 reason` hides what it names for good. Once the fault is gone, or where the code
is misspelt, it hides nothing, and the next reader believes that it does.

## Cost
No bytes: it is about trust in the other findings.

## Instead
Take the comment away, or write the rule's code or name as `gpuimage rules` lists it, and say why it is there.

## Bad
```dockerfile
# gpuimage: ignore=GI999 old habit
FROM python:3.12-slim
```

## Good
```dockerfile
FROM python:3.12-slim
# gpuimage: ignore=GI504 the lab machine has one card for this
ENV CUDA_VISIBLE_DEVICES=0
```

## Not judged
hadolint's own comments (`# hadolint ignore=`): those that have a twin here count, the others are hadolint's business.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule


def check(file: FileFacts) -> Iterator[Hit]:
    """Nothing by itself: whether a comment ignored anything is known only after all rules ran (lint/check.py)."""
    yield from ()


RULE = Rule("GI906", "ignore-comment-without-effect", "note", check)
