"""Says which of several readings of its publication a network of Nara is, and which weights such a network has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from binwright.agents.environments.observation import Features
from binwright.simcore.errors import UserError

STAGES, WIDTH, CLUSTER = 3, 16, 8
WIDEST = 1024


@dataclass(frozen=True)
class Form:
    """Says in which of two ways each part of the network is read, and how wide it is.

    The defaults are ours, `TEXT` is the publication's.

    `readout` makes the logits: a network of two layers over a server's embedding, the mean embedding of the servers
    chosen and the state of the cluster, or one linear layer over the server's embedding. What all servers share would
    shift all logits of a linear layer alike and change no choice, so it isn't there. With `normalise` every final
    embedding has length 1. `features` and `free` are how the network is observed (`agents.environments.observation`).
    `value` is estimated in training from the mean embedding of all servers and what the readout sees, or from the state
    of the cluster alone. `width` is how many numbers embed a vertex, and how many units the readout's hidden layer has.
    """

    readout: Literal["layers", "linear"] = "layers"
    normalise: bool = False
    features: Literal["marked", "plain"] = "marked"
    free: Literal["before", "left"] = "before"
    value: Literal["servers", "cluster"] = "servers"
    width: int = WIDTH

    def __post_init__(self) -> None:
        """Refuse what is no way to read a part; the other way would be taken for it."""
        for name, kind in get_type_hints(type(self)).items():
            said = getattr(self, name)
            ways: Sequence[Any] = get_args(kind) or (False, True)
            choice = f"one of {', '.join(map(str, ways))}"
            if kind is int:
                ways, choice = range(1, WIDEST + 1), f"a whole number from 1 to {WIDEST}"
            if type(said) is not type(ways[0]) or said not in ways:
                raise UserError("is no form of Nara's network", key=name, value=said, remedy=f"It is {choice}.")

    @property
    def seen(self) -> Features:
        """Tell how the network is observed."""
        return Features(self.features == "plain", self.free == "left")


TEXT = Form("linear", True, "plain", "left", "cluster")


def noted(file: Path, notes: Mapping[str, Any]) -> Form:
    """Return the form that the notes beside weights tell; refuses notes that tell none, or one that there is not.

    Weights that say no width are from when all had `WIDTH`.
    """
    said, names = notes.get("form"), [each.name for each in fields(Form)]
    said = {"width": WIDTH, **said} if isinstance(said, Mapping) else said
    beside, remedy = file.with_suffix(".json"), "Take weights that `binwright train` wrote."
    if not isinstance(said, Mapping) or said.keys() != set(names):
        problem = f"does not say all of {', '.join(names)}, and only that"
        raise UserError(problem, file=beside, key="form", value=notes.get("form"), remedy=remedy)
    try:
        return Form(**said)
    except UserError as error:
        error.file, error.key, error.remedy = beside, f"form.{error.key}", f"{error.remedy} {remedy}"
        raise


def shapes(resources: int, form: Form) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors of such a network, without those of the value."""
    found: dict[str, tuple[int, ...]] = {}
    width = form.width
    for stage in range(STAGES):
        found[f"stages.{stage}.state.weight"] = width, resources + 1 if stage == 0 else width
        found[f"stages.{stage}.state.bias"] = found[f"stages.{stage}.link"] = (width,)
    if form.readout == "layers":
        for layer, inputs in ((0, resources + 1), (2, CLUSTER)):
            found[f"cluster.{layer}.weight"], found[f"cluster.{layer}.bias"] = (CLUSTER, inputs), (CLUSTER,)
        found |= {"server.weight": (width, width), "server.bias": (width,), "context.weight": (width, width + CLUSTER)}
    return {**found, "logit.weight": (1, width), "logit.bias": (1,)}
