"""Places by the rule of value-es, with weights that were learned by imitation."""

from __future__ import annotations

from binwright.agents.learned.common.tensors import find
from binwright.agents.learned.numa.value_agent import ValueAgent


class Hindsight(ValueAgent):
    """Imitates, without seeing any future, a planner that knew all of it, by what every server is worth.

    `weights` names shipped ones, `path` is a file that `binwright train` wrote, and `untrained` is where the training
    of the weights began. Any number of servers, each of two NUMA nodes.
    """

    name = "hindsight"
    reference = "Sinclair et al. 2023, Hindsight Learning for MDPs with Exogenous Inputs, ICML, arXiv:2207.06272"

    def __init__(self, weights: str = "huawei-10", path: str | None = None, untrained: bool = False) -> None:
        super().__init__(find(self.name, weights, path), untrained)
