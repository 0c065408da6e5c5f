"""A repository key that NVIDIA revoked, or a key added in a way that is gone.

## Why
The key 7fa2af80 of the CUDA repositories was replaced on 2022-04-27 by 3bf863cc; with the old one `apt-get update` stops at
NO_PUBKEY (apt_packages.json, NVIDIA/nvidia-docker#1631). `apt-key` trusts a key for every repository, and Debian 13 has no such
program any more.

## Cost
No bytes: the build fails.

## Instead
Install NVIDIA's cuda-keyring package of the same repository.

## Bad
```dockerfile
FROM ubuntu:20.04
RUN apt-key adv --fetch-keys https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2004/x86_64/7fa2af80.pub
```

## Good
```dockerfile
FROM ubuntu:22.04
ADD https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2204/x86_64/cuda-keyring_1.1-1_all.deb /tmp/
RUN dpkg -i /tmp/cuda-keyring_1.1-1_all.deb
```

## Not judged
Lines that delete the old key (`apt-key del 7fa2af80`), and keys of other vendors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.facts.runs import Call
from gpuimage.finding import Hit, Rule
from gpuimage.patterns import pattern
from gpuimage.rules.shared import built_steps

_OLD = pattern(r"7fa2af80|F60F4B3D7FA2AF80", re.IGNORECASE)
_NVIDIA = pattern(r"developer\.download\.nvidia\.(com|cn)/compute/(cuda|machine-learning)|nvidia\.github\.io")


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at how keys and repositories come into every stage that is built."""
    text = file.source.text
    if "nvidia" not in text and "7fa2af80" not in text.lower():
        return
    for step in built_steps(file):
        old = [call for call in step.calls if _OLD.search(call.text) and not _deletes(call)]
        if old:
            yield Hit(
                old[0].span,
                "the key 7fa2af80 was revoked in April 2022: apt-get update stops at NO_PUBKEY",
                "install cuda-keyring_1.1-1_all.deb of the same repository",
            )
            continue
        for call in step.calls:
            if call.name == "apt-key" and not _deletes(call) and _of_nvidia(step.calls, call):
                yield Hit(
                    call.span,
                    "apt-key trusts this key for every repository, and newer distributions do not have it",
                    "install NVIDIA's cuda-keyring package",
                    severity="warning",
                )
                break
            if "trusted=yes" in call.text and _NVIDIA.search(call.text):
                yield Hit(
                    call.span,
                    "trusted=yes switches the check of signatures off for NVIDIA's repository",
                    "install NVIDIA's cuda-keyring package",
                    severity="warning",
                )


def _deletes(call: Call) -> bool:
    return (call.name == "apt-key" and call.values[:1] in (("del",), ("list",))) or call.name in (
        "rm",
        "grep",
        "sed",
    )


def _of_nvidia(calls: tuple[Call, ...], call: Call) -> bool:
    before = [one for one in calls if one.span.start <= call.span.start]
    return any(_NVIDIA.search(one.text) for one in (call, *before[-2:-1]))


RULE = Rule("GI205", "revoked-key", "error", check)
