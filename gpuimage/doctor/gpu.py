"""Lines about the GPUs of a machine and their driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial

from gpuimage.doctor.driver import Driver
from gpuimage.doctor.host import Host
from gpuimage.doctor.nvml import Device, Nvml
from gpuimage.doctor.types import Line
from gpuimage.tables import BranchEnd, Gpu, Unknown, branch_end, driver_cuda, gpu, parse_driver
from gpuimage.units import size

_line = partial(Line, area="gpu")
_missing = partial(Line, area="gpu", status="missing", stops="gpu")
_GUIDE = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"


def gpu_lines(host: Host, driver: Driver, nvml: Nvml | None, day: str) -> Iterator[Line]:
    """Driver, libraries, device nodes, GPUs, CUDA and support; one line alone where there is no GPU.

    `day` decides whether support of the driver has ended: `2026-12-01`.
    """
    if not driver.present and nvml is None:
        yield _line(
            name="GPU",
            status="warning",
            seen="no NVIDIA device, no driver",
            why="images build without one; what needs a GPU is skipped when they are tested here",
            stops="gpu",
        )
        return
    yield _kernel(host, driver, nvml)
    if driver.loaded or driver.wsl:
        yield _libraries(host, driver)
    if driver.loaded and not driver.wsl:
        yield _nodes(host, driver)
    if nvml is not None and nvml.problem:
        yield _nvml_problem(host, nvml.problem)
    counted = Counter(devices(driver, nvml))
    yield from (_device(device, count) for device, count in counted.items())
    version = (nvml.driver if nvml else None) or driver.version
    if version is not None and parse_driver(version) is not None:
        yield _speaks(version, nvml.cuda if nvml else None)
        yield _support(host, version, day)


def works(lines: list[Line]) -> bool:
    """Whether nothing in the lines stops the GPU on the machine itself."""
    return not any(line.stops == "gpu" for line in lines)


# The driver


def _kernel(host: Host, driver: Driver, nvml: Nvml | None) -> Line:
    if driver.wsl:
        told = f" {nvml.driver}" if nvml and nvml.driver else ""
        return _line(
            name="driver",
            status="ok",
            seen=f"the Windows driver{told}, through /dev/dxg (WSL)",
            why="the driver belongs to Windows: a Linux driver must not be installed here",
        )
    if driver.loaded:
        kind = "open" if driver.open_module else "proprietary"
        seen = f"{driver.module or 'unknown version'}, {kind} kernel module"
        if nvml is not None and not nvml.problem and driver.module is None:
            seen = f"{nvml.driver}, kernel module not visible"
        return _line(name="driver", status="ok", seen=seen)
    if nvml is not None and not nvml.problem:  # a sandbox that hides /proc, /sys or both
        return _line(
            name="driver",
            status="ok",
            seen=f"{nvml.driver}, as its library says; the kernel module is not visible",
        )
    if driver.nouveau:
        return _nouveau(host, driver)
    if driver.cuda or driver.nvml:
        return _not_loaded(host, driver)
    return _not_installed(host, driver)


def _nouveau(host: Host, driver: Driver) -> Line:
    rebuild, _ = host.install("initramfs")
    return _missing(
        name="driver",
        seen="nouveau drives the GPU, NVIDIA's kernel module is not loaded",
        why="only one of them can have it",
        mend=(
            *(() if driver.cuda else host.install("driver")[0]),
            *host.commands(
                "printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee /etc/modprobe.d/blacklist-nouveau.conf"
            ),
            *rebuild,
            *host.commands("sudo reboot"),
        ),
    )


def _not_loaded(host: Host, driver: Driver) -> Line:
    library = driver.cuda or driver.nvml
    version = library.version if library else None
    return _missing(
        name="driver",
        seen=f"libraries{f' of {version}' if version else ''}, but the kernel module is not loaded",
        why="it may not be built for the running kernel (`dkms status`), or not be signed for Secure Boot (`mokutil --sb-state`)",
        mend=host.commands("sudo modprobe nvidia"),
    )


def _not_installed(host: Host, driver: Driver) -> Line:
    commands, why = _install(host)
    plural = "s" if driver.pci > 1 else ""
    seen = f"none, and {driver.pci} NVIDIA device{plural} on the PCI bus" if driver.pci else "none"
    return _missing(name="driver", seen=seen, why=why, mend=commands)


def _install(host: Host) -> tuple[tuple[str, ...], str]:
    """The commands that install or update the driver, and where they are from."""
    commands, note = host.install("driver")
    return (*commands, *host.commands("sudo reboot")) if commands else (), f"{note or 'more ways'}: {_GUIDE}"


def _libraries(host: Host, driver: Driver) -> Line:
    cuda, nvml = driver.cuda, driver.nvml
    line = partial(_missing, name="driver libraries")
    if cuda is None and driver.wsl:
        return line(
            seen="no libcuda.so.1 in /usr/lib/wsl/lib",
            why="the Windows driver brings it: install or update NVIDIA's driver in Windows",
            mend=("wsl.exe --shutdown",),
        )
    if cuda is None:
        commands, why = _install(host)
        return line(
            seen=f"no libcuda.so.1 where the loader looks, beside kernel module {driver.module}",
            why=f"containers get the host's library, of the version of its module; {why}",
            mend=commands,
        )
    if "/compat" in cuda.path:
        return line(
            status="warning",
            seen=f"{cuda.path} ({cuda.version}) comes before the driver's own",
            why="a cuda-compat package is on this machine's library path: it belongs into images, for data-centre GPUs only",
            mend=("grep -rn compat /etc/ld.so.conf /etc/ld.so.conf.d", *host.commands("sudo ldconfig")),
            stops=None,
        )
    odd = [
        one for one in (cuda, nvml) if one and one.version and driver.module and one.version != driver.module
    ]
    if odd:
        return line(
            seen=f"{odd[0].path} is {odd[0].version}, the loaded kernel module is {driver.module}",
            why="Driver/library version mismatch: the driver was updated, and the kernel still runs the old module",
            mend=host.commands("sudo reboot"),
        )
    if nvml is None:
        return line(
            status="warning",
            seen=f"{cuda.path}, but no libnvidia-ml.so.1",
            why="nvidia-smi and the container toolkit need it",
            mend=_install(host)[0],
            stops=None,
        )
    return _line(
        name="driver libraries",
        status="ok",
        seen=f"{cuda.path} and libnvidia-ml.so.1, {cuda.version or driver.module or 'of the Windows driver'}",
    )


def _nodes(host: Host, driver: Driver) -> Line:
    wanted = max(driver.pci, len(driver.models), 1)
    numbers = " ".join(f"-c {number}" for number in range(wanted))
    create = host.commands(f"sudo nvidia-modprobe -u {numbers}")
    if not driver.devices or not driver.control:
        lacking = "/dev/nvidiactl" if driver.devices else "/dev/nvidia0"
        return _missing(
            name="device nodes",
            seen=f"no {lacking}, though the kernel module is loaded",
            why="the module found no GPU that it can drive (`dmesg | grep -i nvrm` says so), or nothing has made the nodes yet",
            mend=create,
        )
    if not driver.uvm:
        return _line(
            name="device nodes",
            status="warning",
            seen=f"{_counted(driver)}, but no /dev/nvidia-uvm",
            why="CUDA does not start without it; where nvidia-modprobe is missing, nothing makes it on demand",
            mend=create,
        )
    return _line(
        name="device nodes", status="ok", seen=f"{_counted(driver)}, /dev/nvidiactl, /dev/nvidia-uvm"
    )


def _counted(driver: Driver) -> str:
    first, *more = driver.devices
    return f"/dev/{first}" + (f" and {len(more)} more" if more else "")


def _nvml_problem(host: Host, problem: str) -> Line:
    return _missing(
        name="NVML",
        seen=f"the driver's management library does not start: {problem}",
        why="nvidia-smi and the container toolkit meet the same",
        mend=(*host.commands("sudo dmesg | grep -i -e nvrm -e xid"), *host.commands("sudo reboot")),
    )


# The GPUs, and what the driver is good for


def devices(driver: Driver, nvml: Nvml | None) -> tuple[Device, ...]:
    """The GPUs: as the driver's library names them, else as its kernel module does."""
    return (nvml.devices if nvml else ()) or tuple(Device(model, None, None) for model in driver.models)


def _device(device: Device, count: int) -> Line:
    line = partial(_line, name="GPU")
    name = device.name if count == 1 else f"{count} × {device.name}"
    memory = f", {size(device.memory)}" if device.memory else ""
    if device.capability:
        return line(status="ok", seen=f"{name}, compute capability {device.capability}{memory}")
    known = gpu(device.name)
    if isinstance(known, Gpu):
        said = f"compute capability {known.capability} by the tables"
        return line(status="ok", seen=f"{name}, {said}{memory}")
    return line(
        status="warning",
        seen=f"{name}, compute capability not known",
        why=known.reason,
        mend=("nvidia-smi --query-gpu=name,compute_cap --format=csv",),
    )


def _speaks(version: str, told: str | None) -> Line:
    """The CUDA of the driver: as it says itself, else by the tables."""
    spoken = told or driver_cuda(version)
    if isinstance(spoken, Unknown):
        return _line(
            name="CUDA",
            status="warning",
            seen=f"what driver {version} speaks is not known",
            why=spoken.reason,
        )
    by = "as it says" if told else "by the tables"
    return _line(name="CUDA", status="ok", seen=f"driver {version} speaks CUDA {spoken}, {by}")


def _support(host: Host, version: str, day: str) -> Line:
    end = branch_end(version)
    if not isinstance(end, BranchEnd):
        return _line(name="driver support", status="ok", seen="no end is known", why=end.reason)
    if not end.ended(day):
        return _line(
            name="driver support", status="ok", seen=f"branch {end.branch} ({end.kind}) until {end.eol}"
        )
    commands, why = _install(host)
    return _line(
        name="driver support",
        status="warning",
        seen=f"branch {end.branch} ({end.kind}) ended {end.eol}",
        why=f"no more security updates ({end.source}); {why}",
        mend=commands,
    )
