"""Looks at the Python it runs in: imports, versions, CUDA builds, GPU. One file, standard library, Python >= 3.8.

    python3 - < probe.py                                    what is here, as text
    GPUIMAGE_PROBE='{"cuda": "12.8"}' python3 - < probe.py  held against expectations, as JSON between markers

Nothing foreign is imported into this process: each import has a child of its own, with a time limit, so that
noise on standard output, sys.exit, a crash of native code or a hang becomes a verdict and not our end.

Keys of the expectations, all optional: imports, frameworks (distribution -> version), arch, cuda, cpu_only, jit,
timeout (seconds for one child), no_gpu (why this place has no GPU, as the caller knows it), keep (a directory in
which what compilers made is left).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

BEGIN = "----- gpuimage probe begin -----"
END = "----- gpuimage probe end -----"
TIMEOUT = 300.0

_TOKEN = "gpuimage-child-answer:"
_KEPT_OUTPUT = 4_000_000  # bytes of a child's output that are looked at

# Runs in a child: the code's answer goes to `out`, and from there to standard output behind a token.
_WRAPPER = r"""
import json, os, sys
token, code = sys.argv[1:3]
del sys.argv[1:]
out = {}
def say():
    os.write(1, ("\n" + token + json.dumps(out, default=str) + "\n").encode())
try:
    exec(compile(code, "probe", "exec"), {"out": out, "say": say, "__name__": "__probe__"})
except BaseException as error:
    import traceback
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    out["error"] = type(error).__name__ + (": " + lines[0] if lines else "")
    out["trace"] = traceback.format_exc().strip().splitlines()[-12:]
try:
    sys.stdout.flush()
except Exception:
    pass
say()
"""

# Frameworks this file knows how to question: import name -> distributions that bring it.
KNOWN = {
    "torch": ("torch",),
    "torchvision": ("torchvision",),
    "torchaudio": ("torchaudio",),
    "triton": ("triton",),
    "cupy": ("cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x"),
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime"),
    "tensorflow": ("tensorflow", "tensorflow-cpu"),
    "jax": ("jax",),
}

# -- verdicts ----------------------------------------------------------------------------------------------


class Report:
    """Collects verdicts: plain dictionaries, as they go out."""

    def __init__(self) -> None:
        self.verdicts: list[dict[str, object]] = []

    def add(
        self,
        tier: str,
        probe: str,
        status: str,
        reason: str,
        seconds: float = 0.0,
        evidence: list[str] | tuple[str, ...] = (),
    ) -> None:
        """Note one verdict; `seconds` is wall time."""
        self.verdicts.append(
            {
                "tier": tier,
                "probe": probe,
                "status": status,
                "reason": _plain(reason),
                "seconds": round(seconds, 3),
                "evidence": [_plain(line) for line in evidence],
            }
        )


def _plain(text: object) -> str:
    """Text that every encoder takes: a file name that is no UTF-8 comes with surrogates in it."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


# -- children ----------------------------------------------------------------------------------------------


class Answer:
    """What a child said (`data`, None where it ended before it could), how it ended, how long it took."""

    def __init__(self, data: dict[str, object] | None, ended: str, output: list[str], seconds: float) -> None:
        self.data = data
        self.ended = ended
        self.output = output
        self.seconds = seconds

    @property
    def error(self) -> str:
        """Why it is no answer, "" where it is one."""
        if self.data is None:
            return self.ended
        said = self.data.get("error")
        if said:
            return str(said)
        return "it was done, but then " + self.ended if self.ended != "ended with status 0" else ""

    @property
    def evidence(self) -> list[str]:
        """The traceback where there is one, else the last lines of the output."""
        trace = (self.data or {}).get("trace")
        return [str(line) for line in trace] if isinstance(trace, list) else self.output[-12:]

    def text(self, key: str) -> str:
        """One value as text, "" for none."""
        value = (self.data or {}).get(key)
        return "" if value is None else str(value)

    def texts(self, key: str) -> list[str]:
        """One value as a list of texts."""
        value = (self.data or {}).get(key)
        return [str(item) for item in value] if isinstance(value, list) else []


def ask(code: str, timeout: float, env: dict[str, str] | None = None) -> Answer:
    """Run code in a child Python and return what it put into `out`."""
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1", **(env or {})}
    environment.pop("GPUIMAGE_PROBE", None)
    command = [sys.executable or "python3", "-c", _WRAPPER, _TOKEN, code]
    began = time.monotonic()
    ended, output = _end_of(command, timeout, environment)
    data, lines = _split(output)
    return Answer(data, ended, lines, time.monotonic() - began)


def _end_of(command: list[str], timeout: float, env: dict[str, str]) -> tuple[str, str]:
    """How a command ended, and what it wrote; its whole process group ends with it."""
    # A file, not a pipe: a grandchild that keeps the pipe open would keep us waiting for its end.
    with _scratch() as file:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            return "could not start: " + str(error), ""
        try:
            ended = _status(process.wait(timeout))
        except subprocess.TimeoutExpired:
            ended = f"did not end within {timeout:g} seconds"
        finally:
            with contextlib.suppress(OSError):  # it has ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _KEPT_OUTPUT))
        return ended, file.read().decode("utf-8", "replace")


def _scratch() -> IO[bytes]:
    """A nameless file: in memory where the kernel can, since an image may be mounted read-only."""
    try:
        return os.fdopen(os.memfd_create("gpuimage"), "w+b")
    except (AttributeError, OSError):
        return tempfile.TemporaryFile()


def _status(code: int) -> str:
    if code >= 0:
        return f"ended with status {code}"
    try:
        return f"was ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"was ended by signal {-code}"


def _split(output: str) -> tuple[dict[str, object] | None, list[str]]:
    before, token, rest = output.rpartition(_TOKEN)
    lines = [line.rstrip() for line in (before if token else output).splitlines() if line.strip()]
    if not token:
        return None, lines
    line, _, after = rest.partition("\n")
    try:
        data = json.loads(line)
    except ValueError:
        return None, lines
    return data, lines + [late.rstrip() for late in after.splitlines() if late.strip()]


# -- versions and requirements (PEP 440 and PEP 508, the common part) ----------------------------------------

_VERSION = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)(?:[-_.]?(?P<phase>a|alpha|b|beta|c|rc|pre|preview)[-_.]?(?P<number>\d*))?"
    r"(?:(?:\.|-|_)?(?:post|rev|r)(?P<post>\d*)|-(?P<dash>\d+))?(?:[-_.]?dev(?P<dev>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_PHASES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?"
    r"\s*(?P<rest>[^;]*?)\s*(?:;\s*(?P<marker>.*))?",
    re.DOTALL,
)
_MARKER_TOKEN = re.compile(
    r"\s*(?:(?P<paren>[()])|(?P<text>'[^']*'|\"[^\"]*\")|(?P<op>===|==|~=|!=|<=|>=|<|>)|(?P<word>[A-Za-z_][\w.]*))"
)
_VERSION_MARKERS = {"python_version", "python_full_version", "implementation_version"}


def version_key(text: str) -> tuple[tuple[int, ...], int, int, int, float] | None:
    """A key that orders versions as PEP 440 does (local part left out); None where the text is no version."""
    match = _VERSION.fullmatch(text.strip())
    if not match:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    has_post = match["post"] is not None or match["dash"] is not None
    post = int(match["post"] or match["dash"] or 0) if has_post else -1
    if match["phase"]:
        phase = _PHASES[match["phase"].lower()]
    else:
        phase = -1 if match["dev"] is not None and not has_post else 3
    dev = float("inf") if match["dev"] is None else int(match["dev"] or 0)
    return tuple(release), phase, int(match["number"] or 0), post, dev


def compare(left: str, operator: str, right: str) -> bool | None:
    """Whether a version stands in that relation to another; None where one of both is no plain version."""
    if operator == "===":
        return left.strip().lower() == right.strip().lower()
    if operator in ("==", "!=") and right.strip().endswith(".*"):
        same = _begins(left, right.strip()[:-2])
        return same if same is None or operator == "==" else not same
    a, b = version_key(left), version_key(right)
    if a is None or b is None:
        return None
    if operator == "~=":
        stem = right.strip().split("+")[0].rpartition(".")[0]
        begins = _begins(left, stem)
        return None if begins is None or not stem else begins and a >= b
    if operator in ("==", "!="):
        local = right.lower().partition("+")[2].replace("-", ".").replace("_", ".")
        same = a == b and (
            not local or local == left.lower().partition("+")[2].replace("-", ".").replace("_", ".")
        )
        return same if operator == "==" else not same
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}.get(operator)


def _begins(version: str, prefix: str) -> bool | None:
    left, right = _VERSION.fullmatch(version.strip()), _VERSION.fullmatch(prefix)
    if not left or not right:
        return None
    wanted = [int(part) for part in right["release"].split(".")]
    have = [int(part) for part in left["release"].split(".")]
    return (have + [0] * len(wanted))[: len(wanted)] == wanted


def allows(specifiers: str, version: str) -> bool | None:
    """Whether `>=1.2,<2` allows a version; None where a part of it is in no known form."""
    verdict: bool | None = True
    for part in specifiers.strip().strip("()").split(","):
        if not part.strip():
            continue
        match = re.fullmatch(r"\s*(===|==|~=|!=|<=|>=|<|>)\s*(\S+)\s*", part)
        one = compare(version, match[1], match[2]) if match else None
        if one is False:
            return False
        if one is None:
            verdict = None
    return verdict


def environment() -> dict[str, str]:
    """The values of PEP 508's markers here."""
    info = sys.implementation.version
    implementation = f"{info.major}.{info.minor}.{info.micro}"
    if info.releaselevel != "final":
        implementation += info.releaselevel[0] + str(info.serial)
    return {
        "python_version": "{}.{}".format(*sys.version_info[:2]),
        "python_full_version": platform.python_version(),
        "os_name": os.name,
        "sys_platform": sys.platform,
        "platform_machine": platform.machine(),
        "platform_system": platform.system(),
        "platform_release": platform.release(),
        "platform_version": platform.version(),
        "platform_python_implementation": platform.python_implementation(),
        "implementation_name": sys.implementation.name,
        "implementation_version": implementation,
    }


def applies(marker: str, values: dict[str, str]) -> bool | None:
    """Whether a marker holds; None ("not judged") where it has a form that is not known here."""
    tokens = []
    at = 0
    text = marker.strip()
    while at < len(text):
        match = _MARKER_TOKEN.match(text, at)
        if not match:
            return None
        tokens.append((str(match.lastgroup), match[match.lastgroup or 0]))
        at = match.end()
    try:
        verdict, rest = _either(tokens, values)
    except (IndexError, KeyError, ValueError):
        return None
    return None if rest else verdict


def _either(
    tokens: list[tuple[str, str]], values: dict[str, str]
) -> tuple[bool | None, list[tuple[str, str]]]:
    verdict, rest = _both(tokens, values)
    while rest and rest[0] == ("word", "or"):
        other, rest = _both(rest[1:], values)
        verdict = True if True in (verdict, other) else None if None in (verdict, other) else False
    return verdict, rest


def _both(tokens: list[tuple[str, str]], values: dict[str, str]) -> tuple[bool | None, list[tuple[str, str]]]:
    verdict, rest = _single(tokens, values)
    while rest and rest[0] == ("word", "and"):
        other, rest = _single(rest[1:], values)
        verdict = False if False in (verdict, other) else None if None in (verdict, other) else True
    return verdict, rest


def _single(
    tokens: list[tuple[str, str]], values: dict[str, str]
) -> tuple[bool | None, list[tuple[str, str]]]:
    if tokens[0] == ("paren", "("):
        verdict, rest = _either(tokens[1:], values)
        if rest[0] != ("paren", ")"):
            raise ValueError("no closing parenthesis")
        return verdict, rest[1:]
    left, operator, rest = tokens[0], tokens[1][1], tokens[2:]
    if tokens[1] == ("word", "not"):
        if rest[0] != ("word", "in"):
            raise ValueError("not without in")
        operator, rest = "not in", rest[1:]
    return _relation(left, operator, rest[0], values), rest[1:]


def _relation(
    left: tuple[str, str], operator: str, right: tuple[str, str], values: dict[str, str]
) -> bool | None:
    names = {token[1] for token in (left, right) if token[0] == "word"}
    if any(token[0] not in ("word", "text") for token in (left, right)) or operator in ("and", "or"):
        raise ValueError("no comparison")
    a, b = (values[text] if kind == "word" else text[1:-1] for kind, text in (left, right))
    if operator in ("in", "not in"):
        return (a in b) == (operator == "in")
    if names & _VERSION_MARKERS:
        return compare(a, operator, b) if left[0] == "word" else compare(b, _turned(operator), a)
    if names == {"extra"}:
        a, b = normal(a), normal(b)
    if operator in ("==", "==="):
        return a == b
    return a != b if operator == "!=" else None


def _turned(operator: str) -> str:
    return {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)


def normal(name: str) -> str:
    """The name of a distribution or extra as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


# -- installed distributions ---------------------------------------------------------------------------------


class Installed:
    """One installed distribution."""

    def __init__(self, name: str, version: str, requires: list[str], location: str) -> None:
        self.name = name
        self.version = version
        self.requires = requires
        self.location = location


def installed() -> dict[str, Installed]:
    """Every distribution that can be imported, by normal name; the first on the path counts."""
    found: dict[str, Installed] = {}
    for dist in importlib.metadata.distributions():
        try:
            name, version = dist.metadata["Name"], dist.version
            requires = list(dist.requires or [])
            location = str(dist.locate_file(""))
        except Exception:  # a damaged distribution is one that is not there
            continue
        if name and version:
            found.setdefault(normal(name), Installed(name, version, requires, location))
    return found


class Need:
    """A requirement of an installed distribution that applies here."""

    def __init__(self, owner: Installed, name: str, extras: set[str], specifiers: str) -> None:
        self.owner = owner
        self.name = name
        self.extras = extras
        self.specifiers = specifiers

    def __str__(self) -> str:
        extras = "[" + ",".join(sorted(self.extras)) + "]" if self.extras else ""
        return "{} {} needs {}{}{}".format(
            self.owner.name, self.owner.version, self.name, extras, self.specifiers.strip("() ")
        )


def needs(dists: dict[str, Installed]) -> tuple[list[Need], list[str]]:
    """What the installed distributions need, and the requirements that could not be judged.

    Extras count where another installed distribution asks for them; which ones a person asked for at the
    install is written nowhere.
    """
    values = environment()
    wanted: dict[str, set[str]] = {name: {""} for name in dists}
    found: dict[str, Need] = {}
    unclear: dict[str, None] = {}
    queue = list(dists)
    while queue:
        name = queue.pop(0)
        owner = dists[name]
        for line in owner.requires:
            match = _REQUIREMENT.fullmatch(line)
            holds = _holds(match["marker"], wanted[name], values) if match else None
            if match is None or holds is None:
                unclear[f"{owner.name}: {line}"] = None
            elif holds:
                extras = {normal(extra) for extra in (match["extras"] or "").split(",") if extra.strip()}
                found[name + ":" + line] = Need(owner, match["name"], extras, match["rest"])
                target = normal(match["name"])
                if target in dists and extras - wanted[target]:
                    wanted[target] |= extras
                    queue.append(target)
    return list(found.values()), list(unclear)


def _holds(marker: str | None, extras: set[str], values: dict[str, str]) -> bool | None:
    if not marker:
        return True
    answers = {applies(marker, {**values, "extra": extra}) for extra in extras}
    return True if True in answers else None if None in answers else False


def check_versions(report: Report, expect: dict[str, str], dists: dict[str, Installed]) -> None:
    """Hold the installed versions against the expected ones."""
    if not expect:
        return
    wrong = []
    for name, version in sorted(expect.items()):
        have = dists.get(normal(name))
        if have is None:
            wrong.append(f"{name}=={version} is not installed")
        elif compare(have.version, "==", version) is not True and have.version != version:
            wrong.append(f"{name}=={version} was expected, {have.version} is installed")
    if wrong:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        report.add("T1", "versions", "failed", wrong[0] + more, evidence=wrong)
    else:
        report.add(
            "T1", "versions", "passed", "{} installed as expected".format(_count(len(expect), "distribution"))
        )


def check_dependencies(report: Report, dists: dict[str, Installed]) -> None:
    """Find requirements that nothing installed meets."""
    began = time.monotonic()
    # What the operating system's packages brought is not the image maker's to complete.
    own = {
        n: d for n, d in dists.items() if not re.search(r"/usr/lib/python3[^/]*/dist-packages", d.location)
    }
    required, unclear = needs(own)
    missing = [f"{need}: it is not installed" for need in required if normal(need.name) not in dists]
    others = [
        f"note: {need}, {dists[normal(need.name)].version} is installed"
        for need in required
        if normal(need.name) in dists and allows(need.specifiers, dists[normal(need.name)].version) is False
    ]
    notes = others + ["not judged: " + line for line in unclear]
    took = time.monotonic() - began
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        report.add("T1", "dependencies", "failed", missing[0] + more, took, missing + notes)
        return
    reason = "all {} of {} are installed".format(
        _count(len(required), "requirement"), _count(len(own), "distribution")
    )
    if others:
        reason += f", {len(others)} in another version than asked for"
    report.add("T1", "dependencies", "passed", reason, took, notes)


def _count(number: int, noun: str) -> str:
    return "{} {}{}".format(number, noun, "" if number == 1 else "s")


# -- T1: imports and what the frameworks say of themselves -----------------------------------------------------

_IMPORT = """
import importlib
module = importlib.import_module({name!r})
out["imported"] = True
out["version"] = getattr(module, "__version__", None)
say()
"""

# What each framework tells without a GPU; runs after the import, in the same child.
_DETAILS = {
    "torch": """
import warnings
import torch
out["version"] = torch.__version__
out["cuda"] = torch.version.cuda
out["hip"] = getattr(torch.version, "hip", None)
try:
    out["archs"] = (torch._C._cuda_getArchFlags() or "").split()
except AttributeError:
    out["archs"] = []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    out["available"] = bool(torch.cuda.is_available())
    out["warnings"] = [str(one.message) for one in caught]
say()
try:
    out["cudnn"] = torch.backends.cudnn.version()
except Exception as error:
    out["cudnn_error"] = str(error)
""",
    "cupy": """
import cupy
try:
    # The library in use; runtimeGetVersion answers for the copy that cupy was compiled with.
    out["runtime"] = cupy.cuda.get_local_runtime_version()
except AttributeError:
    out["runtime"] = cupy.cuda.runtime.runtimeGetVersion()
say()
from cupy.cuda import nvrtc
try:
    out["nvrtc"] = ".".join(map(str, nvrtc.getVersion()))
    program = nvrtc.createProgram('extern "C" __global__ void k(float* x) {{ x[threadIdx.x] *= 2; }}', "k.cu", (), ())
    nvrtc.compileProgram(program, ("-arch={sm}",))
    out["compiled"] = len(nvrtc.getCUBIN(program))
except Exception as error:
    out["nvrtc_error"] = str(error).strip() or repr(error)
""",
    "onnxruntime": """
import ctypes, os
import onnxruntime
out["providers"] = onnxruntime.get_available_providers()
folder = os.path.join(os.path.dirname(onnxruntime.__file__), "capi")
library = os.path.join(folder, "libonnxruntime_providers_cuda.so")
if os.path.exists(library):
    say()
    try:
        if hasattr(onnxruntime, "preload_dlls"):
            onnxruntime.preload_dlls()
        ctypes.CDLL(os.path.join(folder, "libonnxruntime_providers_shared.so"), ctypes.RTLD_GLOBAL)
        ctypes.CDLL(library)
        out["loaded"] = True
    except OSError as error:
        out["load_error"] = str(error)
""",
    "tensorflow": """
import tensorflow
build = tensorflow.sysconfig.get_build_info()
out["cuda"] = build.get("cuda_version")
out["cudnn"] = build.get("cudnn_version")
""",
    "jax": """
import jaxlib
out["jaxlib"] = jaxlib.__version__
""",
}

_DRIVER_MISSING = re.compile(
    r"lib(?:cuda|nvidia-ml)\.so\.1: cannot open shared object|undefined symbol: (?:cu|nvml)[A-Z]"
)


class Probe:
    """One run: what was expected, what was found so far."""

    def __init__(self, expect: dict[str, object]) -> None:
        self.expect = expect
        self.report = Report()
        self.dists = installed()
        self.answers: dict[str, Answer] = {}
        self.line: str | None = None
        self.gpus: list[tuple[str, int, int]] = []
        self.timeout = float(str(expect.get("timeout") or TIMEOUT))
        self.arch = parse_arch(str(expect.get("arch") or ""))
        self.cuda = str(expect.get("cuda") or "")
        self.cpu_only = bool(expect.get("cpu_only"))
        self.jit = str(expect.get("jit") or "none")
        self.keep = str(expect.get("keep") or "")

    def add(self, tier: str, probe: str, status: str, reason: str, answer: Answer | None = None) -> None:
        """Note a verdict on a child's answer; evidence is its output where it failed."""
        seconds = answer.seconds if answer else 0.0
        evidence = answer.evidence if answer and status == "failed" else []
        self.report.add(tier, probe, status, reason, seconds, evidence)

    def has(self, module: str) -> str | None:
        """The distribution that brings a known framework, None where none is installed."""
        return next((name for name in KNOWN[module] if name in self.dists), None)

    def imports(self) -> list[str]:
        """What to import: what was named, then the frameworks that are installed."""
        named = self.expect.get("imports")
        names = [str(name) for name in named] if isinstance(named, (list, tuple)) else []
        return list(dict.fromkeys(names + [module for module in KNOWN if self.has(module)]))

    def first_sm(self) -> str:
        """The name of the first target, as compilers write it."""
        return "sm_{}{}{}".format(*self.targets()[0][:3])

    def tier1(self) -> None:
        """Everything that needs no GPU."""
        self.report.add(
            "T1",
            "python",
            "passed",
            "Python {} at {}".format(platform.python_version(), sys.executable or "?"),
        )
        frameworks = self.expect.get("frameworks")
        check_versions(self.report, frameworks if isinstance(frameworks, dict) else {}, self.dists)
        check_dependencies(self.report, self.dists)
        for name in self.imports():
            self.import_one(name)
        self.bind_now()
        for module, judge in (
            ("torch", self.torch),
            ("cupy", self.cupy),
            ("onnxruntime", self.onnxruntime),
            ("tensorflow", self.tensorflow),
        ):
            answer = self.answers.get(module)
            if answer is not None and answer.data and answer.data.get("imported"):
                judge(answer)
        if self.jit == "triton":
            self.in_folder("T1", "jit-cubin", self.triton_compiles)
        elif self.jit == "nvcc":
            self.in_folder("T1", "jit-cubin", self.nvcc_compiles)

    def import_one(self, name: str) -> None:
        """Import a module in a child, with what it can tell of itself."""
        code = _IMPORT.format(name=name) + _DETAILS.get(name, "").format(sm=self.first_sm())
        answer = self.answers[name] = ask(code, self.timeout)
        probe = "import " + name
        if answer.data is None or not answer.data.get("imported"):
            if self.lacks_driver(answer):
                self.add(
                    "T1",
                    probe,
                    "skipped",
                    "it needs the driver's libraries, which a GPU host injects",
                    answer,
                )
            else:
                self.add("T1", probe, "failed", answer.error, answer)
        elif answer.ended != "ended with status 0":
            self.add("T1", probe, "failed", "imported, but then it " + answer.ended, answer)
        else:
            self.add("T1", probe, "passed", (answer.text("version") or "imported"), answer)

    def lacks_driver(self, answer: Answer) -> bool:
        """Whether the driver's absence, and nothing else, explains a failure."""
        return bool(_DRIVER_MISSING.search("\n".join([answer.error, *answer.evidence])))

    def bind_now(self) -> None:
        """Import again with every symbol resolved at once: a library that lacks one shows it now, not in use."""
        names = [name for name, answer in self.answers.items() if answer.data and answer.data.get("imported")]
        failed, seconds = [], 0.0
        for name in names:
            answer = ask(_IMPORT.format(name=name), self.timeout, {"LD_BIND_NOW": "1"})
            seconds += answer.seconds
            if answer.error and not self.lacks_driver(answer):
                failed.append((name, answer))
        if failed:
            name, answer = failed[0]
            self.report.add(
                "T1", "bind-now", "failed", f"import {name} with LD_BIND_NOW=1: {answer.error}",
                seconds, answer.evidence,
            )  # fmt: skip
        elif names:
            self.report.add(
                "T1", "bind-now", "passed", "every symbol resolves for " + ", ".join(names), seconds
            )

    # What the frameworks said.

    def torch(self, answer: Answer) -> None:
        """The CUDA build, the architectures and cuDNN of torch."""
        version, cuda = answer.text("version"), answer.text("cuda")
        self.line = "Torch Version: {}, Is CUDA Available: {}".format(
            version, answer.text("available") or "unknown"
        )
        if "cuda" not in (answer.data or {}):
            self.add(
                "T1",
                "torch-cuda",
                "failed",
                "torch does not say what it is built for: " + answer.error,
                answer,
            )
            return
        status, reason = self.built_for("torch " + version, cuda, answer.text("hip"))
        self.add("T1", "torch-cuda", status, reason)
        if not cuda:
            return
        self.torch_arch(answer.texts("archs"))
        cudnn, problem = answer.text("cudnn"), answer.text("cudnn_error")
        if problem or not cudnn:
            self.add("T1", "torch-cudnn", "failed", problem or "torch finds no cuDNN " + answer.error, answer)
        else:
            self.add("T1", "torch-cudnn", "passed", "cuDNN " + _cudnn_version(int(cudnn)))

    def built_for(self, name: str, cuda: str, hip: str = "") -> tuple[str, str]:
        """Hold the CUDA version a framework is built for against what was asked."""
        if not cuda:
            kind = "a ROCm build" if hip else "a CPU build"
            if self.cuda and not self.cpu_only:
                return (
                    "failed",
                    f"{name} is {kind}, CUDA {self.cuda} was asked for: take it from the index of that CUDA",
                )
            return "passed", "{} is {}{}".format(name, kind, ", as asked" if self.cpu_only else "")
        if self.cpu_only:
            return "failed", f"{name} is built for CUDA {cuda}, an image without a GPU was asked for"
        wanted = self.cuda.split(".")[:2] if self.cuda else []
        if cuda.split(".")[: len(wanted)] != wanted:
            return "failed", f"{name} is built for CUDA {cuda}, {self.cuda} was asked for"
        return "passed", "{} is built for CUDA {}{}".format(name, cuda, ", as asked" if wanted else "")

    def torch_arch(self, flags: list[str]) -> None:
        """Hold the code torch carries against the architectures asked for."""
        if not flags:
            self.add("T1", "torch-arch", "failed", "torch is built for CUDA but carries code for no GPU")
            return
        if not self.arch:
            self.add("T1", "torch-arch", "passed", "torch carries " + " ".join(flags))
            return
        lines, missing, used = [], [], set()
        for target in self.arch:
            name = "{}.{}{}".format(*target[:3])
            flag, how = code_for(flags, target[0], target[1])
            lines.append("{}: {}".format(name, flag + how if flag else "nothing"))
            used.add(flag)
            if not flag:
                missing.append(name)
        spare = [flag for flag in flags if flag not in used]
        if spare:
            lines.append("note: code for no target asked for: " + " ".join(spare))
        if missing:
            reason = "torch carries no code for {}: it has {}".format(", ".join(missing), " ".join(flags))
            self.report.add("T1", "torch-arch", "failed", reason, evidence=lines)
            return
        reason = "torch carries code for " + ", ".join("{}.{}{}".format(*target[:3]) for target in self.arch)
        if any("PTX" in line for line in lines):
            reason += " (in part as PTX, compiled by the driver at first start)"
        self.report.add("T1", "torch-arch", "passed", reason, evidence=lines)

    def cupy(self, answer: Answer) -> None:
        """The CUDA runtime cupy found, and whether its compiler works."""
        number = answer.text("runtime")
        if not number:
            self.add("T1", "cupy-cuda", "failed", "cupy finds no CUDA runtime: " + answer.error, answer)
            return
        runtime = f"{int(number) // 1000}.{int(number) % 1000 // 10}"
        if self.cpu_only:
            self.add("T1", "cupy-cuda", "failed", "cupy needs a GPU, an image without one was asked for")
        elif self.cuda and runtime.split(".", maxsplit=1)[0] != self.cuda.split(".")[0]:
            reason = f"cupy runs on CUDA {runtime}, {self.cuda} was asked for"
            self.add("T1", "cupy-cuda", "failed", reason)
        else:
            self.add("T1", "cupy-cuda", "passed", f"cupy finds the CUDA runtime {runtime}")
        if answer.text("compiled"):
            reason = "nvrtc {} compiled a kernel for {}".format(answer.text("nvrtc"), self.first_sm())
            self.add("T1", "cupy-nvrtc", "passed", reason)
        else:
            problem = answer.text("nvrtc_error") or answer.error
            self.add("T1", "cupy-nvrtc", "failed", "nvrtc cannot compile a kernel: " + problem, answer)

    def onnxruntime(self, answer: Answer) -> None:
        """Whether the CUDA provider of the GPU build is there and loads."""
        if self.has("onnxruntime") != "onnxruntime-gpu":
            return
        if "CUDAExecutionProvider" not in answer.texts("providers"):
            found = ", ".join(answer.texts("providers")) or answer.error
            hint = (
                ""
                if "onnxruntime" not in self.dists
                else "; the CPU package onnxruntime overwrites it, remove that"
            )
            reason = "onnxruntime-gpu offers no CUDAExecutionProvider, only " + found + hint
            self.add("T1", "onnxruntime-cuda", "failed", reason)
        elif answer.text("loaded"):
            self.add(
                "T1", "onnxruntime-cuda", "passed", "CUDAExecutionProvider is offered and its library loads"
            )
        elif _DRIVER_MISSING.search(answer.text("load_error")):
            self.add(
                "T1", "onnxruntime-cuda", "skipped", "its library needs the driver, which a GPU host injects"
            )
        else:
            problem = answer.text("load_error") or answer.error or "its library is not there"
            self.add(
                "T1", "onnxruntime-cuda", "failed", "CUDAExecutionProvider cannot load: " + problem, answer
            )

    def tensorflow(self, answer: Answer) -> None:
        """The CUDA build of tensorflow."""
        status, reason = self.built_for("tensorflow " + answer.text("version"), answer.text("cuda"))
        self.add("T1", "tensorflow-cuda", status, reason)

    # Compiling at run time: what `jit` promises; running the result needs a GPU.

    def in_folder(self, tier: str, probe: str, check: Callable[[str], None]) -> None:
        """Run a check that writes files; where nothing can be written, its probe is skipped."""
        with _folder(self.keep) as folder:
            if folder is None:
                self.add(tier, probe, "skipped", "there is no directory to write to")
            else:
                check(folder)

    def targets(self) -> list[tuple[int, int, str, bool]]:
        """What to compile for: what was asked for, else one that every toolkit since CUDA 11 makes."""
        return self.arch or [(8, 0, "", False)]

    def triton_compiles(self, folder: str) -> None:
        """Have triton compile a kernel for each target, and build the C part of its own that it starts with."""
        _write(folder, "gpuimage_kernel.py", _TRITON_KERNEL)
        numbers = {_number(target): 10 * target[0] + target[1] for target in self.targets()}
        env = {"TRITON_ALWAYS_COMPILE": "1"}  # else a cache answers, and nothing compiles
        answer = ask(_TRITON_CUBINS.format(folder=folder, numbers=numbers), self.timeout, env)
        name = "triton " + answer.text("version")
        if answer.text("old"):
            reason = f"{name} is not asked: it compiles for a GPU that is not here from version 3.0 on"
            self.add("T1", "jit-cubin", "skipped", reason, answer)
            self.add("T1", "jit-link", "skipped", reason)
            return
        if not answer.text("version"):
            self.add("T1", "jit-cubin", "failed", "jit: triton was promised: " + answer.error, answer)
            return
        problem = answer.error or _lost_cubins(name, self.targets(), folder)
        if problem:
            reason, evidence = _judged(name, answer.texts("said"), problem)
            evidence = evidence or answer.evidence
            self.report.add("T1", "jit-cubin", "failed", reason, answer.seconds, evidence)
        else:
            reason = f"{name} compiled a kernel for {_listed(self.targets())}"
            self.add("T1", "jit-cubin", "passed", reason, answer)
        self.triton_links(name, folder)

    def triton_links(self, name: str, folder: str) -> None:
        """Whether triton's own build of its driver module works: a C compiler, headers, a linker.

        It links to the driver's libcuda.so.1, which only a GPU host has; a linker script of that name stands in for it.
        """
        for library in ("libcuda.so.1", "libcuda.so"):
            _write(folder, library, "INPUT(-lc)\n")
        # A cache of its own: a module built before would be no proof.
        env = {"TRITON_LIBCUDA_PATH": folder, "TRITON_CACHE_DIR": str(Path(folder, "cache"))}
        answer = ask(_TRITON_DRIVER, self.timeout, env)
        if answer.text("built") and not answer.error:
            reason = "{} builds {}'s driver module, against a stand-in for libcuda.so.1".format(
                answer.text("compiler"), name
            )
            self.add("T1", "jit-link", "passed", reason, answer)
            return
        problem = re.sub(r"Command '\[.*\]'", answer.text("compiler"), answer.error) or "nothing was built"
        reason, evidence = _judged(name, [*answer.output, problem], problem)
        self.report.add("T1", "jit-link", "failed", reason, answer.seconds, evidence)

    def nvcc_compiles(self, folder: str) -> None:
        """Have nvcc compile a CUDA file with CUB for each target, then link a program and a library of it."""
        nvcc = _find_nvcc()
        if not nvcc:
            self.add("T1", "jit-cubin", "failed", _NO_NVCC)
            return
        version = self.nvcc_version(nvcc)
        source = _write(folder, "total.cu", _CUDA_SOURCE)
        code = _gencode(self.targets())
        kept = ["--keep", "--keep-dir", folder, "-Xcompiler", "-fPIC"]
        made = [nvcc, *code, *kept, "-c", source, "-o", str(Path(folder, "total.o"))]
        ended, lines, took = self.run(made, folder)
        problem = "" if ended == "ended with status 0" else "nvcc " + ended
        problem = problem or _lost_cubins("nvcc", self.targets(), folder)
        if problem:
            reason, evidence = _judged("nvcc", lines, problem)
            self.report.add("T1", "jit-cubin", "failed", reason, took, evidence)
            return
        reason = f"nvcc {version} compiled a kernel with CUB for {_listed(self.targets())}"
        wrong = self.cuda and version.split(".")[0] != self.cuda.split(".")[0]
        if wrong:
            reason = f"this is nvcc {version} at {nvcc}, CUDA {self.cuda} was asked for"
        self.report.add("T1", "jit-cubin", "failed" if wrong else "passed", reason, took)
        self.nvcc_links(nvcc, code, folder)

    def nvcc_version(self, nvcc: str) -> str:
        """The release an nvcc is of, "of unknown version" where it does not say."""
        output = _end_of([nvcc, "--version"], self.timeout, dict(os.environ))[1]
        found = re.search(r"release (\d+\.\d+)", output)
        return found[1] if found else "of unknown version"

    def nvcc_links(self, nvcc: str, code: list[str], folder: str) -> None:
        """Link both ways that build tools use: a program with the static runtime, a library with the shared one."""
        compiled = str(Path(folder, "total.o"))
        seconds = 0.0
        for what, name, flags in (
            ("a program with the static cudart", "total", []),
            ("a library with the shared cudart", "libtotal.so", ["-shared", "-cudart", "shared"]),
        ):
            command = [nvcc, *code, *flags, compiled, "-o", str(Path(folder, name))]
            ended, lines, took = self.run(command, folder)
            seconds += took
            if ended != "ended with status 0":
                reason, evidence = _judged("nvcc", lines, "nvcc " + ended)
                self.report.add("T1", "jit-link", "failed", f"no link of {what}: {reason}", seconds, evidence)
                return
        ptx = "".join(f" and PTX for {_number(one)}" for one in self.targets() if one[3])
        reason = f"nvcc links a program and a library with code for {_listed(self.targets())}{ptx}"
        self.report.add("T1", "jit-link", "passed", reason, seconds)

    def run(self, command: list[str], folder: str) -> tuple[str, list[str], float]:
        """Run a compiler: how it ended, its lines without the name of our folder, how long it took."""
        began = time.monotonic()
        ended, output = _end_of(command, self.timeout, {**os.environ, "LC_ALL": "C"})
        lines = [line for line in output.replace(folder + os.sep, "").splitlines() if line.strip()]
        return ended, lines, time.monotonic() - began


def _cudnn_version(number: int) -> str:
    """90100 is 9.1.0, 8902 was 8.9.2."""
    unit = 10000 if number >= 90000 else 1000
    return f"{number // unit}.{number % unit // 100}.{number % 100}"


# -- architectures (the rules of gpuimage/arch.py, for a file that stands alone) ---------------------------------


def parse_arch(text: str) -> list[tuple[int, int, str, bool]]:
    """Read `8.0;9.0a+PTX` as (major, minor, suffix, ptx); entries of another form are left out."""
    entries = re.finditer(r"(?:^|;)(\d+)\.(\d)([af]?)(\+PTX)?(?=;|$)", text)
    return [(int(one[1]), int(one[2]), one[3], bool(one[4])) for one in entries]


def code_for(flags: list[str], major: int, minor: int) -> tuple[str, str]:
    """The flag (`sm_80`, `compute_90`) whose code a GPU would run, and how; empty where there is none."""
    cubins, ptx = [], []
    for flag in flags:
        match = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", flag)
        if not match:
            continue
        own = (int(match[2]), int(match[3]))
        exact = own == (major, minor)
        bound = exact if match[4] == "a" else own[0] == major and own[1] <= minor
        if match[1] == "sm" and bound:
            cubins.append((own, match[4], flag))
        elif match[1] == "compute" and (bound if match[4] else own <= (major, minor)):
            ptx.append((own, match[4], flag))
    if cubins:
        return max(cubins)[2], ""
    return (max(ptx)[2], " (PTX, compiled by the driver)") if ptx else ("", "")


# -- compilers ---------------------------------------------------------------------------------------------------

_CUDA_SOURCE = r"""
#include <cstdio>
#include <cub/block/block_reduce.cuh>

__global__ void total(const float* x, float* sum, int n) {
  typedef cub::BlockReduce<float, 128> Reduce;
  __shared__ typename Reduce::TempStorage room;
  float own = 0;
  for (int i = threadIdx.x; i < n; i += 128) own += x[i];
  float all = Reduce(room).Sum(own);
  if (threadIdx.x == 0) *sum = all;
}

int main() {
  const int n = 1000;
  float host[n], answer = 0, *x = nullptr, *sum = nullptr;
  for (int i = 0; i < n; ++i) host[i] = float(i);
  if (cudaMalloc(&x, sizeof host) != cudaSuccess) return 2;
  if (cudaMalloc(&sum, sizeof answer) != cudaSuccess) return 2;
  cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
  total<<<1, 128>>>(x, sum, n);
  cudaMemcpy(&answer, sum, sizeof answer, cudaMemcpyDeviceToHost);
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) { printf("%s\n", cudaGetErrorString(error)); return 3; }
  if (answer != 499500.0f) { printf("wrong: %f\n", answer); return 4; }
  printf("right\n");
  return 0;
}
"""

# What a line of a compiler means; the line itself follows it.
_MEANINGS = (
    (
        r"failed to find c compiler|(gcc|g\+\+|clang): (no such file|not found)|preprocess host compiler",
        "no host compiler",
    ),
    (
        r"cannot execute .*(cc1plus|cc1|as)\b|cannot exec .*cc1plus|no such file.*'g\+\+'",
        "the host compiler is not whole",
    ),
    (r"unsupported (gnu|clang) version", "this nvcc refuses the host compiler"),
    (r"unsupported gpu architecture|not defined for option 'gpu-name'", "this compiler makes no code for it"),
    (r"(cub|cuda/std|thrust|nv)/[\w./]+: no such file", "no headers of CUB (CUDA's cccl)"),
    (r"crt/[\w.]+: no such file", "a part of nvcc is missing (CUDA's crt)"),
    (
        r"cicc: (no such file|not found)|libdevice.*(no such file|not found|could not)",
        "a part of nvcc is missing (CUDA's nvvm)",
    ),
    (r"(cuda_runtime|cuda)[\w]*\.h: no such file", "no headers of the CUDA runtime"),
    (r"python\.h: no such file", "no headers of Python"),
    (r"(?:\w+\.h|cstdio): no such file", "no headers of the C library"),
    (r"cannot find -lcuda(rt|devrt)", "the CUDA runtime is not where the linker looks"),
    (r"permission denied|read-only file system", "a file cannot be written or run"),
)
_PROBLEM = re.compile(
    r"\b(error|fatal|not found|cannot find|no such file|permission denied|failed to)\b", re.IGNORECASE
)


def _judged(who: str, lines: list[str], otherwise: str) -> tuple[str, list[str]]:
    """What a compiler's output says is missing, and the lines from there on; `otherwise` where it says nothing."""
    for at, line in enumerate(lines):
        for pattern, meaning in _MEANINGS:
            if re.search(pattern, line, re.IGNORECASE):
                return f"{meaning}: {line.strip()}", lines[at : at + 12]
    for at, line in enumerate(lines):
        if _PROBLEM.search(line):
            return f"{who} failed: {line.strip()}", lines[at : at + 12]
    return otherwise, lines[-12:]


def _number(target: tuple[int, int, str, bool]) -> str:
    return "{}.{}{}".format(*target[:3])


def _listed(targets: list[tuple[int, int, str, bool]]) -> str:
    return ", ".join(map(_number, targets))


def cubin_number(header: bytes) -> int | None:
    """The capability (86 is 8.6) that the first 64 bytes of a cubin tell; None where it is none.

    CUDA 13 and older compilers for newer GPUs use another form of the ELF header's flags.
    """
    if len(header) < 64 or header[:5] != b"\x7fELF\x02" or header[18:20] != b"\xbe\x00":
        return None
    flags = int.from_bytes(header[48:52], "little")
    return flags >> 8 & 0xFF if header[7] == 0x41 else flags & 0xFF


def _lost_cubins(who: str, targets: list[tuple[int, int, str, bool]], folder: str) -> str:
    """Which targets the cubins in a folder leave out, as a problem; "" where each has its own."""
    found = set()
    for path in Path(folder).glob("*.cubin"):
        with path.open("rb") as file:
            found.add(cubin_number(file.read(64)))
    lost = [_number(one) for one in targets if 10 * one[0] + one[1] not in found]
    return f"{who} made no machine code for {', '.join(lost)}" if lost else ""


class _folder:  # noqa: N801  # reads as the function it is
    """A temporary directory, or the one in which files are to be kept; None where nothing can be written."""

    def __init__(self, keep: str = "") -> None:
        self._keep = keep
        self._made: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> str | None:
        try:
            if self._keep:
                Path(self._keep).mkdir(parents=True, exist_ok=True)
                return self._keep
            self._made = tempfile.TemporaryDirectory(prefix="gpuimage-")
        except OSError:
            return None
        return self._made.name

    def __exit__(self, *_: object) -> None:
        if self._made:
            self._made.cleanup()


def _write(folder: str, name: str, text: str) -> str:
    path = Path(folder, name)
    path.write_text(text, encoding="utf-8")
    return str(path)


_NO_NVCC = "jit: nvcc was promised, there is no nvcc on PATH, in CUDA_HOME or in /usr/local/cuda"


def _find_nvcc() -> str:
    """The nvcc that build tools would take, "" where there is none."""
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    homes += [
        "/usr/local/cuda",
        *sorted(map(str, Path(sysconfig.get_paths()["purelib"], "nvidia").glob("cu*"))),
    ]
    known = [str(Path(home, "bin", "nvcc")) for home in homes if home]
    return shutil.which("nvcc") or next((path for path in known if os.access(path, os.X_OK)), "")


def _gencode(targets: list[tuple[int, int, str, bool]]) -> list[str]:
    """The flags of nvcc for machine code of each target, and for its PTX where that was asked for."""
    flags = []
    for major, minor, suffix, ptx in targets:
        number = f"{major}{minor}{suffix}"
        code = f"[sm_{number},compute_{number}]" if ptx else f"sm_{number}"
        flags.append(f"-gencode=arch=compute_{number},code={code}")
    return flags


# -- T2: on a GPU ------------------------------------------------------------------------------------------------

_DRIVER_CODE = """
import ctypes
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    out["missing"] = str(error)
else:
    code = cuda.cuInit(0)
    if code:
        out["code"] = code
        # A stub answers 34 to everything, and may hold cuInit alone.
        text = ctypes.c_char_p()
        if code == 34:
            out["why"] = "this libcuda.so.1 is a link-time stub, not a driver"
        elif not cuda.cuGetErrorString(code, ctypes.byref(text)):
            out["why"] = (text.value or b"").decode("utf-8", "replace")
        say()
    number = ctypes.c_int()
    if not cuda.cuDriverGetVersion(ctypes.byref(number)):
        out["driver_cuda"] = "{}.{}".format(number.value // 1000, number.value % 1000 // 10)
    out["gpus"] = []
    if not code:
        cuda.cuDeviceGetCount(ctypes.byref(number))
        for index in range(number.value):
            device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
            name = ctypes.create_string_buffer(256)
            cuda.cuDeviceGet(ctypes.byref(device), index)
            cuda.cuDeviceGetName(name, 256, device)
            cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
            cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
            out["gpus"].append([name.value.decode("utf-8", "replace"), major.value, minor.value])
"""

# Each kernel check fills out["checks"] with (what, largest difference by largest value, allowed).
_KERNELS = {
    "torch": """
import torch
torch.manual_seed(0)
out["checks"] = []
if not torch.cuda.is_available():
    try:
        torch.cuda.init()
    except Exception as error:
        out["unavailable"] = str(error).strip().splitlines()[0]
    else:
        out["unavailable"] = "torch.cuda.is_available() is False"
else:
    def check(name, function, *inputs, half=False):
        want = function(*inputs)
        sent = [one.cuda().half() if half else one.cuda() for one in inputs]
        got = function(*sent).float().cpu()
        out["checks"].append([name, float((got - want).abs().max() / want.abs().max()), 2e-2 if half else 1e-2])
        say()
    a, b = torch.randn(257, 384), torch.randn(384, 129)
    image, weight = torch.randn(2, 16, 65, 63), torch.randn(24, 16, 3, 3)
    for half in (False, True):
        kind = " in half precision" if half else ""
        check("matmul" + kind, torch.matmul, a, b, half=half)
        check("conv2d" + kind, torch.nn.functional.conv2d, image, weight, half=half)
    out["cudnn"] = torch.backends.cudnn.is_available()
""",
    "cupy": """
import cupy, numpy
out["checks"] = []
def check(name, got, want):
    got = cupy.asnumpy(got)
    out["checks"].append([name, float(abs(got - want).max() / abs(want).max()), 1e-2])
    say()
a = numpy.random.RandomState(0).rand(257, 129).astype("float32")
check("matmul", cupy.asarray(a) @ cupy.asarray(a).T, a @ a.T)
source = 'extern "C" __global__ void twice(const float* x, float* y, int n) {'
source += " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }"
x = cupy.arange(1000, dtype=cupy.float32)
y = cupy.zeros_like(x)
cupy.RawKernel(source, "twice")((8,), (128,), (x, y, numpy.int32(1000)))
check("a RawKernel", y, 2 * numpy.arange(1000, dtype="float32"))
""",
    "tensorflow": """
import numpy, tensorflow
out["checks"] = []
if not tensorflow.config.list_physical_devices("GPU"):
    out["unavailable"] = "tensorflow lists no GPU"
else:
    a = numpy.random.RandomState(0).rand(257, 129).astype("float32")
    with tensorflow.device("/GPU:0"):
        got = tensorflow.matmul(a, a, transpose_b=True).numpy()
    want = a @ a.T
    out["checks"].append(["matmul", float(abs(got - want).max() / abs(want).max()), 1e-2])
""",
    "jax": """
import jax, numpy
out["checks"] = []
devices = [device for device in jax.devices() if device.platform in ("gpu", "cuda")]
if not devices:
    out["unavailable"] = "jax lists no GPU"
else:
    a = numpy.random.RandomState(0).rand(257, 129).astype("float32")
    on = jax.device_put(a, devices[0])
    got, want = numpy.asarray(jax.jit(lambda x: x @ x.T)(on)), a @ a.T
    out["checks"].append(["a compiled matmul", float(abs(got - want).max() / abs(want).max()), 1e-2])
""",
}

# In a file of its own: triton reads the kernel's source from there.
_TRITON_KERNEL = """
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n):
    at = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n) + 1, mask=at < n)


def cubin(number):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(scale, {"x": "*fp32", "y": "*fp32", "n": "i32"})
    return triton.compile(source, target=GPUTarget("cuda", number, 32)).asm["cubin"]


def right():
    import torch

    x = torch.arange(1000, device="cuda", dtype=torch.float32)
    y = torch.empty_like(x)
    scale[(triton.cdiv(1000, 128),)](x, y, 1000)
    return bool(torch.equal(y, 2 * x + 1))
"""

_TRITON_CUBINS = """
import os, sys
sys.path.insert(0, {folder!r})
import triton
out["version"] = triton.__version__
out["old"] = int(triton.__version__.split(".")[0]) < 3 or None
if not out["old"]:
    import gpuimage_kernel
    out["said"] = []
    for name, number in {numbers!r}.items():
        try:
            cubin = gpuimage_kernel.cubin(number)
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            out["said"] += [name + ": " + type(error).__name__] + lines[:40]
            continue
        with open(os.path.join({folder!r}, "kernel." + name + ".cubin"), "wb") as file:
            file.write(cubin)
"""

# Triton builds this module in C before its first launch, and loads it, which needs a driver: stop between both.
_TRITON_DRIVER = """
import os
import triton.backends.nvidia.driver as driver
import triton.runtime.build as build
class Built(BaseException):
    pass
real = build._build
def once(*given, **named):
    out["built"] = os.path.getsize(real(*given, **named))
    raise Built
for module in (build, driver):
    if hasattr(module, "_build"):
        module._build = once
import shutil
out["compiler"] = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
try:
    driver.CudaUtils()
except Built:
    pass
"""


class GpuProbe(Probe):
    """The part that needs a GPU; without one it says why and is skipped."""

    def tier2(self) -> None:
        """Find the GPU, run kernels, compare with the CPU's answers."""
        if self.cpu_only:
            self.add("T2", "gpu", "skipped", "the image is meant for machines without a GPU")
            return
        answer = ask(_DRIVER_CODE, self.timeout)
        found = (answer.data or {}).get("gpus")
        self.gpus = [(str(g[0]), int(g[1]), int(g[2])) for g in found] if isinstance(found, list) else []
        if not self.gpus:
            self.add("T2", "gpu", "skipped", self.no_gpu(answer), answer)
            return
        names = ["{} (compute capability {}.{})".format(*gpu) for gpu in self.gpus]
        reason = "{}; the driver runs up to CUDA {}".format(", ".join(names), answer.text("driver_cuda"))
        self.add("T2", "gpu", "passed", reason, answer)
        for module in _KERNELS:
            if self.has(module) and module in self.answers:
                self.kernels(module)
        if self.jit == "triton":
            self.in_folder("T2", "jit-kernel", self.triton_kernel)
        elif self.jit == "nvcc":
            self.in_folder("T2", "jit-kernel", self.nvcc_kernel)

    def no_gpu(self, answer: Answer) -> str:
        """Why no GPU is here, as precisely as it can be told."""
        names = ("nvidia[0-9]*", "dxg", "nvhost-gpu")  # a server's, Windows' and a Jetson's
        nodes = [path for name in names for path in Path("/dev").glob(name)]
        if answer.data is None:
            reason = "the driver's library " + answer.ended
        elif answer.text("code"):
            reason = "CUDA does not start: error {} ({})".format(
                answer.text("code"), answer.text("why") or "unknown"
            )
            driver = answer.text("driver_cuda")
            reason += f", the driver runs up to CUDA {driver}" if driver else ""
            reason += "" if nodes else ", and there is no /dev/nvidia*"
        elif not nodes:
            reason = "there is no GPU here (no /dev/nvidia*)"
        elif answer.text("missing"):
            reason = "/dev/nvidia* is there, but not the driver's libcuda.so.1: {}".format(
                answer.text("missing")
            )
            reason += "; does NVIDIA_DRIVER_CAPABILITIES hold `compute`?"
        else:
            reason = "the driver counts no GPU"
        known = str(self.expect.get("no_gpu") or "")
        return f"{known}: {reason}" if known else reason

    def kernels(self, module: str) -> None:
        """Run a framework's kernels and hold the answers against the CPU's."""
        answer = ask(_KERNELS[module], self.timeout)
        probe = module + "-kernels"
        checks = (answer.data or {}).get("checks")
        rows = [(str(c[0]), float(c[1]), float(c[2])) for c in checks] if isinstance(checks, list) else []
        # NaN differs from everything: only "at most" may pass.
        wrong = [(name, off) for name, off, allowed in rows if not off <= allowed]
        if answer.text("unavailable"):
            self.add(
                "T2", probe, "skipped", "{} cannot use the GPU: {}".format(module, answer.text("unavailable"))
            )
        elif answer.error or not rows:
            self.add("T2", probe, "failed", answer.error or "nothing ran", answer)
        elif wrong:
            reason = "{} on the GPU differs from the CPU's answer by {:.2g} of its largest value".format(
                *wrong[0]
            )
            self.add("T2", probe, "failed", reason, answer)
        else:
            self.add(
                "T2",
                probe,
                "passed",
                ", ".join(row[0] for row in rows) + " agree with the CPU's answer",
                answer,
            )
        if module == "torch" and rows and self.line:
            self.line = self.line.rpartition(": ")[0] + ": True"

    def triton_kernel(self, folder: str) -> None:
        """Compile and run a kernel with triton, on tensors of torch, which is how triton is used."""
        if not self.has("torch"):
            self.add("T2", "jit-kernel", "skipped", "there is no torch to hold what a triton kernel works on")
            return
        _write(folder, "gpuimage_kernel.py", _TRITON_KERNEL)
        code = "import sys\nsys.path.insert(0, {!r})\nimport gpuimage_kernel\nout['right'] = gpuimage_kernel.right()"
        answer = ask(code.format(folder), self.timeout)
        if answer.text("right") == "True" and not answer.error:
            self.add(
                "T2", "jit-kernel", "passed", "triton compiled a kernel, and its answer is right", answer
            )
        else:
            self.add("T2", "jit-kernel", "failed", answer.error or "the kernel's answer is wrong", answer)

    def nvcc_kernel(self, folder: str) -> None:
        """Compile a program for this GPU with nvcc and run it."""
        nvcc = _find_nvcc()
        if not nvcc:
            self.add("T2", "jit-kernel", "failed", _NO_NVCC)
            return
        program = str(Path(folder, "total"))
        code = _gencode([(self.gpus[0][1], self.gpus[0][2], "", False)])
        ended, lines, took = self.run(
            [nvcc, *code, _write(folder, "total.cu", _CUDA_SOURCE), "-o", program], folder
        )
        if ended != "ended with status 0":
            reason, evidence = _judged("nvcc", lines, "nvcc " + ended)
            self.report.add("T2", "jit-kernel", "failed", reason, took, evidence)
            return
        ended, lines, ran = self.run([program], folder)
        if ended == "ended with status 0" and "right" in lines:
            reason = "nvcc compiled a program with CUB, and its answer is right"
            self.report.add("T2", "jit-kernel", "passed", reason, took + ran)
        else:
            self.report.add(
                "T2", "jit-kernel", "failed", "the compiled program " + ended, took + ran, lines[-12:]
            )


# -- the run -------------------------------------------------------------------------------------------------------


def run(expect: dict[str, object]) -> dict[str, object]:
    """Run both tiers; the document that goes out."""
    probe = GpuProbe(expect)
    probe.tier1()
    probe.tier2()
    return {
        "format": 1,
        "python": platform.python_version(),
        "line": probe.line,
        "gpus": [list(gpu) for gpu in probe.gpus],
        "verdicts": probe.report.verdicts,
    }


def text(document: dict[str, object]) -> str:
    """The document for people."""
    verdicts = document["verdicts"]
    rows = verdicts if isinstance(verdicts, list) else []
    width = max([len(row["probe"]) for row in rows] or [0])
    lines = []
    for row in rows:
        sign = {"passed": "ok", "failed": "FAILED"}.get(row["status"], row["status"])
        lines.append("{}  {:<7}  {:<{}}  {}".format(row["tier"], sign, row["probe"], width, row["reason"]))
        if row["status"] == "failed":
            lines.extend("      " + line for line in row["evidence"])
    if document["line"]:
        lines += ["", str(document["line"])]
    return "\n".join(lines)


def main() -> int:
    """Probe, print, and return the exit status: 0 nothing failed, 1 something did, 2 the expectations are no JSON."""
    given = os.environ.get("GPUIMAGE_PROBE")
    try:
        expect = json.loads(given) if given else {}
    except ValueError as error:
        sys.stderr.write(f"GPUIMAGE_PROBE is not JSON: {error}\n")
        return 2
    if not isinstance(expect, dict):
        sys.stderr.write("GPUIMAGE_PROBE is not a JSON object\n")
        return 2
    document = run(expect)
    if given:
        print("\n" + BEGIN + "\n" + json.dumps(document) + "\n" + END, flush=True)
    else:
        print(text(document), flush=True)
    verdicts = document["verdicts"]
    rows = verdicts if isinstance(verdicts, list) else []
    return 1 if any(row["status"] == "failed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
