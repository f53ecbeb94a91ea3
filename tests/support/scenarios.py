"""Parts of scenarios, as mappings like those of a YAML file."""

from typing import Any


def random_requests(requests: int, every: Any, flavours: list[Any], lifetimes: Any, **more: Any) -> dict[str, Any]:
    """Say requests that come at random, `every` so often, with lifetimes of this mean or law."""
    law = lifetimes if isinstance(lifetimes, dict) else {"exponential": {"mean": lifetimes}}
    arrivals = {"poisson": {"every": every}}
    return {"requests": requests, "arrivals": arrivals, "flavours": flavours, "lifetimes": law, **more}
