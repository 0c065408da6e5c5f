"""From the choices to stages of steps, in the order that keeps big layers first and code last."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from gpuimage import __version__, tables
from gpuimage.arch import ArchError, ArchList
from gpuimage.lock import Lock, lock_path
from gpuimage.plan.base import Base, cuda_image, python_steps
from gpuimage.plan.draft import Draft
from gpuimage.plan.jit import compilers, cuda_home
from gpuimage.plan.types import (
    App,
    Apt,
    BuildWheels,
    CopyVenv,
    DriverPlan,
    Env,
    InstallBuilt,
    InstallLocal,
    InstallLock,
    Labels,
    RootFs,
    Stage,
    Step,
    Venv,
)  # fmt: skip
from gpuimage.plan.wanted import Wanted
from gpuimage.plan.wheels import CudaChoice
from gpuimage.reference import ImageReference

VENV = "/opt/venv"


def is_source_tree(package: str) -> bool:
    """Whether a `compile:` entry names a directory beside the spec rather than a distribution."""
    return package.startswith((".", "/")) or package.endswith("/")


def build_stages(
    draft: Draft,
    want: Wanted,
    cuda: CudaChoice,
    base: Base,
    arch: ArchList | None,
    driver: DriverPlan | None,
    lock: Lock | None,
) -> tuple[Stage, ...]:
    """All stages, the one that ships last."""
    stages: list[Stage] = []
    if draft.spec.compile and arch is not None:
        stages.append(_builder(draft, cuda, arch, lock))
    venv = VENV if base.python == "apt" else None
    locked = bool(want.lines or want.files or want.local)
    if venv and draft.spec.flavor != "devel" and (locked or draft.spec.compile):
        stages.append(_venv_stage(draft, want, base, stages))
    stages.append(_final(draft, want, cuda, base, arch, driver, stages, venv))
    return tuple(stages)


def _platform(draft: Draft) -> str | None:
    platform = draft.spec.platforms[0]
    return None if platform == "linux/amd64" else platform


def _installs(draft: Draft, want: Wanted, stages: Sequence[Stage], venv: str | None) -> list[Step]:
    steps: list[Step] = []
    if want.lines or want.files or want.local:
        name = lock_path(draft.file).name
        steps.append(
            InstallLock(
                name,
                "every wheel, pinned by hash, in one layer; the lock is mounted and the download cache lives outside the image, "
                "so neither leaves bytes; no bytecode: Python makes it when it runs",
                venv,
            )
        )
    if want.local:
        steps.append(
            InstallLocal(
                tuple(path for path, _ in want.local),
                "our own wheels after the big layer: they change more often",
                venv,
            )
        )
    if any(stage.name == "builder" for stage in stages):
        steps.append(
            InstallBuilt(
                "builder",
                "only the wheels come over from the builder stage; they are mounted, not copied",
                venv,
            )
        )
    return steps


def _venv_stage(draft: Draft, want: Wanted, base: Base, stages: Sequence[Stage]) -> Stage:
    """The distribution's Python refuses to be installed into, and its pip need not ship: a stage of its own."""
    steps: list[Step] = [
        *python_steps(draft, base, building=True),
        Venv(
            VENV,
            "the distribution's Python is its own to manage; the environment is made here without pip and copied whole",
            pip=False,
        ),
        *_installs(draft, want, stages, VENV),
    ]
    return Stage(
        "wheels",
        base.reference,
        "the same base as the stage that ships, so that the environment fits there",
        tuple(steps),
        _platform(draft),
    )


def _builder(draft: Draft, cuda: CudaChoice, arch: ArchList, lock: Lock | None) -> Stage:
    spec = draft.spec
    image, python = cuda_image(draft, cuda, "devel", cudnn=False, key="compile")
    draft.decide(
        "builder stage",
        image.reference,
        "compiling needs nvcc and headers; only the wheels it makes are shipped",
        key="compile",
    )
    base = Base(ImageReference.parse(image.reference), "", "devel", python)
    trees = tuple(entry.package for entry in spec.compile if is_source_tree(entry.package))
    names = [
        canonicalize_name(Requirement(e.package).name) for e in spec.compile if not is_source_tree(e.package)
    ]
    pins = tuple(
        str(source).split("  #")[0] for source in (lock.sources if lock else ()) if source.name in names
    ) or tuple(entry.package for entry in spec.compile if not is_source_tree(entry.package))
    against_torch = cuda.torch is not None and (
        bool(pins) or any(_builds_with_torch(draft, tree) for tree in trees)
    )
    env = _arch_environment(draft, arch, names, against_torch=against_torch)
    draft.decide(
        "compiled for",
        str(arch),
        "exactly the spec's architectures: no more bytes, no missing kernel",
        key="compile",
    )
    steps: list[Step] = [
        *python_steps(draft, base, building=True),
        Venv("/opt/build", "a build environment of its own; it stays in this stage"),
        Env({"PATH": "/opt/build/bin:$PATH"}, "pip and the build tools of that environment"),
        Env(env, "set before anything compiles: a build machine has no GPU to ask"),
    ]
    if against_torch:
        steps.append(
            InstallLock(
                lock_path(draft.file).name,
                "the extension is compiled against the very torch that ships",
            )
        )
    steps.append(
        BuildWheels(
            pins, tuple(names), trees, isolated=not against_torch,
            because="wheels from source, without their dependencies: those are in the lock",
        )
    )  # fmt: skip
    return Stage(
        "builder",
        base.reference,
        "compiling needs nvcc and headers; nothing of this stage ships but the wheels",
        tuple(steps),
        _platform(draft),
    )


def _arch_environment(
    draft: Draft, arch: ArchList, names: Sequence[str], *, against_torch: bool
) -> dict[str, str]:
    """What tells build tools the architectures: torch's extension builder, CMake, flash-attn; then the spec's own."""
    key = "arch" if draft.spec.arch else "gpus"
    refused = arch.refused_by_torch() if against_torch else ()
    if refused:
        odd = ", ".join(entry.capability.dotted for entry in refused)
        raise draft.error(
            f"torch's extension builder does not take {odd}",
            key,
            why="its list of architectures is fixed, and it stops at any other",
            hint=f"remove {odd} for what is compiled against torch",
        )
    env = {"TORCH_CUDA_ARCH_LIST": str(arch), "CUDAARCHS": arch.cmake()}
    if "flash-attn" in names:
        try:
            env["FLASH_ATTN_CUDA_ARCHS"] = arch.flash_attn()
        except ArchError as error:
            raise draft.error(
                "flash-attn makes no code for these architectures", key, why=error.reason, hint=error.hint
            ) from error
        left_out = ", ".join(capability.dotted for capability in arch.flash_attn_leaves_out())
        if left_out:
            draft.warn(
                "compiled for",
                f"flash-attn has no kernels for {left_out}",
                "its build knows majors 8 to 12 only",
                key=key,
            )
    for entry in draft.spec.compile:
        env |= entry.env
    return env


def _builds_with_torch(draft: Draft, tree: str) -> bool:
    """Whether a source tree's own build requirements name torch."""
    try:
        data = tomllib.loads((draft.file.directory / tree / "pyproject.toml").read_text(encoding="utf-8"))
        requires = data.get("build-system", {}).get("requires", [])
        return any(Requirement(line).name.lower() == "torch" for line in requires)
    except FileNotFoundError:
        return True
    except (
        OSError,
        UnicodeDecodeError,
        tomllib.TOMLDecodeError,
        InvalidRequirement,
        TypeError,
        AttributeError,
    ):
        return False


def _final(
    draft: Draft, want: Wanted, cuda: CudaChoice, base: Base, arch: ArchList | None, driver: DriverPlan | None,
    stages: Sequence[Stage], venv: str | None,
) -> Stage:  # fmt: skip
    spec = draft.spec
    devel = spec.flavor == "devel"
    steps: list[Step] = [*python_steps(draft, base, building=devel)]
    if base.rootfs:
        steps.append(RootFs(base.rootfs, "the spec's own root file system"))
    packages = _packages(draft, cuda, base)
    if packages:
        steps.append(packages)
    if venv and devel:
        steps.append(
            Venv(venv, "the distribution's Python is its own to manage, so the wheels get an environment")
        )
        steps.append(_path(venv))  # before the installs: the only pip in here is the environment's
        steps.extend(_installs(draft, want, stages, venv))
    elif venv and any(stage.name == "wheels" for stage in stages):
        steps.append(CopyVenv("wheels", venv, "the whole environment as one layer, without pip"))
    else:
        steps.extend(_installs(draft, want, stages, None))
    steps.extend(cuda_home(draft, cuda, base))
    if venv and not devel:
        steps.append(_path(venv))
    if devel and arch is not None and cuda.kind != "none":
        steps.append(
            Env(
                {"TORCH_CUDA_ARCH_LIST": str(arch), "CUDAARCHS": arch.cmake()},
                "what compiles in here compiles for the spec's architectures, also where there is no GPU to ask",
            )
        )
    steps.extend(_environment(draft, driver))
    steps.append(_app(draft))
    steps.append(_labels(draft, cuda, base, arch, driver))
    # The name tells readers, and linters, that compilers are meant to be in it.
    return Stage("devel" if devel else None, base.reference, base.because, tuple(steps), _platform(draft))


def _packages(draft: Draft, cuda: CudaChoice, base: Base) -> Apt | None:
    names, because = compilers(draft, cuda, base)
    names = (*draft.spec.apt, *names)
    reasons = [*(["the spec names them"] if draft.spec.apt else []), *([because] if because else [])]
    return Apt(tuple(dict.fromkeys(names)), "; ".join(reasons)) if names else None


def _path(venv: str) -> Env:
    return Env({"PATH": f"{venv}/bin:$PATH"}, "the environment's Python first")


def _environment(draft: Draft, driver: DriverPlan | None) -> list[Step]:
    steps: list[Step] = []
    if driver is not None:
        values = {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}
        if driver.require:
            values["NVIDIA_REQUIRE_CUDA"] = driver.require
        steps.append(
            Env(
                values,
                "the contract with the NVIDIA container toolkit: which devices, which parts of the driver, which driver at least",
            )
        )
        draft.decide(
            "driver contract",
            ", ".join(f"{k}={v}" for k, v in values.items()),
            "the toolkit reads these when a container starts",
            key="cuda",
        )
    values = {"PYTHONUNBUFFERED": "1", **draft.spec.env}
    steps.append(Env(values, "logs appear at once" + ("; the rest is the spec's" if draft.spec.env else "")))
    return steps


def _app(draft: Draft) -> App:
    app, workbench = draft.spec.app, draft.spec.flavor == "devel"
    if app is None:
        draft.decide("user", "app", "no `app` in the spec: an unprivileged user all the same", key="app")
        return App(
            (), "/app", "app", create_user=True, command=("python3",), workbench=workbench,
            because="nothing here needs root",
        )  # fmt: skip
    root = app.user in ("root", "0") or app.user.startswith("0:")
    if root:
        draft.warn("user", "the container runs as root", "the spec asks for it", key="app.user")
    create = not root and not app.user[:1].isdigit()
    draft.decide(
        "user", app.user, "the spec names it" if not create
        else "nothing here needs root; the image names its number, which Kubernetes' runAsNonRoot can check", key="app.user",
    )  # fmt: skip
    return App(
        app.copy,
        app.workdir,
        app.user,
        create,
        app.command or ("python3",),
        "code last: it changes most, and everything above stays cached; "
        + (
            "a workbench: its user may write into the working directory"
            if workbench
            else "it stays root's, so the service cannot rewrite itself"
        ),
        workbench,
    )


def _labels(
    draft: Draft, cuda: CudaChoice, base: Base, arch: ArchList | None, driver: DriverPlan | None
) -> Labels:
    image = draft.spec.image
    values = {"org.opencontainers.image.title": image.repository.rsplit("/", 1)[-1]}
    if image.tag:
        values["org.opencontainers.image.version"] = image.tag
    if base.rootfs is None:
        values["org.opencontainers.image.base.name"] = str(base.reference)
    values["io.gpuimage.version"] = __version__
    values["io.gpuimage.data"] = tables.edition()
    values["io.gpuimage.spec"] = f"sha256:{draft.file.digest}"
    if cuda.minor:
        values["io.gpuimage.cuda"] = cuda.minor
    if arch is not None and (cuda.kind != "none" or draft.spec.compile or draft.spec.jit != "none"):
        values["io.gpuimage.arch"] = str(arch)
    if driver is not None and driver.floor:
        values["io.gpuimage.driver.minimum"] = driver.floor
    values |= draft.spec.labels
    draft.decide(
        "labels",
        f"{len(values)} OCI and gpuimage labels",
        "tools read what the image is without starting it",
        key="labels",
    )
    return Labels(values, "what this image is, readable without starting it")
