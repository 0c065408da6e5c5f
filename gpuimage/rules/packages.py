"""CUDA and driver packages by their names: which bring the driver, which the toolkit, which libraries."""

from __future__ import annotations

from collections.abc import Iterator

from gpuimage.facts import FileFacts, Package, StageFacts, SystemCall
from gpuimage.patterns import pattern

# Parts of the driver (apt_packages.json kind driver, and their siblings in Ubuntu, Debian and RPM repositories).
DRIVER = pattern(
    r"nvidia-driver(-\S+)?|cuda-drivers(-\S+)?|nvidia-(headless|utils|kernel\S*|dkms|compute-utils|settings|smi|open|modprobe|persistenced)(-\S+)?"
    r"|libnvidia-(compute|gl|cfg1|decode|encode|extra|fbc1|common|ml1|ifr1|eglcore|glcore|nscq|nvvm4|ptxjitcompiler1)(-\S+)?"
    r"|libcuda1(-\S+)?|nvidia-libopencl1(-\S+)?|nvidia-fabricmanager(-\S+)?|xserver-xorg-video-nvidia(-\S+)?|kmod-nvidia\S*|libnvcuvid1|libnvidia-encode1"
)
# Headers and link stubs with driver-like names, which a build may have.
_HEADERS = pattern(r"libnvidia-ml-dev|.*-dev(el)?|nvidia-settings-legacy.*")
META = pattern(
    r"cuda|cuda-(?P<major>\d+)-(?P<minor>\d+)|cuda-runtime-(?P<rmajor>\d+)-(?P<rminor>\d+)|cuda-runtime|cuda-demo-suite-\d+-\d+"
)
CONTAINER_TOOLKIT = pattern(
    r"nvidia-container-(toolkit|runtime)(-\S+)?|nvidia-docker2?(-\S+)?|libnvidia-container(\d|-tools|-static)?(-\S+)?"
)
TOOLKIT = pattern(
    r"cuda-(toolkit|nvcc|minimal-build|compiler|libraries-dev|command-line-tools|nsight\S*|visual-tools|tools)(-\d+-\d+)?"
)
LIBRARIES = pattern(
    r"cuda-(libraries|cudart|nvrtc|nvtx)-\d+-\d+|lib(cublas|cufft|curand|cusolver|cusparse|npp|nvjpeg|nvjitlink)-\d+-\d+"
)
CUDNN = pattern(r"libcudnn\d+(-dev)?(-cuda-\d+)?|libcudnn\d+-(dev|headers)-cuda-\d+|cudnn\d*(-cuda-\d+)?")
NCCL = pattern(r"libnccl(2|-dev)")


def is_driver(name: str) -> bool:
    """Whether a package is a part of the driver."""
    return bool(DRIVER.fullmatch(name)) and not _HEADERS.fullmatch(name)


def installed(file: FileFacts, stage: StageFacts) -> Iterator[tuple[SystemCall, Package]]:
    """Every package that a stage itself installs with apt, dnf, apk or zypper."""
    for step in stage.steps:
        for call in file.system(step):
            for package in call.packages if call.installs else ():
                yield call, package
