"""Lists the agents and the movers: a name maps to a class.

Others add theirs by the entry point groups `binwright.agents` and `binwright.movers`.
"""

from binwright.simcore.registry import Registry

AGENTS = Registry(
    "agent",
    "binwright.agents",
    {
        "random": "binwright.agents.heuristics.random_fit:RandomFit",
        "first-fit": "binwright.agents.heuristics.servers.costs:FirstFit",
        "best-fit": "binwright.agents.heuristics.servers.costs:BestFit",
        "worst-fit": "binwright.agents.heuristics.servers.costs:WorstFit",
        "balance-fit": "binwright.agents.heuristics.servers.costs:BalanceFit",
        "dot-product": "binwright.agents.heuristics.servers.costs:DotProduct",
        "funsearch": "binwright.agents.heuristics.servers.costs:FunSearch",
        "tetris": "binwright.agents.heuristics.networks.scored:Tetris",
        "nulb": "binwright.agents.heuristics.networks.scored:NULB",
        "nalb": "binwright.agents.heuristics.networks.scored:NALB",
        "feasible": "binwright.agents.heuristics.random_fit:Feasible",
        "best-home": "binwright.agents.heuristics.networks.best_home:BestHome",
        "value-es": "binwright.agents.learned.value:ValueES",
        "cvd-rl": "binwright.agents.learned.cvd_rl:CvdRL",
        "sched-rl": "binwright.agents.learned.sched_rl:SchedRL",
        "padrl": "binwright.agents.learned.padrl:PADRL",
        "hindsight": "binwright.agents.learned.value:Hindsight",
        "nara": "binwright.agents.learned.nara:Nara",
        "oktopus": "binwright.agents.heuristics.virtual:Oktopus",
        "secondnet": "binwright.agents.heuristics.virtual:SecondNet",
        "vm-first-fit": "binwright.agents.heuristics.virtual:VMFirstFit",
        "internal": "binwright.agents.heuristics.servers.costs:Internal",
        "gpu-random": "binwright.agents.heuristics.devices:GPURandom",
        "gpu-dot-product": "binwright.agents.heuristics.devices:GPUDotProduct",
        "gpu-clustering": "binwright.agents.heuristics.devices:GPUClustering",
        "gpu-packing": "binwright.agents.heuristics.devices:GPUPacking",
        "gpu-best-fit": "binwright.agents.heuristics.devices:GPUBestFit",
        "fgd": "binwright.agents.heuristics.devices:FGD",
        "random-top": "binwright.agents.heuristics.servers.candidates:RandomTop",
        "in-line": "binwright.agents.heuristics.in_line:InLine",
        "nilas": "binwright.agents.heuristics.lifetimes:Nilas",
        "two-stage": "binwright.agents.heuristics.in_line:TwoStage",
        "solver": "binwright.agents.solver.online.agent:Solver",
        "formula": "binwright.agents.formulas.program:Formula",
    },
    "binwright list agents",
)

MOVERS = Registry(
    "mover",
    "binwright.movers",
    {
        "agent": "binwright.agents.heuristics.movers:ByAgent",
        "make-room": "binwright.agents.heuristics.movers:MakeRoom",
        "empty": "binwright.agents.heuristics.movers:Empty",
    },
)
