"""Lists the trainers of learned agents: a name maps to a class. Others add theirs by `binwright.trainers`."""

from simcore.registry import Registry

TRAINERS = Registry(
    "trainer",
    "binwright.trainers",
    {
        "nara": "agents.learned.nara.trainer:NaraTrainer",
        "value-es": "agents.learned.value_es.trainer:ValueTrainer",
        "cvd-rl": "agents.learned.cvd_rl.trainer:CvdTrainer",
        "sched-rl": "agents.learned.sched_rl.trainer:SchedTrainer",
        "padrl": "agents.learned.padrl.trainer:PADRLTrainer",
        "rl-scheduler": "agents.learned.rl_scheduler.trainer:RLTrainer",
        "vmr": "agents.learned.vmr.trainer:VmrTrainer",
        "hindsight": "agents.learned.hindsight.trainer:HindsightTrainer",
    },
)
