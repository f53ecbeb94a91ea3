"""The figures of Nara's publication."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from binwright.reproduction.figures import Drawing, Material, of_kind
from binwright.reproduction.publications.nara_data import STAND_INS, file_here
from workloads.demands import DEMANDS

if TYPE_CHECKING:
    from analysis.figures.draw import Figure

TOPOLOGIES = {
    "alpha": "40 servers in 4 racks",
    "beta": "40 servers in 8 racks",
    "gamma": "640 servers in 16 racks",
    "delta": "2,560 servers in 64 racks",
}
HOLDING = {"uniform": 30, "azure": 24, "alibaba": 36}
"""The demands, and the bounds of their holding times on alpha."""
AGENTS = ("nara", "tetris", "nalb", "nulb", "random")
PARTS = ("cpu", "mem", "server-rack", "rack-fabric", "fabric-spine")


def on_alpha(demand: str) -> tuple[str, str]:
    """Name the runs of a demand on alpha."""
    return "fabrics", f"demand={demand};topology=alpha"


def placements(demand: str) -> Drawing:
    """Declare the plots of a demand; the publication repeats them for every agent."""
    return Drawing(
        "2 to 8",
        f"placements-{demand}",
        f"Where requests of the demand {demand} are placed on alpha",
        of_kind("distances", on_alpha(demand), agents=AGENTS),
        "The publication has a figure for every agent and demand; here agents are rows.",
    )


def network(name: str, given: Material) -> Figure:
    """Draw a topology."""
    from analysis.figures.network_map import draw
    from fabric.presets import topology

    return draw(topology(name))


def demands(given: Material) -> Figure:
    """Draw what requests ask for, of those that the runs draw from."""
    from analysis.figures.densities import draw
    from workloads.multiserver import MultiServerRequests

    found = {}
    for name, steps in HOLDING.items():
        instead = name in STAND_INS and not file_here(name)
        kind = DEMANDS.load(STAND_INS[name] if instead else name)
        options = {"split": "test"} if name in STAND_INS and not instead else {}
        asked = MultiServerRequests(20_000, kind(**options), steps)
        found[f"{name} (stand-in)" if instead else name] = asked.draw(("cpu", "mem"), 0)
    return draw(found, title="What requests ask for, 20,000 each, with the holding times of alpha")


FIGURES = (
    *map(placements, HOLDING),
    Drawing(
        "2 to 8",
        "tiers",
        "What is in use on alpha over the last fifth of the requests",
        of_kind(
            "bars",
            *map(on_alpha, HOLDING),
            agents=AGENTS,
            metrics=[f"allocation_{part}_decisions_last_20" for part in PARTS],
        ),
    ),
    *(Drawing("9", f"topology-{name}", f"{name}, {what}", partial(network, name)) for name, what in TOPOLOGIES.items()),
    Drawing("10", "demands", "What requests ask for", demands),
)
