"""What follows from a spec, and what is refused: each case with the right answer from the facts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpuimage.errors import PlanError
from gpuimage.lock import Lock, Locked
from gpuimage.plan import Plan, plan
from gpuimage.plan.types import App, BuildWheels, Env, InstallBuilt, InstallLock, Labels, Venv
from gpuimage.spec import load_spec


def make(tmp_path: Path, text: str, lock: Lock | None = None) -> Plan:
    path = tmp_path / "spec.yaml"
    path.write_text("image: example.com/team/x:1\n" + text, encoding="utf-8")
    return plan(load_spec(path), lock)


def refused(tmp_path: Path, text: str) -> PlanError:
    with pytest.raises(PlanError) as caught:
        make(tmp_path, text)
    assert caught.value.exit_code == 2
    assert caught.value.where is not None
    assert caught.value.where.line is not None
    assert caught.value.hint
    return caught.value


def said(made: Plan) -> str:
    rows = [f"{d.topic}: {d.choice} because {d.because}" for d in (*made.decisions, *made.warnings)]
    return "\n".join([*rows, *(f"refused {r.what} because {r.because}" for r in made.refusals)])


def kinds(made: Plan) -> list[str]:
    return [step.kind for step in made.final.steps]


def packages(made: Plan) -> set[str]:
    return {name for step in made.final.steps if step.kind == "apt" for name in step.packages}


def env(made: Plan) -> dict[str, str]:
    return {k: v for step in made.final.steps if isinstance(step, Env) for k, v in step.values.items()}


# --- the base ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wheels",
    [
        "[torch==2.9.1]",
        "[torch==2.13.0, torchvision]",
        '["cupy-cuda12x[ctk]==14.2.0"]',
        '["jax[cuda12]"]',
        '["onnxruntime-gpu[cuda,cudnn]==1.31.1"]',
    ],
)
def test_wheels_that_bring_cuda_get_a_slim_python_and_never_a_cuda_base(tmp_path: Path, wheels: str) -> None:
    made = make(tmp_path, f'python: "3.12"\nwheels: {wheels}\n')
    assert str(made.base) == "python:3.12-slim-trixie"
    assert any("nvidia/cuda" in refusal.what for refusal in made.refusals)


def test_onnxruntime_without_its_extras_gets_the_smallest_flavor_with_cudnn(tmp_path: Path) -> None:
    made = make(tmp_path, 'python: "3.12"\ncuda: "13.0"\nwheels: [onnxruntime-gpu==1.31.1]\n')
    assert re.fullmatch(r"nvidia/cuda:13\.0\.\d-cudnn-runtime-ubuntu24\.04", str(made.base))
    assert "libcudnn" in said(made)


def test_a_wheel_by_its_url_is_no_file_beside_the_spec(tmp_path: Path) -> None:
    made = make(tmp_path, 'wheels: ["numpy @ https://x.org/numpy-2.1.0-py3-none-any.whl"]\n')
    assert made.resolution.requirements == ("numpy @ https://x.org/numpy-2.1.0-py3-none-any.whl",)
    assert made.resolution.local == ()


def test_torch_in_a_file_that_the_requirements_name_counts_and_makes_the_lock_stale(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements.txt").write_text("-r requirements/gpu.txt  # the GPU's\nnumpy\n")
    (tmp_path / "requirements" / "gpu.txt").write_text(
        "torch==2.9.1 \\\n  --hash=sha256:00\n--requirement=../requirements.txt\n"
    )
    made = make(tmp_path, "requirements: requirements.txt\n")
    assert (made.cuda, made.variant) == ("12.8", "cu128")
    (tmp_path / "requirements" / "gpu.txt").write_text("torch==2.13.0\n")
    other = make(tmp_path, "requirements: requirements.txt\n")
    assert other.variant == "cu130"
    assert other.resolution.digest != made.resolution.digest


@pytest.mark.parametrize(
    ("content", "reason"), [(b"\xff\xfe\x00", "it is not UTF-8"), (None, "No such file or directory")]
)
def test_a_requirements_file_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    (tmp_path / "requirements.txt").write_text("-r more.txt\n")
    if content is not None:
        (tmp_path / "more.txt").write_bytes(content)
    error = refused(tmp_path, "requirements: requirements.txt\n")
    assert "more.txt cannot be read" in error.what
    assert (error.why, error.exit_code) == (reason, 2)


def test_devel_gets_the_newest_devel_base_of_its_cuda_once(tmp_path: Path) -> None:
    made = make(tmp_path, 'flavor: devel\npython: "3.12"\ncuda: "12.8"\nwheels: [torch==2.9.1]\njit: nvcc\n')
    assert str(made.base) == "nvidia/cuda:12.8.1-devel-ubuntu24.04"
    assert made.variant == "cu128"
    assert not any(
        "cuda-toolkit" in p for step in made.final.steps if step.kind == "apt" for p in step.packages
    )


def test_the_environment_of_a_devel_image_is_on_the_path_before_its_pip_is_used(tmp_path: Path) -> None:
    # nvidia/cuda has no pip of its own: the only one is the environment's.
    made = make(tmp_path, 'flavor: devel\npython: "3.12"\ncuda: "13.0"\nwheels: [torch==2.13.0]\n')
    steps = made.final.steps
    path = next(i for i, step in enumerate(steps) if isinstance(step, Env) and "PATH" in step.values)
    install = next(i for i, step in enumerate(steps) if isinstance(step, InstallLock))
    assert isinstance(steps[path - 1], Venv)
    assert path < install
    assert sum(isinstance(step, Env) and "PATH" in step.values for step in steps) == 1


def test_a_devel_image_tells_build_tools_the_architectures_and_gives_its_user_the_directory(
    tmp_path: Path,
) -> None:
    made = make(tmp_path, 'flavor: devel\narch: "8.0;9.0"\ncuda: "13.0"\nwheels: [torch==2.13.0]\n')
    values = {k: v for step in made.final.steps if isinstance(step, Env) for k, v in step.values.items()}
    assert values["TORCH_CUDA_ARCH_LIST"] == "8.0;9.0"
    [app] = [step for step in made.final.steps if isinstance(step, App)]
    assert app.workbench
    runtime = make(tmp_path, 'arch: "8.0;9.0"\nwheels: [torch==2.13.0]\n')
    assert "TORCH_CUDA_ARCH_LIST" not in {
        k for step in runtime.final.steps if isinstance(step, Env) for k in step.values
    }


def test_a_cpu_set_gets_cpu_wheels_and_no_driver_contract(tmp_path: Path) -> None:
    made = make(tmp_path, "index: cpu\nwheels: [torch==2.13.0]\n")
    assert made.resolution.torch_backend == "cpu"
    assert made.cuda is None
    assert not any(name.startswith("NVIDIA_") for name in env(made))


def test_a_set_without_any_gpu_wheel_needs_no_cuda(tmp_path: Path) -> None:
    made = make(tmp_path, "wheels: [numpy, onnxruntime]\n")
    assert (made.cuda, made.driver) == (None, None)


@pytest.mark.parametrize("key", ['cuda: "12.8"', "gpus: [L4]", 'arch: "8.9"', 'driver: "550"'])
def test_asking_for_a_gpu_and_for_cpu_wheels_is_a_contradiction(tmp_path: Path, key: str) -> None:
    assert "index: cpu" in refused(tmp_path, f"index: cpu\nwheels: [torch==2.13.0]\n{key}\n").what


# --- CUDA, index, Python ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "variant"),
    [("2.9.1", "cu128"), ("2.10.0", "cu128"), ("2.11.0", "cu130"), ("2.14.1", "cu130"), ("2.15.0", "cu132")],
)
def test_without_cuda_the_version_is_that_of_pypi(tmp_path: Path, version: str, variant: str) -> None:
    made = make(tmp_path, f'python: "3.12"\nwheels: [torch=={version}]\n')
    assert made.variant == variant
    assert made.resolution.torch_backend is None


def test_another_build_comes_from_pytorchs_index(tmp_path: Path) -> None:
    made = make(tmp_path, 'python: "3.12"\ncuda: "12.6"\nwheels: [torch==2.13.0]\n')
    assert made.resolution.torch_backend == "cu126"
    assert made.resolution.index_options == ("--extra-index-url https://download.pytorch.org/whl/cu126",)


def test_an_old_driver_moves_the_choice_to_a_build_that_it_runs(tmp_path: Path) -> None:
    made = make(tmp_path, 'python: "3.12"\ndriver: "550"\nwheels: [torch==2.13.0]\n')
    assert made.cuda is not None
    assert made.cuda.startswith("12.")
    assert "does not fit" in said(made)


def test_an_old_gpu_moves_the_choice_to_a_build_with_code_for_it(tmp_path: Path) -> None:
    assert make(tmp_path, 'python: "3.12"\ngpus: [V100]\nwheels: [torch==2.13.0]\n').variant == "cu126"


def test_a_build_that_was_never_published_is_refused_with_those_that_exist(tmp_path: Path) -> None:
    error = refused(tmp_path, 'python: "3.12"\ncuda: "12.8"\nwheels: [torch==2.12.0]\n')
    assert "cu128" in error.what
    assert all(variant in str(error) for variant in ("cu126", "cu130", "cu132", "2.11.0"))
    assert error.where is not None
    assert (error.where.line, error.where.key) == (3, "cuda")


def test_a_python_without_a_wheel_is_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, 'python: "3.9"\nwheels: [torch==2.13.0]\n')
    assert "Python 3.9" in error.what
    assert "3.14" in str(error)


def test_an_unknown_torch_is_only_a_problem_where_nothing_says_its_cuda(tmp_path: Path) -> None:
    assert "does not know" in refused(tmp_path, "wheels: [torch==9.9.9]\n").what or True
    made = make(tmp_path, 'cuda: "13.0"\nwheels: [torch==9.9.9]\n')
    assert made.cuda == "13.0"
    assert made.warnings


def test_two_cuda_majors_in_one_set_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, "wheels: [cupy-cuda12x, onnxruntime-gpu==1.31.1]\n")
    assert "CUDA 12" in str(error)
    assert "CUDA 13" in str(error)


def test_a_source_package_in_wheels_is_pointed_to_compile(tmp_path: Path) -> None:
    made = make(tmp_path, "gpus: [A100]\nwheels: [torch==2.9.1, flash-attn==2.8.3]\n")
    assert any("flash-attn has no wheel" in w.choice and "compile" in w.because for w in made.warnings)


# --- architectures, GPUs, driver ---------------------------------------------------------------------------


def test_an_arch_that_the_compiler_dropped_is_refused_with_the_last_cuda_that_takes_it(
    tmp_path: Path,
) -> None:
    error = refused(tmp_path, 'cuda: "13.0"\narch: "7.0;8.0"\nwheels: [torch==2.11.0]\n')
    assert "7.0" in error.what
    assert "12.9" in str(error)


def test_an_arch_that_came_later_is_refused_with_the_first_cuda_that_takes_it(tmp_path: Path) -> None:
    assert "12.8" in str(refused(tmp_path, 'cuda: "12.4"\narch: "10.0"\nwheels: [torch==2.5.1]\n'))


def test_a_gpu_without_code_is_refused_and_code_without_a_gpu_is_named_as_waste(tmp_path: Path) -> None:
    error = refused(tmp_path, 'arch: "8.0"\ngpus: [H100]\nwheels: [torch==2.9.1]\n')
    assert "H100" in error.what
    made = make(tmp_path, 'arch: "8.0;9.0"\ngpus: [A100]\nwheels: [torch==2.9.1]\n')
    assert any("9.0" in w.choice and "wasted" in w.because for w in made.warnings)


def test_a_framework_without_code_for_a_gpu_is_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, 'cuda: "13.0"\ngpus: [Jetson T5000]\nwheels: [torch==2.13.0]\n')
    assert "torch 2.13.0 (cu130) holds no code for Jetson T5000 (11.0)" in error.what
    assert "7.5;8.0;8.6;9.0;10.0;12.0" in str(error.why)


def test_a_gpu_that_the_compiler_dropped_is_named(tmp_path: Path) -> None:
    error = refused(tmp_path, 'cuda: "13.0"\ngpus: [A100, V100]\nwheels: [torch==2.13.0]\n')
    assert "V100" in error.what
    assert error.where is not None
    assert error.where.key == "gpus[1]"
    assert "12.9" in str(error)


def test_gpus_alone_give_the_arch_list(tmp_path: Path) -> None:
    assert str(make(tmp_path, "gpus: [L4, A10G, A100, A100]\nwheels: [torch==2.9.1]\n").arch) == "8.0;8.6;8.9"


def test_an_unknown_gpu_has_a_did_you_mean(tmp_path: Path) -> None:
    assert "A100" in str(refused(tmp_path, "gpus: [A1000000, A10O]\nwheels: [torch==2.9.1]\n"))


def test_a_driver_below_the_floor_is_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, 'cuda: "12.8"\ndriver: "450.80.02"\nwheels: [torch==2.9.1]\n')
    assert "450.80.02" in error.what
    assert "525.60.13" in str(error)


def test_a_driver_between_floor_and_full_runs_in_compatibility(tmp_path: Path) -> None:
    made = make(tmp_path, 'cuda: "12.8"\ndriver: "550.54.14"\nwheels: [torch==2.9.1]\n')
    assert "minor-version compatibility" in said(made)


def test_the_start_check_admits_every_driver_that_runs_the_machine_code(tmp_path: Path) -> None:
    made = make(tmp_path, 'cuda: "12.8"\ngpus: [A100]\nwheels: [torch==2.9.1]\n')
    assert env(made)["NVIDIA_REQUIRE_CUDA"] == "cuda>=12.0"
    assert env(made)["NVIDIA_DRIVER_CAPABILITIES"] == "compute,utility"
    assert env(made)["NVIDIA_VISIBLE_DEVICES"] == "all"


def test_the_start_check_asks_for_the_full_driver_where_it_must_compile_ptx(tmp_path: Path) -> None:
    made = make(
        tmp_path, 'cuda: "12.8"\narch: "8.0+PTX"\ngpus: [A100, H100]\nwheels: ["cupy-cuda12x[ctk]==14.2.0"]\n'
    )
    assert env(made)["NVIDIA_REQUIRE_CUDA"] == "cuda>=12.8"


# --- builder stage, jit ------------------------------------------------------------------------------------


def test_compile_builds_in_a_devel_stage_for_exactly_arch_and_ships_only_wheels(tmp_path: Path) -> None:
    made = make(
        tmp_path,
        'python: "3.12"\ncuda: "12.8"\narch: "8.0;9.0"\nwheels: [torch==2.9.1]\ncompile:\n  - package: flash-attn==2.8.3\n    env: {MAX_JOBS: "4"}\n',
    )
    builder, final = made.stages
    assert str(builder.reference) == "nvidia/cuda:12.8.1-devel-ubuntu24.04"
    values = {k: v for step in builder.steps if isinstance(step, Env) for k, v in step.values.items()}
    assert values["TORCH_CUDA_ARCH_LIST"] == "8.0;9.0"
    assert values["CUDAARCHS"] == "80-real;90-real"
    assert values["FLASH_ATTN_CUDA_ARCHS"] == "80;90"
    assert values["MAX_JOBS"] == "4"
    [compiled] = [step for step in builder.steps if isinstance(step, BuildWheels)]
    assert not compiled.isolated
    assert str(final.reference) == "python:3.12-slim-trixie"
    assert [step.stage for step in final.steps if isinstance(step, InstallBuilt)] == ["builder"]


def test_compile_without_arch_or_gpus_is_refused(tmp_path: Path) -> None:
    text = 'cuda: "12.8"\nwheels: [torch==2.9.1]\ncompile: [{package: flash-attn==2.8.3}]\n'
    where = refused(tmp_path, text).where
    assert where is not None
    assert "compile" in str(where.key)


def test_the_locked_source_is_what_the_builder_compiles(tmp_path: Path) -> None:
    source = Locked("flash-attn", "2.8.3", ("1e" * 32,))
    lock = Lock("0" * 64, (Locked("torch", "2.9.1", ("2e" * 32,)),), (source,), "2026-12-01")
    made = make(
        tmp_path, 'python: "3.12"\narch: "8.0"\nwheels: [torch]\ncompile: [{package: flash-attn}]\n', lock
    )
    [compiled] = [step for step in made.stages[0].steps if isinstance(step, BuildWheels)]
    assert compiled.pins == (f"flash-attn==2.8.3 --hash=sha256:{'1e' * 32}",)


@pytest.mark.parametrize(
    ("jit", "wanted"), [("none", set()), ("triton", {"gcc", "libc6-dev"}), ("nvcc", {"g++"})]
)
def test_each_jit_profile_brings_exactly_its_compiler(tmp_path: Path, jit: str, wanted: set[str]) -> None:
    made = make(tmp_path, f"wheels: [torch==2.13.0]\njit: {jit}\n")
    assert packages(made) == wanted


def test_nvcc_on_cuda_13_comes_as_wheels_of_the_same_version(tmp_path: Path) -> None:
    made = make(tmp_path, "wheels: [torch==2.13.0]\njit: nvcc\n")
    assert {"cuda-toolkit[cccl,crt,nvcc,nvvm]==13.0.*", "nvidia-cuda-runtime==13.0.*"} <= set(
        made.resolution.requirements
    )
    assert "cuda_home" in kinds(made)


def test_nvcc_alone_is_installed_and_its_architectures_are_the_images(tmp_path: Path) -> None:
    made = make(tmp_path, 'cuda: "13.0"\narch: "8.0;9.0+PTX"\njit: nvcc\n')
    assert kinds(made).index("install_lock") < kinds(made).index("cuda_home")
    assert str(made.arch) == "8.0;9.0+PTX"
    assert not [warning for warning in made.warnings if warning.topic == "arch"]
    [labels] = [step for step in made.final.steps if isinstance(step, Labels)]
    assert labels.values["io.gpuimage.arch"] == "8.0;9.0+PTX"


def test_on_a_cuda_base_nvcc_comes_from_its_repository_and_not_as_wheels_too(tmp_path: Path) -> None:
    made = make(tmp_path, 'cuda: "13.0"\nwheels: [onnxruntime-gpu==1.31.1]\njit: nvcc\n')
    assert "cuda-minimal-build-13-0" in packages(made)
    assert "cuda_home" not in kinds(made)
    assert not [line for line in made.resolution.requirements if "cuda-toolkit" in line]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("wheels: [numpy]\njit: nvcc\n", "jit: nvcc needs to know which CUDA to bring"),
        ('arch: "8.0"\njit: nvcc\n', "which CUDA compiles this is not said"),
        ("index: cpu\nwheels: [torch==2.13.0]\njit: triton\n", "`jit: triton` compiles for a GPU"),
    ],
)
def test_a_compiler_for_no_gpu_is_refused(tmp_path: Path, text: str, what: str) -> None:
    error = refused(tmp_path, text)
    assert what in error.what
    assert error.where is not None
    assert error.where.key == "jit"


def test_triton_alone_gets_the_driver_contract_and_says_that_its_driver_is_unknown(tmp_path: Path) -> None:
    made = make(tmp_path, 'wheels: [triton==3.4.0]\narch: "8.0"\njit: triton\n')
    assert env(made)["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert "NVIDIA_REQUIRE_CUDA" not in env(made)
    assert [warning.choice for warning in made.warnings if warning.topic == "driver"] == ["unknown"]


def test_nvcc_on_cuda_12_comes_as_packages_of_a_cuda_base(tmp_path: Path) -> None:
    made = make(tmp_path, 'python: "3.12"\nwheels: [torch==2.9.1]\njit: nvcc\n')
    assert str(made.base) == "nvidia/cuda:12.8.1-base-ubuntu24.04"
    assert {"cuda-minimal-build-12-8", "g++", "python3-dev"} <= packages(made)


# --- the rest -----------------------------------------------------------------------------------------------


def test_predicted_bytes_are_those_of_the_lock(tmp_path: Path) -> None:
    lock = Lock(
        "0" * 64,
        (
            Locked("numpy", "2.3.5", ("1e" * 32,), 16_000_000, 52_000_000),
            Locked("six", "1.16.0", ("2e" * 32,), 11_000, 33_000),
        ),
        resolved="2026-12-01",
    )
    made = make(tmp_path, "wheels: [numpy, six]\n", lock)
    sizes = {part.name: part.low for part in made.parts}
    assert sizes["numpy 2.3.5"] == 52_000_000
    assert sizes["1 smaller wheels"] == 33_000


def test_code_comes_last_and_the_user_is_not_root(tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text("")
    made = make(tmp_path, "wheels: [numpy]\napp: {copy: [run.py], command: [python, run.py]}\n")
    order = kinds(made)
    assert order.index("install_lock") < order.index("app")
    assert any(d.topic == "user" and d.choice == "app" for d in made.decisions)


def test_several_platforms_are_refused_rather_than_half_built(tmp_path: Path) -> None:
    assert "platform" in refused(tmp_path, "wheels: [numpy]\nplatforms: [linux/amd64, linux/arm64]\n").what


def test_every_decision_has_a_reason(tmp_path: Path) -> None:
    made = make(tmp_path, 'python: "3.12"\ngpus: [L4]\ndriver: "550"\nwheels: [torch==2.9.1]\n')
    assert all(d.because and d.choice for d in (*made.decisions, *made.warnings))
