"""What an old Dockerfile says of the service: packages of the distribution, environment, user, and what has no place in a spec."""

from __future__ import annotations

import re

from gpuimage.facts import Step
from gpuimage.init.command import take_command
from gpuimage.init.dockerfiles import Old
from gpuimage.init.files import take_files
from gpuimage.init.notes import WITHHELD, Notes, plain
from gpuimage.init.packages import BUILD_ONLY
from gpuimage.init.projects import Project
from gpuimage.patterns import pattern
from gpuimage.rules.packages import CONTAINER_TOOLKIT, CUDNN, LIBRARIES, META, NCCL, TOOLKIT, is_driver
from gpuimage.rules.secrets import is_stand_in, names_secret

_APT_LEFT = (
    (is_driver, "the driver belongs to the host"),
    (CONTAINER_TOOLKIT.fullmatch, "the container toolkit belongs to the host"),
    (META.fullmatch, "a CUDA toolkit; the wheels or the base bring what runs"),
    (TOOLKIT.fullmatch, "a CUDA toolkit; what compiles stands under `compile`"),
    (LIBRARIES.fullmatch, "the wheels or the base bring CUDA's libraries"),
    (CUDNN.fullmatch, "the wheels or the base bring cuDNN"),
    (NCCL.fullmatch, "the wheels bring NCCL"),
    (pattern(r"nvidia-cuda-(toolkit|dev)\S*|cuda-\S+").fullmatch, "the wheels or the base bring CUDA"),
    (pattern(r"pip|(lib)?python3?(\.\d+)?(-(dev|venv|pip|distutils|setuptools|wheel|full|minimal|stdlib|is-python3|apt))*|python-is-python3|pipx|virtualenv").fullmatch, "`python` names the Python"),
    (pattern(r"build-essential|g\+\+\S*|gcc(-\d+)?|clang\S*|make|cmake|ninja-build|gfortran|pkg-config|autoconf|automake|libtool|ccache|rustc|cargo").fullmatch,
     "a compiler: nothing compiles in this image; `jit: triton` brings one for torch.compile"),
    (pattern(r"git(-lfs)?|curl|wget|unzip|gnupg2?|gpg|dirmngr|software-properties-common|apt-transport-https|apt-utils|lsb-release|ca-certificates|aria2|sudo").fullmatch,
     "it fetches and unpacks while an image is built: add it back where the service calls it"),
    (pattern(r"python3?-\S+").fullmatch, "it is for the distribution's Python: name the project under `wheels`"),
)  # fmt: skip
# Transitional names that are gone, by what they pulled in.
_RENAMED = {"libgl1-mesa-glx": "libgl1", "libegl1-mesa": "libegl1", "libgles2-mesa": "libgles2"}

_ENV_LEFT = (
    (pattern(r"NVIDIA_(VISIBLE_DEVICES|REQUIRE_\w+|DRIVER_CAPABILITIES|PRODUCT_NAME|DISABLE_REQUIRE)"), "the plan sets the contract with the container toolkit"),
    (pattern(r"PATH|VIRTUAL_ENV|CONDA_\w+|MAMBA_\w+|PYTHONHOME|PYENV_\w+"), "the plan sets where programs and Python are found"),
    (pattern(r"(PIP|UV|POETRY|PDM|PIPENV)_\w+|PYTHON_VERSION|PYTHON_VER|DEBIAN_FRONTEND|DEBCONF_\w+|APT_\w+"), "it is for the installs of the build"),
    (pattern(r"(CUDA|CUDNN|NCCL|NV)_(VERSION|HOME|PATH|ROOT|PKG_VERSION|TOOLKIT\w*|INC_PATH)|CUDA_VERSION_\w+|CUDADIR|(LIBRARY|CPATH|C_INCLUDE|CPLUS_INCLUDE)(_PATH)?"), "it points into a CUDA toolkit, which the image does not have"),
    (pattern(r"TORCH_CUDA_ARCH_LIST|CUDAARCHS|CMAKE_\w+|FLASH_ATTN_CUDA_ARCHS|FLASH_ATTENTION_\w+|MAX_JOBS|NVCC_\w+|TORCH_NVCC_FLAGS|FORCE_CUDA|CC|CXX|CFLAGS|CXXFLAGS|LDFLAGS|MAKEFLAGS"), "it is for compiling"),
    (pattern(r"(?i:https?|ftp|no|all)_(?i:proxy)"), "it is a proxy of the build"),
    (pattern(r"PYTHONUNBUFFERED"), "the plan sets it"),
)  # fmt: skip
_USUAL_CAPABILITIES = frozenset({"compute", "utility"})

# Commands whose work the spec's own build does, or that leave nothing.
_KNOWN_PROGRAMS = frozenset(
    "apt apt-get apt-key add-apt-repository apt-mark dpkg dnf yum microdnf apk zypper pip uv conda mamba micromamba poetry pdm pipenv "
    "rm mkdir cd pushd popd echo printf export set unset true false test [ [[ : ln ls cat chmod chown useradd groupadd usermod "
    "adduser addgroup update-alternatives ldconfig source . find sed grep touch which sleep tee head sort pwd nvcc nvidia-smi "
    "debconf-set-selections lsb_release break continue return exit cut tr awk expr uname date locale-gen gpg virtualenv venv ensurepip if for while".split()
)


def take_apt(notes: Notes, old: Old) -> None:
    """Packages that the service may use; each other one with the reason why not."""
    for call in old.file.system_of(old.stage):
        for package in call.packages if call.installs else ():
            where = old.at(package.span)
            if call.manager != "apt":
                notes.leave(
                    package.name,
                    where,
                    f"a package of {call.manager}: its name for Debian's apt is not known here",
                )
            elif not package.known or not package.name:
                notes.leave(package.name or "a package", where, BUILD_ONLY)
            elif reason := next((why for fits, why in _APT_LEFT if fits(package.name)), None):
                notes.leave(package.name, where, reason)
            else:
                name = _RENAMED.get(package.name, package.name)
                notes.add(("apt",), name, where, f"{package.name} is gone" if name != package.name else "")


def take_env(notes: Notes, old: Old) -> None:
    """The environment that the file itself sets, without what the plan sets and what only the build needs."""
    places: dict[str, str] = {}
    for step in old.stage.chain:
        if (
            step.instruction.keyword == "ENV"
            and not step.instruction.problem
            and not step.instruction.onbuild
        ):
            places |= dict.fromkeys(step.instruction.texts[::2], old.at(step.instruction.line))
    for name, where in places.items():
        value = old.stage.env.get(name)
        reason = next((why for shape, why in _ENV_LEFT if shape.fullmatch(name)), None)
        if (
            name == "NVIDIA_DRIVER_CAPABILITIES"
            and value
            and not set(value.split(",")) <= _USUAL_CAPABILITIES
        ):
            reason = None
        if value is not None and name == "LD_LIBRARY_PATH":
            reason = (
                "wheels find their libraries by themselves; a path into CUDA may shadow them"
                if re.search("cuda|nvidia|conda|venv|tensorrt", value)
                else None
            )
        if names_secret(name) and (value is None or not is_stand_in(value)):
            reason = WITHHELD
        if value is None and reason is None:
            reason = BUILD_ONLY
        if reason is not None:
            notes.leave(name, where, reason)
        elif not names_secret(name):
            notes.put(("env", name), value, where)


def take_labels(notes: Notes, old: Old) -> None:
    """Labels that are not made for one build."""
    for step in old.stage.chain:
        one = step.instruction
        if one.keyword == "LABEL" and not one.problem and not one.onbuild:
            for name, text in zip(one.texts[::2], one.texts[1::2], strict=True):
                value, where = step.expand(text).value, old.at(one.line)
                if value is None:
                    notes.leave(f"label {name}", where, BUILD_ONLY)
                elif not name.startswith(("com.nvidia.", "maintainer")):
                    notes.put(("labels", name), value, where)


def take_user(notes: Notes, old: Old) -> None:
    """Who runs the service; root becomes the spec's own unprivileged user."""
    steps = [step for step in old.stage.chain if step.instruction.keyword == "USER"]
    user = steps[-1].expand(steps[-1].instruction.arguments).value if steps else old.stage.end.user
    where = old.last("USER") or old.head
    if user is None:
        notes.leave("the user", where, BUILD_ONLY)
    elif user.partition(":")[0] in ("", "root", "0"):
        notes.leave(
            "root", where, "the service runs as the unprivileged user app; `app.user: root` where it must not"
        )
    else:
        notes.put(("app", "user"), user, where)


def left_behind(notes: Notes, old: Old) -> None:
    """Say of every other instruction that a spec has no word for it."""
    for step in old.stage.chain:
        one, where = step.instruction, old.at(step.instruction.line)
        if one.problem:
            notes.leave(one.keyword, where, one.problem.text)
        elif one.onbuild:
            notes.leave(f"ONBUILD {one.keyword}", where, "it is for images that stand on this one")
        elif one.keyword in ("EXPOSE", "HEALTHCHECK", "VOLUME", "STOPSIGNAL"):
            notes.leave(
                plain(f"{one.keyword} {one.arguments}")[:80],
                where,
                "a spec has no key for it: give it where the container is started",
            )
        elif one.keyword == "RUN":
            _commands(notes, old, step, where)
    for copy in old.file.chain_copies(old.stage):
        if copy.from_ and (
            others := [source for source in copy.sources if source and not _is_python(source)]
        ):
            notes.leave(
                f"{' '.join(others)} of {copy.from_}",
                old.at(copy.step.instruction.line),
                "a spec copies files from beside it only",
            )


def _is_python(source: str) -> bool:
    """Whether a path that is copied from elsewhere is an environment, wheels or an installer."""
    return (
        re.search(
            r"venv|-packages|conda|wheels?\b|/root/\.local|/usr/local/?$|/usr/local/(bin|lib)/?$|/install\b|/uvx?\b|\.whl",
            source,
        )
        is not None
    )


def _commands(notes: Notes, old: Old, step: Step, where: str) -> None:
    """Say what a RUN does besides installing packages."""
    done = [
        plain(" ".join((call.name, *call.values[:2])))
        for call in step.calls
        if call.name
        and call.name not in _KNOWN_PROGRAMS
        and not (call.name.startswith("python") and "venv" in call.values)
    ]
    if done:
        notes.leave(
            "; ".join(dict.fromkeys(done)), where,
            "a spec runs no commands: what it needs of this is a wheel, a package of apt, or a file beside it",
        )  # fmt: skip
    workdir = old.stage.end.workdir or ""
    for change in old.file.changes(step):
        if (
            change.kind == "cloned"
            and change.path
            and f"{workdir}/".startswith(f"{change.path.rstrip('/')}/")
        ):
            notes.miss(
                f"the code: it was cloned from {plain(change.source)} ({where})",
                "clone it beside the spec and name its files under app.copy",
            )


def take_service(notes: Notes, old: Old, project: Project | None) -> None:
    """All of it, in the order of the spec."""
    take_apt(notes, old)
    take_files(notes, old)
    take_command(notes, old, project)
    for take in (take_user, take_env, take_labels, left_behind):
        take(notes, old)
