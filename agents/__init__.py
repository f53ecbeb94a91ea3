"""Lists the agents and the movers: a name maps to a class.

Others add theirs by the entry point groups `binwright.agents` and `binwright.movers`.
"""

from simcore.registry import Registry

AGENTS = Registry(
    "agent",
    "binwright.agents",
    {
        "random": "agents.heuristics.random_fit:RandomFit",
        "first-fit": "agents.heuristics.servers.first_fit:FirstFit",
        "best-fit": "agents.heuristics.servers.best_fit:BestFit",
        "worst-fit": "agents.heuristics.servers.worst_fit:WorstFit",
        "balance-fit": "agents.heuristics.servers.balance_fit:BalanceFit",
        "least-peak": "agents.heuristics.servers.least_peak:LeastPeak",
        "dot-product": "agents.heuristics.servers.dot_product:DotProduct",
        "alpha-evolve": "agents.heuristics.servers.alpha_evolve:AlphaEvolve",
        "funsearch": "agents.heuristics.servers.funsearch:FunSearch",
        "tetris": "agents.heuristics.networks.tetris:Tetris",
        "nulb": "agents.heuristics.networks.locality:NULB",
        "nalb": "agents.heuristics.networks.locality:NALB",
        "feasible": "agents.heuristics.feasible:Feasible",
        "best-home": "agents.heuristics.networks.best_home:BestHome",
        "value-es": "agents.learned.value_es.agent:ValueES",
        "cvd-rl": "agents.learned.cvd_rl.agent:CvdRL",
        "sched-rl": "agents.learned.sched_rl.agent:SchedRL",
        "padrl": "agents.learned.padrl.agent:PADRL",
        "hindsight": "agents.learned.hindsight.agent:Hindsight",
        "rl-scheduler": "agents.learned.rl_scheduler.agent:RLScheduler",
        "nara": "agents.learned.nara.agent:Nara",
        "cheapest-candidate": "agents.heuristics.candidates.agent:CheapestCandidate",
        "oktopus": "agents.heuristics.virtual.oktopus:Oktopus",
        "secondnet": "agents.heuristics.virtual.secondnet:SecondNet",
        "vm-first-fit": "agents.heuristics.virtual.machine_by_machine:VMFirstFit",
        "vm-random": "agents.heuristics.virtual.machine_by_machine:VMRandom",
        "internal": "agents.heuristics.servers.internal:Internal",
        "gpu-random": "agents.heuristics.devices.gpu_random:GPURandom",
        "gpu-dot-product": "agents.heuristics.devices.gpu_dot_product:GPUDotProduct",
        "gpu-clustering": "agents.heuristics.devices.gpu_clustering:GPUClustering",
        "gpu-packing": "agents.heuristics.devices.gpu_packing:GPUPacking",
        "gpu-best-fit": "agents.heuristics.devices.gpu_best_fit:GPUBestFit",
        "fgd": "agents.heuristics.devices.fgd:FGD",
        "gpu-lookahead": "agents.heuristics.devices.gpu_lookahead:GPULookahead",
        "random-top": "agents.heuristics.servers.random_top:RandomTop",
        "in-line": "agents.heuristics.in_line:InLine",
        "nilas": "agents.heuristics.lifetimes.nilas:Nilas",
        "lava": "agents.heuristics.lifetimes.lava:Lava",
        "two-stage": "agents.heuristics.two_stage:TwoStage",
        "solver": "agents.solver.online.agent:Solver",
        "adaptive": "agents.adaptive.agent:Adaptive",
        "formula": "agents.formulas.agent:Formula",
    },
    "binwright agents",
)

MOVERS = Registry(
    "mover",
    "binwright.movers",
    {
        "agent": "agents.heuristics.movers.by_agent:ByAgent",
        "make-room": "agents.heuristics.movers.make_room:MakeRoom",
        "defragment": "agents.heuristics.movers.defragment:Defragment",
        "deschedule": "agents.heuristics.movers.deschedule:Deschedule",
        "empty": "agents.heuristics.movers.empty:Empty",
        "lars": "agents.heuristics.movers.empty:Lars",
        "vmr": "agents.learned.vmr.agent:Vmr",
    },
)
