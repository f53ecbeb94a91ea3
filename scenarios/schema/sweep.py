"""The schema of `sweep:`: points to run instead of one."""

from typing import Annotated, Any, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import to_jsonable_python

from binwright.simcore.fields import Model, wrong

FIXED = (
    *("name", "description", "extends", "agents", "replications", "seed", "record", "metrics"),
    *("decision_limit", "sweep", "train", "size", "headline_metrics", "headings", "figures"),
)
"""Top-level keys that are the same for all points of a sweep, and do not change what a run gives."""

# YAML makes dates of what looks like some; they become text again, as tables and the names of folders have it.
Values: TypeAlias = Annotated[tuple[Any, ...], Field(min_length=1), BeforeValidator(to_jsonable_python)]


class Sweep(Model):
    """Points: the scenario again for every combination of values, by dotted keys."""

    product: dict[str, Values] = Field(
        default_factory=dict,
        description="Every combination of these values.",
        examples=["{cluster.servers: [10, 50], overflow: [drop, wait]}"],
    )
    zip: dict[str, Values] = Field(
        default_factory=dict,
        description="Points from the first values of all lists, the second ones, and so on; combined with `product`.",
        examples=["{cluster.servers: [10, 50], workload.requests: [1000, 5000]}"],
    )

    @model_validator(mode="after")
    def _points(self) -> Self:
        for kind in ("product", "zip"):
            for key in getattr(self, kind):
                if key.split(".")[0] in FIXED:
                    remedy = "All points meet the same agents and seeds; list agents with their options in `agents:`."
                    raise wrong("cannot be swept", remedy, (kind, key))
        for key in self.product.keys() & self.zip.keys():
            raise wrong("is swept twice", "Keep it in product or in zip.", ("zip", key))
        lengths = {key: len(values) for key, values in self.zip.items()}
        first = next(iter(lengths), "")
        for key, length in lengths.items():
            if length != lengths[first]:
                problem = f"has {length} values, but {first} has {lengths[first]}"
                raise wrong(problem, "Lists in zip go together: make them equally long.", ("zip", key))
        return self
