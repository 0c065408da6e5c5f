"""What in a spec or in an image's files causes an error, and what of a plan follows from a key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from gpuimage.arch import ComputeCapability
from gpuimage.errors import SpecError
from gpuimage.examine import Examination, inspect
from gpuimage.explain import Cause, explain, explain_key, image_causes, spec_causes
from gpuimage.lock import read_lock
from gpuimage.spec import load_spec
from gpuimage.tables import known_errors
from tests.conftest import Command
from tests.elves import elf
from tests.error_texts import LOGS, SINGLE
from tests.fatbins import container, entry, library

EXAMPLES = Path(__file__).parent.parent / "examples"
KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
SM120 = "GPU with CUDA capability sm_120 is not compatible with the current PyTorch installation."
OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version 12040)."
JITLINK = "ImportError: /x/libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12"
LIBGL = "ImportError: libGL.so.1: cannot open shared object file: No such file or directory"
CUDA_HOME = (
    "  Building wheel for flash-attn (setup.py): started\nOSError: CUDA_HOME environment variable is not set."
)


def causes(work: Path, spec: str, text: str, *targets: str) -> tuple[Cause, ...]:
    """The causes of the first error in a text, in a spec."""
    path = work / "spec.yaml"
    path.write_text(f"image: example.com/team/infer:1\n{spec}\n", encoding="utf-8")
    gpus = [ComputeCapability.parse(target) for target in targets]
    return spec_causes(explain(text), load_spec(path), targets=gpus)[0].spec


# --- the spec ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "text", "key", "place", "because", "change"),
    [
        ("gpus: [A10G]\nwheels: [torch==2.9.1]", SM120, "gpus", "2:7", "it asks for 8.6, and nothing of that runs on 12.0", "12.0"),
        ('arch: "8.6"\nwheels: [torch==2.9.1]', SM120, "arch", "2:7", "it asks for 8.6", 'arch: "8.6;12.0"'),
        ("wheels: [torch==2.6.0]", SM120, "wheels[0]", "2:10", "has no code for 12.0", 'set cuda: "12.8"'),
        ("wheels: [torch==2.13.0]", OLD, "wheels[0]", "2:10", "CUDA 13.0, which needs a driver from 580.65.06 on", 'driver: "550"'),
        ("wheels: [torch==2.13.0]", "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.0, please", "wheels[0]", "2:10", "NVIDIA_REQUIRE_CUDA=cuda>=13.0", "driver"),
        ('cuda: "12.4"\narch: "12.0"\nwheels: [torch==2.6.0]', "nvcc fatal   : Unsupported gpu architecture 'compute_120'", "arch", "3:7", "CUDA 12.4 cannot make code for 12.0", "12.8"),
        ("wheels: [torch==2.9.1]", "Failed to find C compiler. Please specify via CC", "jit", None, "nothing compiles at run time", "jit: triton"),
        ("wheels: [torch==2.9.1]", "sh: 1: nvcc: not found", "jit", None, "no CUDA compiler", "jit: nvcc"),
        ("wheels:\n  - torch==2.9.1\n  - flash-attn==2.8.3", CUDA_HOME, "wheels[1]", "4:5", "flash-attn", "compile: [{package: flash-attn==2.8.3}]"),
        ("wheels: [torch==2.9.1]", LIBGL, "apt", None, "no package of it brings libGL.so.1", "apt: [libgl1]"),
        ("wheels: [torch==2.9.1, opencv-python]", LIBGL, "wheels[1]", "2:24", "opencv-python", "opencv-python-headless"),
        ("wheels: [torch==2.9.1]\nenv:\n  LD_LIBRARY_PATH: /usr/local/cuda/lib64", JITLINK, "env.LD_LIBRARY_PATH", "4:20", "/usr/local/cuda/lib64", "remove"),
        ('driver: "535"\nwheels: [torch==2.6.0]', "CUDA error: API call is not supported in the installed CUDA driver", "driver", "2:9", "newer features and PTX of this toolkit do not", "550"),
        ("wheels: [torch==2.9.1, torchvision==0.20.0]", "RuntimeError: operator torchvision::nms does not exist", "wheels[1]", "2:24", "no partner of torch 2.9.1", "torchvision==0.24.1"),
        ("wheels: [torch==2.9.1]\nindex: cpu", "AssertionError: Torch not compiled with CUDA enabled", "index", "3:8", "CPU builds", "index: auto"),
        ("wheels: [torch==2.9.1]\nindex: cu118", "ERROR: No matching distribution found for torch==2.9.1", "index", "3:8", "no build for CUDA 11.8", 'cuda: "13.0"'),
        ('python: "3.8"\nwheels: [torch==2.9.1]', "ERROR: No matching distribution found for torch==2.9.1", "python", "2:9", "no wheel for Python 3.8", "3.14"),
        ("wheels: [torch==2.9.1]", "ssl: certificate verify failed: unable to get local issuer certificate", "build.ca", None, "no certificate authority", "company-ca.pem"),
        ("wheels: [torch==2.9.1]\napt: [libgl1, libnvidia-compute-550]", "mount error: file creation failed: /var/x/merged/usr/lib/libcuda.so.1: file exists", "apt[1]", "3:15", "driver library", "remove libnvidia-compute-550"),
        ("wheels: [torch==2.9.1]\napt: [libgl1-mesa-glx]", "E: Unable to locate package libgl1-mesa-glx", "apt[0]", "3:7", "no such package", "another"),
        ("wheels: [torch==2.9.1]\nenv: {CUDA_VISIBLE_DEVICES: ''}", "RuntimeError: No CUDA GPUs are available", "env.CUDA_VISIBLE_DEVICES", "3:29", "fixed in the image", "remove"),
        ("wheels: [torch==2.9.1]\nenv: {NVIDIA_DRIVER_CAPABILITIES: compute}", 'exec: "nvidia-smi": executable file not found in $PATH', "env.NVIDIA_DRIVER_CAPABILITIES", "3:35", "utility", "compute,utility"),
        ('wheels: [torch==2.9.1]\napp: {user: "1042"}', "KeyError: 'getpwuid(): uid not found: 1042'", "app.user", "3:13", "no user", "app"),
        ("wheels: [torch==2.9.1]\nbase: nvidia/cuda:11.8.0-runtime-ubuntu20.04", "libc.so.6: version `GLIBC_2.38' not found (required by /x.so)", "base", "3:7", "older than glibc 2.38", "auto"),
        ("wheels: [torch==2.9.1]\ngpus: [L4]\ncompile: [{package: flash-attn==2.8.3}]", "nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "compile[0].env", "4:11", "flash-attn", "MAX_JOBS"),
        ('wheels: [onnxruntime-gpu==1.31.1]\ncuda: "13.0"\nbase: python:3.12-slim', "libcudnn.so.9: cannot open shared object file: No such file", "base", "4:7", "onnxruntime-gpu wants libcudnn.so.9", "auto"),
    ],
)  # fmt: skip
def test_the_key_that_causes_an_error_is_named_with_its_place_and_the_smallest_change(
    work: Path, spec: str, text: str, key: str, place: str | None, because: str, change: str
) -> None:
    found = causes(work, spec, text)[0]
    assert (found.verdict, found.key) == ("cause", key)
    assert found.where is not None
    assert str(found.where).removeprefix(f"{work / 'spec.yaml'}").removeprefix(":") == (place or "")
    assert because in found.because
    assert change in found.change


@pytest.mark.parametrize(
    ("spec", "text", "because"),
    [
        ("wheels: [torch==2.9.1]", "Failed to initialize NVML: Driver/library version mismatch", "the host's driver"),
        ('driver: "580"\nwheels: [torch==2.13.0]', OLD, "it promises driver 580, which runs its CUDA 13.0; the host's driver speaks CUDA 12.4, older than that"),
        ('arch: "8.6"\nwheels: [torch==2.9.1]', "nvcc fatal   : Unsupported gpu architecture 'compute_120'", "compute_120 comes from the package's own build files"),
        ("jit: triton\nwheels: [torch==2.9.1]", "Failed to find C compiler. Please specify via CC", "bring a C compiler"),
        ("apt: [libgl1]\nwheels: [torch==2.9.1]", LIBGL, "its `apt` has libgl1"),
        ("wheels: [torch==2.9.1, torchvision==0.24.1]", "RuntimeError: operator torchvision::nms does not exist", "are a pair"),
        ("wheels: [torch==2.9.1]", "x509: certificate signed by unknown authority", "the engine itself"),
        ("wheels: [torch==2.9.1]", "E: Unable to locate package cuda-toolkit", "does not name cuda-toolkit"),
    ],
)  # fmt: skip
def test_where_the_spec_cannot_be_the_cause_that_is_said(
    work: Path, spec: str, text: str, because: str
) -> None:
    [found] = causes(work, spec, text)
    assert (found.verdict, found.key) == ("not-here", None)
    assert found.because.startswith("nothing in spec.yaml causes this: ")
    assert because in found.because


def test_a_gpu_that_no_message_names_is_asked_for_and_taken_from_the_command_line(work: Path) -> None:
    spec = "gpus: [A10G]\nwheels: [torch==2.9.1]"
    [found] = causes(work, spec, KERNEL)
    assert (found.verdict, found.change) == ("unknown", "name it: --gpu NAME")
    [named] = causes(work, spec, KERNEL, "12.0")
    assert (named.verdict, named.key) == ("cause", "gpus")
    [served] = causes(work, spec, KERNEL, "8.6")
    assert served.verdict == "unknown"
    assert "another wheel has none" in served.because


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
def test_every_known_error_is_answered_for_every_example(example: str) -> None:
    file = load_spec(EXAMPLES / example / "spec.yaml")
    lock = read_lock(file.path.with_suffix(".lock"))
    answered = set()
    for text in (*SINGLE, *LOGS):
        for one in spec_causes(explain(text.text), file, lock=lock):
            answered.add(one.error.id)
            assert one.spec
            for cause in one.spec:
                assert (cause.key is not None) == (cause.verdict == "cause"), one.error.id
                assert cause.because
    assert len(answered) > 40


# --- an image ---------------------------------------------------------------------------------------------------

SITE = "usr/local/lib/python3.12/site-packages"
USR = "usr/lib/x86_64-linux-gnu"


def root(work: Path, files: Mapping[str, bytes | str], env: Sequence[str] = ()) -> Examination:
    """Write files (a text is a link), read them as an image, with its variables."""
    top = work / "root"
    for name, content in {"etc/os-release": b"ID=debian\n", **files}.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
        else:
            path.write_bytes(content)
            path.chmod(0o755)
    seen = inspect(str(top))
    assert seen.kind == "root"
    return replace(seen, inspection=replace(seen.inspection, env=tuple(env)))


def wheel(name: str, version: str, *files: str) -> dict[str, bytes]:
    """The metadata of an installed wheel that owns some files."""
    info = f"{SITE}/{name}-{version}.dist-info"
    record = (
        "".join(f"{file.removeprefix(SITE + '/')},,\n" for file in files)
        + f"{name}-{version}.dist-info/METADATA,,\n"
    )
    return {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/RECORD": record.encode(),
    }


def look(text: str, examined: Examination, *targets: str) -> tuple[Cause, ...]:
    gpus = [ComputeCapability.parse(target) for target in targets]
    return image_causes(explain(text), examined, targets=gpus)[0].image


def test_the_file_without_code_for_the_gpu_is_named_with_its_wheel(work: Path) -> None:
    good, bad = f"{SITE}/good/k.so", f"{SITE}/exllama/q.so"
    seen = root(work, {
        good: library(container(entry("cubin", "8.0"), entry("cubin", "12.0"))),
        bad: library(container(entry("cubin", "8.0")), container(entry("cubin", "8.6"))),
        **wheel("good", "1.0", good), **wheel("exllama", "0.2", bad),
    })  # fmt: skip
    [found] = look(SM120, seen)
    assert (found.verdict, found.value) == ("cause", f"/{bad}")
    assert "(exllama 0.2): no code for 12.0" in found.because
    [fine] = look(KERNEL, seen, "8.6")
    assert (fine.verdict, "every file with GPU code has some that runs on 8.6" in fine.because) == (
        "not-here",
        True,
    )
    [ask] = look(KERNEL, seen)
    assert (ask.verdict, ask.change) == ("unknown", "name it: --gpu NAME")


def test_code_that_only_a_newer_driver_compiles_is_named(work: Path) -> None:
    seen = root(work, {"usr/lib/k.so": library(container(entry("ptx", "8.0", isa="8.4")))})
    [found] = look(
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.", seen, "9.0"
    )
    assert (found.verdict, "driver 550.54.14 or newer" in found.because) == ("cause", True)


def test_who_wants_a_missing_library_is_named(work: Path) -> None:
    cv2 = f"{SITE}/cv2/cv2.abi3.so"
    seen = root(work, {cv2: elf(needed=["libGL.so.1"]), **wheel("opencv_python", "4.12", cv2)})
    [found] = look(LIBGL, seen)
    assert (found.verdict, found.value) == ("cause", f"/{cv2}")
    assert "opencv_python 4.12) wants libGL.so.1, and no file has that name" in found.because
    assert "libgl1" in found.change
    there = root(work, {f"{USR}/libGL.so.1": elf(soname="libGL.so.1")})
    assert look(LIBGL, there)[0].verdict == "not-here"


def test_a_library_where_the_loader_does_not_look_is_found(work: Path) -> None:
    seen = root(work, {
        "usr/bin/tool": elf(needed=["libcudnn.so.9"]), f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9": elf(soname="libcudnn.so.9"),
    })  # fmt: skip
    [found] = look(
        "tool: error while loading shared libraries: libcudnn.so.9: cannot open shared object file: No such file",
        seen,
    )
    assert (found.verdict, f"libcudnn.so.9 is at /{SITE}/nvidia/cudnn/lib" in found.because) == (
        "cause",
        True,
    )


def test_the_copy_that_is_loaded_first_is_named(work: Path) -> None:
    cuda, own = "usr/local/cuda/lib64/libnvJitLink.so.12", f"{SITE}/nvidia/nvjitlink/lib/libnvJitLink.so.12"
    sparse = f"{SITE}/nvidia/cusparse/lib/libcusparse.so.12"
    seen = root(work, {
        cuda: elf(soname="libnvJitLink.so.12"), own: elf(soname="libnvJitLink.so.12"),
        sparse: elf(soname="libcusparse.so.12", needed=["libnvJitLink.so.12"], runpath="$ORIGIN/../../nvjitlink/lib"),
    }, env=["LD_LIBRARY_PATH=/usr/local/cuda/lib64"])  # fmt: skip
    [found] = look(JITLINK, seen)
    assert (found.verdict, found.value) == ("cause", f"/{cuda}")
    assert (
        f"libcusparse.so.12 gets /{cuda} before /{own} (LD_LIBRARY_PATH=/usr/local/cuda/lib64)"
        in found.because
    )


@pytest.mark.parametrize(
    ("text", "files", "env", "verdict", "because"),
    [
        ("Failed to find C compiler. Please specify via CC", {"usr/bin/python3": b"x"}, (), "cause", "no gcc and no cc and no clang"),
        ("Failed to find C compiler. Please specify via CC", {"usr/bin/gcc-14": b"x", "usr/bin/gcc": "gcc-14"}, (), "not-here", "/usr/bin/gcc is there"),
        ("sh: 1: nvcc: not found", {"usr/bin/python3": b"x"}, (), "cause", "there is no nvcc in it"),
        ("x.cu:1:10: fatal error: cusparse.h: No such file or directory", {"usr/local/cuda/bin/nvcc": b"x"}, (), "cause", "there is no cusparse.h"),
        ("CUDA error: CUDA driver is a stub library", {f"{USR}/libcuda.so.1": "../../local/cuda/stubs/libcuda.so", "usr/local/cuda/stubs/libcuda.so": b"x"}, (), "cause", "stub"),
        ("nvidia-container-cli: mount error: file creation failed: /m/libcuda.so.1: file exists", {f"{USR}/libcuda.so.550.54.14": b"x"}, (), "cause", "driver libraries are baked in"),
        ("Error 803: system has unsupported display driver / cuda driver combination", {"usr/bin/x": b"x"}, (), "not-here", "no driver library"),
        ("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, x", {"usr/bin/x": b"x"}, ("NVIDIA_REQUIRE_CUDA=cuda>=12.6 brand=tesla",), "cause", "NVIDIA_REQUIRE_CUDA is cuda>=12.6"),
        ("Failed to initialize NVML: Not Found", {"usr/bin/x": b"x"}, ("NVIDIA_DRIVER_CAPABILITIES=compute",), "cause", "NVIDIA_DRIVER_CAPABILITIES is compute"),
        ("RuntimeError: No CUDA GPUs are available", {"usr/bin/x": b"x"}, ("NVIDIA_VISIBLE_DEVICES=all",), "not-here", "how the container is started; it sets NVIDIA_VISIBLE_DEVICES=all"),
        ("AssertionError: Torch not compiled with CUDA enabled", wheel("torch", "2.9.1+cpu"), (), "cause", "torch 2.9.1+cpu, a CPU build"),
        ("RuntimeError: operator torchvision::nms does not exist", wheel("torch", "2.9.1") | wheel("torchvision", "0.20.1"), (), "cause", "the partner is 0.24.1"),
        ("A module that was compiled using NumPy 1.x cannot be run in NumPy 2", wheel("numpy", "2.3.1"), (), "cause", "numpy 2.3.1"),
        ("Failed to initialize NVML: Driver/library version mismatch", {"usr/bin/x": b"x"}, (), "not-here", "the host's driver"),
    ],
)  # fmt: skip
def test_what_in_the_files_causes_an_error(
    work: Path, text: str, files: Mapping[str, bytes | str], env: Sequence[str], verdict: str, because: str
) -> None:
    found = look(text, root(work, files, env))[0]
    assert found.verdict == verdict
    assert because in found.because


def test_every_known_error_is_answered_for_an_image_and_a_file(work: Path) -> None:
    seen = root(work, {"usr/lib/k.so": library(container(entry("cubin", "8.0")))})
    alone = inspect(str(work / "root/usr/lib/k.so"))
    for text in (*SINGLE, *LOGS):
        for examined in (seen, alone):
            for one in image_causes(explain(text.text), examined):
                assert one.image
                assert all(cause.because for cause in one.image)
    assert "what is around it is not known" in look(LIBGL, alone)[0].because


def test_finders_are_of_errors_that_the_tables_know() -> None:
    from gpuimage.explain.image import _FINDERS as IN_IMAGES  # noqa: PLC0415
    from gpuimage.explain.spec import _FINDERS as IN_SPECS  # noqa: PLC0415

    names = {error.id for error in known_errors()}
    assert {*IN_IMAGES, *IN_SPECS} <= names


# --- the keys of a spec -----------------------------------------------------------------------------------------

QUICKSTART = EXAMPLES / "quickstart" / "spec.yaml"


@pytest.mark.parametrize(
    ("key", "value", "default", "line", "topics"),
    [
        ("base", "auto", "auto", None, {"base"}),
        ("cuda", "13.0", None, 4, {"cuda", "driver", "driver contract"}),
        ("driver", "580", None, 6, {"driver", "start check", "driver verdict"}),
        ("wheels[0]", "cupy-cuda13x[ctk]==14.2.0", None, 7, {"lock"}),
        ("gpus", "[L4, A100]", "[]", 5, {"arch"}),
        ("jit", "none", "none", None, {"jit"}),
        ("app.user", "app", "app", None, {"user"}),
        ("lock", None, None, None, {"lock"}),
    ],
)
def test_a_key_tells_what_follows_from_it(
    key: str, value: str | None, default: str | None, line: int | None, topics: set[str]
) -> None:
    [answer] = explain_key(QUICKSTART, key)
    assert (answer.is_key, answer.value, answer.default) == (True, value, default)
    assert (answer.where.line if answer.where else None) == line
    assert {one.topic for one in answer.decisions} == topics


def test_a_refusal_and_an_instruction_belong_to_their_key() -> None:
    [answer] = explain_key(QUICKSTART, "base")
    assert [one.what for one in answer.refusals] == ["an nvidia/cuda base"]
    dockerfile = (QUICKSTART.parent / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert [dockerfile[one.line - 1] for one in answer.written] == [one.text for one in answer.written]
    assert answer.written[0].text.startswith("FROM python:3.13")


def test_a_topic_is_asked_for_by_its_name() -> None:
    [answer] = explain_key(QUICKSTART, "start-check")
    assert (answer.is_key, [one.topic for one in answer.decisions]) == (False, ["start check"])


def test_a_key_that_stops_the_plan_says_so_and_the_others_name_what_does(work: Path) -> None:
    path = work / "spec.yaml"
    path.write_text(
        'image: a/b:1\ngpus: [GeForce RTX 4090]\ncuda: "13.0"\ndriver: "570"\nwheels: [torch==2.13.0]\n',
        encoding="utf-8",
    )
    [driver] = explain_key(path, "driver")
    [base] = explain_key(path, "base")
    assert (driver.about_key, base.about_key) == (True, False)
    assert driver.stopped is not None
    assert "driver 570 cannot run CUDA 13.0" in driver.stopped.what


def test_each_image_of_a_matrix_has_an_answer(work: Path) -> None:
    path = work / "spec.yaml"
    path.write_text(
        'image: a/b:1\nwheels: [torch==2.9.1]\nmatrix: {cuda: ["12.6", "12.8"]}\n', encoding="utf-8"
    )
    assert [(one.image.rpartition("-")[2], one.value) for one in explain_key(path, "cuda")] == [
        ("cu126", "12.6"),
        ("cu128", "12.8"),
    ]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("bas", "did you mean"), ("driverr", "#driver?"), ("app.usr", "#app.user?"), ("wheels[7]", "there is no wheels[7]"),
        ("gpus[x]", "has no key"), ("strat-check", "#start-check?"), ("env.FOO", "there is no env.FOO"), ("cuda[0]", "has no key"),
    ],
)  # fmt: skip
def test_a_key_that_no_spec_has_is_an_error_with_the_likeliest_one(key: str, said: str) -> None:
    with pytest.raises(SpecError) as caught:
        explain_key(QUICKSTART, key)
    assert said in str(caught.value)


# --- the command ------------------------------------------------------------------------------------------------


@pytest.fixture
def run(command: Command) -> Command:
    return partial(command, "explain")


def test_the_command_answers_for_a_key_in_text_and_json(run: Command) -> None:
    code, out, _ = run(f"{QUICKSTART}#apt")
    assert (code, "decided nothing" in out, "this is the default" in out) == (0, True, True)
    code, out, _ = run(f"{QUICKSTART}#driver", "--format", "json")
    [answer] = json.loads(out)["answers"]
    assert (code, answer["value"], answer["line"]) == (0, "580", 6)
    assert {one["topic"] for one in answer["decisions"]} == {"driver", "start check", "driver verdict"}
    code, out, err = run(f"{QUICKSTART}#bas")
    assert (code, out) == (2, "")
    assert "did you mean" in err
    assert run("nowhere/spec.yaml#base")[0] == 2


def test_the_command_holds_a_log_against_a_spec_and_an_image(run: Command, work: Path) -> None:
    (work / "spec.yaml").write_text("image: a/b:1\ngpus: [A10G]\nwheels: [torch==2.9.1]\n", encoding="utf-8")
    files: dict[str, bytes | str] = {f"{SITE}/k.so": library(container(entry("cubin", "8.6")))}
    root(work, files)
    code, out, _ = run(
        "-", "--spec", "spec.yaml", "--image", "root", "--gpu", "RTX 5090", stdin=KERNEL.encode()
    )
    assert code == 0
    assert "in the spec: spec.yaml:2:7: gpus = [A10G]: it asks for 8.6" in out
    assert f"in the image: /{SITE}/k.so: no code for 12.0" in out
    code, out, _ = run(
        KERNEL, "--spec", "spec.yaml", "--image", "root", "--gpu", "RTX 5090", "--format", "json"
    )
    [one] = json.loads(out)["diagnoses"]
    assert (one["spec"][0]["key"], one["spec"][0]["line"], one["image"][0]["verdict"]) == ("gpus", 2, "cause")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--spec", "gone.yaml"], "gone.yaml"),
        (["--image", "/gone"], "no such file"),
        (["--image", "-"], "standard input"),
        (["--gpu", "A1OG"], "no GPU named"),
    ],
)
def test_bad_options_are_one_clear_error(run: Command, work: Path, arguments: list[str], said: str) -> None:
    code, out, err = run(KERNEL, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
