"""Lists the trainers of learned agents: a name maps to a class. Others add theirs by `binwright.trainers`."""

from binwright.simcore.registry import Registry

TRAINERS = Registry(
    "trainer",
    "binwright.trainers",
    {
        "nara": "binwright.agents.learned.nara.trainer:NaraTrainer",
        "value-es": "binwright.agents.learned.value_es.trainer:ValueTrainer",
        "cvd-rl": "binwright.agents.learned.cvd_rl.trainer:CvdTrainer",
        "sched-rl": "binwright.agents.learned.sched_rl.trainer:SchedTrainer",
        "padrl": "binwright.agents.learned.padrl.trainer:PADRLTrainer",
        "hindsight": "binwright.agents.learned.hindsight.trainer:HindsightTrainer",
    },
)
