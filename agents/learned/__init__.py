"""Learned agents, and who trains them: a name maps to a class; others add theirs by `binwright.trainers`."""

from simcore.registry import Registry

TRAINERS = Registry(
    "trainer",
    "binwright.trainers",
    {
        "nara": "agents.learned.nara.trainer:NaraTrainer",
        "fabric-rl": "agents.learned.fabric_rl.trainer:FabricTrainer",
        "value-es": "agents.learned.value_es.trainer:ValueTrainer",
    },
)
