"""A devel image ships although nothing in it compiles at run time.

## Why
`devel` tags hold compilers, headers, static libraries and profilers for building CUDA code: on nvidia/cuda the packages
cuda-minimal-build, cuda-libraries-dev, cuda-command-line-tools, libnccl-dev and Nsight Compute on top of `runtime`
(the CUDA container sources). A service that is already built loads none of them.

## Cost
On nvidia/cuda several gigabytes: 7 to 10 GB instead of 2 to 3 GB for `runtime` (figures quoted in public threads,
sizes.json).

## Instead
Compile in a stage of its own from the devel image, and copy the results into a `runtime` or `base` image of the same
CUDA, or into a slim Python where the wheels bring CUDA along.

## Bad
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04
COPY app /app
CMD ["/app/run"]
```

## Good
```dockerfile
FROM nvidia/cuda:12.4.1-devel-ubuntu22.04 AS build
COPY src /src
RUN nvcc -o /run /src/run.cu
FROM nvidia/cuda:12.4.1-base-ubuntu22.04
COPY --from=build /run /app/run
CMD ["/app/run"]
```

## Not judged
Images for development (`deploy = "dev"`, or a last stage that is named so), bases whose flavor only the build knows, and what compiles at
run time by itself, but for the projects that the tables know to call nvcc (deepspeed, flashinfer): with these the finding is a
note. Triton needs only a C compiler, and what uses NVRTC only its library.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, StageFacts
from gpuimage.finding import Hit, Rule
from gpuimage.rules.costs import flavor_difference
from gpuimage.rules.shared import head_of, is_to_build, wheel_facts


def check(file: FileFacts) -> Iterator[Hit]:
    """Look at the root of every image."""
    if file.settings.deploy == "dev":
        return
    for stage in file.targets:
        if stage.root.flavor == "devel" and not is_to_build(stage):
            compiles = _compiles_at_run(file, stage)
            if compiles:
                yield Hit(
                    head_of(file, stage),
                    f"the devel image {stage.root.text} ships; {compiles} calls its compiler when it runs, and the rest of "
                    "it is never loaded",
                    "take the base image and the packages of nvcc and the headers alone",
                    severity="note",
                )
                continue
            yield Hit(
                head_of(file, stage),
                f"the devel image {stage.root.text} ships: compilers, headers and static libraries that a service never loads",
                "compile in a stage of its own and copy the results into a runtime or base image",
                cost=flavor_difference(stage.root, "runtime"),
            )


def _compiles_at_run(file: FileFacts, stage: StageFacts) -> str:
    """A project of the image that compiles CUDA code when it is used; "" for none that is known."""
    for install in file.shipped_python(stage):
        for wanted in install.wanted:
            facts = wheel_facts(wanted)
            if facts is not None and facts.needs_nvcc == "run":
                return wanted.name
    return ""


RULE = Rule("GI101", "devel-image-ships", "warning", check)
