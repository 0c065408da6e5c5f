"""The bytes of an old image, as far as the tables know, beside those that the plan predicts."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from gpuimage.finding import Cost, Waste
from gpuimage.init.dockerfiles import Old
from gpuimage.lint.waste import image_parts
from gpuimage.plan import Plan


class Won(Struct, frozen=True):
    """`old` are the known parts of the old image, None where its base is not known; `waste` what the linter finds in it.

    `new` is what the plan predicts, None where nothing is known of it; `open` its parts that nobody knows yet. `least`
    and `most` are the difference, where both sides are known: bytes.
    """

    old: tuple[Cost, ...] | None
    waste: Waste
    new: tuple[int, int] | None
    open: tuple[str, ...]
    least: int | None = None
    most: int | None = None

    @property
    def old_bytes(self) -> tuple[int, int] | None:
        """Low and high sum of the old image."""
        if self.waste.image_low is not None and self.waste.image_high is not None:
            return self.waste.image_low, self.waste.image_high
        if self.old is None:
            return None
        return sum(part.low for part in self.old), sum(part.high for part in self.old)


# Parts of a plan that are small beside what is compared, so that not knowing them hides nothing.
_SMALL = frozenset({"distribution packages", "code"})


def won(old: Old, made: Plan | None) -> Won:
    """Hold an old image against a plan; without one only the old side is told."""
    from gpuimage.lint.check import check  # noqa: PLC0415  # all rules: only where there is a Dockerfile
    from gpuimage.lint.config import Config  # noqa: PLC0415

    report = check(old.file.source, str(old.path), Config(), old.path.parent)
    if made is None:
        return Won(image_parts(old.file), report.waste, None, ())
    unknown = tuple(part.name for part in made.parts if part.low is None)
    found = Won(image_parts(old.file), report.waste, made.predicted_bytes, unknown)
    before, after = found.old_bytes, found.new
    # The linter knows of the old image its base and torch: a torch that it does not see would look like bytes won.
    unseen = "torch" in made.frameworks and len(found.old or ()) < 2
    if before is None or after is None or unseen or set(unknown) - _SMALL:
        return found
    return replace(found, least=before[0] - after[1], most=before[1] - after[0])
