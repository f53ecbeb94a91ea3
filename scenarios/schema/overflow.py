"""The schema of what happens when a request fits nowhere."""

from typing import Annotated, TypeAlias

from binwright.scenarios.features import with_keys
from binwright.scenarios.features.overflow import AfterPreemption, Word
from binwright.simcore.fields import Shown
from binwright.simcore.unions import PlainOrMapping


@with_keys("overflow")
class OtherOverflow(AfterPreemption):
    """A way to overflow."""


Overflow: TypeAlias = Annotated[
    Word | OtherOverflow,
    PlainOrMapping(),
    Shown(
        "`drop`, `wait`, `stop`, {expand: [Expand](#expand)}, {wait: [Wait](#wait)}, {preempt: [Preempt](#preempt)} "
        "or {make_room: [MakeRoom](#makeroom)}"
    ),
]
