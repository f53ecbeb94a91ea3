"""Places by what every server is worth: the agent that value-es and hindsight both are, with weights of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from agents.learned.common.tensors import fitting
from agents.learned.numa.servers import NODES, check_servers
from agents.learned.numa.value import HIDDEN, KNOWN, SIZE, value_es
from agents.rules.ruled import Ruled
from simcore.vocabulary import View


class ValueAgent(Ruled):
    """Takes the place that costs its server least of its worth, by the weights in a file, or by the known terms alone.

    Subclasses have a `name`, by which their weights are known.
    """

    name: ClassVar[str]
    rule = staticmethod(value_es)

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.numbers = (np.zeros(SIZE),)

    def start(self, view: View, rng: np.random.Generator) -> None:
        """Load the weights."""
        check_servers(view, self.name)
        [weights] = self.numbers
        if self._file is None:
            weights[: len(KNOWN)] = KNOWN
        else:
            weights[:] = fitting(self._file, {"weights": (SIZE,)}, described(view, self.name))["weights"]
        self.get_ready(view)


def described(view: View, agent: str) -> dict[str, Any]:
    """Return what the notes beside an agent's weights say they were trained for."""
    return {"agent": agent, "resources": list(view.resources), "nodes": NODES, "hidden": HIDDEN}
