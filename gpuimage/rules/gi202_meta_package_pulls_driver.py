"""A CUDA meta package that brings the driver along.

## Why
`cuda`, `cuda-X-Y` and `cuda-runtime-X-Y` depend on cuda-drivers; `cuda-toolkit-X-Y` and `cuda-libraries-X-Y` do not
(apt output in public logs; apt_packages.json). The driver belongs to the host, see GI201.

## Cost
0.3 to 1.5 GB for the driver, and several for the toolkit where nothing compiles (an estimate from notes on linting, 2026-12).

## Instead
`cuda-libraries-X-Y` to run, `cuda-toolkit-X-Y` or less to compile.

## Bad
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends cuda-runtime-12-8
```

## Good
```dockerfile
FROM nvidia/cuda:12.8.1-base-ubuntu22.04
RUN apt-get update && apt-get install -y --no-install-recommends cuda-libraries-12-8
```

## Not judged
conda's packages of the same names, and the WSL repositories, whose `cuda` leaves the driver out.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, Package
from gpuimage.finding import Edit, Fix, Hit, Rule
from gpuimage.rules.costs import typical
from gpuimage.rules.packages import META, installed


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at the packages of every stage that is built."""
    if "wsl-ubuntu" in file.source.text:
        return
    for stage in file.stages:
        for call, package in installed(file, stage) if stage.used else ():
            if call.manager in ("apt", "dnf") and META.fullmatch(package.name) and package.known:
                better = _better(package)
                fix = None
                if better and file.source[package.span] == package.name:
                    fix = Fix(f"install {better}", (Edit(package.span, better),), safe=True)
                yield Hit(
                    package.span,
                    f"{package.name} is a meta package that also installs the driver, which belongs to the host",
                    f"install {better}"
                    if better
                    else "install cuda-libraries-X-Y to run, cuda-toolkit-X-Y to compile",
                    typical("driver-packages", of=f"driver:{call.call.step.instruction.line}")
                    if stage.ships
                    else None,
                    fix,
                    None if stage.ships else "warning",
                )


def _better(package: Package) -> str | None:
    match = META.fullmatch(package.name)
    if match and match["major"]:
        return f"cuda-toolkit-{match['major']}-{match['minor']}"
    if match and match["rmajor"]:
        return f"cuda-libraries-{match['rmajor']}-{match['rminor']}"
    return None


RULE = Rule("GI202", "meta-package-pulls-driver", "error", check, "safe")
