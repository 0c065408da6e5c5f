"""Compute capabilities, the list in `TORCH_CUDA_ARCH_LIST`, and which GPU runs which code.

The grammar of the list is the one of `_get_cuda_arch_flags` in torch/utils/cpp_extension.py, read in the
wheels of torch 2.13.0 and 2.14.1. It differs from what people write from memory:

* entries are parted by one `;` or one space (two spaces make an empty entry, which torch refuses);
* an entry is a capability torch knows (`8.6`, `9.0a`) or a name (`Ampere`), either one followed by `+PTX`;
  most names hold a `+PTX` already, and a second one is refused;
* everything is case-sensitive, and commas, `sm_86` and `86` are errors.

Two deliberate differences. `f` capabilities (`10.0f`) and the few that only nvcc knows (`8.8`, `10.1`) are
taken, because the CMake half of torch and packages such as vllm take them; `ArchList.refused_by_torch` tells
which entries torch's own extension builder would stop at. `native` is refused: it asks the building machine
for its GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from gpuimage.patterns import pattern

_CAPABILITY = pattern(r"(?P<major>[1-9][0-9]?)\.(?P<minor>[0-9])(?P<suffix>[af]?)", re.ASCII)
_NUMBER = pattern(r"(?P<major>[1-9][0-9]?)(?P<minor>[0-9])(?P<suffix>[af]?)", re.ASCII)

# What each name means in torch 2.13 and 2.14. `Rubin` came with 2.14. The meaning of a name moves between
# versions of torch, which is why a list is always written out in numbers.
NAMED: dict[str, str] = {
    "Kepler+Tesla": "3.7",
    "Kepler": "3.5+PTX",
    "Maxwell+Tegra": "5.3",
    "Maxwell": "5.0;5.2+PTX",
    "Pascal": "6.0;6.1+PTX",
    "Volta+Tegra": "7.2",
    "Volta": "7.0+PTX",
    "Turing": "7.5+PTX",
    "Ampere+Tegra": "8.7",
    "Ampere": "8.0;8.6+PTX",
    "Ada": "8.9+PTX",
    "Hopper": "9.0+PTX",
    "Blackwell+Tegra": "11.0",
    "Blackwell": "10.0;10.3;12.0;12.1+PTX",
    "Rubin": "10.7+PTX",
}

# Accepted by the extension builder of torch 2.14.1; older ones know fewer.
# fmt: off
_KNOWN_TO_TORCH = frozenset((
    "3.5", "3.7", "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9",
    "9.0", "9.0a", "10.0", "10.0a", "10.3", "10.3a", "10.7", "10.7a", "11.0", "11.0a", "12.0", "12.0a",
    "12.1", "12.1a",
))
# Taken by some nvcc from 10.0 to 13.5, but not by the extension builder (facts: cuda_releases.json, minors).
_KNOWN_TO_NVCC_ONLY = frozenset((
    "3.0", "3.2", "8.8", "10.1", "10.1a", "10.0f", "10.1f", "10.3f", "10.7f", "11.0f", "12.0f", "12.1f",
))
# fmt: on
_KNOWN = _KNOWN_TO_TORCH | _KNOWN_TO_NVCC_ONLY

# FLASH_ATTN_CUDA_ARCHS holds numbers that flash-attn's setup.py compares with fixed texts, one a major:
# 2.8.3 knows 80, 90, 100 and 120, later ones 110 too. Any other is ignored without a word: no code is made.
_FLASH_ATTN = {8: "80", 9: "90", 10: "100", 11: "110", 12: "120"}

_LONGEST = 500  # characters; every known capability with +PTX needs fewer

_NOT_A_LIST = {
    "native": "it takes the GPU of the building machine, and an image build has none",
    "auto": "it takes the GPU of the building machine, and an image build has none",
    "all": "torch's extension builder knows no such word",
    "all-major": "torch's extension builder knows no such word",
    "common": "only CMake knows this word, torch's extension builder does not",
}


class ArchError(ValueError):
    """A capability or a list that torch would refuse: why, and the smallest change that helps."""

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{reason} ({hint})" if hint else reason)
        self.reason = reason
        self.hint = hint


class ComputeCapability(Struct, frozen=True, order=True):
    """A compute capability; suffix `a` is code for exactly this one, `f` code for its family."""

    major: int
    minor: int
    suffix: str = ""

    @classmethod
    def parse(cls, text: str) -> ComputeCapability:
        """Read `8.6`, `9.0a`, `sm_90a` or `compute_100f`; `ArchError` for anything else."""
        return _capability(text)

    def __str__(self) -> str:
        return self.dotted

    @property
    def dotted(self) -> str:
        """As TORCH_CUDA_ARCH_LIST writes it: `9.0a`."""
        return f"{self.major}.{self.minor}{self.suffix}"

    @property
    def number(self) -> str:
        """As CMake writes it: `90a`."""
        return f"{self.major}{self.minor}{self.suffix}"

    @property
    def sm(self) -> str:
        """The name of its machine code: `sm_90a`."""
        return f"sm_{self.number}"

    @property
    def compute(self) -> str:
        """The name of its PTX: `compute_90a`."""
        return f"compute_{self.number}"

    def cubin_runs_on(self, gpu: ComputeCapability) -> bool:
        """Whether machine code made for this capability runs on a GPU (a suffix on `gpu` is ignored).

        Plain: the same major, an equal or higher minor. `a`: exactly its own. `f`: its family, which is the
        same major and an equal or higher minor. Source: facts, cuda_releases.json, suffix_rules.
        """
        if self.suffix == "a":
            return (gpu.major, gpu.minor) == (self.major, self.minor)
        return gpu.major == self.major and gpu.minor >= self.minor

    def ptx_runs_on(self, gpu: ComputeCapability) -> bool:
        """Whether PTX made for this capability can be compiled by the driver for a GPU.

        Plain PTX serves its own and every later capability; with a suffix it is bound as the machine code is.
        Whether the driver knows the ISA version of the PTX is another question, answered by the tables.
        """
        if self.suffix:
            return self.cubin_runs_on(gpu)
        return (gpu.major, gpu.minor) >= (self.major, self.minor)


@lru_cache(maxsize=4096)
def _capability(text: str) -> ComputeCapability:
    for prefix in ("sm_", "compute_"):
        if text.startswith(prefix) and (match := _NUMBER.fullmatch(text.removeprefix(prefix))):
            return ComputeCapability(int(match["major"]), int(match["minor"]), match["suffix"])
    if match := _CAPABILITY.fullmatch(text):
        return ComputeCapability(int(match["major"]), int(match["minor"]), match["suffix"])
    raise ArchError(f"{text!r} is no compute capability", _capability_hint(text))


class ArchEntry(Struct, frozen=True, order=True):
    """One entry of a list: machine code for a capability, and with `ptx` its PTX too."""

    capability: ComputeCapability
    ptx: bool

    def __str__(self) -> str:
        return f"{self.capability}+PTX" if self.ptx else str(self.capability)


class ArchList(Struct, frozen=True):
    """What TORCH_CUDA_ARCH_LIST asks for: one entry a capability, lowest first, names written out."""

    entries: tuple[ArchEntry, ...]

    def __post_init__(self) -> None:
        """Hold the order for lists made by hand too, so that equal lists are equal values."""
        if not self.entries:
            raise ArchError("the list is empty", 'write at least one capability, such as "8.0"')
        if any(a.capability >= b.capability for a, b in pairwise(self.entries)):
            force_setattr(self, "entries", _merge(self.entries))

    @classmethod
    def parse(cls, text: str) -> ArchList:
        """Read a list as torch's extension builder does; `ArchError` tells what it would refuse and why."""
        if len(text) > _LONGEST:
            raise ArchError(f"the list is {len(text)} characters long", "name each capability once")
        try:
            return cls(_merge(entry for token in _tokens(text) for entry in _entries(token)))
        except ArchError as error:
            repaired = _repair(text)
            if repaired is None or repaired == text:
                raise
            raise ArchError(error.reason, f'write "{repaired}"') from None

    @classmethod
    def of(cls, capabilities: Iterable[ComputeCapability], *, ptx: bool = False) -> ArchList:
        """Make a list of capabilities; with `ptx` the highest gets its PTX too."""
        ordered = sorted(set(capabilities))
        return cls(tuple(ArchEntry(c, ptx and c == ordered[-1]) for c in ordered))

    def __str__(self) -> str:
        return ";".join(map(str, self.entries))

    @property
    def capabilities(self) -> tuple[ComputeCapability, ...]:
        """The capabilities machine code is made for, lowest first."""
        return tuple(entry.capability for entry in self.entries)

    def code_for(self, gpu: ComputeCapability) -> Literal["native", "jit", "none"]:
        """Tell what a GPU finds: machine code, PTX for the driver to compile at first start, or nothing."""
        if any(entry.capability.cubin_runs_on(gpu) for entry in self.entries):
            return "native"
        if any(entry.ptx and entry.capability.ptx_runs_on(gpu) for entry in self.entries):
            return "jit"
        return "none"

    def gencode(self) -> tuple[str, ...]:
        """Give the nvcc flags as torch's extension builder makes them, in its order (sorted as text)."""
        flags = set()
        for entry in self.entries:
            compute = entry.capability.compute
            flags.add(f"-gencode=arch={compute},code={entry.capability.sm}")
            if entry.ptx:
                flags.add(f"-gencode=arch={compute},code={compute}")
        return tuple(sorted(flags))

    def cmake(self) -> str:
        """Give the value of CMAKE_CUDA_ARCHITECTURES: `80-real;86-real;86-virtual`."""
        parts = []
        for entry in self.entries:
            parts.append(f"{entry.capability.number}-real")
            if entry.ptx:
                parts.append(f"{entry.capability.number}-virtual")
        return ";".join(parts)

    def flash_attn(self) -> str:
        """Give the value of FLASH_ATTN_CUDA_ARCHS, which flash-attn reads instead of TORCH_CUDA_ARCH_LIST.

        One number a major version, whose code serves all of that major: `8.6;8.9` gives `80`. `ArchError`
        where flash-attn has no kernels at all (below 8.0); where only some of the list has none, see
        `flash_attn_leaves_out`. PTX cannot be asked for.
        """
        numbers = {c.major: _FLASH_ATTN[c.major] for c in self.capabilities if c.major in _FLASH_ATTN}
        if not numbers:
            raise ArchError(f"flash-attn has no kernels for {self}", "it needs 8.0 or newer")
        return ";".join(numbers[major] for major in sorted(numbers))

    def flash_attn_leaves_out(self) -> tuple[ComputeCapability, ...]:
        """List the capabilities for which flash-attn makes no code, whatever it is told."""
        return tuple(c for c in self.capabilities if c.major not in _FLASH_ATTN)

    def refused_by_torch(self) -> tuple[ArchEntry, ...]:
        """List the entries torch's extension builder stops at: `f`, `8.8`, `10.1` and the like.

        By torch 2.14.1; older ones know fewer (10.7 came with 2.14).
        """
        return tuple(e for e in self.entries if e.capability.dotted not in _KNOWN_TO_TORCH)


def _merge(entries: Iterable[ArchEntry]) -> tuple[ArchEntry, ...]:
    """One entry a capability, lowest first: `8.0;8.0+PTX` makes the same flags as `8.0+PTX`."""
    ptx: dict[ComputeCapability, bool] = {}
    for entry in entries:
        ptx[entry.capability] = ptx.get(entry.capability, False) or entry.ptx
    return tuple(ArchEntry(capability, ptx[capability]) for capability in sorted(ptx))


def _tokens(text: str) -> Sequence[str]:
    if not text.strip():
        raise ArchError("the list is empty", 'write at least one capability, such as "8.0"')
    tokens = text.replace(" ", ";").split(";")
    if "" in tokens:
        raise ArchError(
            f"{text!r} holds an empty entry",
            "put exactly one ';' or one space between two entries, none at the ends",
        )
    return tokens


def _entries(token: str) -> tuple[ArchEntry, ...]:
    name, _, rest = token.partition("+PTX")
    if token in NAMED or (name in NAMED and "PTX" not in NAMED[name] and token == f"{name}+PTX"):
        expanded = NAMED[name] if name in NAMED else NAMED[token]
        suffix = "+PTX" if token != name else ""
        return tuple(_entry(part) for part in f"{expanded}{suffix}".split(";"))
    if name in NAMED and not rest:
        raise ArchError(f"{token!r} asks for PTX twice: {name} means {NAMED[name]}", f"write {name}")
    return (_entry(token),)


def _entry(token: str) -> ArchEntry:
    text = token.removesuffix("+PTX")
    if why := _NOT_A_LIST.get(text.lower()):
        raise ArchError(
            f"{text!r} names no capability: {why}",
            'name the capabilities to serve, such as "8.0;8.6", or give gpus',
        )
    if not _CAPABILITY.fullmatch(text):
        raise ArchError(_why_refused(token), _capability_hint(text))
    capability = ComputeCapability.parse(text)
    if capability.dotted not in _KNOWN:
        raise _unknown(capability)
    return ArchEntry(capability, ptx=text != token)


def _unknown(capability: ComputeCapability) -> ArchError:
    plain = f"{capability.major}.{capability.minor}"
    if plain in _KNOWN:
        first = "9.0" if capability.suffix == "a" else "10.0"
        return ArchError(
            f"there is no {capability}: code with suffix '{capability.suffix}' begins with {first}",
            f"write {plain}",
        )
    known = sorted({(c.major, c.minor) for c in map(ComputeCapability.parse, _KNOWN)})
    own = (capability.major, capability.minor)
    if own > known[-1]:
        return ArchError(
            f"{capability} is newer than every capability known to torch 2.14 and nvcc 13.5",
            f"the newest is {known[-1][0]}.{known[-1][1]}; +PTX on it serves later GPUs",
        )
    near = sorted(sorted(known, key=lambda k: abs(k[0] * 10 + k[1] - own[0] * 10 - own[1]))[:2])
    return ArchError(
        f"there is no compute capability {capability}",
        "the nearest are " + " and ".join(f"{a}.{b}" for a, b in near),
    )


def _why_refused(token: str) -> str:
    if "," in token:
        return f"{token!r} is parted by commas; the list takes ';' or one space"
    if re.match(r"(sm|compute)_", token):
        return f"{token!r} is nvcc's name; the list takes capabilities with a dot"
    if _NUMBER.fullmatch(token):
        return f"{token!r} has no dot; that is CMake's way to write a capability"
    return f"{token!r} is no compute capability"


def _capability_hint(text: str) -> str:
    if fixed := _repair_token(text):
        return f"write {fixed}"
    from difflib import get_close_matches  # noqa: PLC0415  # only for an error

    if close := get_close_matches(text.title(), NAMED, n=1, cutoff=0.7):
        return f"did you mean {close[0]}"
    return "a capability is written 8.6 or 9.0a: major, dot, one digit, and at most an 'a' or 'f'"


def _repair(text: str) -> str | None:
    """Find the list a person meant, if every part of it can be told for certain."""
    tokens = [token for token in re.split(r"[;,:|\s]+", re.sub(r"\s+(?=\+)", "", text)) if token]
    repaired = [_repair_token(token) for token in tokens]
    if not tokens or None in repaired:
        return None
    return ";".join(filter(None, repaired))


def _repair_token(token: str) -> str | None:
    match = re.fullmatch(r"(.*?)(?:\+?(ptx|-virtual))?(?:-real)?", token, re.IGNORECASE | re.DOTALL)
    stem = match[1] if match else token
    wants_ptx = bool(match and match[2])
    name = next((n for n in NAMED if n.lower() == stem.lower()), None)
    if name:
        candidate = name if not wants_ptx or "PTX" in NAMED[name] else f"{name}+PTX"
    else:
        number = re.sub(r"^(sm|compute)[_-]?", "", stem.lower())
        parsed = _NUMBER.fullmatch(number) or _CAPABILITY.fullmatch(number)
        if not parsed:
            return None
        wants_ptx = wants_ptx or stem.lower().startswith("compute")
        candidate = f"{parsed['major']}.{parsed['minor']}{parsed['suffix']}{'+PTX' if wants_ptx else ''}"
    try:
        _entries(candidate)
    except ArchError:
        return None
    return candidate
