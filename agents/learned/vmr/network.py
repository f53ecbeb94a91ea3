"""The network as torch trains it; `binwright.agents.learned.vmr.form.Forward` is the same without torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from binwright.agents.learned.common.tensors import Tensors
from binwright.agents.learned.vmr.form import LAYERS


class Policy(nn.Module):
    """Prefers requests first, and then places for the one that was chosen; and values what is seen.

    A node is seen by itself, a request beside its node and beside the means over all nodes and all requests, a place
    beside its node and the chosen request.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({name: nn.Linear(*size) for name, size in LAYERS.items()})

    def see(self, nodes: Tensor, requests: Tensor, there: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return what is made of nodes and of requests, [n, each, width], of all together [n, 2 * width], and values.

        `nodes` and `requests` are as in `Sight`, [n, each, numbers]; `there` [n, requests] says which requests there
        are.
        """
        layers = self.layers
        node, request = torch.relu(layers["node"](nodes)), torch.relu(layers["request"](requests))
        mean = (request * there[..., None]).sum(1) / there.sum(1, keepdim=True)
        pooled = torch.cat([node.mean(1), mean], 1)
        return node, request, pooled, layers["value"](torch.relu(layers["value_all"](pooled))).squeeze(1)

    def which(self, node: Tensor, request: Tensor, pooled: Tensor, place: Tensor) -> Tensor:
        """Return the logits of the requests, [n, requests], which are at these places, int64 [n, requests]."""
        layers = self.layers
        beside = layers["which_node"](node).gather(1, place[..., None].expand(-1, -1, request.shape[2]))
        hidden = layers["which_own"](request) + beside + layers["which_all"](pooled)[:, None]
        found: Tensor = layers["which"](torch.relu(hidden)).squeeze(2)
        return found

    def where(self, node: Tensor, request: Tensor, places: Tensor, chosen: Tensor) -> Tensor:
        """Return the logits of the places, [n, places], for the chosen requests int64 [n]."""
        layers = self.layers
        own = layers["where_own"](torch.relu(layers["place"](places)))
        one = request[torch.arange(len(chosen), device=chosen.device), chosen]
        hidden = own + layers["where_node"](node) + layers["where_chosen"](one)[:, None]
        found: Tensor = layers["where"](torch.relu(hidden)).squeeze(2)
        return found

    def tensors(self) -> Tensors:
        """Return copies of the weights, by the names of `shapes`."""
        return {
            name.removeprefix("layers."): array.detach().cpu().numpy().copy()
            for name, array in self.state_dict().items()
        }

    def put(self, tensors: Tensors) -> None:
        """Take these weights."""
        self.load_state_dict({f"layers.{name}": torch.from_numpy(array.copy()) for name, array in tensors.items()})
