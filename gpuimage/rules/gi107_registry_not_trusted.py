"""The base image comes from a registry that the config does not trust.

## Why
A project that lists its registries (`registries` in the config) wants every base to come from there: through a mirror that is
scanned, or one that answers where the builder stands.

## Cost
No bytes.

## Instead
Take the image through a listed registry.

## Bad
With `registries = "registry.example.com"` in the config:
```dockerfile
FROM quay.io/somebody/cuda:12.8
```

## Good
```dockerfile
FROM registry.example.com/mirror/cuda:12.8
```

## Not judged
Everything, where the config lists no registries; names that only the build knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.finding import Hit, Rule


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every FROM, where registries are listed."""
    trusted = file.settings.registries
    for stage in file.stages if trusted else ():
        reference, head = stage.root.reference, stage.stage.head
        if stage.parent is not None or reference is None or not head.values:
            continue
        if not any(f"{reference.name}/".startswith(f"{one.rstrip('/')}/") for one in trusted):
            yield Hit(
                head.values[0].span,
                f"{reference} comes from {reference.registry}, which the config does not trust",
                f"take it from {', '.join(trusted[:3])}",
            )


RULE = Rule("GI107", "registry-not-trusted", "warning", check, twins=("DL3026",))
