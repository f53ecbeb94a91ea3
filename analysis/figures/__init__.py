"""Figures of results: a name maps to a kind; third parties add theirs by the entry point group `binwright.figures`."""

from simcore.registry import Registry

FIGURES = Registry(
    "figure",
    "binwright.figures",
    {
        "differences": "analysis.figures.kinds.differences:draw",
        "summary": "analysis.figures.kinds.summary:draw",
        "bars": "analysis.figures.kinds.bars:draw",
        "pareto": "analysis.figures.kinds.pareto:draw",
        "parallel": "analysis.figures.kinds.parallel:draw",
        "timeline": "analysis.figures.kinds.timeline:draw",
        "sweep": "analysis.figures.kinds.sweep:draw",
        "warm-start": "analysis.figures.kinds.warm_start:draw",
        "length": "analysis.figures.kinds.length:draw",
        "load": "analysis.figures.kinds.load:draw",
        "runtime": "analysis.figures.kinds.runtime:draw",
        "decisions": "analysis.figures.kinds.decisions:draw",
        "demands": "analysis.figures.kinds.demands:draw",
        "spread": "analysis.figures.kinds.spread:draw",
        "scatter": "analysis.figures.kinds.scatter:draw",
        "bubbles": "analysis.figures.kinds.bubbles:draw",
        "distances": "analysis.figures.kinds.distances:draw",
        "topology": "analysis.figures.kinds.topology:draw",
        "critical-difference": "analysis.figures.kinds.critical_difference:draw",
        "size": "analysis.figures.kinds.size:draw",
        "mix": "analysis.figures.kinds.mix:draw",
        "learning": "analysis.figures.kinds.learning:draw",
    },
    "binwright figures --list",
)
