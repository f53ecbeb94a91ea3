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
        "cvd-rl": "agents.learned.cvd_rl.agent:CvdRL",
        "sched-rl": "agents.learned.sched_rl.agent:SchedRL",
        "padrl": "agents.learned.padrl.agent:PADRL",
        "hindsight": "agents.learned.hindsight.agent:Hindsight",
        "nara": "agents.learned.nara.agent:Nara",
        "fabric-rl": "agents.learned.fabric_rl.agent:FabricRL",
        "oktopus": "agents.heuristics.oktopus:Oktopus",
        "secondnet": "agents.heuristics.secondnet:SecondNet",
        "vm-first-fit": "agents.heuristics.vm_first_fit:VMFirstFit",
        "vm-random": "agents.heuristics.vm_random:VMRandom",
        "internal": "agents.heuristics.internal:Internal",
        "random-top": "agents.heuristics.random_top:RandomTop",
        "in-line": "agents.heuristics.in_line:InLine",
        "two-stage": "agents.heuristics.two_stage:TwoStage",
        "solver": "agents.solver.online.agent:Solver",
    },
)
