"""From anything that holds GPU code to what is known of it: read the files, hold them against GPUs and promises.

One function, so that the command line and a program get the same answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpuimage.arch import ComputeCapability
from gpuimage.errors import Location
from gpuimage.inspect import (
    Coverage,
    InspectError,
    Inspection,
    Kind,
    OnBytes,
    coverage,
    inspect_path,
    inspect_stream,
)

if TYPE_CHECKING:
    from gpuimage.engine import Engine, ImageInfo
    from gpuimage.smoke import Expectation, Verdict

_FILE_SUFFIXES = (".whl", ".so", ".a", ".o", ".tar", ".gz", ".zst", ".tgz", ".cubin", ".fatbin")


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found in a target.

    `targets` are the compute capabilities it was held against, `coverage` the answers for each file with GPU code.
    `verdicts` are those of the static tier, for images and roots alone; they count against it where `promised`.
    """

    target: str
    kind: Kind
    inspection: Inspection
    targets: tuple[ComputeCapability, ...]
    driver: str | None
    coverage: tuple[Coverage, ...]
    verdicts: tuple[Verdict, ...]
    promised: bool

    @property
    def empty(self) -> bool:
        """Whether a wheel or file that is held against targets has no GPU code at all; an image may do without."""
        return bool(self.targets) and self.kind in ("wheel", "file") and not self.coverage

    @property
    def passed(self) -> bool:
        """Whether every target has code everywhere, and what was promised holds."""
        covered = all(one.severity != "error" for one in self.coverage) and not self.empty
        return covered and not (self.promised and any(one.status == "failed" for one in self.verdicts))


def inspect(
    target: str,
    *,
    targets: Sequence[ComputeCapability] = (),
    driver: str | None = None,
    expectation: Expectation | None = None,
    engine: Callable[[], Engine] | None = None,
    image: str | None = None,
    platform: str | None = None,
    every_section: bool = False,
    on_bytes: OnBytes | None = None,
) -> Examination:
    """Look at an image reference, archive, layout, directory, wheel or file; `-` is a tar stream on standard input.

    `engine` is asked only for an image reference. Targets and driver default to what `expectation` promises.
    InspectError (2) for what cannot be read, UnavailableError (3) where the engine does not answer.

        >>> from gpuimage import ArchList, inspect
        >>> found = inspect("examples", targets=ArchList.parse("8.6;9.0").capabilities)
        >>> found.kind, found.inspection.libraries, found.passed
        ('directory', (), True)
    """
    options = {"image": image, "platform": platform, "every_section": every_section, "on_bytes": on_bytes}
    info: ImageInfo | None = None
    if target == "-":
        kind, found = inspect_stream(sys.stdin.buffer, **options)  # type: ignore[arg-type]
    elif Path(target).exists():
        kind, found = inspect_path(Path(target), **options)  # type: ignore[arg-type]
    elif engine is None or target.startswith((".", "/")) or target.endswith(_FILE_SUFFIXES):
        raise InspectError("there is no such file or directory", where=Location(Path(target)))
    else:
        host = engine()
        info = host.inspect(target)
        with host.archive(target) as stream:
            kind, found = inspect_stream(stream, **options)  # type: ignore[arg-type]
    promised = expectation.arch if expectation else None
    wanted = tuple(targets) or (promised.capabilities if promised else ())
    driver = driver or (expectation.driver if expectation else None)
    verdicts = _verdicts(found, info, expectation) if kind in ("image", "root") else ()
    answers = coverage(found.gpu, wanted, driver, linked=kind != "file")
    return Examination(target, kind, found, wanted, driver, answers, verdicts, expectation is not None)


def _verdicts(
    found: Inspection, info: ImageInfo | None, expectation: Expectation | None
) -> tuple[Verdict, ...]:
    """Judge the files of an image; of an archive is known what an engine would say: a layer is as large as its files."""
    # A wheel or a library needs neither, and reading one takes less time than loading these.
    from gpuimage.engine import ImageInfo, LayerInfo  # noqa: PLC0415
    from gpuimage.smoke import Expectation, static_verdicts  # noqa: PLC0415

    if info is None:
        layers = tuple(LayerInfo(layer.created_by, layer.bytes) for layer in found.layers)
        size = sum(layer.bytes for layer in layers) or found.bytes
        info = ImageInfo(id="", size=size, layers=layers, env=found.env)
    return static_verdicts(found, info, expectation or Expectation())
