"""Trees of files as machines with NVIDIA GPUs have them, written below a root."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

OS = {
    "ubuntu": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n',
    "debian": 'ID=debian\nVERSION_ID="12"\n',
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.5"\n',
    "fedora": "ID=fedora\nVERSION_ID=44\n",
    "leap": 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\nVERSION_ID="15.6"\n',
    "arch": "ID=arch\n",
}
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
TOOLKIT = (
    "nvidia-ctk",
    "nvidia-container-runtime",
    "nvidia-container-runtime-hook",
    "nvidia-container-cli",
    "nvidia-cdi-hook",
)
NODES = ("nvidia0", "nvidiactl", "nvidia-uvm")


class Machine:
    """A root to be filled; every path is absolute, as on the machine itself."""

    def __init__(self, root: Path, os: str = "ubuntu") -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.write("/etc/os-release", OS[os])

    def place(self, path: str) -> Path:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def write(self, path: str, text: str | bytes = "") -> Machine:
        self.place(path).write_bytes(text if isinstance(text, bytes) else text.encode())
        return self

    def link(self, path: str, target: str) -> Machine:
        self.place(path).symlink_to(target)
        return self

    # Parts, as the driver's and the toolkit's packages install them.

    def bus(self, count: int = 1) -> Machine:
        for number in range(count):
            folder = f"/sys/bus/pci/devices/0000:0{number + 1}:00.0"
            self.write(f"{folder}/vendor", "0x10de\n").write(f"{folder}/class", "0x030200\n")
        return self

    def module(
        self, version: str, *, open_module: bool = False, models: Sequence[str] = ("NVIDIA A10G",)
    ) -> Machine:
        kind = "Open Kernel Module for x86_64" if open_module else "x86_64 Kernel Module"
        self.write(
            "/proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX {kind}  {version}  Release Build  (builder@host)\nGCC version:  gcc version 13.3.0\n",
        )
        self.write("/sys/module/nvidia/version", f"{version}\n")
        for number, model in enumerate(models):
            self.write(
                f"/proc/driver/nvidia/gpus/0000:0{number + 1}:00.0/information",
                f"Model: \t\t {model}\nIRQ:   \t\t 64\nGPU UUID: \t GPU-0\nBus Type: \t PCIe\n",
            )
        return self

    def libraries(
        self, version: str, folder: str = LIBRARIES, names: Sequence[str] = ("cuda", "nvidia-ml")
    ) -> Machine:
        for name in names:
            self.write(f"{folder}/lib{name}.so.{version}").link(
                f"{folder}/lib{name}.so.1", f"lib{name}.so.{version}"
            )
        return self

    def nodes(self, names: Sequence[str] = NODES) -> Machine:
        for name in names:
            self.write(f"/dev/{name}")
        return self

    def toolkit(self, version: str = "1.17.8", programs: Sequence[str] = TOOLKIT) -> Machine:
        for name in programs:
            self.write(f"/usr/bin/{name}")
        name = "libnvidia-container.so"
        return self.write(f"{LIBRARIES}/{name}.{version}").link(f"{LIBRARIES}/{name}.1", f"{name}.{version}")

    def daemon(self, settings: Mapping[str, object] | None = None) -> Machine:
        runtime = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}
        return self.write("/etc/docker/daemon.json", json.dumps(runtime if settings is None else settings))

    def cdi(self, version: str, path: str = "/etc/cdi/nvidia.yaml", folder: str = LIBRARIES) -> Machine:
        return self.write(
            path,
            f"""\
---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
containerEdits:
  deviceNodes:
  - path: /dev/nvidia-uvm
  - path: /dev/nvidiactl
  hooks:
  - hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
    args: [nvidia-cdi-hook, update-ldcache, --folder, {folder}]
  mounts:
  - hostPath: {folder}/libcuda.so.{version}
    containerPath: {folder}/libcuda.so.{version}
    options: [ro, nosuid, nodev, bind]
  - hostPath: {folder}/libnvidia-ml.so.{version}
    containerPath: {folder}/libnvidia-ml.so.{version}
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
- name: all
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
""",
        )


def healthy(root: Path, os: str = "ubuntu", version: str = "580.95.05") -> Machine:
    """A machine whose GPU works in containers: driver, nodes, toolkit, runtime."""
    machine = Machine(root, os).bus().module(version, open_module=True).libraries(version).nodes()
    return machine.toolkit().daemon()
