"""Figures of results: a name maps to a kind; third parties add theirs by the entry point group `binwright.figures`."""

from binwright.simcore.registry import Registry

FIGURES = Registry(
    "figure",
    "binwright.figures",
    {
        "summary": "binwright.analysis.figures.kinds.summary:draw",
        "differences": "binwright.analysis.figures.kinds.differences:draw",
        "gains": "binwright.analysis.figures.kinds.gains:draw",
        "seeds": "binwright.analysis.figures.kinds.seeds:draw",
        "bars": "binwright.analysis.figures.kinds.bars:draw",
        "pareto": "binwright.analysis.figures.kinds.pareto:draw",
        "sweep": "binwright.analysis.figures.kinds.sweep:draw",
        "load": "binwright.analysis.figures.kinds.load:draw",
        "refusals": "binwright.analysis.figures.kinds.refusals:draw",
        "timeline": "binwright.analysis.figures.kinds.timeline:draw",
        "contention": "binwright.analysis.figures.kinds.contention:draw",
        "servers": "binwright.analysis.figures.kinds.servers:draw",
        "sites": "binwright.analysis.figures.kinds.sites:draw",
        "gantt": "binwright.analysis.figures.kinds.gantt:draw",
        "spread": "binwright.analysis.figures.kinds.spread:draw",
        "distances": "binwright.analysis.figures.kinds.distances:draw",
        "topology": "binwright.analysis.figures.kinds.topology:draw",
        "decisions": "binwright.analysis.figures.kinds.decisions:draw",
        "runtime": "binwright.analysis.figures.kinds.runtime:draw",
        "size": "binwright.analysis.figures.kinds.size:draw",
        "learning": "binwright.analysis.figures.kinds.learning:draw",
    },
    "binwright list figures",
)
FIRST = ("learning", "size", "sweep", "gains", "summary", "refusals", "servers", "seeds", "pareto", "bars")
"""The kinds that answer a question, the first for what results were made for: of those that can be drawn, four are."""
