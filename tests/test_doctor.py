"""What doctor says of machines with NVIDIA GPUs: trees of files as drivers and toolkits leave them, the command.

The trees follow NVIDIA's packages: names and contents of files below /proc, /sys, /dev, the libraries' directories.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuimage.doctor import Checkup, Line, doctor
from gpuimage.doctor.driver import read_driver
from gpuimage.doctor.gpu import gpu_lines
from gpuimage.doctor.host import Host
from gpuimage.doctor.nvml import Device, Nvml
from gpuimage.doctor.toolkit import container_lines
from gpuimage.engine import Details, Health
from gpuimage.errors import SpecError
from gpuimage.spec import load_spec
from gpuimage.tables import docker_has
from tests.conftest import Command
from tests.machines import LIBRARIES, OS, TOOLKIT, Machine, healthy
from tests.readme import compare, shown


def look(machine: Machine, **options: object) -> Checkup:
    return doctor(machine.root, offline=True, day="2026-12-02", **options)  # type: ignore[arg-type]


def named(found: Checkup, name: str) -> Line:
    [line] = [line for line in found.lines if line.name == name]
    return line


def broken(found: Checkup) -> dict[str, str]:
    """The lines that are not well, without those that say what was not asked for."""
    return {line.name: line.status for line in found.lines if line.status in ("missing", "warning")}


# --- the driver -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("system", sorted(set(OS) - {"arch"}))
def test_nothing_is_missing_on_a_machine_whose_gpu_works(tmp_path: Path, system: str) -> None:
    found = look(healthy(tmp_path, system))
    assert broken(found) == {}
    assert found.can_use_gpu
    assert named(found, "driver").seen == "580.95.05, open kernel module"
    assert named(found, "GPU").seen == "NVIDIA A10G, compute capability 8.6 by the tables"
    assert "CUDA 13.0" in named(found, "CUDA").seen
    assert named(found, "GPU in containers").seen == "docker run --gpus all, by the toolkit's hook"


def test_an_old_module_under_new_libraries_is_a_mismatch_that_a_reboot_mends(tmp_path: Path) -> None:
    machine = healthy(tmp_path, version="580.95.05").module("580.82.07")
    line = named(look(machine), "driver libraries")
    assert (line.status, line.stops, line.mend) == ("missing", "gpu", ("sudo reboot",))
    assert "580.95.05" in line.seen
    assert "580.82.07" in line.seen
    assert "Driver/library version mismatch" in line.why


def test_a_loaded_module_without_device_nodes_gets_a_node_for_each_gpu(tmp_path: Path) -> None:
    models = ("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB")
    machine = Machine(tmp_path, "rocky").bus(2).module("580.95.05", models=models).libraries("580.95.05")
    found = look(machine)
    line = named(found, "device nodes")
    assert (line.status, line.mend) == ("missing", ("sudo nvidia-modprobe -u -c 0 -c 1",))
    assert named(found, "GPU").seen == "2 × NVIDIA A100-SXM4-80GB, compute capability 8.0 by the tables"
    assert not found.can_use_gpu


def test_libraries_without_a_module_want_it_loaded(tmp_path: Path) -> None:
    line = named(look(Machine(tmp_path).bus().libraries("580.95.05")), "driver")
    assert (line.status, line.mend) == ("missing", ("sudo modprobe nvidia",))
    assert "580.95.05" in line.seen


def test_a_module_without_libraries_is_told_beside_its_version(tmp_path: Path) -> None:
    line = named(look(Machine(tmp_path).bus().module("580.95.05").nodes()), "driver libraries")
    assert line.status == "missing"
    assert "no libcuda.so.1" in line.seen
    assert "580.95.05" in line.seen


@pytest.mark.parametrize(
    ("system", "command"),
    [
        ("ubuntu", "sudo ubuntu-drivers install"),
        ("debian", "sudo apt-get install -y linux-headers-amd64 nvidia-driver"),
        ("rocky", "sudo dnf module enable -y nvidia-driver:open-dkms"),
        ("fedora", "sudo dnf install -y nvidia-open"),
        ("leap", "sudo zypper install -y nvidia-open"),
    ],
)
def test_a_card_without_a_driver_gets_the_command_of_its_distribution(
    tmp_path: Path, system: str, command: str
) -> None:
    line = named(look(Machine(tmp_path, system).bus()), "driver")
    assert (line.status, line.stops, line.mend[0]) == ("missing", "gpu", command)


def test_on_a_distribution_that_nobody_knows_there_is_a_reason_and_no_wrong_command(tmp_path: Path) -> None:
    found = look(Machine(tmp_path, "arch").bus())
    for name in ("driver", "container toolkit"):
        line = named(found, name)
        assert line.mend == ()
        assert "is not in the tables" in line.why


def test_nouveau_is_shut_out_and_the_initramfs_made_again(tmp_path: Path) -> None:
    machine = (
        Machine(tmp_path, "fedora")
        .bus()
        .write("/sys/module/nouveau/refcnt")
        .libraries("580.95.05", "/usr/lib64")
    )
    line = named(look(machine), "driver")
    assert "nouveau" in line.seen
    assert "blacklist nouveau" in line.mend[0]
    assert line.mend[1:] == ("sudo dracut --force", "sudo reboot")


def test_a_machine_without_a_gpu_is_warned_and_builds_all_the_same(tmp_path: Path) -> None:
    found = look(Machine(tmp_path).toolkit())
    assert named(found, "GPU").status == "warning"
    assert (found.can_build, found.can_use_gpu, found.passed) == (True, False, True)
    assert not look(Machine(tmp_path), require=frozenset({"gpu"})).passed


def test_on_wsl_the_driver_is_that_of_windows(tmp_path: Path) -> None:
    machine = Machine(tmp_path).write("/dev/dxg").toolkit().daemon()
    line = named(look(machine), "driver libraries")
    assert (line.status, line.stops) == ("missing", "gpu")
    assert "Windows" in line.why
    folder = "/usr/lib/wsl/lib"
    machine.write(f"{folder}/libcuda.so.1.1").link(f"{folder}/libcuda.so.1", "libcuda.so.1.1")
    machine.write(f"{folder}/libnvidia-ml.so.1")
    found = look(machine)
    assert found.can_use_gpu
    assert "must not be installed" in named(found, "driver").why


def test_the_library_that_the_loader_finds_first_counts(tmp_path: Path) -> None:
    machine = healthy(tmp_path)
    machine.write("/etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    machine.write("/etc/ld.so.conf.d/00-cuda.conf", "/usr/local/cuda-13.1/compat\n").write(
        "/etc/ld.so.conf.d/x.off", "/no\n"
    )
    machine.libraries("590.44.01", "/usr/local/cuda-13.1/compat", ("cuda",))
    line = named(look(machine), "driver libraries")
    assert (line.status, line.stops) == ("warning", None)
    assert "cuda-compat" in line.why


def test_a_library_behind_absolute_links_is_followed_below_the_root(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "debian").bus().module("535.247.01").nodes()
    real = f"{LIBRARIES}/nvidia/current"
    machine.write(f"{real}/libcuda.so.535.247.01").link(
        "/etc/alternatives/glx--libcuda.so.1", f"{real}/libcuda.so.535.247.01"
    )
    machine.link(f"{LIBRARIES}/libcuda.so.1", "/etc/alternatives/glx--libcuda.so.1")
    driver = read_driver(Host(machine.root))
    assert driver.cuda is not None
    assert driver.cuda.version == "535.247.01"


def test_a_missing_uvm_node_and_a_missing_nvml_are_warnings(tmp_path: Path) -> None:
    machine = Machine(tmp_path).bus().module("580.95.05").libraries("580.95.05", names=("cuda",))
    found = look(machine.nodes(("nvidia0", "nvidiactl")))
    assert (named(found, "device nodes").status, named(found, "driver libraries").status) == (
        "warning",
        "warning",
    )


def test_a_branch_whose_support_has_ended_is_told_with_its_source(tmp_path: Path) -> None:
    line = named(look(healthy(tmp_path, version="550.54.14")), "driver support")
    assert (line.status, line.stops) == ("warning", None)
    assert "2025-02" in line.seen


def test_a_gpu_that_is_not_in_the_tables_is_named_without_a_guess(tmp_path: Path) -> None:
    machine = (
        Machine(tmp_path).bus().module("580.95.05", models=("NVIDIA Z9000",)).libraries("580.95.05").nodes()
    )
    line = named(look(machine), "GPU")
    assert line.status == "warning"
    assert "NVIDIA Z9000" in line.seen


# --- the driver's own library ---------------------------------------------------------------------------------------

_NVML = r"""
#include <string.h>
typedef int status;
status nvmlInitWithFlags(unsigned flags) { return INIT; }
status nvmlInit_v2(void) { return INIT; }
status nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(status code) { return code == 18 ? "Driver/library version mismatch" : "?"; }
status nvmlSystemGetDriverVersion(char *text, unsigned size) { strncpy(text, "580.95.05", size); return 0; }
status nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 13000; return 0; }
status nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
status nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)1; return 0; }
status nvmlDeviceGetName(void *device, char *text, unsigned size) { strncpy(text, "NVIDIA H200", size); return 0; }
status nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) { *major = 9; *minor = 0; return 0; }
struct memory { unsigned long long total, free, used; };
status nvmlDeviceGetMemoryInfo(void *device, struct memory *m) { m->total = 150754820096ULL; m->free = m->used = 0; return 0; }
"""


def ask_nvml(folder: Path, init: int) -> dict[str, object] | None:
    """Ask a library of our own making, through nvidia-ml-py, in a process whose loader finds it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make a stand-in of libnvidia-ml.so.1")
    (folder / "nvml.c").write_text(_NVML)
    made = [
        compiler,
        "-shared",
        "-fPIC",
        f"-DINIT={init}",
        "-o",
        str(folder / "libnvidia-ml.so.1"),
        str(folder / "nvml.c"),
    ]
    subprocess.run(made, check=True)
    code = "import json, msgspec; from gpuimage.doctor.nvml import ask; print(json.dumps(msgspec.to_builtins(ask())))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"LD_LIBRARY_PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] | None = json.loads(done.stdout)
    return answer


def test_nvml_tells_driver_cuda_and_gpus(tmp_path: Path) -> None:
    assert ask_nvml(tmp_path, 0) == {
        "driver": "580.95.05",
        "cuda": "13.0",
        "devices": [{"name": "NVIDIA H200", "capability": "9.0", "memory": 150754820096}],
        "problem": None,
    }


def test_an_nvml_that_does_not_start_says_why(tmp_path: Path) -> None:
    answer = ask_nvml(tmp_path, 18)
    assert answer is not None
    assert "mismatch" in str(answer["problem"])
    assert answer["devices"] == []


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="this machine has a driver")
def test_without_the_library_there_is_no_answer_and_no_error() -> None:
    from gpuimage.doctor.nvml import ask  # noqa: PLC0415

    assert ask() is None


def test_what_nvml_says_comes_before_what_the_tables_say(tmp_path: Path) -> None:
    machine = healthy(tmp_path)
    nvml = Nvml("580.95.05", "13.1", (Device("NVIDIA Z9000", "9.9", 10**11),))
    lines = {
        line.name: line
        for line in gpu_lines(Host(machine.root), read_driver(Host(machine.root)), nvml, "2026-12-02")
    }
    assert lines["GPU"].seen == "NVIDIA Z9000, compute capability 9.9, 100.00 GB"
    assert lines["CUDA"].seen == "driver 580.95.05 speaks CUDA 13.1, as it says"


def test_nvml_is_never_loaded_for_another_machines_files(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gpuimage.doctor import doctor;"
        f"doctor(Path({str(healthy(tmp_path).root)!r}), offline=True); print('pynvml' in sys.modules, 'docker' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# --- the container toolkit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "first"),
    [("ubuntu", "gpgkey"), ("debian", "gpgkey"), ("rocky", "/etc/yum.repos.d/"), ("leap", "sudo zypper ar ")],
)
def test_a_missing_toolkit_is_installed_set_up_and_the_daemon_restarted(
    tmp_path: Path, system: str, first: str
) -> None:
    machine = Machine(tmp_path, system).bus().module("580.95.05").libraries("580.95.05").nodes()
    line = named(look(machine), "container toolkit")
    assert (line.status, line.stops) == ("missing", "gpu")
    assert first in line.mend[0]
    assert any("install -y nvidia-container-toolkit" in command for command in line.mend)
    assert line.mend[-2:] == (
        "sudo nvidia-ctk runtime configure --runtime=docker",
        "sudo systemctl restart docker",
    )


def test_the_hook_serves_gpus_without_a_runtime_which_is_told(tmp_path: Path) -> None:
    machine = Machine(tmp_path).bus().module("580.95.05").libraries("580.95.05").nodes().toolkit()
    found = look(machine)
    assert named(found, "GPU in containers").status == "ok"
    assert named(found, "docker runtime").status == "warning"
    assert "nvidia-ctk runtime configure" in named(found, "docker runtime").mend[0]


def test_a_runtime_whose_program_is_gone_is_missing(tmp_path: Path) -> None:
    machine = healthy(tmp_path).daemon(
        {"runtimes": {"nvidia": {"path": "/opt/gone/nvidia-container-runtime"}}}
    )
    line = named(look(machine), "docker runtime")
    assert line.status == "missing"
    assert "/opt/gone/nvidia-container-runtime" in line.seen


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"runtimes": {\n  "nvidia": {"path": "x",}\n}}', "line 2, column 26"),
        ("[]", "no JSON object"),
        ("{" * 100_000, "line 1"),
        (b"\xff\xfe\x00", "line 1, column 1"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_broken_settings_of_docker_are_told_with_their_place(
    tmp_path: Path, text: str | bytes, said: str
) -> None:
    found = look(healthy(tmp_path).write("/etc/docker/daemon.json", text))
    line = named(found, "docker settings")
    assert line.status == "missing"
    assert said in line.seen
    assert line.mend == ("sudo dockerd --validate --config-file=/etc/docker/daemon.json",)
    assert not found.can_use_gpu


@pytest.mark.parametrize("text", ["", " \n", "\ufeff{}", '{"runtimes": null}', '{"runtimes": []}'])
def test_settings_that_the_daemon_takes_are_no_trouble(tmp_path: Path, text: str) -> None:
    found = look(healthy(tmp_path).write("/etc/docker/daemon.json", text))
    assert not [line for line in found.lines if line.name == "docker settings"]
    assert named(found, "docker runtime").status == "warning"


def test_cdi_alone_serves_device_and_says_what_gpus_needs(tmp_path: Path) -> None:
    machine = Machine(tmp_path).bus().module("580.95.05").libraries("580.95.05").nodes()
    found = look(machine.toolkit(programs=("nvidia-ctk", "nvidia-cdi-hook")).cdi("580.95.05"))
    assert named(found, "CDI").seen == "/etc/cdi/nvidia.yaml: nvidia.com/gpu=0, nvidia.com/gpu=all"
    line = named(found, "GPU in containers")
    assert (line.status, line.stops) == ("warning", "gpu")
    assert "--device nvidia.com/gpu=all works" in line.seen
    assert "29.2.0" in line.why


def test_a_cdi_file_of_another_driver_is_written_again(tmp_path: Path) -> None:
    machine = (
        Machine(tmp_path, "fedora").bus().module("580.95.05").libraries("580.95.05", "/usr/lib64").nodes()
    )
    machine.toolkit(programs=("nvidia-ctk", "nvidia-cdi-hook")).write("/usr/bin/podman")
    machine.cdi("580.82.07", "/var/run/cdi/nvidia.yaml", "/usr/lib64")
    found = look(machine)
    line = named(found, "CDI")
    assert (line.status, line.mend) == (
        "missing",
        ("sudo nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml",),
    )
    assert named(found, "GPU in containers").status == "missing"
    machine.cdi("580.95.05", "/var/run/cdi/nvidia.yaml", "/usr/lib64")
    assert named(look(machine), "GPU in containers").seen == "podman run --device nvidia.com/gpu=all"


@pytest.mark.parametrize(
    "text", ["a: [", "kind: nvidia.com/gpu\ndevices: 7\n", "- a\n- b\n", "", b"\x00\x01", "&a [*a, *a]"]
)
def test_cdi_files_that_say_nothing_are_not_trusted(tmp_path: Path, text: str | bytes) -> None:
    machine = Machine(tmp_path).bus().module("580.95.05").libraries("580.95.05").nodes()
    machine.toolkit(programs=("nvidia-ctk",)).write("/etc/cdi/nvidia.yaml", text)
    found = look(machine)
    assert named(found, "CDI").status == "missing"
    assert not found.can_use_gpu


def test_files_of_cdi_that_are_gone_are_told(tmp_path: Path) -> None:
    machine = healthy(tmp_path).cdi("580.95.05")
    (machine.root / "dev" / "nvidia-uvm").unlink()
    line = named(look(machine), "CDI")
    assert line.status == "warning"
    assert "/dev/nvidia-uvm" in line.seen


def test_a_hook_that_refuses_because_of_its_mode_is_told(tmp_path: Path) -> None:
    machine = healthy(tmp_path).write(
        "/etc/nvidia-container-runtime/config.toml", '[nvidia-container-runtime]\nmode = "cdi"\n'
    )
    line = named(look(machine), "GPU in containers")
    assert (line.status, line.stops) == ("missing", "gpu")
    assert "nvidia-container-runtime.mode=auto" in line.mend[0]


def test_a_hook_without_the_program_that_it_starts_is_missing(tmp_path: Path) -> None:
    machine = Machine(tmp_path).bus().module("580.95.05").libraries("580.95.05").nodes()
    machine.toolkit(programs=tuple(set(TOOLKIT) - {"nvidia-container-cli"}))
    assert named(look(machine), "container toolkit").status == "missing"


def served(machine: Machine, version: str, details: Details) -> dict[str, Line]:
    """What a daemon means for the GPUs of a machine, by what it would say of itself."""
    health = Health("docker", version, available=True, details=details)
    lines = container_lines(
        Host(machine.root), gpu_works=True, driver="580.95.05", engine="docker", health=health
    )
    return {line.name: line for line in lines}


def test_since_docker_29_2_cdi_comes_before_the_hook(tmp_path: Path) -> None:
    machine, cdi = healthy(tmp_path), Details(cdi_directories=("/etc/cdi",), runtimes=("nvidia", "runc"))
    machine.cdi("580.95.05")
    assert served(machine, "29.2.0", cdi)["GPU in containers"].seen == "docker run --gpus all, by CDI"
    assert "hook" in served(machine, "28.2.2", cdi)["GPU in containers"].seen
    machine.cdi("535.129.03")
    line = served(machine, "29.2.0", cdi)["GPU in containers"]
    assert (line.status, line.stops) == ("missing", "gpu")
    assert "does not fit the driver" in line.seen
    assert served(machine, "28.2.2", cdi)["GPU in containers"].status == "ok"


def test_a_daemon_on_another_machine_is_not_judged_by_the_files_of_this_one(tmp_path: Path) -> None:
    lines = served(healthy(tmp_path), "29.2.0", Details(address="tcp://10.0.0.1:2376", runtimes=("runc",)))
    assert list(lines) == ["GPU in containers"]
    assert lines["GPU in containers"].status == "skipped"


def test_of_two_cdi_files_the_later_directory_counts(tmp_path: Path) -> None:
    machine, cdi = (
        healthy(tmp_path),
        Details(cdi_directories=("/etc/cdi", "/var/run/cdi"), runtimes=("nvidia",)),
    )
    machine.cdi("535.129.03").cdi("580.95.05", "/var/run/cdi/nvidia.yaml")
    assert served(machine, "29.2.0", cdi)["CDI"].seen.startswith("/var/run/cdi/nvidia.yaml")
    assert served(machine, "29.2.0", cdi)["GPU in containers"].status == "ok"


def test_a_daemon_that_was_started_before_its_settings_changed_is_started_again(tmp_path: Path) -> None:
    line = served(healthy(tmp_path), "28.2.2", Details(runtimes=("runc",)))["docker runtime"]
    assert (line.status, line.mend) == ("warning", ("sudo systemctl restart docker",))


def test_a_rootless_daemon_needs_the_toolkit_to_leave_cgroups_alone(tmp_path: Path) -> None:
    machine, rootless = healthy(tmp_path), Details(rootless=True, runtimes=("nvidia",))
    line = served(machine, "28.2.2", rootless)["GPU in containers"]
    assert line.mend == ("sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place",)
    machine.write("/etc/nvidia-container-runtime/config.toml", "[nvidia-container-cli]\nno-cgroups = true\n")
    assert served(machine, "28.2.2", rootless)["GPU in containers"].status == "ok"


@pytest.mark.parametrize(
    ("version", "has"),
    [
        ("20.10.24+dfsg1", False),
        ("29.1.5", False),
        ("29.2.0-1~ubuntu.24.04", True),
        ("30.0", True),
        ("dev", None),
        (None, None),
    ],
)
def test_a_dockers_version_is_read_as_distributions_write_it(version: str | None, has: bool | None) -> None:
    assert docker_has("gpus-by-cdi", version) is has


# --- a spec on this machine -----------------------------------------------------------------------------------------


def test_a_spec_is_held_against_the_driver_and_the_gpu(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text('image: example.com/a:1\ncuda: "13.0"\narch: "9.0"\nwheels: [torch==2.13.0]\n')
    lines = [
        line for line in look(healthy(tmp_path / "m"), specs=(load_spec(spec),)).lines if line.name == "spec"
    ]
    assert [line.status for line in lines] == ["ok", "missing"]
    assert "none of it runs on NVIDIA A10G (8.6)" in lines[1].seen
    old = healthy(tmp_path / "n", version="570.86.10")
    first = next(line for line in look(old, specs=(load_spec(spec),)).lines if line.name == "spec")
    assert (first.status, first.stops) == ("warning", None)  # an A10G gets there by cuda-compat
    assert "cuda-compat-13-0" in first.why


# --- hostile trees --------------------------------------------------------------------------------------------------


def test_loops_fifos_directories_and_garbage_are_survived(tmp_path: Path) -> None:
    machine = Machine(tmp_path).bus()
    machine.link("/etc/docker/daemon.json", "daemon.json").link(
        "/usr/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1"
    )
    machine.write("/proc/driver/nvidia/version", b"\xff\x00" * 1000).write("/sys/module/nvidia/version", "")
    machine.write("/etc/ld.so.conf", "include /etc/ld.so.conf\ninclude /etc/*\n")
    machine.place("/etc/cdi/nvidia.yaml").mkdir()
    machine.place("/proc/driver/nvidia/gpus/0/information").mkdir()
    os.mkfifo(machine.place("/etc/pip.conf"))
    machine.link("/etc/pki", "/etc/pki/../pki")
    assert named(look(machine), "driver").status in ("ok", "missing")


READ = (
    "/etc/os-release", "/etc/ld.so.conf", "/etc/docker/daemon.json", "/etc/cdi/nvidia.yaml", "/etc/cdi/nvidia.json",
    "/etc/nvidia-container-runtime/config.toml", "/etc/pip.conf", "/proc/driver/nvidia/version",
    "/proc/driver/nvidia/gpus/0000:01:00.0/information", "/sys/module/nvidia/version",
    "/sys/bus/pci/devices/0000:01:00.0/vendor", "/usr/local/share/ca-certificates/a.crt",
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    files=st.dictionaries(
        st.sampled_from(READ), st.binary(max_size=60) | st.text(max_size=60).map(str.encode)
    )
)
def test_whatever_the_files_hold_there_is_an_answer(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = healthy(Path(folder))
        for path, content in files.items():
            machine.write(path, content)
        assert look(machine).lines


def test_links_never_leave_the_root(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("secret")
    machine = Machine(tmp_path / "root")
    machine.link("/etc/a", "../../../../outside").link("/etc/b", str(tmp_path / "outside"))
    host = Host(machine.root)
    assert (host.read("/etc/a"), host.read("/etc/b"), host.read("/../outside")) == (None, None, None)


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def run(command: Command) -> Command:
    return partial(command, "doctor")


def test_every_line_that_is_missing_has_a_command_and_a_reason(tmp_path: Path, run: Command) -> None:
    machine = Machine(tmp_path).bus().module("580.95.05").write("/etc/docker/daemon.json", "{")
    code, out, _ = run("--root", str(machine.root), "--offline", "--json")
    document = json.loads(out)
    missing = [line for line in document["lines"] if line["status"] == "missing"]
    assert len(missing) >= 4
    assert all(line["why"] and line["mend"] for line in missing)
    assert (code, document["passed"], document["can_use_gpu"]) == (0, True, False)
    assert run("--root", str(machine.root), "--offline", "--format", "json")[1] == out


def test_a_gpu_that_is_required_and_missing_fails(tmp_path: Path, run: Command) -> None:
    root = str(Machine(tmp_path).root)
    assert run("--root", root, "--offline")[0] == 0
    assert run("--root", root, "--offline", "--require", "gpu")[0] == 1
    assert run("--root", str(healthy(tmp_path / "b").root), "--offline", "--require", "gpu")[0] == 0


@pytest.mark.parametrize("root", ["nothing", "a-file"])
def test_a_root_that_is_no_directory_is_one_clear_error(work: Path, run: Command, root: str) -> None:
    (work / "a-file").write_text("")
    code, out, err = run("--root", root)
    assert (code, out) == (2, "")
    assert "no directory" in err
    assert "Traceback" not in err
    with pytest.raises(SpecError):
        doctor(Path(root))


def test_names_that_would_steer_a_terminal_are_written_out(tmp_path: Path, run: Command) -> None:
    machine = healthy(tmp_path).module("580.95.05", models=("NVIDIA \x1b[31mA10G",))
    assert "\x1b" not in run("--root", str(machine.root), "--offline")[1]


def test_the_readme_shows_what_doctor_says(tmp_path: Path, run: Command) -> None:
    machine = healthy(tmp_path, version="535.154.05").module("535.129.03").cdi("535.129.03")
    (example,) = shown("### doctor")
    assert example.command == "gpuimage doctor --root /mnt/gpu-host --offline"
    compare(example, run("--root", str(machine.root), "--offline")[1])
