"""What in an image's files causes an error: GPU code, libraries, compilers, the driver, variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from gpuimage.arch import ComputeCapability
from gpuimage.examine import Examination
from gpuimage.explain.types import Cause, Diagnosis, archs_about, lacking_capability
from gpuimage.inspect import Closure, Coverage, Inspection, closure, coverage, shares
from gpuimage.tables import TorchRelease, torch_release

_SHOWN = 5
_COMPILERS = ("gcc", "cc", "clang")


def image_causes(
    found: Sequence[Diagnosis], examined: Examination, *, targets: Sequence[ComputeCapability] = ()
) -> tuple[Diagnosis, ...]:
    """Return the diagnoses with what in an image, root, wheel or file causes each; `targets` as for `spec_causes`."""
    looked = _Image(examined, found, tuple(targets))
    return tuple(replace(one, image=_causes(looked, one)) for one in found)


@dataclass(frozen=True)
class _Image:
    """What was read, what was found in the log, and the GPUs that the user names."""

    examined: Examination
    found: Sequence[Diagnosis]
    targets: tuple[ComputeCapability, ...]

    @property
    def files(self) -> Inspection:
        return self.examined.inspection

    @property
    def whole(self) -> bool:
        """Whether all that a container sees is there; of a wheel nobody can say what is missing around it."""
        return self.examined.kind in ("image", "root")

    @cached_property
    def environment(self) -> dict[str, str]:
        return dict(entry.split("=", 1) for entry in self.files.env if "=" in entry)

    @cached_property
    def closure(self) -> Closure:
        return closure(self.files, env=self.environment)

    def archs(self, one: Diagnosis) -> tuple[ComputeCapability, ...]:
        return archs_about(one, self.found, self.targets)

    def named(self, name: str) -> list[str]:
        """Every path of a file name, links with it."""
        ends = f"/{name}"
        return sorted(path for path in (*self.files.sizes, *self.files.links) if path.endswith(ends))

    def version(self, project: str) -> str | None:
        return next((wheel.version for wheel in self.files.wheels if wheel.name.lower() == project), None)

    def label(self, path: str) -> str:
        """A path with the wheel that it belongs to."""
        owner = self.files.wheel_of(path)
        return f"{path} ({owner.label})" if owner else path

    def not_here(self, because: str) -> Cause:
        return Cause("not-here", f"nothing in {self.examined.target} causes this: {because}")


def _causes(looked: _Image, one: Diagnosis) -> tuple[Cause, ...]:
    finder = _FINDERS.get(one.error.id)
    if finder and (looked.whole or finder in (_no_code, _ptx)):
        causes = tuple(finder(looked, one))
        if causes:
            return causes
    if finder and not looked.whole:
        return (
            Cause(
                "unknown",
                f"{looked.examined.target} is a {looked.examined.kind}: what is around it is not known",
            ),
        )
    if one.error.elsewhere:
        return (looked.not_here(one.error.elsewhere),)
    return (Cause("unknown", f"what in {looked.examined.target} causes this, its files do not tell"),)


def _some(items: Sequence[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(items[:_SHOWN]) + more


# GPU code


def _no_code(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
    archs = looked.archs(one)
    if not looked.files.gpu:
        yield looked.not_here("no file has GPU code; it is compiled at run time, if at all")
        return
    if not archs:
        held = " ".join(share.arch for share in shares(looked.files.gpu) if share.kind == "cubin")
        yield Cause(
            "unknown",
            f"the message names no GPU; the files have machine code for {held}",
            "name it: --gpu NAME",
        )
    for capability in archs:
        answers = coverage(looked.files.gpu, [capability], linked=looked.examined.kind != "file")
        guilty = [
            answer for answer in answers if answer.state in ("none", "partial") and answer.severity != "note"
        ]
        if not guilty:
            yield looked.not_here(f"every file with GPU code has some that runs on {capability}")
        for answer in sorted(guilty, key=lambda answer: answer.state != "none")[:_SHOWN]:
            yield _covered(looked, answer)


def _covered(looked: _Image, answer: Coverage) -> Cause:
    owner = looked.files.wheel_of(answer.path)
    what = owner.label if owner else answer.path.rpartition("/")[2]
    change = f"a build of {what} for {answer.target}, or compile it for that"
    return Cause("cause", f"{looked.label(answer.path)}: {answer.because}", change, value=answer.path)


def _ptx(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
    """Files that a GPU runs by PTX only, and the driver that compiles it."""
    archs = looked.archs(one)
    if not archs and looked.files.gpu:
        yield Cause("unknown", "the message names no GPU", "name it: --gpu NAME")
    for capability in archs:
        answers = coverage(looked.files.gpu, [capability], linked=looked.examined.kind != "file")
        only = [answer for answer in answers if answer.jit and answer.severity]
        if not only:
            yield looked.not_here(f"no file needs its PTX on {capability}")
        for answer in only[:_SHOWN]:
            yield _covered(looked, answer)


# Libraries


def _library(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
    """Who wants it, where it is, and why the loader does not get there."""
    name = one.named.library
    if name is None:
        return
    there = looked.named(name)
    wanting = [lost.library for lost in looked.closure.missing if lost.needed == name]
    wanting += [lost.library for lost in looked.closure.optional if lost.needed == name]
    off = [lost.library for lost in looked.closure.off_path if lost.needed == name]
    if wanting:
        yield Cause(
            "cause", f"{_some([looked.label(path) for path in wanting])} wants {name}, and no file has that name",
            "; ".join(one.facts), value=wanting[0],
        )  # fmt: skip
    elif off:
        yield Cause(
            "cause", f"{name} is at {_some(there)}, where the loader does not look for {_some([looked.label(path) for path in off])}",
            "import the package that loads it first, or add its folder to LD_LIBRARY_PATH", value=off[0],
        )  # fmt: skip
    elif there:
        yield looked.not_here(
            f"{name} is at {_some(there)}, and what links to it finds it; a program may open it by name"
        )
    else:
        yield Cause(
            "cause",
            f"no file is called {name}, and none links to it: a program opens it by name",
            "; ".join(one.facts),
        )


def _shadowed(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
    """One soname in two files: which of them the loader takes, and for whom."""
    soname = one.named.library or {"nccl-symbol": "libnccl.so.2"}.get(one.error.id)
    path = looked.environment.get("LD_LIBRARY_PATH")
    wanting = (one.named.file or "").rpartition("/")[2]
    for twice in looked.closure.twice:
        if twice.soname != soname:
            continue
        counts = {file: len(users) for file, users in twice.taken_by.items()}
        own = [
            file
            for file, users in twice.taken_by.items()
            if any(user.endswith(f"/{wanting}") for user in users)
        ]
        first, who = (
            (own[0], wanting) if own else (max(counts, key=counts.__getitem__), "most of what links to it")
        )
        others = [file for file in counts if file != first]
        because = f"{soname} is there {len(counts)} times, and {who} gets {looked.label(first)}"
        because += f" before {_some([looked.label(file) for file in others])}"
        because += f" (LD_LIBRARY_PATH={path})" if path else ""
        yield Cause(
            "cause", because, "remove the copy outside of the wheels, or LD_LIBRARY_PATH", value=first
        )
        return
    there = looked.named(soname) if soname else []
    if there:
        yield looked.not_here(
            f"{soname} is there once, at {there[0]}; a host folder or LD_LIBRARY_PATH brings another"
        )
    elif soname:
        yield looked.not_here(f"it has no {soname}; another one was loaded")


def _cudnn(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
    copies = [twice for twice in looked.closure.twice if twice.soname.startswith("libcudnn")]
    if copies:
        files = sorted(copies[0].taken_by)
        yield Cause("cause", f"{copies[0].soname} is there {len(files)} times: {_some([looked.label(f) for f in files])}",
                    "keep the one that the framework brings", value=files[0])  # fmt: skip
    else:
        yield looked.not_here(
            "cuDNN is there once, or not at all; LD_LIBRARY_PATH or a host folder brings another"
        )


def _version(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
    lost = [want for want in looked.closure.versions if want.version == one.named.version]
    lost = lost or [want for want in looked.closure.versions if want.version.startswith(("GLIBC", "CXXABI"))]
    for want in lost[:_SHOWN]:
        yield Cause(
            "cause", f"{looked.label(want.library)} wants {want.version}, and {want.found} does not have it",
            "a newer base, or a build for an older system", value=want.library,
        )  # fmt: skip
    if not lost:
        yield looked.not_here("every symbol version that its libraries want is there")


def _abi(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
    name = (one.named.file or "").rpartition("/")[2]
    torch = looked.version("torch")
    for path in looked.named(name) if name else ():
        yield Cause(
            "cause", f"{looked.label(path)} was compiled against another torch than the torch {torch or 'that is loaded'} in the image",
            "build it again for this torch", value=path,
        )  # fmt: skip
        return


# What is there and what is not


def _verdict(probe: str) -> Callable[[_Image, Diagnosis], Iterator[Cause]]:
    """A static verdict as the answer."""

    def find(looked: _Image, _one: Diagnosis) -> Iterator[Cause]:
        for verdict in looked.examined.verdicts:
            if verdict.probe == probe and verdict.status == "failed":
                yield Cause(
                    "cause",
                    verdict.reason,
                    "remove it from the image",
                    value=next(iter(verdict.evidence), None),
                )
            elif verdict.probe == probe:
                yield looked.not_here(verdict.reason)

    return find


def _program(*names: str) -> Callable[[_Image, Diagnosis], Iterator[Cause]]:
    """Whether one of some programs can be run."""

    def find(looked: _Image, _one: Diagnosis) -> Iterator[Cause]:
        paths = [
            path for name in names for path in looked.named(name) if path.rpartition("/")[0].endswith("/bin")
        ]
        runs = [path for path in paths if (looked.files.resolve(path) or path) in looked.files.executables]
        if runs:
            yield looked.not_here(f"{runs[0]} is there; PATH may not lead to it")
        else:
            yield Cause("cause", f"there is no {' and no '.join(names)} in it", "")

    return find


def _header(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
    found = re.search(r"fatal error: ([\w./-]{1,100}): No such file", one.text)
    if found is None:
        return
    there = looked.named(found[1])
    if there:
        yield looked.not_here(f"{found[1]} is at {_some(there)}; the compiler does not look there")
    else:
        yield Cause("cause", f"there is no {found[1]} in it", "")


def _torch_build(looked: _Image, _one: Diagnosis) -> Iterator[Cause]:
    version = looked.version("torch")
    if version and "+cpu" in version:
        yield Cause("cause", f"it has torch {version}, a CPU build", "the CUDA build of the same release")
    elif version:
        yield looked.not_here(f"it has torch {version}; another one was imported")
    else:
        yield looked.not_here("it has no torch")


def _pair(looked: _Image, _one: Diagnosis) -> Iterator[Cause]:
    torch = looked.version("torch")
    release = torch_release(torch) if torch else None
    if not isinstance(release, TorchRelease):
        return
    for name, partner in (("torchvision", release.torchvision), ("torchaudio", release.torchaudio)):
        have = looked.version(name)
        if have and partner and have.partition("+")[0].split(".")[:2] != partner.split(".")[:2]:
            yield Cause(
                "cause",
                f"it has torch {torch} with {name} {have}; the partner is {partner}",
                f"{name}=={partner}",
            )
        elif (
            have
            and ("+" in have or "+" in (torch or ""))
            and have.partition("+")[2] != (torch or "").partition("+")[2]
        ):
            yield Cause(
                "cause",
                f"torch {torch} and {name} {have} are builds for different CUDA",
                "both from one index",
            )


def _missing_torch(looked: _Image, _one: Diagnosis) -> Iterator[Cause]:
    version = looked.version("torch")
    if version:
        yield looked.not_here(f"it has torch {version}; another Python was run")
    else:
        yield Cause("cause", "no installed wheel in it is torch", "install torch")


def _numpy(looked: _Image, _one: Diagnosis) -> Iterator[Cause]:
    version = looked.version("numpy")
    if version and not version.startswith("1."):
        yield Cause("cause", f"it has numpy {version}", "numpy<2, or newer releases of the rest")


def _variable(*names: str) -> Callable[[_Image, Diagnosis], Iterator[Cause]]:
    """What the image's own variables say."""

    def find(looked: _Image, one: Diagnosis) -> Iterator[Cause]:
        values = {name: looked.environment[name] for name in names if name in looked.environment}
        for name, value in values.items():
            if _blamed(name, value, one):
                yield Cause(
                    "cause",
                    f"its {name} is {value or 'empty'}",
                    f"set {name} as the container needs it",
                    value=name,
                )
                return
        said = ", ".join(f"{name}={value}" for name, value in values.items())
        elsewhere = one.error.elsewhere or "how the container is started"
        yield looked.not_here(f"{elsewhere}" + (f"; it sets {said}" if said else ""))

    return find


def _blamed(name: str, value: str, one: Diagnosis) -> bool:
    if name == "NVIDIA_DRIVER_CAPABILITIES":
        return lacking_capability(one, value) is not None
    if name == "NVIDIA_REQUIRE_CUDA":
        return (one.named.condition or "") in value
    return value != "all"


_CODE = ("no-kernel-image", "invalid-device-function", "torch-sm-incompatible", "torch-cc-too-old")
_MISSING = (
    "libcudart-missing", "libcudnn-missing", "libcublas-missing", "libnvrtc-missing", "libnccl-missing", "libgl-missing",
    "library-missing", "torch-cuda-library-missing",
)  # fmt: skip
_FINDERS: Mapping[str, Callable[[_Image, Diagnosis], Iterator[Cause]]] = {
    **dict.fromkeys(_CODE, _no_code),
    **dict.fromkeys(("unsupported-ptx", "ptx-jit-failed"), _ptx),
    **dict.fromkeys(_MISSING, _library),
    **dict.fromkeys(("libnvjitlink-symbol", "cuda-symbol", "nccl-symbol"), _shadowed),
    "cudnn-incompatible": _cudnn,
    **dict.fromkeys(("glibc-too-old", "glibcxx-too-old"), _version),
    "torch-abi-symbol": _abi,
    "stub-library": _verdict("stubs-off-the-library-path"),
    **dict.fromkeys(
        ("ctk-mount-file-exists", "system-driver-mismatch", "compat-unsupported-hw"),
        _verdict("driver-not-baked"),
    ),
    **dict.fromkeys(("triton-no-cc", "cc-missing"), _program(*_COMPILERS)),
    **dict.fromkeys(("nvcc-missing", "cuda-home-unset", "cmake-no-nvcc"), _program("nvcc")),
    **dict.fromkeys(("python-header-missing", "cuda-header-missing"), _header),
    "torch-cpu-build": _torch_build,
    "torchvision-mismatch": _pair,
    "flash-attn-no-torch": _missing_torch,
    "numpy-abi": _numpy,
    "ctk-requirement": _variable("NVIDIA_REQUIRE_CUDA"),
    **dict.fromkeys(
        ("smi-not-found", "nvml-not-found", "jit-compiler-missing", "vllm-no-device"),
        _variable("NVIDIA_DRIVER_CAPABILITIES"),
    ),
    **dict.fromkeys(
        ("no-device", "torch-no-gpus", "torch-no-driver", "ctk-device-error", "libcuda-missing"),
        _variable("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    ),
}
