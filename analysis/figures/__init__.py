"""Figures of results: a name maps to a kind; third parties add theirs by the entry point group `binwright.figures`."""

from binwright.simcore.registry import Registry

KINDS = (
    *("differences", "sweep", "gains", "pareto", "refusals", "servers", "timeline", "gantt", "topology", "spread"),
    *("size", "learning"),
)
BARS = {name: f"bars:{name}" for name in ("refusals", "spread")}
FIGURES = Registry(
    "figure",
    "binwright.figures",
    {name: f"binwright.analysis.figures.kinds.{BARS.get(name, f'{name}:draw')}" for name in KINDS},
    "binwright list figures",
    functions=True,
)
FIRST = ("learning", "size", "sweep", "gains", "differences", "refusals", "servers", "pareto")
"""The kinds that answer a question, the first for what results were made for: of those that can be drawn, four are."""
