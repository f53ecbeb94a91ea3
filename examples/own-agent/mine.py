"""An agent of one's own: keep some servers empty for large requests."""

from binwright import Agent, Placement, Request, View


class Reserve(Agent):
    """First-Fit, but requests of less than `large` cores use the last servers only when no other has room."""

    reference = "this example"

    def __init__(self, large: float = 8.0, reserved: float = 0.2) -> None:
        self.large = large * 1e6  # quanta: millionths of a core
        self.reserved = reserved

    def decide(self, view: View, request: Request) -> Placement | None:
        """Returns the first place that fits; large requests begin at the reserved servers, others end there."""
        servers, nodes, _ = view.free.shape
        others = round(servers * (1 - self.reserved))
        order = [*range(others, servers), *range(others)] if request.demand[0] >= self.large else range(servers)
        for server in order:
            if request.spread:  # not in this scenario, but an agent should know: an even part on every node
                places = [request.across(server, nodes)]
            else:
                places = [request.on(server, node) for node in range(nodes)]
            for place in places:
                if all((view.free[at, node] >= amounts).all() for at, node, amounts in place.shares):
                    return place
        return None
