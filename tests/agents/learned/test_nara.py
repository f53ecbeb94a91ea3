"""Nara: its network against message passing written out, its use in the engine, its loss."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.agents import AGENTS
from binwright.agents.learned import ppo
from binwright.agents.learned.mlp import dense
from binwright.agents.learned.nara import WIDTH, NaraTrainer, Wiring, infer, joined, shapes, wiring
from binwright.agents.learned.nara_network import PolicyNetwork
from binwright.agents.learned.ppo import Proximal
from binwright.agents.learned.weights import read, write
from binwright.fabric.run.play import play
from binwright.fabric.topology import Topology, topology
from binwright.scenarios.build.world import build_learning, build_world
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.errors import UserError
from binwright.simcore.record import PLACED
from binwright.simcore.rng import stream
from tests.support.networks import SHAPES
from tests.support.properties import scaled

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def slow(w: dict[str, Any], text: bool, net: Topology, nodes: Any, edges: Any, cluster: Any) -> list[float]:
    """The logits of all servers for one observation by these weights: every message written out."""
    w = {name: array.astype(float) for name, array in w.items()}
    ends = net.link_ends.tolist()
    states = [np.array(row, float) for row in nodes]
    for stage in range(3):
        weight = np.hstack([w[f"stages.{stage}.state.weight"], w[f"stages.{stage}.link"][:, None]])
        bias = w[f"stages.{stage}.state.bias"]
        after = []
        for vertex, own in enumerate(states):
            messages = [np.append(own, 0.0)]
            for edge, (each, other) in enumerate(ends):
                if vertex in (each, other):
                    messages.append(np.append(states[other if vertex == each else each], edges[edge]))
            after.append(np.mean([relu(weight @ message + bias) for message in messages], axis=0))
        states = after
    servers = states[net.switches :]
    if text:
        servers = [state / np.sqrt(state @ state) if state.any() else state for state in servers]
    chosen = [state for state, row in zip(servers, nodes[net.switches :], strict=True) if row[-1]]
    taken = np.mean(chosen, axis=0) if chosen else np.zeros(WIDTH)
    seen = cluster
    if not text:
        hidden = relu(w["cluster.0.weight"] @ cluster + w["cluster.0.bias"])
        seen = relu(w["cluster.2.weight"] @ hidden + w["cluster.2.bias"])
    context = np.concatenate([taken, seen])
    logits = []
    for state in servers:
        if not text:
            state = relu(w["server.weight"] @ state + w["server.bias"] + w["context.weight"] @ context)
        logits.append(float(w["logit.weight"][0] @ state + w["logit.bias"][0]))
    return logits


NETS = [*(shape.topology for shape in SHAPES), topology("alpha")]


@pytest.mark.long
@given(net=st.sampled_from(NETS), text=st.booleans(), seed=st.integers(0, 2**20))
@example(net=NETS[-1], text=False, seed=0)
@example(net=NETS[-1], text=True, seed=0)
@scaled(0.1)
def test_nara_network_passes_messages_as_written_out(net: Topology, text: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = {name: rng.normal(scale=0.25, size=shape) for name, shape in shapes(2, text).items()}
    tensors = {name: array.astype(np.float32) for name, array in drawn.items()}
    nodes = rng.random((3, net.switches + net.servers, 3)).astype(np.float32)
    nodes[:, : net.switches] = 0
    nodes[:, net.switches :, 2] = rng.random((3, net.servers)) < [[0], [0.3], [0.8]]
    edges = rng.random((3, net.links)).astype(np.float32)
    cluster = rng.random((3, 3)).astype(np.float32)
    expected = [slow(tensors, text, net, nodes[i], edges[i], cluster[i]) for i in range(3)]
    scratch = np.zeros((2, net.switches + net.servers, WIDTH), np.float32)
    actual = np.zeros(net.servers, np.float32)
    for i in range(3):  # as in use
        infer(wiring(net), joined(tensors, text), text, nodes[i], edges[i], cluster[i], scratch, actual)
        np.testing.assert_allclose(actual, expected[i], rtol=2e-5, atol=5e-6)
    if not text:
        return
    policy = PolicyNetwork(2)
    policy.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()}, strict=False)
    w = {name: tensor.detach().double().numpy() for name, tensor in policy.state_dict().items()}
    with torch.no_grad():
        wires = Wiring(*map(torch.from_numpy, wiring(net)))
        logits, values = policy(wires, *map(torch.from_numpy, (nodes, edges, cluster)))
    for i in range(3):
        np.testing.assert_allclose(logits[i], expected[i], rtol=2e-5, atol=5e-6)
        hidden = np.tanh(w["value.0.weight"] @ cluster[i] + w["value.0.bias"])
        np.testing.assert_allclose(
            values[i], (w["value.2.weight"] @ hidden + w["value.2.bias"])[0], rtol=2e-5, atol=5e-6
        )


@given(inputs=st.integers(1, 9), units=st.integers(1, 9), seed=st.integers(0, 2**20))
@scaled(0.3)
def test_sums_are_in_the_order_of_the_inputs(inputs: int, units: int, seed: int) -> None:
    """In another order they would be rounded to others, and so might choices be."""
    rng = np.random.default_rng(seed)
    states, weight = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 9), (9, units)))
    bias, actual = rng.normal(size=units).astype(np.float32), np.zeros((5, units), np.float32)
    for state, out in zip(states, actual, strict=True):
        dense(state, inputs, np.append(weight[:inputs], bias), 0, out, len(bias), False)
    expected = np.tile(bias, (5, 1))
    for f in range(inputs):
        expected += states[:, f : f + 1] * weight[f]
    assert np.array_equal(actual, expected)


# -- in use ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trainer() -> NaraTrainer:
    """Untrained, on alpha."""
    made = NaraTrainer()
    world = build_learning(load_scenario("nara/table1", ["workload.requests=40"]))
    made.begin(world, world, 0)
    return made


@pytest.fixture
def weights(trainer: NaraTrainer, tmp_path: Path) -> Path:
    tensors, notes = trainer.weights()
    write(tmp_path / "mine.safetensors", tensors, notes)
    return tmp_path / "mine.safetensors"


def test_weights_are_drawn_as_in_keras() -> None:
    torch.manual_seed(3)
    policy = PolicyNetwork(2)
    inputs = {"logit": WIDTH + 8 + WIDTH}  # its readout sees those chosen, too
    for name, layer in policy.named_modules():
        if not isinstance(layer, torch.nn.Linear):
            continue
        weights = layer.weight.detach()
        assert layer.bias is None or not layer.bias.any()
        if name.startswith("value"):
            lengths = weights.norm(dim=1)
            assert torch.allclose(lengths, torch.full_like(lengths, 0.01 if len(weights) == 1 else 1.0))
            continue
        fan = inputs.get(name, layer.in_features + name.startswith("stages"))  # a message has the link, too
        most = (6 / (fan + layer.out_features)) ** 0.5
        assert 0.5 * most < weights.abs().max() <= most
    assert all(0 < stage.link.abs().max() < 1 for stage in policy.stages)


@pytest.mark.long
@pytest.mark.parametrize("mask", ["any", "feasible"])
def test_in_the_engine_it_chooses_as_in_compiled_episodes(weights: Path, trainer: NaraTrainer, mask: Any) -> None:
    scenario = load_scenario("nara/table1", ["workload.requests=40"])
    placed = []
    for seed in (3, 4):
        agent = AGENTS.load("nara")(path=str(weights), mask=mask)
        simulation = build_world(scenario).simulation(seed)
        agent.start(simulation.view, stream(seed, "agent"))
        play(simulation, agent)
        placed.append(int((simulation.record.outcome == PLACED).sum()))
    same = NaraTrainer(mask=mask)
    world = build_learning(scenario)
    same.begin(world, world, 0)
    assert same.validate(world, [3, 4])["acceptance"] == sum(placed) / 80


def started(agent: Any, *overrides: str, name: str = "nara/table1") -> None:
    agent.start(build_world(load_scenario(name, overrides)).ledger(0).view, stream(0, "agent"))


def test_weights_for_something_else_are_refused(weights: Path, tmp_path: Path) -> None:
    tensors, notes = read(weights)
    nara = AGENTS.load("nara")
    with pytest.raises(UserError, match=r"trained with resources \['cpu', 'mem'\], not with"):
        started(nara(path=str(weights)), "cluster.node={mem: 10, cpu: 10}")
    other = tmp_path / "other.safetensors"
    for arrays, changed, problem in (
        ({}, {"agent": "value-es"}, "trained with agent value-es, not with nara"),
        ({"logit.bias": np.zeros(2, np.float32)}, {}, "not the weights of this network"),
    ):
        write(other, {**tensors, **arrays}, {**notes, **changed})
        with pytest.raises(UserError, match=problem):
            started(nara(path=str(other)))
    other.write_bytes(b"nothing of the kind")
    with pytest.raises(UserError, match="has no weights"):
        started(nara(path=str(other)))
    with pytest.raises(UserError, match="there is no such file"):
        started(nara(path=str(tmp_path / "none.safetensors")))
    with pytest.raises(UserError, match="no weights of that name"):
        nara(weights="alpha-unifrom")
    with pytest.raises(UserError, match="this cluster has none"):
        started(nara(path=str(weights)), name="quickstart")


# -- PPO -------------------------------------------------------------------------------------------------------------


@given(
    rewards=st.lists(st.sampled_from([-10.0, 0.0, 0.0, 10.0]), min_size=1, max_size=20),
    discount=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
)
def test_returns(rewards: list[float], discount: float) -> None:
    result = ppo.returns_of(np.array(rewards), discount)
    for t in range(len(rewards)):
        expected = sum(discount ** (k - t) * rewards[k] for k in range(t, len(rewards)))
        assert result[t] == pytest.approx(expected)


@given(seed=st.integers(0, 10**6))
@scaled(0.5)
def test_ppo_loss_equals_rllibs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, actions = 7, 4
    mask = rng.random((n, actions)) < 0.7
    mask[:, 0] = True
    old, new = (rng.normal(size=(n, actions)) * 2 for _ in range(2))
    chosen = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
    before, values, returns, advantages = (rng.normal(size=n) * 10 for _ in range(4))
    weight = float(rng.random())
    chosen_settings = Proximal(kl_weight=weight)
    policy, value, kl, entropy = [], [], [], []
    for i in range(n):
        p, q = (np.where(mask[i], np.exp(logits[i]), 0) for logits in (old, new))
        p, q = p / p.sum(), q / q.sum()
        ratio = q[chosen[i]] / p[chosen[i]]
        policy.append(-min(ratio * advantages[i], min(max(ratio, 0.7), 1.3) * advantages[i]))
        near = before[i] + min(max(values[i] - before[i], -10), 10)
        value.append(max((values[i] - returns[i]) ** 2, (near - returns[i]) ** 2))
        kl.append(sum(a * np.log(a / b) for a, b in zip(p, q, strict=True) if a > 0))
        entropy.append(-sum(b * np.log(b) for b in q if b > 0))
    parts = [float(np.mean(part)) for part in (policy, value, kl, entropy)]
    t = torch.from_numpy
    batch = ppo.Batch([], t(chosen), t(mask), ppo.masked(t(old), t(mask)), t(before), t(returns), t(advantages))
    loss, result = ppo.loss_of(t(new), t(values), batch, torch.arange(n), chosen_settings)
    np.testing.assert_allclose(result, parts, rtol=1e-9, atol=1e-12)
    assert loss.item() == pytest.approx(parts[0] + weight * parts[2] + parts[1])


def test_kl_penalty_weight_follows_the_target() -> None:
    assert ppo.next_kl_weight(0.2, 0.021, 0.01) == pytest.approx(0.3)
    assert ppo.next_kl_weight(0.2, 0.02, 0.01) == 0.2
    assert ppo.next_kl_weight(0.2, 0.005, 0.01) == 0.2
    assert ppo.next_kl_weight(0.2, 0.004, 0.01) == 0.1
