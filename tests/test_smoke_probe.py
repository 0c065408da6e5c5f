"""The probe, run as users run it: one file on the standard input of a Python, with small real packages on its path."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import InvalidSpecifier, Specifier
from packaging.version import Version

from gpuimage.arch import ArchList, ComputeCapability
from gpuimage.inspect.fatbin import cubin_capability
from gpuimage.smoke import Expectation, Verdict, probe, smoke_here

SOURCE = Path(probe.__file__).read_bytes()


def ask(site: Path, env: Mapping[str, str] | None = None, **expect: object) -> dict[str, Any]:
    """Run the probe with these packages and expectations; its document."""
    expect.setdefault("timeout", 60)
    done = subprocess.run(
        [sys.executable, "-"],
        input=SOURCE,
        env={**os.environ, **(env or {}), "PYTHONPATH": str(site), "GPUIMAGE_PROBE": json.dumps(expect)},
        capture_output=True,
        check=False,
    )
    out = done.stdout.decode()
    assert probe.BEGIN in out, done.stderr.decode()
    document: dict[str, Any] = json.loads(out.rpartition(probe.BEGIN)[2].partition(probe.END)[0])
    assert done.returncode == (1 if any(v["status"] == "failed" for v in document["verdicts"]) else 0)
    return document


def verdict(document: Mapping[str, Any], name: str) -> tuple[str, str]:
    [found] = [row for row in document["verdicts"] if row["probe"] == name]
    return found["status"], found["reason"]


def module(site: Path, name: str, text: str) -> None:
    (site / f"{name}.py").write_text(text)


def distribution(site: Path, name: str, version: str, *requires: str) -> None:
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    (info / "METADATA").write_text("\n".join([*lines, *(f"Requires-Dist: {one}" for one in requires)]) + "\n")


# --- imports ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("__version__ = '1.2'", "passed", "1.2"),
        (f"print('noise'); print('{probe.END}'); print('no newline', end='')", "passed", "imported"),
        ("raise ValueError('first line\\nsecond')", "failed", "ValueError: first line"),
        ("import sys; sys.exit(0)", "failed", "SystemExit"),
        ("import os; os._exit(0)", "failed", "ended with status 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "failed", "SIGSEGV"),
        ("import atexit, os; atexit.register(os._exit, 3)", "failed", "ended with status 3"),
        ("import absent_thing", "failed", "No module named 'absent_thing'"),
        (
            "raise ImportError('libcuda.so.1: cannot open shared object file: No such file or directory')",
            "skipped",
            "the driver's libraries",
        ),
        ("raise ImportError('libcudart.so.13: cannot open shared object file')", "failed", "libcudart.so.13"),
        ("raise ValueError('caf\\udce9')", "failed", "ValueError: caf"),
    ],
)
def test_an_import_becomes_a_verdict_whatever_it_does(
    tmp_path: Path, text: str, status: str, reason: str
) -> None:
    module(tmp_path, "victim", text)
    found = verdict(ask(tmp_path, imports=["victim"]), "import victim")
    assert found[0] == status
    assert reason in found[1]


def test_a_module_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    module(
        tmp_path, "hangs",
        f"import subprocess, time\nopen({str(pid)!r}, 'w').write(str(subprocess.Popen(['sleep', '300']).pid))\ntime.sleep(300)",
    )  # fmt: skip
    found = verdict(ask(tmp_path, imports=["hangs"], timeout=3), "import hangs")
    assert found == ("failed", "did not end within 3 seconds")
    state = Path(f"/proc/{pid.read_text()}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_the_expectations_do_not_leak_into_what_is_imported(tmp_path: Path) -> None:
    module(tmp_path, "nosy", "import os\nassert 'GPUIMAGE_PROBE' not in os.environ")
    assert verdict(ask(tmp_path, imports=["nosy"]), "import nosy")[0] == "passed"


# --- distributions --------------------------------------------------------------------------------------------


def test_what_nothing_meets_fails_by_name_and_a_marker_that_does_not_hold_asks_for_nothing(
    tmp_path: Path,
) -> None:
    distribution(
        tmp_path, "owner", "1.0", "missing-one>=2", "on-windows; sys_platform == 'win32'", "for-tests; extra == 'test'"
    )  # fmt: skip
    document = ask(tmp_path)
    status, reason = verdict(document, "dependencies")
    assert status == "failed"
    assert reason == "owner 1.0 needs missing-one>=2: it is not installed"


def test_an_extra_counts_where_another_distribution_asks_for_it(tmp_path: Path) -> None:
    distribution(tmp_path, "asks", "1.0", "gives[Some_Thing]")
    distribution(tmp_path, "gives", "1.0", "wanted; extra == 'some-thing'", "unwanted; extra == 'other'")
    status, reason = verdict(ask(tmp_path), "dependencies")
    assert (status, reason) == ("failed", "gives 1.0 needs wanted: it is not installed")


def test_another_version_than_asked_for_is_a_note_and_an_unknown_marker_is_not_judged(tmp_path: Path) -> None:
    distribution(tmp_path, "owner", "1.0", "other<2", "strange; platform_node == 'x'")
    distribution(tmp_path, "other", "2.0")
    document = ask(tmp_path)
    status, reason = verdict(document, "dependencies")
    assert status == "passed"
    assert "1 in another version than asked for" in reason
    [row] = [row for row in document["verdicts"] if row["probe"] == "dependencies"]
    assert row["evidence"] == [
        "note: owner 1.0 needs other<2, 2.0 is installed",
        "not judged: owner: strange; platform_node == 'x'",
    ]


def test_expected_versions_are_held_against_the_installed_ones(tmp_path: Path) -> None:
    distribution(tmp_path, "Some.Thing", "1.0.0+cu128")
    assert verdict(ask(tmp_path, frameworks={"some-thing": "1.0"}), "versions")[0] == "passed"
    status, reason = verdict(ask(tmp_path, frameworks={"some-thing": "1.1", "absent": "3"}), "versions")
    assert status == "failed"
    assert reason == "absent==3 is not installed and 1 more"


versions = st.from_regex(
    r"\A[0-9]{1,2}(\.[0-9]{1,2}){0,3}((a|b|rc)[0-9])?(\.post[0-9])?(\.dev[0-9])?(\+cu12[0-9])?\Z"
)
operators = st.sampled_from(["==", "!=", "<=", ">=", "<", ">", "~="])


@given(versions, versions)
def test_versions_are_ordered_as_pip_orders_them(left: str, right: str) -> None:
    a, b = probe.version_key(left.partition("+")[0]), probe.version_key(right.partition("+")[0])
    assert a is not None
    assert b is not None
    public = Version(left.partition("+")[0]), Version(right.partition("+")[0])
    assert (a < b, a == b) == (public[0] < public[1], public[0] == public[1])


@given(
    operators,
    st.from_regex(r"\A[0-9]{1,2}(\.[0-9]{1,2}){0,3}\Z"),
    st.from_regex(r"\A[0-9]{1,2}(\.[0-9]{1,2}){0,3}\Z"),
)
def test_a_specifier_allows_what_packaging_allows(operator: str, wanted: str, version: str) -> None:
    try:
        expected = Specifier(operator + wanted).contains(version)
    except InvalidSpecifier:
        return
    assert probe.allows(operator + wanted, version) is expected


MARKERS = st.recursive(
    st.builds(
        lambda name, operator, value: f"{name} {operator} '{value}'",
        st.sampled_from(["python_version", "python_full_version"]),
        st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
        st.sampled_from(["3.8", "3.11", "3.12", "3.100", "2.7"]),
    )
    | st.builds(
        lambda name, operator, value: f'{name} {operator} "{value}"',
        st.sampled_from(["sys_platform", "platform_machine", "os_name", "platform_system", "extra"]),
        st.sampled_from(["==", "!=", "in", "not in"]),
        st.sampled_from(["linux", "win32", "x86_64", "posix", "Linux", "cuda"]),
    ),
    lambda inner: st.builds(
        lambda a, word, b: f"({a} {word} {b})", inner, st.sampled_from(["and", "or"]), inner
    ),
    max_leaves=5,
)


@given(MARKERS, st.sampled_from(["", "cuda", "linux"]))
def test_a_marker_holds_where_packaging_says_so(marker: str, extra: str) -> None:
    values = {**probe.environment(), "extra": extra}
    assert probe.applies(marker, values) is Marker(marker).evaluate({"extra": extra})


# --- frameworks -----------------------------------------------------------------------------------------------

# A stand-in for torch that only answers: here the judging of its answers is tested, torch itself is in the images.
TORCH = """
__version__ = {version!r}
class version: cuda = {cuda!r}
class _C:
    @staticmethod
    def _cuda_getArchFlags(): return {archs!r}
class cuda:
    @staticmethod
    def is_available(): return False
class backends:
    class cudnn:
        @staticmethod
        def version(): return 91002
"""


def torch(site: Path, cuda: str | None = "12.8", archs: str = "sm_80 sm_90 compute_90") -> None:
    distribution(site, "torch", "2.9.1")
    module(site, "torch", TORCH.format(version="2.9.1+cu128", cuda=cuda, archs=archs))


def test_the_familiar_line_and_the_cuda_build_are_told(tmp_path: Path) -> None:
    torch(tmp_path)
    document = ask(tmp_path, cuda="12.8", arch="8.6")
    assert document["line"] == "Torch Version: 2.9.1+cu128, Is CUDA Available: False"
    assert verdict(document, "torch-cuda") == ("passed", "torch 2.9.1+cu128 is built for CUDA 12.8, as asked")
    assert verdict(document, "torch-cudnn") == ("passed", "cuDNN 9.10.2")
    assert verdict(document, "torch-arch") == ("passed", "torch carries code for 8.6")


@pytest.mark.parametrize(
    ("cuda", "expect", "reason"),
    [
        (None, {"cuda": "12.8"}, "is a CPU build, CUDA 12.8 was asked for"),
        ("12.6", {"cuda": "12.8"}, "is built for CUDA 12.6, 12.8 was asked for"),
        ("12.8", {"cpu_only": True}, "an image without a GPU was asked for"),
    ],
)
def test_another_build_than_asked_for_fails(
    tmp_path: Path, cuda: str | None, expect: dict[str, Any], reason: str
) -> None:
    torch(tmp_path, cuda)
    status, said = verdict(ask(tmp_path, **expect), "torch-cuda")
    assert status == "failed"
    assert reason in said


@pytest.mark.parametrize(
    ("archs", "wanted", "status"),
    [
        ("sm_80 sm_90", "8.6", "passed"),
        ("sm_80 sm_90", "7.5", "failed"),
        ("sm_80 sm_90", "12.0", "failed"),
        ("sm_80 compute_90", "12.0", "passed"),
        ("sm_90a", "9.0", "passed"),
        ("sm_90a compute_90a", "10.0", "failed"),
        ("", "8.0", "failed"),
    ],
)
def test_the_code_torch_carries_is_held_against_the_architectures(
    tmp_path: Path, archs: str, wanted: str, status: str
) -> None:
    torch(tmp_path, archs=archs)
    assert verdict(ask(tmp_path, arch=wanted), "torch-arch")[0] == status


capabilities = st.sampled_from(["7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0", "12.1"])
entries = st.builds(
    lambda capability, suffix, ptx: capability + (suffix if capability[0] in "91" else "") + ptx,
    capabilities,
    st.sampled_from(["", "", "a"]),
    st.sampled_from(["", "+PTX"]),
)


@given(st.lists(entries, min_size=1, max_size=4, unique=True), capabilities)
def test_what_runs_where_is_what_the_library_says(built: list[str], gpu: str) -> None:
    """The probe stands alone, so it holds the rules of gpuimage.arch a second time; they must not part."""
    arch = ArchList.parse(";".join(built))
    flags = []
    for entry in arch.entries:
        flags += [entry.capability.sm, *([entry.capability.compute] if entry.ptx else [])]
    target = ComputeCapability.parse(gpu)
    flag, how = probe.code_for(flags, target.major, target.minor)
    found = "none" if not flag else "jit" if "PTX" in how else "native"
    assert found == arch.code_for(target)


# --- compilers at run time ------------------------------------------------------------------------------------


def test_a_promised_triton_that_is_not_there_fails(tmp_path: Path) -> None:
    (tmp_path / "triton.py").write_text("raise ModuleNotFoundError(\"No module named 'triton'\")")
    document = ask(tmp_path, jit="triton")
    assert verdict(document, "jit-cubin") == (
        "failed",
        "jit: triton was promised: ModuleNotFoundError: No module named 'triton'",
    )


def test_a_triton_that_only_compiles_for_the_gpu_it_sees_is_skipped_and_says_so(tmp_path: Path) -> None:
    module(tmp_path, "triton", "__version__ = '2.3.1'")
    document = ask(tmp_path, jit="triton")
    for name in ("jit-cubin", "jit-link"):
        status, reason = verdict(document, name)
        assert status == "skipped"
        assert reason.startswith("triton 2.3.1 is not asked: ")


# What gcc 14, nvcc 13.0, GNU ld and triton 3.0 to 3.9 said where that part was taken away.
SAID = {
    "no host compiler": [
        "gcc: No such file or directory",
        "nvcc fatal   : Failed to preprocess host compiler properties.",
        "sh: 1: g++: not found",
        "RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.",
    ],
    "the host compiler is not whole": [
        "gcc: fatal error: cannot execute 'as': execvp: No such file or directory",
        "gcc: fatal error: cannot execute 'cc1plus': posix_spawnp: No such file or directory",
    ],
    "this nvcc refuses the host compiler": [
        "/x/crt/host_config.h:137:2: error: #error -- unsupported GNU version! gcc versions later than 15 are not supported!",
        "/x/crt/host_config.h:147:2: error: #error -- unsupported clang version! clang version must be less than 21",
    ],
    "this compiler makes no code for it": [
        "nvcc fatal   : Unsupported gpu architecture 'compute_50'",
        "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'",
    ],
    "no headers of CUB (CUDA's cccl)": [
        "total.cu:3:10: fatal error: cub/block/block_reduce.cuh: No such file or directory"
    ],
    "a part of nvcc is missing (CUDA's crt)": [
        '/x/cuda_runtime.h:82:10: fatal error: crt/host_config.h: No such file or directory',
        "cc1plus: fatal error: /x/bin/crt/link.stub: No such file or directory",
    ],
    "a part of nvcc is missing (CUDA's nvvm)": ["sh: 1: /x/bin/../nvvm/bin/cicc: not found"],
    "no headers of the CUDA runtime": ["<command-line>: fatal error: cuda_runtime.h: No such file or directory"],
    "no headers of Python": ["/x/driver.c:9:10: fatal error: Python.h: No such file or directory"],
    "no headers of the C library": ["/x/cuda.h:59:10: fatal error: stdlib.h: No such file or directory"],
    "the CUDA runtime is not where the linker looks": [
        "/usr/bin/ld: cannot find -lcudadevrt: No such file or directory",
        "/usr/bin/ld: cannot find -lcudart_static: No such file or directory",
        "/usr/bin/ld: cannot find -lcudart: No such file or directory",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("meaning", "line"), [(key, line) for key, lines in SAID.items() for line in lines])
def test_what_a_compiler_says_is_given_its_meaning(meaning: str, line: str) -> None:
    reason, evidence = probe._judged("nvcc", ["a note", line, "compilation terminated."], "ended")
    assert reason == f"{meaning}: {line}"
    assert evidence == [line, "compilation terminated."]


def test_what_is_not_known_is_quoted_and_silence_is_told_by_the_status() -> None:
    assert (
        probe._judged("nvcc", ["x.cu:1: error: no such luck"], "?")[0]
        == "nvcc failed: x.cu:1: error: no such luck"
    )
    assert probe._judged("nvcc", [], "nvcc ended with status 1") == ("nvcc ended with status 1", [])


@given(
    st.sampled_from([50, 75, 80, 86, 89, 90, 100, 103, 120, 121]),
    st.sampled_from([0x33, 0x41]),
    st.integers(0, 255),
    st.binary(min_size=12, max_size=12),
)
def test_a_cubins_capability_is_what_the_library_reads(number: int, abi: int, low: int, rest: bytes) -> None:
    """The probe stands alone, so it reads the header a second time; they must not part."""
    flags = number << 8 | low if abi == 0x41 else low << 8 | number
    header = b"\x7fELF\x02\x01\x01" + bytes([abi]) + bytes(10) + b"\xbe\x00" + bytes(28)
    header += flags.to_bytes(4, "little") + rest
    known = cubin_capability(abi, flags)
    assert known is not None
    assert probe.cubin_number(header) == 10 * known.major + known.minor == number


@given(st.binary(max_size=80))
def test_what_is_no_cubin_has_no_capability(data: bytes) -> None:
    assert probe.cubin_number(data) is None


# --- T2 and the edges -------------------------------------------------------------------------------------------


def test_without_a_gpu_the_reason_is_given(tmp_path: Path) -> None:
    status, reason = verdict(ask(tmp_path, no_gpu="docker has no GPU to give"), "gpu")
    assert status == "skipped"
    assert reason.startswith("docker has no GPU to give: ")


@pytest.mark.parametrize("given", ["{", "[1]"])
def test_expectations_that_are_none_are_one_line_and_status_two(given: str) -> None:
    env = {**os.environ, "GPUIMAGE_PROBE": given}
    done = subprocess.run([sys.executable, "-"], input=SOURCE, env=env, capture_output=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


def test_without_expectations_it_prints_for_people(tmp_path: Path) -> None:
    torch(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-"], input=SOURCE, env=env, capture_output=True, check=False)
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("T1  ok       python")
    assert lines[-1] == "Torch Version: 2.9.1+cu128, Is CUDA Available: False"


def test_the_source_is_python_3_8() -> None:
    ast.parse(SOURCE, feature_version=(3, 8))


# --- the runner, on this machine --------------------------------------------------------------------------------


def here(**expect: Any) -> dict[str, Verdict]:
    told: list[Verdict] = []
    report = smoke_here(Expectation(**expect), told.append)
    assert tuple(told) == report.verdicts
    return {found.probe: found for found in report.verdicts}


def test_commands_pass_and_fail_with_their_last_lines() -> None:
    found = here(run=("true", "echo a; echo b >&2; exit 3", "no-such-command-here", "echo 'unclosed"))
    assert found["true"].status == "passed"
    failed = found["echo a; echo b >&2; exit 3"]
    assert (failed.status, failed.reason, set(failed.evidence)) == (
        "failed",
        "ended with status 3",
        {"a", "b"},
    )
    assert found["no-such-command-here"].reason.startswith("it does not start")
    assert found["echo 'unclosed"].reason.startswith("this is no command")


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="this machine has a GPU")
def test_a_required_gpu_makes_the_skip_a_failure_with_the_reason() -> None:
    assert here()["gpu"].status == "skipped"
    required = here(require=frozenset({"gpu"}))["gpu"]
    assert required.status == "failed"
    assert required.reason.startswith("a GPU is required, but there is no GPU here")
