"""Lines about a spec on this machine: whether its driver and its GPUs run what the spec promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from gpuimage.arch import ArchError, ComputeCapability
from gpuimage.doctor.host import Host
from gpuimage.doctor.nvml import Device
from gpuimage.doctor.types import Line
from gpuimage.plan import Plan
from gpuimage.tables import Gpu, driver_verdict, gpu

_line = partial(Line, area="gpu", name="spec")


def image_bytes(plans: Sequence[Plan]) -> int | None:
    """The predicted size of the largest image; None where a lock is needed to tell and there is none."""
    told = [made for made in plans if made.lock is not None or made.resolution.empty]
    return max((made.predicted_bytes[1] for made in told if made.predicted_bytes), default=None)


def fit_lines(host: Host, plans: Sequence[Plan], version: str, devices: Sequence[Device]) -> Iterator[Line]:
    """Hold the CUDA and the architectures of each image against the driver and the GPUs of this machine."""
    kinds = {device.name: device for device in devices}.values()
    for made in plans:
        if made.cuda is None:
            continue
        for device in kinds or (None,):
            yield _driver(host, made, version, device)
            capability = _capability(device) if device else None
            if device and capability and made.arch and made.arch.code_for(capability) == "none":
                yield _line(
                    status="missing",
                    seen=f"{made.spec.spec.image} promises code for {made.arch}, none of it runs on {device.name} ({capability})",
                    why="no kernel image is available for execution on the device",
                    mend=(
                        f"gpuimage build spec.yaml  # with {capability} in `arch`, or this card in `gpus`",
                    ),
                    stops="gpu",
                )


def _driver(host: Host, made: Plan, version: str, device: Device | None) -> Line:
    known = gpu(device.name) if device else None
    found = driver_verdict(str(made.cuda), version, known if isinstance(known, Gpu) else None)
    line = partial(_line, why=f"{found.because} ({found.source})")
    seen = f"{made.spec.spec.image} is for CUDA {made.cuda}, the driver is {version}"
    if found.outcome in ("full", "minor-version"):
        return line(status="ok", seen=seen)
    if found.outcome == "refused":
        stops = "gpu" if found.verified else None
        return line(status="missing", seen=seen, mend=host.install("driver")[0], stops=stops)
    return line(status="warning", seen=seen)


def _capability(device: Device) -> ComputeCapability | None:
    """A device's compute capability: as the driver says, else by its name."""
    if device.capability is None:
        known = gpu(device.name)
        return known.capability if isinstance(known, Gpu) else None
    try:
        return ComputeCapability.parse(device.capability)
    except ArchError:  # a GPU that is newer than all that is known
        return None
