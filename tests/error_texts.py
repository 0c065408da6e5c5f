"""Error texts as people paste them: the programs' own messages in noise of our own wording, and texts that hold none.

The forms (prefixes, breaks, escapes) follow public bug reports; no text is copied from one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

TORCH = "/usr/local/lib/python3.12/site-packages/torch"


@dataclass(frozen=True)
class Text:
    """A text, the id of its first cause, the ids of all that is known in it in order, and parts of the first one's facts."""

    name: str
    text: str
    ids: tuple[str, ...]
    facts: tuple[str, ...] = ()
    line: int | None = None

    @property
    def first(self) -> str:
        return self.ids[0]


# --- the noise --------------------------------------------------------------------------------------------------


def buildkit(step: int, lines: Iterable[str], began: float = 1.0) -> list[str]:
    """Output of one step, as `docker buildx build --progress plain` shows it."""
    return [f"#{step} {began + n * 0.37:.2f} {line}" for n, line in enumerate(lines)]


def legacy(lines: Iterable[str]) -> list[str]:
    """Output of the old builder, errors in red."""
    return [
        "Step 7/12 : RUN ./install.sh",
        " ---> Running in 3f0c5a7d9e11",
        *(f"\x1b[91m{line}\n\x1b[0m" for line in lines),
    ]


def kubernetes(lines: Iterable[str], pod: str = "infer-7d9f8b6c5-x2x9p") -> list[str]:
    """`kubectl logs --prefix --timestamps`."""
    return [
        f"[pod/{pod}/server] 2026-11-30T08:12:{n % 60:02d}.{n:06d}Z {line}" for n, line in enumerate(lines)
    ]


def compose(service: str, lines: Iterable[str]) -> list[str]:
    """`docker compose logs`, in the service's colour."""
    return [f"\x1b[36m{service}-1  | \x1b[0m{line}" for line in lines]


def json_file(lines: Iterable[str]) -> list[str]:
    """The engine's own log files."""
    return [
        json.dumps({"log": f"{line}\n", "stream": "stderr", "time": f"2026-11-30T08:12:{n % 60:02d}Z"})
        for n, line in enumerate(lines)
    ]


def structured(lines: Iterable[str]) -> list[str]:
    """A logger that writes one object a record, with the traceback as one text."""
    return [json.dumps({"level": "ERROR", "logger": "serve", "exc_info": "\n".join(lines), "pid": 7})]


def interleaved(*streams: Sequence[str]) -> list[str]:
    """Containers that write at the same time."""
    longest = max(map(len, streams))
    return [stream[n] for n in range(longest) for stream in streams if n < len(stream)]


def bar(what: str, steps: int = 40) -> str:
    """A progress bar: one line, drawn again and again."""
    return "".join(
        f"\r{what}: {n * 100 // steps:3d}%|{'#' * n:<{steps}}| {n}/{steps}" for n in range(steps + 1)
    )


def traceback(*frames: str, error: str) -> list[str]:
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        lines += [f'  File "{frame}", line 42, in run', "    result = step(batch)"]
    return [*lines, *error.split("\n")]


PIP = [
    "Collecting numpy",
    "  Downloading numpy-2.3.1-cp312-cp312-manylinux_2_28_x86_64.whl (16.6 MB)",
    "\x1b[2K     \x1b[90m━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[32m16.6/16.6 MB\x1b[0m \x1b[31m88.1 MB/s\x1b[0m eta \x1b[36m0:00:00\x1b[0m",
    "Collecting packaging>=23",
    "  Using cached packaging-25.0-py3-none-any.whl (66 kB)",
]
APT = [
    "Get:1 http://deb.debian.org/debian trixie InRelease [140 kB]",
    "Get:2 http://deb.debian.org/debian trixie/main amd64 Packages [9669 kB]",
    "Fetched 9809 kB in 2s (5601 kB/s)",
    "Reading package lists...",
]
SERVING = [f'INFO:     10.0.0.{n}:53{n:03d} - "POST /v1/embed HTTP/1.1" 200 OK' for n in range(30)]
TRAINING = [f"epoch 1 step {n} loss {3 / (n + 1):.4f} tokens/s 18{n:03d} mem 21.4 GiB" for n in range(60)]
NINJA = [
    f"[{n}/73] c++ -MMD -MF build/obj{n}.o.d -fPIC -I{TORCH}/include -c csrc/op{n}.cpp -o build/obj{n}.o"
    for n in range(1, 30)
]
NVCC = "/usr/local/cuda/bin/nvcc -O3 -std=c++17 --expt-relaxed-constexpr -gencode arch=compute_120,code=sm_120 -c csrc/attn.cu -o build/attn.o"
RUNC = (
    "docker: Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime create "
    "failed: runc create failed: unable to start container process: error during container init: error running prestart "
    "hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'"
)


def _log(*parts: Iterable[str] | str) -> str:
    lines: list[str] = []
    for part in parts:
        lines += [part] if isinstance(part, str) else list(part)
    return "\n".join(lines) + "\n"


# --- one message ------------------------------------------------------------------------------------------------

SINGLE = (
    Text("kernel", "RuntimeError: CUDA error: no kernel image is available for execution on the device", ("no-kernel-image",)),
    Text("kernel-cupy", "cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available for execution on the device", ("no-kernel-image",)),
    Text("numba-ptx", "numba.cuda.cudadrv.driver.CudaAPIError: [222] Call to cuLinkAddData results in CUDA_ERROR_UNSUPPORTED_PTX_VERSION", ("unsupported-ptx",)),
    Text("driver-jax", "jaxlib.xla_extension.XlaRuntimeError: INTERNAL: no supported devices found: CUDA driver version is insufficient for CUDA runtime version", ("insufficient-driver",)),
    Text("driver-torch", "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver", ("torch-driver-too-old",), ("speaks CUDA 11.4 (branch 470)",)),
    Text("804", "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices()? Error 804: forward compatibility was attempted on non supported HW (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:109.)", ("compat-unsupported-hw",)),
    Text("802", "Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", ("system-not-ready",)),
    Text("oom", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 21.98 GiB", ("oom",)),
    Text("sm120", "NVIDIA RTX PRO 6000 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.", ("torch-sm-incompatible",), ("the GPU is 12.0", "5.0 6.0 7.0 7.5 8.0 8.6 9.0", "CUDA 12.8 or newer")),
    Text("pascal", "Found GPU0 Tesla P100-PCIE-16GB which is of cuda capability 6.0. PyTorch no longer supports this GPU because it is too old.", ("torch-cc-too-old",), ("CUDA 10.0 to 12.9",)),
    Text("arch-70", "nvcc fatal   : Unsupported gpu architecture 'compute_70'", ("nvcc-unsupported-arch",), ("compute_70", "to 12.9")),
    Text("arch-native", "nvcc fatal   : Unsupported gpu architecture 'compute_native'", ("nvcc-unsupported-arch",)),
    Text("ptxas", "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'", ("ptxas-unknown-arch",)),
    Text("isa", "ptxas application ptx input, line 9; fatal   : Unsupported .version 8.7; current version is '8.4'", ("ptxas-version",), ("CUDA 12.8",)),
    Text("list", "ValueError: Unknown CUDA arch (8.6,8.9) or GPU not supported", ("unknown-cuda-arch",), ("commas",)),
    Text("mismatch", "RuntimeError:\nThe detected CUDA version (12.4) mismatches the version that was used to compile\nPyTorch (13.0). Please make sure to use the same CUDA versions.", ("cuda-version-mismatch",), ("nvcc is that of CUDA 12.4, and torch was built for CUDA 13.0", "nvidia/cuda:13.0")),
    Text("gcc", "/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 12 are not supported! The nvcc flag", ("host-gcc-too-new",), ("gcc 13 is taken from CUDA 12.4 on",)),
    Text("cudnn8", "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file: No such file or directory", ("libcudnn-missing",), ("cudnn-runtime",)),
    Text("cudnn9", "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}\nInvalid handle. Cannot load symbol cudnnCreateTensorDescriptor", ("libcudnn-missing",), ("libcudnn_ops.so.9 is in the wheel nvidia-cudnn-cu11 or nvidia-cudnn-cu12",)),
    Text("cublas", "RuntimeError: Library libcublas.so.12 is not found or cannot be loaded", ("libcublas-missing",), ("nvidia-cublas-cu12",)),
    Text("libgl", "ImportError: libGL.so.1: cannot open shared object file: No such file or directory", ("libgl-missing",), ("libgl1",)),
    Text("glib", "ImportError: libgthread-2.0.so.0: cannot open shared object file: No such file or directory", ("library-missing",), ("libglib2.0-0",)),
    Text("ort", "[E:onnxruntime:Default, provider_bridge_ort.cc:2195] Failed to load library libonnxruntime_providers_cuda.so with error: libcufft.so.11: cannot open shared object file: No such file or directory", ("library-missing",), ("nvidia-cufft-cu12",)),
    Text("nvjitlink", "ImportError: /opt/venv/lib/python3.10/site-packages/nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: __nvJitLinkGetErrorLogSize_12_9, version libnvJitLink.so.12", ("libnvjitlink-symbol",), ("libcusparse.so.12 wants __nvJitLinkGetErrorLogSize_12_9 of libnvJitLink.so.12",)),
    Text("cublaslt", "OSError: /app/venv/nvidia/cublas/lib/libcublas.so.11: symbol cublasLtGetStatusString version libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference", ("cuda-symbol",), ("libcublas.so.11 wants cublasLtGetStatusString",)),
    Text("abi", "ImportError: /x/site-packages/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx11E", ("torch-abi-symbol",)),
    Text("glibc", "/opt/tool: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /opt/tool)", ("glibc-too-old",), ("ubuntu24.04, debian13",)),
    Text("torchvision", "RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA major versions. PyTorch has CUDA Version=13.0 and torchvision has CUDA Version=12.8.", ("torchvision-mismatch",), ("torch is built for CUDA 13.0, the other one for CUDA 12.8",)),
    Text("local-build", "ERROR: Could not find a version that satisfies the requirement torch==2.9.1+cu118 (from versions: 2.2.0, 2.9.1)\nERROR: No matching distribution found for torch==2.9.1+cu118", ("no-matching-wheel",), ("has no build cu118", "Python 3.10")),
    Text("no-gpu-driver", 'Error response from daemon: could not select device driver "nvidia" with capabilities: [[gpu]]', ("docker-no-gpu-driver",)),
    Text("require", "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, please update your driver to a newer version, or use an earlier cuda container: unknown.", ("ctk-requirement",), ("560.28.03",)),
    Text("cdi", "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", ("cdi-unresolvable",)),
    Text("tag", "docker: Error response from daemon: manifest for nvidia/cuda:12.7.0-base-ubuntu22.04 not found: manifest unknown: manifest unknown.", ("manifest-unknown",), ("12.7 was never released",)),
    Text("sandbox", 'Warning  FailedCreatePodSandBox  12s (x10 over 2m)  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured', ("k8s-no-runtime",)),
    Text("uid", "KeyError: 'getpwuid(): uid not found: 1042'", ("uid-without-name",)),
    Text("triton-cache", "PermissionError: [Errno 13] Permission denied: '/.triton'", ("cache-not-writable",)),
)  # fmt: skip

# --- whole logs -------------------------------------------------------------------------------------------------

LOGS = (
    Text(
        "buildkit-ninja",
        _log(
            "#0 building with \"default\" instance using docker driver", buildkit(8, APT), buildkit(9, PIP),
            buildkit(11, [*NINJA, "[30/73] " + NVCC, "FAILED: build/attn.o", NVCC,
                          "nvcc fatal   : Unsupported gpu architecture 'compute_120'", "ninja: build stopped: subcommand failed.",
                          *traceback(f"{TORCH}/utils/cpp_extension.py", error="RuntimeError: Error compiling objects for extension")]),
            "#11 ERROR: process \"/bin/sh -c pip wheel .\" did not complete successfully: exit code: 1", "------",
        ),
        ("nvcc-unsupported-arch", "ext-build-failed"), ("CUDA 12.8",),
    ),
    Text(
        "legacy-build-colours",
        _log(legacy([*APT, "W: GPG error: https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2004/x86_64  InRelease: The following signatures couldn't be verified because the public key is not available: NO_PUBKEY A4B469963BF863CC",
                     "E: The repository 'https://developer.download.nvidia.com/compute/cuda/repos/ubuntu2004/x86_64  InRelease' is not signed."]),
             "The command '/bin/sh -c ./install.sh' returned a non-zero code: 100"),
        ("apt-no-pubkey",),
    ),
    Text(
        "driver-too-old-then-no-gpus",
        _log(SERVING[:5], f"{TORCH}/cuda/__init__.py:181: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 12040). Please update your GPU driver",
             "  return torch._C._cuda_getDeviceCount() > 0", SERVING, traceback("/app/serve.py", error="RuntimeError: No CUDA GPUs are available")),
        ("torch-driver-too-old", "torch-no-gpus"), ("CUDA 12.4",), 6,
    ),
    Text(
        "consequence-printed-first",
        _log("W tensorflow: Could not find cuda drivers on your machine, GPU will not be used.", TRAINING[:10],
             traceback("/app/a.py", error="RuntimeError: No CUDA GPUs are available"), "# the same from the other process",
             "CUDA initialization: CUDA driver version is insufficient for CUDA runtime version"),
        ("insufficient-driver", "torch-no-gpus", "tf-no-gpu"),
    ),
    Text(
        "eol-notice-is-no-cause",
        _log("==========", "== CUDA ==", "==========", "CUDA Version 11.7.1", "*************************", "** DEPRECATION NOTICE! **", "*************************",
             "THIS IMAGE IS DEPRECATED and is scheduled for DELETION.", TRAINING,
             traceback("/app/train.py", error="RuntimeError: CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might be asynchronously reported at some other API call")),
        ("no-kernel-image", "eol-notice"),
    ),
    Text(
        "kubernetes-interleaved",
        _log(interleaved(kubernetes(SERVING), kubernetes([*TRAINING[:12], *traceback("/app/worker.py", error="ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory"), "exiting"], "worker-0"))),
        ("libcudart-missing",), ("nvidia-cuda-runtime-cu11",),
    ),
    Text(
        "compose-colours",
        _log(interleaved(compose("web", SERVING[:20]), compose("asr", [*TRAINING[:6], "Unable to load any of {libcudnn_cnn.so.9.1.0, libcudnn_cnn.so.9.1, libcudnn_cnn.so.9, libcudnn_cnn.so}", "Invalid handle. Cannot load symbol cudnnCreateConvolutionDescriptor"]))),
        ("libcudnn-missing",), ("libcudnn_cnn.so.9",),
    ),
    Text(
        "json-file-log",
        _log(json_file([*SERVING[:15], *traceback("/app/serve.py", error='nvidia-container-cli: device error: "GPU-1a2b": unknown device'), "\x1b[31mFailed to initialize NVML: Driver/library version mismatch\x1b[0m"])),
        ("ctk-device-error", "nvml-mismatch"),
    ),
    Text(
        "structured-traceback",
        _log([json.dumps({"level": "INFO", "msg": line}) for line in SERVING[:12]],
             structured(traceback("/app/model.py", f"{TORCH}/nn/modules/linear.py", error="torch.AcceleratorError: CUDA error: the provided PTX was compiled with an unsupported toolchain.\nSearch for more"))),
        ("unsupported-ptx",), (), 13,
    ),
    Text(
        "runc-escaped",
        _log("[+] Running 2/2", " ✔ Network app_default  Created", f"{RUNC}\\nnvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory: unknown."),
        ("ctk-load-library",),
    ),
    Text(
        "go-json-escaped",
        _log('time="2026-11-30T08:12:01Z" level=info msg="starting"',
             json.dumps({"level": "error", "err": f"{RUNC}\\nnvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update"}).replace(">", "\\u003e")),
        ("ctk-requirement",), ("CUDA 12.8",),
    ),
    Text(
        "progress-bars",
        bar("Downloading shards") + bar("Loading weights") + "\rRuntimeError: CUDA error: invalid device function\n" + _log(TRAINING[:3]),
        ("invalid-device-function",), (), 1,
    ),
    Text(
        "pytest",
        _log("============================= test session starts ==============================", "collected 214 items", "",
             [f"tests/test_{n}.py ......                                          [ {n:2d}%]" for n in range(40)],
             "=================================== FAILURES ===================================", "____________________________ test_forward[cuda] _____________________________",
             "    def test_forward(device):", ">       model.to(device)", "E       AssertionError: Torch not compiled with CUDA enabled", f"{TORCH}/cuda/__init__.py:403: AssertionError",
             "=========================== short test summary info ============================",
             "FAILED tests/test_model.py::test_forward[cuda] - AssertionError: Torch not compiled with CUDA enabled"),
        ("torch-cpu-build",),
    ),
    Text(
        "pip-needs-nvcc",
        _log(PIP, "Building wheels for collected packages: causal-conv1d", "  Building wheel for causal-conv1d (setup.py): started", "  Building wheel for causal-conv1d (setup.py): finished with status 'error'",
             "  error: subprocess-exited-with-error", "  × python setup.py bdist_wheel did not run successfully.", "  │ exit code: 1", "  ╰─> [20 lines of output]",
             [f"      {line}" for line in traceback("/tmp/pip-install/setup.py", error="OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.")],
             "      [end of output]", "  ERROR: Failed building wheel for causal-conv1d"),
        ("cuda-home-unset",),
    ),
    Text(
        "killed-compiler",
        _log(buildkit(14, [*NINJA, "nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "ninja: build stopped: subcommand failed.",
                           "RuntimeError: Error compiling objects for extension"])),
        ("compile-killed", "ext-build-failed"),
    ),
    Text(
        "shm",
        _log([f"[rank{n % 4}]: {line}" for n, line in enumerate(TRAINING)],
             "gpu01:211:305 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via SHM/direct/direct",
             "gpu01:211:305 [1] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-4Q5lwK to 9637892 bytes, error: No space left on device (28)",
             "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3690, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.27.5"),
        ("nccl-shm", "nccl-unhandled"),
    ),
    Text(
        "wrapped-by-a-terminal",
        _log("╭───────────────────── Traceback (most recent call last) ──────────────────────╮", "│ /app/cli.py:88 in main                                                        │",
             "╰───────────────────────────────────────────────────────────────────────────────╯", "AcceleratorError: CUDA error: no kernel image is available for execution on the ", "device"),
        ("no-kernel-image",), (), 4,
    ),
    Text(
        "podman-disk-full",
        _log("STEP 5/9: RUN pip install torch", PIP, "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "Error: building at STEP \"RUN pip install torch\": while running runtime: exit status 1"),
        ("disk-full",),
    ),
    Text(
        "crlf",
        _log(TRAINING[:20], "ImportError: libGL.so.1: cannot open shared object file: No such file or directory").replace("\n", "\r\n"),
        ("libgl-missing",), ("libgl1",), 21,
    ),
)  # fmt: skip

# --- nothing known in them --------------------------------------------------------------------------------------

UNRELATED = {
    "empty": "",
    "greeting": "hello world",
    "module": "ModuleNotFoundError: No module named 'fastapi'",
    "key": _log(traceback("/app/a.py", "/app/b.py", error="KeyError: 'model'")),
    "shape": "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x768 and 512x10)",
    "nan": _log(TRAINING, "ValueError: loss is nan, stopping"),
    "npm": "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR! web@1.0.0 build: `vite build`",
    "make": "make: *** [Makefile:3: all] Error 2",
    "network": _log([f"2026/11/30 08:12:{n:02d} dial tcp 10.0.3.{n}:5432: connect: connection refused, retrying" for n in range(50)]),
    "http": 'requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: https://example.org/api',
    "permission": "PermissionError: [Errno 13] Permission denied: '/data/train.parquet'",
    "file": "FileNotFoundError: [Errno 2] No such file or directory: 'weights/model.safetensors'",
    "command": "bash: kubectl: command not found",
    "trained": _log("Using device: cuda (NVIDIA H100 80GB HBM3, compute capability 9.0, CUDA 12.8, driver 570.86.15)", "NCCL version 2.27.5+cuda12.8",
                    "CUDA_VISIBLE_DEVICES=0,1,2,3 NVIDIA_VISIBLE_DEVICES=all", "torch.cuda.is_available(): True", TRAINING, "saved checkpoint to /models/step-60; CUDA memory peak 61.2 GiB", "done"),
    "built": _log(buildkit(8, APT), buildkit(11, [*NINJA, NVCC, "[73/73] linking ext.so", "Successfully built kernels", "Successfully installed flash-attn-2.8.3"]), "#12 exporting layers done"),
    "smi": "| NVIDIA-SMI 570.86.15    Driver Version: 570.86.15    CUDA Version: 12.8 |\n|   0  NVIDIA A100-SXM4-40GB   On | 00000000:07:00.0 Off |",
    "documentation": "A wheel without machine code for your card fails with `no kernel image is available for execution on the device`, and an old driver with `CUDA driver version is insufficient for CUDA runtime version`; both are explained below.",
    "enumeration": "cudaErrorInsufficientDriver = 35\n    This indicates that the installed NVIDIA CUDA driver is older than the CUDA runtime library.\ncudaErrorNoDevice = 100",
    "manual": "--gpu-architecture (-arch): specify the class of NVIDIA GPU architecture; unsupported architectures are reported by nvcc as fatal.",
    "sql": "psycopg2.errors.UndefinedTable: relation \"jobs\" does not exist",
    "binary": "\x00\x01\x02\x7fELF\x02\x01\x01" * 50,
}  # fmt: skip
