"""The schema of `parts:`: requests that are placed on several servers at once or not at all."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from binwright.scenarios.features.placement import Values, known_label
from binwright.simcore.fields import Count, Keys, Model, Text, wrong
from binwright.simcore.gangs import PartRules
from binwright.simcore.json_schema import Schema, given
from binwright.workloads.parts import Parts as Built
from binwright.workloads.virtual import MOST, Machines


class Parts(Model):
    """A gang: a request of several equal parts, which get their places at once or not at all. `parts: 16` is short."""

    number: Machines | None = Field(
        default=None, description="How many parts: a number or a distribution.", examples=[16, "{uniform: [8, 64]}"]
    )
    by: Text | None = Field(
        default=None,
        description="In a trace: a part for every unit of this resource (`processors` is cpu), or as many as a label"
        " says.",
        examples=["processors"],
    )
    least: Count | None = Field(
        default=None, description="So many are enough; the gang takes all that find a place.", examples=[4]
    )
    work: Literal["stays", "fixed"] = Field(
        default="stays", description="With fewer parts a gang stays as long, or (`fixed`) longer in proportion."
    )
    together: Text | None = Field(default=None, description="All parts in one domain of this label.", examples=["rack"])
    at_most: dict[str, Count] = Field(
        default_factory=dict,
        description="At most so many parts in each domain of a label, or on each `server`.",
        examples=["{server: 8}"],
    )

    forms: ClassVar[Sequence[Schema]] = (given("number", without=["by"]), given("by", without=["number"]))

    @classmethod
    def prepare(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"by": data}
        return {"number": Machines.model_validate(data)} if isinstance(data, int | float) else data

    @classmethod
    def outline(cls, own: Schema) -> Schema:
        return {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MOST}, {"type": "string"}, super().outline(own)]}

    @model_validator(mode="after")
    def _counted(self) -> Self:
        if (self.number is None) == (self.by is None):
            raise wrong(
                "needs either number or by", "Write `parts: 16`, or in a trace `parts: processors`.", ("number",)
            )
        if self.number and self.least and self.least > self.number.least:
            raise wrong("is above the number of parts", f"Give {self.number.least} or less.", ("least",), self.least)
        if self.work == "fixed" and self.least is None:
            raise wrong("needs `least`", "Say how many parts are enough, as least: 4.", ("work",))
        return self

    def build(self) -> Built:
        """Make what draws them."""
        rules = PartRules(self.together or "", tuple(sorted(self.at_most.items())), self.work == "fixed")
        return Built(self.number, self.by or "", self.least, rules)

    @property
    def restricts(self) -> bool:
        """Whether there are rules among the parts."""
        return bool(self.together or self.at_most)

    def check_labels(self, values: Values, everywhere: set[str] | None, at: Keys) -> None:
        """Refuse labels that servers lack; `everywhere` are those that all have, None where a file says it."""
        labels = {label: (*at, "at_most", label) for label in self.at_most}
        labels |= {self.together: (*at, "together")} if self.together else {}
        for label, where in labels.items():
            known_label(label, values, everywhere, where)
