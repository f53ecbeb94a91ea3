"""Whatever decides: a name maps to a class; third parties add theirs by the entry point group `binwright.agents`."""

from simcore.registry import Registry

AGENTS = Registry(
    "agent",
    "binwright.agents",
    {
        "random": "agents.heuristics.random_fit:RandomFit",
        "first-fit": "agents.heuristics.first_fit:FirstFit",
        "best-fit": "agents.heuristics.best_fit:BestFit",
        "worst-fit": "agents.heuristics.worst_fit:WorstFit",
        "balance-fit": "agents.heuristics.balance_fit:BalanceFit",
        "dot-product": "agents.heuristics.dot_product:DotProduct",
        "tetris": "agents.heuristics.tetris:Tetris",
        "nulb": "agents.heuristics.nulb:NULB",
        "nalb": "agents.heuristics.nalb:NALB",
        "feasible": "agents.heuristics.feasible:Feasible",
        "best-home": "agents.heuristics.best_home:BestHome",
        "value-es": "agents.learned.value_es.agent:ValueES",
        "nara": "agents.learned.nara.agent:Nara",
        "fabric-rl": "agents.learned.fabric_rl.agent:FabricRL",
        "internal": "agents.heuristics.internal:Internal",
        "solver": "agents.solver.agent:Solver",
    },
)
