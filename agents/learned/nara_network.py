"""Computes the networks of Nara (Shabka, Zervas 2021, arXiv:2106.02412) in torch.

Three stages of message passing embed every vertex: the next state of a vertex is the mean, over its neighbours and
itself, of relu(W [state of the sender, feature of the link]); a message to itself has a zero for the link. Every
server's logit comes from its embedding, as `agents.learned.nara.shapes` says. No parameter depends on the number of
servers, switches or links.

Tensors are [vertices, batch, features]. Nearly all edges are between servers and their racks: those messages go with
the servers, which have one each, and only what passes between switches goes through a list of edges.
"""

import torch
from torch import Tensor, nn

from binwright.agents.learned.nara import CLUSTER, STAGES, WIDTH, Wiring


class Stage(nn.Module):
    """Passes messages for one stage."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.state = nn.Linear(inputs, WIDTH)
        self.link = nn.Parameter(torch.rand(WIDTH))

    def forward(self, wires: Wiring, servers: Tensor, switches: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        """Return the next states: `servers` [servers, b, f], `switches` [switches, b, f], `edges` [edges, b, 1]."""
        from_server, from_switch = self.state(servers), self.state(switches)
        # In place where autograd lets it be: most of the time goes to memory.
        up = edges[: len(servers)] * self.link  # [servers, b, width]
        between = from_switch.index_select(0, wires.sender).addcmul_(edges.index_select(0, wires.inner), self.link)
        total = torch.relu(from_switch).index_add(0, wires.receiver, between.relu_())
        total.index_add_(0, wires.rack_of, (from_server + up).relu_())
        down = from_switch.index_select(0, wires.rack_of).add_(up).relu_()
        return (torch.relu(from_server) + down).mul_(0.5), total.mul_(wires.share[:, None, None])


def uniform(square: float, *tensors: Tensor) -> None:
    """Draw tensors uniformly up to the root of a number; changes them."""
    for tensor in tensors:
        nn.init.uniform_(tensor, -(square**0.5), square**0.5)


class PolicyNetwork(nn.Module):
    """Computes logits for all servers, and the value of the state for training, in the form of the publication's text.

    Weights are drawn as Keras draws those of dense layers, and RLlib those of values; biases are 0. A dense layer's are
    uniform up to sqrt(6 / (inputs + outputs)) (Glorot and Bengio 2010). The linear readout of the publication has 24
    inputs more than ours, which move all logits alike.
    """

    def __init__(self, resources: int = 2) -> None:
        super().__init__()
        features = resources + 1
        self.stages = nn.ModuleList(Stage(features if stage == 0 else WIDTH) for stage in range(STAGES))
        self.logit = nn.Linear(WIDTH, 1)
        self.value = nn.Sequential(nn.Linear(features, CLUSTER), nn.Tanh(), nn.Linear(CLUSTER, 1))
        for stage in self.stages:
            uniform(6 / (stage.state.in_features + 1 + WIDTH), stage.state.weight, stage.link)  # a message has the link
        uniform(6 / (WIDTH + CLUSTER + WIDTH + 1), self.logit.weight)
        for layer, length in ((self.value[0], 1.0), (self.value[2], 0.01)):
            nn.init.normal_(layer.weight)
            with torch.no_grad():
                layer.weight *= length / layer.weight.norm(dim=1, keepdim=True)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, wires: Wiring, nodes: Tensor, edges: Tensor, cluster: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [b, servers] and values [b] for `nodes` [b, vertices, f], `edges` [b, e], `cluster` [b, f]."""
        links, states = edges.t().unsqueeze(2), nodes.transpose(0, 1)
        switches, servers = states[: len(wires.share)], states[len(wires.share) :]
        for stage in self.stages:
            servers, switches = stage(wires, servers, switches, links)
        servers = nn.functional.normalize(servers, dim=2)
        return self.logit(servers).squeeze(2).t(), self.value(cluster).squeeze(1)
