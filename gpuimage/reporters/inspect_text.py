"""What was found in an image, wheel or file, for people: the answer first, then where the bytes are."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from gpuimage.examine import Examination
from gpuimage.inspect import (
    Comparison,
    Coverage,
    GpuFile,
    categories,
    copies,
    driver_needs,
    shares,
)
from gpuimage.reporters.smoke_text import SIGNS
from gpuimage.reporters.visible import visible
from gpuimage.reporters.wrapped import WIDTH, wrapped
from gpuimage.units import signed, size

_ROWS = 10
_LEAST = 10**6  # bytes worth a line
_SEVERITIES = ("error", "warning", "note")


def inspect_text(found: Examination) -> str:
    """The whole as text, ending in a line break."""
    blocks = [
        _head(found),
        _problems(found),
        _verdicts(found),
        _coverage(found),
        _architectures(found),
        _libraries(found),
        _layers(found),
        _wheels(found),
        _spare(found),
        [_sentence(found)],
    ]
    return "\n\n".join("\n".join(map(visible, block)) for block in blocks if block) + "\n"


def compare_text(made: Comparison, before: Examination, after: Examination) -> str:
    """A comparison as text, and how the newer one serves its targets; ends in a line break."""
    lines = [f"{after.target} against {before.target}", _grown("bytes", made.before, made.after)]
    if made.hidden_before or made.hidden_after:
        lines.append(_grown("hidden by later layers", made.hidden_before, made.hidden_after))
    for title, changes in (("what changed", made.changes), ("GPU code", made.architectures)):
        if changes:
            lines += ["", title]
            lines += [
                f"  {signed(one.grown):>10}  {one.name if one.kind != 'wheel' else f'{one.name} (wheel)'}"
                + (f"  {one.because}" if one.because else "")
                for one in changes[:_ROWS]
            ]
            lines += _more(len(changes))
    if not made.changes:
        lines += ["", "nothing changed"]
    if after.targets or after.promised:
        lines += ["", *_coverage(after), "", _sentence(after)]
    return "\n".join(map(visible, lines)) + "\n"


def _grown(what: str, before: int, after: int) -> str:
    return f"{what}: {size(before)} to {size(after)} ({signed(after - before)})"


def _head(found: Examination) -> list[str]:
    inspection = found.inspection
    lines = [
        f"{found.target}  ({found.kind}, {size(inspection.bytes)} in {_count(inspection.files, 'file')})"
    ]
    code = sum(file.code_bytes for file in inspection.gpu)
    if code:
        part = f"{100 * code / inspection.bytes:.0f} %" if inspection.bytes else ""
        lines.append(f"GPU code  {size(code)} in {_count(len(inspection.gpu), 'file')} ({part} of all bytes)")
        unneeded = sum(share.bytes for share in shares(inspection.gpu, found.targets) if not share.needed)
        if found.targets:
            lines.append(f"          {size(unneeded)} of it serve none of {_targets(found)}")
    else:
        lines.append("GPU code  none")
    hidden = sum(one.bytes for one in inspection.hidden)
    if hidden:
        lines.append(
            f"hidden    {size(hidden)} are overwritten or deleted by later layers and ship all the same"
        )
    return lines


def _problems(found: Examination) -> list[str]:
    problems = found.inspection.problems
    if not problems:
        return []
    head = f"this answer is partial: {_count(len(problems), 'thing')} could not be read"
    return [head, *(f"  {problem}" for problem in problems[:_ROWS]), *_more(len(problems))]


def _verdicts(found: Examination) -> list[str]:
    width = max((len(one.probe) for one in found.verdicts), default=0)
    lines: list[str] = []
    for one in found.verdicts:
        head = f"{SIGNS[one.status]:<7}  {one.probe:<{width}}  "
        lines += _wrapped(head, one.reason)
    return lines


def _coverage(found: Examination) -> list[str]:
    if not found.targets:
        return []
    lines = []
    for severity in _SEVERITIES:
        for path, because in _told(one for one in found.coverage if one.severity == severity):
            lines += _wrapped(f"{severity:<7}  {path}: ", because)
    clean = [str(target) for target in found.targets if not _troubled(found.coverage, str(target))]
    if clean and found.coverage:
        lines.append(f"ok       every file with GPU code has machine code for {' '.join(clean)}")
    return lines


def _troubled(answers: Iterable[Coverage], target: str) -> bool:
    return any(one.severity in ("error", "warning") for one in answers if str(one.target) == target)


def _told(answers: Iterable[Coverage]) -> Iterator[tuple[str, str]]:
    """One line for a file whose answers differ only in the target."""
    groups: dict[tuple[str, str], list[Coverage]] = {}
    for one in answers:
        groups.setdefault((one.path, one.because.replace(f" {one.target}", " {}", 1)), []).append(one)
    for (path, because), group in groups.items():
        yield path, because.replace("{}", " ".join(str(one.target) for one in group))


def _architectures(found: Examination) -> list[str]:
    rows = shares(found.inspection.gpu, found.targets or None)
    if not rows:
        return []
    words = {True: "", False: "serves no target", None: ""}
    return [
        "GPU code by architecture",
        *(
            f"  {size(row.bytes):>8}  {row.kind:<6} {row.arch:<6} {row.count:>7,}  {words[row.needed]}".rstrip()
            for row in rows
        ),
    ]


def _libraries(found: Examination) -> list[str]:
    files = sorted(found.inspection.gpu, key=lambda file: (-file.code_bytes, file.path))
    if not files:
        return []
    lines = ["files with GPU code"]
    for file in files[:_ROWS]:
        lines.append(f"  {size(file.code_bytes):>8} of {size(file.bytes):>8}  {file.path}")
        lines += textwrap.wrap(
            "; ".join(_described(file)), WIDTH, initial_indent=" " * 24, subsequent_indent=" " * 24
        )
    return [*lines, *_more(len(files))]


def _described(file: GpuFile) -> Iterator[str]:
    parts = shares([file])
    for kind, name in (("cubin", "machine code"), ("ptx", "PTX"), ("lto-ir", "LTO-IR")):
        archs = [share.arch for share in parts if share.kind == kind]
        if archs:
            yield f"{name} {' '.join(archs)}"
    debug = sum(code.debug for container in file.containers for code in container.code)
    if debug:
        yield f"{debug} built for debugging (-G): kernels run many times slower"
    for need in driver_needs(file):
        driver = f"driver {need.driver}" if need.driver else "a driver that no source names"
        yield f"{need.why}: {driver}" + (f" (CUDA {need.cuda})" if need.cuda else "")


def _layers(found: Examination) -> list[str]:
    layers = found.inspection.layers
    if not layers:
        return []
    lines = ["layers"]
    for number, layer in enumerate(layers, 1):
        hidden = f"  ({size(layer.hidden_bytes)} hidden later)" if layer.hidden_bytes else ""
        lines.append(f"  {number:>2}  {size(layer.bytes):>8}  {_short(layer.created_by, 80)}{hidden}")
    return lines


def _wheels(found: Examination) -> list[str]:
    wheels = sorted(found.inspection.wheels, key=lambda wheel: (-wheel.bytes, wheel.name))
    if len(wheels) < 2:
        return []
    return [
        "wheels",
        *(f"  {size(wheel.bytes):>8}  {wheel.label}" for wheel in wheels[:_ROWS]),
        *_more(len(wheels)),
    ]


def _spare(found: Examination) -> list[str]:
    lines = [
        f"  {size(one.bytes):>8}  {one.name}: {_count(one.files, 'file')}, the largest {one.examples[0]}"
        for one in categories(found.inspection)
        if one.bytes >= _LEAST
    ]
    same = copies(found.inspection)
    wasted = sum(one.wasted for one in same)
    if wasted >= _LEAST:
        first = f"{same[0].paths[0]} is {same[0].paths[1]}"
        lines.append(f"  {size(wasted):>8}  copies of other files: {first}")
    return ["rarely needed at run time", *lines] if lines else []


def _sentence(found: Examination) -> str:
    if not found.targets and not found.promised:
        return "nothing was asked of it: name the GPUs to serve with --arch, or give a spec"
    errors = [one for one in found.coverage if one.severity == "error"]
    failed = [one.probe for one in found.verdicts if found.promised and one.status == "failed"]
    if found.passed:
        warnings = sum(one.severity == "warning" for one in found.coverage)
        rest = f", with {_count(warnings, 'warning')}" if warnings else ""
        return f"passed: code for {_targets(found)} everywhere{rest}" if found.targets else f"passed{rest}"
    parts = []
    if found.empty:
        parts.append("no GPU code at all")
    if errors:
        lost = sorted({one.target for one in errors})
        files = len({one.path for one in errors})
        parts.append(f"nothing for {' '.join(map(str, lost))} in {_count(files, 'file')}")
    return "FAILED: " + "; ".join([*parts, *failed])


def _targets(found: Examination) -> str:
    return " ".join(map(str, found.targets))


def _wrapped(head: str, text: str) -> list[str]:
    return wrapped(head, text, min(len(head), 11))


def _more(number: int) -> Sequence[str]:
    return [f"  … and {number - _ROWS} more (--format json has all)"] if number > _ROWS else []


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
