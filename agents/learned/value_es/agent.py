"""Places with the weights that value-es found."""

from __future__ import annotations

from binwright.agents.learned.common.tensors import find
from binwright.agents.learned.numa.value_agent import ValueAgent


class ValueES(ValueAgent):
    """The place that costs its server least of its worth, a small function whose weights evolution found.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote; `terms` are the six terms alone, with
    the weights known before, and `untrained` is where the training of the weights began. Any number of servers, each of
    two NUMA nodes.
    """

    name = "value-es"
    reference = "ours: the page 'Learned placement on NUMA servers' has the method and the measurements"

    def __init__(self, weights: str = "huawei-10", path: str | None = None, untrained: bool = False) -> None:
        known = weights == "terms" and path is None
        super().__init__(None if known else find(self.name, weights, path, ["terms"]), untrained)
