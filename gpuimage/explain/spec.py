"""What in a spec causes an error: the key, its place and value, why, and the smallest change. Nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from gpuimage.arch import ComputeCapability
from gpuimage.explain.case import Case
from gpuimage.explain.gpu_causes import GPU_CAUSES
from gpuimage.explain.types import Cause, Diagnosis, lacking_capability
from gpuimage.explain.wheel_causes import WHEEL_CAUSES
from gpuimage.lock import Lock
from gpuimage.spec import SpecFile
from gpuimage.tables import glibc_releases

Finder = Callable[[Case, Diagnosis], Iterator[Cause]]


def spec_causes(
    found: Sequence[Diagnosis],
    file: SpecFile,
    *,
    lock: Lock | None = None,
    targets: Sequence[ComputeCapability] = (),
) -> tuple[Diagnosis, ...]:
    """Return the diagnoses with what in a spec causes each; `targets` are GPUs that the messages do not name.

    Where the spec cannot be the cause, that is said, and where it cannot be told, that too.
    """
    case = Case(file, lock, found, tuple(targets))
    return tuple(replace(one, spec=_causes(case, one)) for one in found)


def _causes(case: Case, one: Diagnosis) -> tuple[Cause, ...]:
    finder = _FINDERS.get(one.error.id)
    if finder and (causes := tuple(finder(case, one))):
        return causes
    if one.error.elsewhere:
        return (case.not_here(one.error.elsewhere),)
    return (case.unknown(f"what in {case.file.path.name} causes this, the message does not tell"),)


# Run-time environment


def _library_path(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """An older library comes first: by the spec's own LD_LIBRARY_PATH, or from a base with a CUDA of its own."""
    for key, value in case.environment("LD_LIBRARY_PATH", "LD_PRELOAD"):
        yield case.cause(
            key, f"the loader looks in {value} before it looks beside the wheels", f"remove {key}"
        )
        return
    if case.spec.base != "auto":
        yield case.unknown(
            f"base: {case.spec.base} may hold a second CUDA; `--image` shows which file is found first",
            "base: auto, where nothing but the wheels needs CUDA",
        )


def _stub(case: Case, one: Diagnosis) -> Iterator[Cause]:
    for key, value in case.environment("LD_LIBRARY_PATH"):
        if "stubs" in value:
            yield case.cause(
                key, "it puts the link-time stub of the driver where the loader looks", "take the stubs out"
            )


def _capabilities(case: Case, one: Diagnosis) -> Iterator[Cause]:
    for key, value in case.environment("NVIDIA_DRIVER_CAPABILITIES"):
        if wanted := lacking_capability(one, value):
            yield case.cause(
                key, f"the toolkit brings no library of `{wanted}`", f'{key}: "{value},{wanted}"'
            )


def _devices(case: Case, one: Diagnosis) -> Iterator[Cause]:
    for key, value in case.environment("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        if value != "all":
            yield case.cause(key, "it is fixed in the image, for every host", f"remove {key}")


def _user(case: Case, one: Diagnosis) -> Iterator[Cause]:
    user = case.spec.app.user if case.spec.app else "app"
    if user[:1].isdigit():
        yield case.cause("app.user", "a number, for which no user with a home is created", "app.user: app")
    for key, value in case.environment("HOME", "TRITON_CACHE_DIR", "HF_HOME", "XDG_CACHE_HOME"):
        yield case.unknown(f"{key} is {value}, which the user {user} may not be allowed to write")


def _jobs(case: Case, one: Diagnosis) -> Iterator[Cause]:
    for n, entry in enumerate(case.spec.compile):
        key = f"compile[{n}].env"
        if "MAX_JOBS" not in entry.env:
            yield case.cause(
                key, f"{entry.package} compiles as many files at once as there are cores", f'{key}: {{MAX_JOBS: "2"}}'
            )  # fmt: skip
        else:
            yield case.cause(
                f"{key}.MAX_JOBS", "still too many at once for the memory of this machine", "a smaller number"
            )


# What is in the image, and what was left out


def _triton(case: Case, one: Diagnosis) -> Iterator[Cause]:
    if case.spec.flavor == "devel" or case.spec.jit != "none":
        yield case.not_here(
            f"flavor: {case.spec.flavor} and jit: {case.spec.jit} bring a C compiler and headers"
        )
    else:
        yield case.cause("jit", "jit: none promises that nothing compiles at run time", "jit: triton")


def _toolkit(case: Case, one: Diagnosis) -> Iterator[Cause]:
    if case.spec.flavor == "devel":
        yield case.not_here("flavor: devel brings the whole toolkit")
        return
    key = case.wheel(one.building) if one.building else None
    if one.building and key and key.startswith("wheels"):
        yield case.cause(
            key, f"{one.building} has no wheel that fits and compiles CUDA code where it is installed, without a compiler",
            f"move it to compile: [{{package: {case.value(key)}}}]",
        )  # fmt: skip
    elif key:
        yield case.not_here(f"{key} is built in a stage with the whole toolkit")
    elif case.spec.jit == "nvcc":
        yield case.not_here("jit: nvcc brings nvcc and a C++ compiler")
    else:
        yield case.cause(
            "jit", f"flavor: runtime and jit: {case.spec.jit} put no CUDA compiler into the image",
            "jit: nvcc for what compiles at run time; `compile` for a package that is built when it is installed",
        )  # fmt: skip


def _compiler(case: Case, one: Diagnosis) -> Iterator[Cause]:
    key = case.wheel(one.building) if one.building else None
    if key and key.startswith("wheels"):
        yield from _toolkit(case, one)
    else:
        yield from _triton(case, one)


def _distribution_python(case: Case, one: Diagnosis) -> Iterator[Cause]:
    if case.spec.base == "auto":
        yield case.not_here("with base: auto pip installs into Python's own image, or into an environment")
    else:
        yield case.cause(
            "base", "its Python is the distribution's, which refuses pip",
            "base: auto, or a base with a Python of its own (python:3.x-slim)",
        )  # fmt: skip


def _base(case: Case, one: Diagnosis) -> Iterator[Cause]:
    """What the base brings along: an old repository key, an old C library, the end of its life."""
    if case.spec.base != "auto":
        yield case.cause("base", one.error.cause, "base: auto, or a newer base")


def _glibc(case: Case, one: Diagnosis) -> Iterator[Cause]:
    reference = case.plan.base if case.plan else None
    wanted = (one.named.version or "").removeprefix("GLIBC_")
    system = re.search(r"(ubuntu\d\d\.\d\d)", str(reference))
    releases = glibc_releases(".".join(wanted.split(".")[:2])) if wanted else ()
    if system and releases and system[1] not in releases:
        key = case.key_of("base", "base")
        yield case.cause(
            key, f"{reference} is older than glibc {wanted}, which {', '.join(releases)} have",
            "base: auto, or a base of one of those",
        )  # fmt: skip


def _image_name(case: Case, one: Diagnosis) -> Iterator[Cause]:
    named = one.named.image
    stages = case.plan.stages if case.plan else ()
    for stage in stages:
        if named and str(stage.reference).endswith(named):
            key = "compile" if stage.name == "builder" else case.key_of("base", "base")
            yield case.cause(
                key, f"the plan takes {stage.reference}", "another `cuda` or `python`, or name a `base`"
            )
            return
    if named and stages:
        yield case.not_here(f"its plan takes {', '.join(dict.fromkeys(str(s.reference) for s in stages))}")


def _old_base(case: Case, one: Diagnosis) -> Iterator[Cause]:
    for warning in case.warnings("base"):
        if "end of life" in warning.choice:
            yield case.cause(warning.key or "base", f"{warning.choice}: {warning.because}", "a newer `cuda`")
            return
    yield from _base(case, one)


def _driver_packages(case: Case, one: Diagnosis) -> Iterator[Cause]:
    for n, package in enumerate(case.spec.apt):
        if re.match(r"nvidia-driver|libnvidia-|cuda-drivers|cuda-compat|libcuda1|nvidia-utils", package):
            yield case.cause(f"apt[{n}]", "it puts a driver library into the image, and the host's is injected there",
                             f"remove {package}")  # fmt: skip
    if case.spec.base != "auto":
        yield from (
            ()
            if case.spec.apt
            else [case.unknown(f"base: {case.spec.base} may hold driver libraries; `--image` shows them")]
        )


# The build


def _certificate(case: Case, one: Diagnosis) -> Iterator[Cause]:
    if "x509" in one.text:
        yield case.not_here(
            "the engine itself does not trust the registry: its own list of authorities lacks this one"
        )
        return
    if case.spec.build.ca is None:
        yield case.cause(
            "build.ca", "no certificate authority is given, so downloads trust public ones only",
            "build: {ca: company-ca.pem}, or gpuimage build --ca FILE",
        )  # fmt: skip
    else:
        yield case.unknown(
            f"build.ca is {case.spec.build.ca}: whether it signed that server, only the server tells"
        )


def _apt_name(case: Case, one: Diagnosis) -> Iterator[Cause]:
    wanted = one.named.package
    for n, package in enumerate(case.spec.apt):
        if package.split("=")[0] == wanted:
            yield case.cause(
                f"apt[{n}]", f"{case.plan.base if case.plan else 'the base'} has no such package", "its name there, or another `base`"
            )  # fmt: skip
            return
    yield case.not_here(f"its `apt` does not name {wanted}")


def _platform(case: Case, one: Diagnosis) -> Iterator[Cause]:
    because = f"platforms is {case.value('platforms')}: a host with another processor cannot run it"
    yield case.unknown(because, "the platform of the host")


_FINDERS: Mapping[str, Finder] = {
    **GPU_CAUSES,
    **WHEEL_CAUSES,
    **dict.fromkeys(
        ("libnvjitlink-symbol", "cuda-symbol", "nccl-symbol", "cudnn-incompatible"), _library_path
    ),
    "stub-library": _stub,
    **dict.fromkeys(
        ("smi-not-found", "nvml-not-found", "jit-compiler-missing", "vllm-no-device"), _capabilities
    ),
    **dict.fromkeys(
        ("no-device", "torch-no-gpus", "torch-no-driver", "ctk-device-error", "invalid-device-ordinal"),
        _devices,
    ),
    **dict.fromkeys(("cache-not-writable", "uid-without-name"), _user),
    "compile-killed": _jobs,
    **dict.fromkeys(("triton-no-cc", "python-header-missing"), _triton),
    **dict.fromkeys(("nvcc-missing", "cuda-home-unset", "cmake-no-nvcc", "cuda-header-missing"), _toolkit),
    "cc-missing": _compiler,
    "pip-externally-managed": _distribution_python,
    **dict.fromkeys(("apt-no-pubkey", "apt-old-key", "apt-signed-by-conflict"), _base),
    **dict.fromkeys(("glibc-too-old", "glibcxx-too-old"), _glibc),
    "manifest-unknown": _image_name,
    "eol-notice": _old_base,
    **dict.fromkeys(
        ("ctk-mount-file-exists", "system-driver-mismatch", "compat-unsupported-hw"), _driver_packages
    ),
    "tls-certificate": _certificate,
    "apt-no-package": _apt_name,
    "exec-format": _platform,
}
