"""Lists the trainers of learned agents: a name maps to a class. Others add theirs by `binwright.trainers`."""

from binwright.simcore.registry import Registry

TRAINERS = Registry(
    "trainer",
    "binwright.trainers",
    {
        "nara": "binwright.agents.learned.nara:NaraTrainer",
        "value-es": "binwright.agents.learned.value:EvolutionTrainer",
        "cvd-rl": "binwright.agents.learned.cvd_rl:CvdTrainer",
        "sched-rl": "binwright.agents.learned.sched_rl:SchedTrainer",
        "padrl": "binwright.agents.learned.padrl:PADRLTrainer",
        "hindsight": "binwright.agents.learned.hindsight:HindsightTrainer",
    },
)
