"""The NVIDIA driver of a machine as its files show it: kernel module, libraries, device nodes, GPUs."""

from __future__ import annotations

import re

from msgspec import Struct

from gpuimage.doctor.host import Host

_MODULE = re.compile(r"Kernel Module(?: for \S+)?\s+(?P<version>\d+(?:\.\d+)+)")
_VERSIONED = re.compile(r"lib(?:cuda|nvidia-ml)\.so\.(?P<version>\d{3}(?:\.\d+)+)")
_NVIDIA, _DISPLAY = "0x10de", "0x03"  # PCI's vendor, and its class of display and 3D controllers

# Where loaders look on the distributions that the driver is packaged for, besides what ld.so.conf names.
_LIBRARIES = (
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
    "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/lib",
    "/usr/local/nvidia/lib64", "/run/opengl-driver/lib",
)  # fmt: skip
_WSL = "/usr/lib/wsl/lib"


class Library(Struct, frozen=True):
    """A library of the driver: the path that a loader opens, and the version in the name of the file behind it."""

    path: str
    version: str | None


class Driver(Struct, frozen=True):
    """What there is of a driver; versions are None where no file tells.

    `module` is the loaded kernel module's version, `loaded` whether it is loaded at all. `devices` are the numbers
    of /dev/nvidia*. `models` are the GPUs that the module names, `pci` counts those on the bus, loaded or not.
    """

    module: str | None
    loaded: bool
    open_module: bool
    cuda: Library | None
    nvml: Library | None
    devices: tuple[str, ...]
    control: bool
    uvm: bool
    models: tuple[str, ...]
    pci: int
    nouveau: bool
    wsl: bool

    @property
    def present(self) -> bool:
        """Whether there is any sign of a GPU or its driver."""
        return bool(self.loaded or self.cuda or self.nvml or self.devices or self.pci or self.wsl)

    @property
    def version(self) -> str | None:
        """The driver's version: the kernel module's, which containers get to deal with, else the library's."""
        return self.module or (self.cuda.version if self.cuda else None)


def read_driver(host: Host) -> Driver:
    """Look at all files of a driver."""
    told = host.read("/proc/driver/nvidia/version") or ""
    found = _MODULE.search(told)
    module = found["version"] if found else (host.read("/sys/module/nvidia/version") or "").strip() or None
    nodes = host.names("/dev")
    wsl = host.exists("/dev/dxg")
    first = (_WSL,) if wsl else ()
    return Driver(
        module=module,
        loaded=module is not None or host.exists("/sys/module/nvidia"),
        open_module="Open Kernel Module" in told,
        cuda=_library(host, "libcuda.so.1", *first),
        nvml=_library(host, "libnvidia-ml.so.1", *first),
        devices=tuple(name for name in nodes if re.fullmatch(r"nvidia\d+", name)),
        control="nvidiactl" in nodes,
        uvm="nvidia-uvm" in nodes,
        models=_models(host),
        pci=_on_the_bus(host),
        nouveau=host.exists("/sys/module/nouveau"),
        wsl=wsl,
    )


def _folders(host: Host) -> tuple[str, ...]:
    """The directories of ld.so.conf, in its order, then the loader's own."""
    named: list[str] = []
    _read_conf(host, "/etc/ld.so.conf", named, depth=0)
    return tuple(dict.fromkeys((*named, *_LIBRARIES)))


def _read_conf(host: Host, path: str, named: list[str], depth: int) -> None:
    for line in (host.read(path) or "").splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("include ") and depth < 4:
            folder, _, pattern = text.removeprefix("include ").strip().rpartition("/")
            wanted = re.compile(re.escape(pattern).replace(r"\*", ".*"))
            for name in host.names(folder or "/etc"):
                if wanted.fullmatch(name):
                    _read_conf(host, f"{folder or '/etc'}/{name}", named, depth + 1)
        elif text.startswith("/"):
            named.append(text)


def find_library(host: Host, name: str, *first: str) -> str | None:
    """The path of the library that a loader takes, None where there is none; `first` are directories before all."""
    folders = (*first, *_folders(host))
    return next((path for folder in folders if host.exists(path := f"{folder}/{name}")), None)


def _library(host: Host, name: str, *first: str) -> Library | None:
    path = find_library(host, name, *first)
    if path is None:
        return None
    found = _VERSIONED.fullmatch(host.resolve(path).name)
    return Library(path, found["version"] if found else None)


def _models(host: Host) -> tuple[str, ...]:
    folder = "/proc/driver/nvidia/gpus"
    texts = (host.read(f"{folder}/{name}/information") or "" for name in host.names(folder))
    found = (re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE) for text in texts)
    return tuple(match[1] for match in found if match)


def _on_the_bus(host: Host) -> int:
    folder = "/sys/bus/pci/devices"
    return sum(
        (host.read(f"{folder}/{name}/vendor") or "").strip() == _NVIDIA
        and (host.read(f"{folder}/{name}/class") or "").startswith(_DISPLAY)
        for name in host.names(folder)
    )
