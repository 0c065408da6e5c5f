"""The conda channel `pytorch` has no release after 2.5.

## Why
PyTorch stopped publishing to its conda channel with 2.5 (pytorch/pytorch#138506). A later version is not found there; without a
version the solver takes 2.5 or older without a word, and pytorch-cuda ends at 12.4.

## Cost
No bytes: the build fails, or an old torch comes.

## Instead
pip's wheels, or the packages of conda-forge.

## Bad
```dockerfile
FROM continuumio/miniconda3:24.7.1-0
RUN conda install -y pytorch=2.7 pytorch-cuda=12.8 -c pytorch -c nvidia && conda clean -afy
```

## Good
```dockerfile
FROM continuumio/miniconda3:24.7.1-0
RUN conda install -y pytorch=2.5.1 pytorch-cuda=12.4 -c pytorch -c nvidia && conda clean -afy
```

## Not judged
Versions that the channel has, other channels, and versions that only the build knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts
from gpuimage.facts.conda import CondaInstall
from gpuimage.finding import Hit, Rule
from gpuimage.rules.shared import built_steps

_LAST = (2, 5)  # pytorch/pytorch#138506: 2.5 was the last release on the channel
_LAST_CUDA = (12, 4)


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at every install from the channel in a stage that is built."""
    for step in built_steps(file):
        for install in file.conda(step):
            if "pytorch" in install.channels or any(one.channel == "pytorch" for one in install.packages):
                yield from _judge(install)


def _judge(install: CondaInstall) -> Iterator[Hit]:
    torch, cuda = install.find("pytorch"), install.find("pytorch-cuda")
    if (
        torch is not None
        and torch.known
        and torch.channel in (None, "pytorch")
        and "conda-forge" not in install.channels[:1]
    ):
        version = _version(torch.version)
        if version is None:
            yield Hit(
                torch.span,
                "the conda channel pytorch ended with 2.5: without a version an old torch comes",
                "take pip's wheels, or conda-forge; or write the version that is meant",
                severity="warning",
            )
        elif version > _LAST:
            yield Hit(
                torch.span,
                f"the conda channel pytorch ended with 2.5: it has no {torch.version}",
                "take pip's wheels, or conda-forge",
            )
    if cuda is not None and (version := _version(cuda.version)) and version > _LAST_CUDA:
        yield Hit(
            cuda.span,
            f"pytorch-cuda ended with 12.4 on the conda channel: it has no {cuda.version}",
            "take pip's wheels, or conda-forge",
        )


def _version(text: str | None) -> tuple[int, ...] | None:
    parts = (text or "").split(".")
    return (
        tuple(int(part) for part in parts[:2])
        if parts[0].isdigit() and all(part.isdigit() for part in parts[:2])
        else None
    )


RULE = Rule("GI706", "conda-channel-ended", "error", check)
