"""The driver's own management library; the only user of nvidia-ml-py."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Device(Struct, frozen=True):
    """A GPU as the driver names it; `capability` is `8.6`, `memory` bytes."""

    name: str
    capability: str | None
    memory: int | None


class Nvml(Struct, frozen=True):
    """What the library says; `problem` in its own words where it does not start, and then nothing else is there."""

    driver: str | None = None
    cuda: str | None = None
    devices: tuple[Device, ...] = ()
    problem: str | None = None


def ask() -> Nvml | None:
    """Ask the library of this machine; None where there is none."""
    import pynvml  # noqa: PLC0415  # it takes a while to load, and most machines that build images have no GPU

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError_LibraryNotFound:
        return None
    except pynvml.NVMLError as error:
        return Nvml(problem=str(error))
    try:
        return _read(pynvml)
    except pynvml.NVMLError as error:
        return Nvml(problem=str(error))
    finally:
        pynvml.nvmlShutdown()


def _read(nvml: Any) -> Nvml:
    number = _told(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2)
    return Nvml(
        driver=_text(nvml.nvmlSystemGetDriverVersion()),
        cuda=f"{number // 1000}.{number % 1000 // 10}" if number else None,
        devices=tuple(
            _device(nvml, nvml.nvmlDeviceGetHandleByIndex(index))
            for index in range(nvml.nvmlDeviceGetCount())
        ),
    )


def _device(nvml: Any, handle: Any) -> Device:
    capability = _told(nvml, nvml.nvmlDeviceGetCudaComputeCapability, handle)
    memory = _told(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return Device(
        _text(nvml.nvmlDeviceGetName(handle)),
        f"{capability[0]}.{capability[1]}" if capability else None,
        int(memory.total) if memory else None,
    )


def _told(nvml: Any, question: Any, *arguments: Any) -> Any:
    """An answer that an older driver, or a GPU of another kind, may not have."""
    try:
        return question(*arguments)
    except nvml.NVMLError:
        return None


def _text(value: str | bytes) -> str:
    """Older versions of the package return bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
