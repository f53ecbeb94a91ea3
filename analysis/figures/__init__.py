"""Figures of results: a name maps to a kind; third parties add theirs by the entry point group `binwright.figures`."""

from simcore.registry import Registry

FIGURES = Registry(
    "figure",
    "binwright.figures",
    {
        "summary": "analysis.figures.kinds.summary:draw",
        "differences": "analysis.figures.kinds.differences:draw",
        "gains": "analysis.figures.kinds.gains:draw",
        "seeds": "analysis.figures.kinds.seeds:draw",
        "bars": "analysis.figures.kinds.bars:draw",
        "pareto": "analysis.figures.kinds.pareto:draw",
        "sweep": "analysis.figures.kinds.sweep:draw",
        "load": "analysis.figures.kinds.load:draw",
        "critical-difference": "analysis.figures.kinds.critical_difference:draw",
        "refusals": "analysis.figures.kinds.refusals:draw",
        "timeline": "analysis.figures.kinds.timeline:draw",
        "contention": "analysis.figures.kinds.contention:draw",
        "servers": "analysis.figures.kinds.servers:draw",
        "sites": "analysis.figures.kinds.sites:draw",
        "gantt": "analysis.figures.kinds.gantt:draw",
        "demands": "analysis.figures.kinds.demands:draw",
        "spread": "analysis.figures.kinds.spread:draw",
        "distances": "analysis.figures.kinds.distances:draw",
        "topology": "analysis.figures.kinds.topology:draw",
        "decisions": "analysis.figures.kinds.decisions:draw",
        "runtime": "analysis.figures.kinds.runtime:draw",
        "size": "analysis.figures.kinds.size:draw",
        "mix": "analysis.figures.kinds.mix:draw",
        "learning": "analysis.figures.kinds.learning:draw",
    },
    "binwright figures --list",
)
FIRST = ("learning", "mix", "size", "sweep", "gains", "summary", "refusals", "servers", "seeds", "pareto", "bars")
"""The kinds that answer a question, the first for what results were made for: of those that can be drawn, four are."""
