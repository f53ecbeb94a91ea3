"""Says which of several readings of its publication a network of Nara is, and which weights such a network has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from agents.environments.observation import Features

STAGES, WIDTH, CLUSTER = 3, 16, 8


class Form(NamedTuple):
    """Names the parts of the network that can be read in two ways. The defaults are ours, `TEXT` is the publication's.

    `readout` makes the logits: a network of two layers over a server's embedding, the mean embedding of the servers
    chosen and the state of the cluster, or one linear layer over the server's embedding. What all servers share would
    shift all logits of a linear layer alike and change no choice, so it isn't there. With `normalise` every final
    embedding has length 1. `features` and `free` are how the network is observed (`agents.environments.observation`).
    `value` is estimated in training from the mean embedding of all servers and what the readout sees, or from the state
    of the cluster alone.
    """

    readout: Literal["layers", "linear"] = "layers"
    normalise: bool = False
    features: Literal["marked", "plain"] = "marked"
    free: Literal["before", "left"] = "before"
    value: Literal["servers", "cluster"] = "servers"

    @property
    def seen(self) -> Features:
        """How the network is observed."""
        return Features(self.features == "plain", self.free == "left")


TEXT = Form("linear", True, "plain", "left", "cluster")


def noted(notes: Mapping[str, Any]) -> Form:
    """Return the form that the notes beside weights tell, ours where they tell none."""
    said = notes.get("form", {})
    return Form(**{name: said[name] for name in Form._fields if name in said})


def shapes(resources: int, form: Form) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors of such a network, without those of the value."""
    found: dict[str, tuple[int, ...]] = {}
    for stage in range(STAGES):
        found[f"stages.{stage}.state.weight"] = WIDTH, resources + 1 if stage == 0 else WIDTH
        found[f"stages.{stage}.state.bias"] = found[f"stages.{stage}.link"] = (WIDTH,)
    if form.readout == "layers":
        for layer, inputs in ((0, resources + 1), (2, CLUSTER)):
            found[f"cluster.{layer}.weight"], found[f"cluster.{layer}.bias"] = (CLUSTER, inputs), (CLUSTER,)
        found |= {"server.weight": (WIDTH, WIDTH), "server.bias": (WIDTH,), "context.weight": (WIDTH, WIDTH + CLUSTER)}
    return {**found, "logit.weight": (1, WIDTH), "logit.bias": (1,)}
