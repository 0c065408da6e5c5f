"""The notebook of a plan in the making: what was decided, warned about and refused so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpuimage.errors import PlanError
from gpuimage.plan.types import Decision, Refusal
from gpuimage.spec import Spec, SpecFile


@dataclass(slots=True)
class Draft:
    """Collects decisions while the parts of a plan are worked out, in the order a reader wants them."""

    file: SpecFile
    decisions: list[Decision] = field(default_factory=list)
    warnings: list[Decision] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def spec(self) -> Spec:
        """The spec the plan is for."""
        return self.file.spec

    def decide(
        self, topic: str, choice: str, because: str, *, key: str | None = None, source: str | None = None,
        verified: bool = True,
    ) -> None:  # fmt: skip
        """Note a choice and its reason."""
        self.decisions.append(Decision(topic, choice, because, key, source, verified))

    def warn(
        self, topic: str, choice: str, because: str, *, key: str | None = None, source: str | None = None,
        verified: bool = True,
    ) -> None:  # fmt: skip
        """Note something the user should look at, though an image can be made."""
        self.warnings.append(Decision(topic, choice, because, key, source, verified))

    def refuse(self, what: str, because: str, *, key: str) -> None:
        """Note what the plan leaves out on purpose."""
        self.refusals.append(Refusal(what, because, key))

    def error(self, what: str, key: str, *, why: str | None = None, hint: str | None = None) -> PlanError:
        """Make the error that ends this plan, at the position of `key` in the spec."""
        return PlanError(what, where=self.file.at(key), why=why, hint=hint)

    def problem(
        self, topic: str, what: str, key: str, *, why: str, hint: str, source: str | None, verified: bool
    ) -> None:
        """Stop the plan when the fact behind `what` is verified; only warn when it is not."""
        if verified:
            raise self.error(what, key, why=f"{why} ({source})" if source else why, hint=hint)
        self.warn(
            topic,
            what,
            f"{why}; this fact is not verified, so it stops nothing. {hint}",
            key=key,
            source=source,
            verified=False,
        )
