"""Double DQN: what is written down, what is wanted of a value, training of cvd-rl and sched-rl, and their mistakes."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from binwright.agents.heuristics.servers.candidates import counts
from binwright.agents.heuristics.servers.costs import best_fit, first_fit
from binwright.agents.learned.common.tensors import read, write
from binwright.agents.learned.cvd_rl.rule import LAYERS, WIDTH, cvd_rl, cvd_rl_exploring, look, sizes
from binwright.agents.learned.cvd_rl.trainer import CvdTrainer
from binwright.agents.learned.numa import trajectory
from binwright.agents.learned.numa.dqn import DQN, taught
from binwright.agents.learned.numa.mlp import put, size_of, taken, untrained
from binwright.agents.learned.numa.rollouts import replays_of
from binwright.agents.learned.sched_rl import agent as sched
from binwright.agents.learned.sched_rl.rule import sched_rl, trunk
from binwright.fabric.cluster import NEVER, Cluster
from binwright.fabric.ledger import Ledger
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.learn.training import course_of, train
from binwright.scenarios.schema.load import scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.simcore.errors import UserError
from binwright.simcore.rng import stream
from binwright.simcore.types import Compiled, Floats, Ints, Request, View
from tests.reference.agents import feasible
from tests.support.learning import going_on, in_use, shipped, trained
from tests.support.properties import first

pytestmark = pytest.mark.long  # compiled kernels of its own, which take long

torch = pytest.importorskip("torch")

FEW: dict[str, Any] = {"episodes": 2, "pool": 6, "updates": 3, "batch": 8, "memory": 150, "annealed": 3, "target": 4}
SETTINGS: dict[str, dict[str, Any]] = {"cvd-rl": FEW | {"warm": [0.0, 0.2]}, "sched-rl": FEW | {"warm": [0.0]}}


def small(agent: str = "cvd-rl", options: dict[str, Any] | None = None, **changed: Any) -> Scenario:
    return scenario_from(trained({agent: SETTINGS[agent] | (options or {})}) | changed)


def begun(agent: str = "cvd-rl", options: dict[str, Any] | None = None, **changed: Any) -> DQN:
    """A trainer, with nothing learned."""
    course = course_of(small(agent, options, **changed))
    trainer = course.trainer()
    trainer.begin(course.training, course.validation, 0, "cpu")
    assert isinstance(trainer, DQN)
    return trainer


def recorded(overflow: str, epsilon: float, rows: int = 400) -> tuple[trajectory.Decisions, int, Floats, Any]:
    """An episode of cvd-rl on tape, how many requests it placed, its numbers, and the world."""
    world = course_of(small(overflow=overflow)).training
    weights = untrained(sizes(True), np.random.default_rng(1))
    how = np.array([*counts("both", 5), 1, 1, LAYERS, WIDTH], np.float64)
    capacity = world.ledger(0).view.capacity
    written = trajectory.blank(rows, 5, capacity)
    trajectory.wind(written, epsilon, 5, overflow == "stop", 7)
    placed = replays_of(world, [5], [0.0])[0].placed(Compiled(cvd_rl_exploring, (weights, how, written)))
    return trajectory.read(written, capacity), placed, weights, world


def everything(memory: trajectory.Decisions) -> tuple[Ints, Ints]:
    """All decisions, and all their candidates."""
    rows, slots = memory.candidates.shape
    return np.arange(rows), np.tile(np.arange(slots), (rows, 1))


@pytest.mark.long
@pytest.mark.parametrize("overflow", first(1, ["stop", "drop"]))
def test_tape_records_the_decisions_and_outcomes_of_the_run(overflow: str) -> None:
    decisions, placed, weights, world = recorded(overflow, 0.5)
    assert 3 < placed == len(decisions.code)
    ends = trajectory.ENDS if overflow == "stop" else trajectory.CUT
    assert decisions.fate.tolist() == [trajectory.GOES_ON] * (placed - 1) + [ends]
    capacity, how = world.ledger().view.capacity, np.array([2, 3, 1, 1, LAYERS, WIDTH], np.float64)
    explored = 0 if overflow == "drop" else 1  # a stopped episode is short
    for fate, code, spread, demand, listed, room in zip(*decisions, strict=True):
        free = room.astype(np.int64)
        wanted = tuple(int(amount) for amount in demand)
        fitting = {2 * s + n for s, n in feasible(free.tolist(), wanted, bool(spread))}
        assert code in listed
        assert set(listed[listed >= 0]) <= fitting
        assert min(2, len(fitting)) <= sum(listed >= 0) <= 5
        assert fate in (trajectory.GOES_ON, ends)
        explored += code != cvd_rl(free, capacity, wanted, bool(spread), weights, how)
    assert explored > 0
    greedy = recorded(overflow, 0.0)
    placed_by_rule = replays_of(world, [5], [0.0])[0].placed(Compiled(cvd_rl, (weights, how)))
    assert placed_by_rule == greedy[1]


def test_a_tape_that_is_full_ends_without_a_verdict() -> None:
    whole, part = recorded("stop", 0.5)[0], recorded("stop", 0.5, rows=4)[0]
    assert part.code.tolist() == whole.code[:4].tolist()
    assert part.fate.tolist() == [trajectory.GOES_ON] * 3 + [trajectory.CUT]


@pytest.mark.long
@pytest.mark.parametrize(("ahead", "whole"), first(1, [(True, False), (True, True), (False, True), (False, False)]))
def test_network_values_agree_with_the_cvd_rl_kernel(ahead: bool, whole: bool) -> None:
    trainer = begun(options={"lookahead": ahead, "decomposition": whole})
    trainer.iterate(1)
    memory, capacity = trainer.remembered, trainer.view.capacity
    numbers, how = trainer.rule(trainer.network, None).weights
    agreed = 0
    with torch.no_grad():
        values = trainer.network(*trainer.input_tensors(*everything(memory))).numpy()
    for i, room in enumerate(memory.free):
        free = room.astype(np.int64)
        wanted = tuple(int(amount) for amount in memory.demand[i])
        code = cvd_rl(free, capacity, wanted, bool(memory.spread[i]), numbers, how)
        of = dict(zip(memory.candidates[i].tolist(), values[i].tolist(), strict=True))
        best = max(value for place, value in of.items() if place >= 0)
        assert of[code] >= best - 1e-6
        agreed += len(of) > 2
    assert agreed > 5


@pytest.mark.long
def test_dueling_network_values_agree_with_the_sched_rl_kernel() -> None:
    trainer = begun("sched-rl")
    trainer.iterate(1)
    memory, capacity = trainer.remembered, trainer.view.capacity
    numbers, shape = trainer.rule(trainer.network, None).weights
    assert numbers.shape == (size_of(sched.sizes(capacity)),)
    with torch.no_grad():
        values = trainer.network(*trainer.input_tensors(*everything(memory))).numpy()
    for i, room in enumerate(memory.free):
        free = room.astype(np.int64)
        wanted = tuple(int(amount) for amount in memory.demand[i])
        code = sched_rl(free, capacity, wanted, bool(memory.spread[i]), numbers, shape)
        of = dict(zip(memory.candidates[i].tolist(), values[i].tolist(), strict=True))
        assert of[code] >= max(value for place, value in of.items() if place >= 0) - 1e-6
        assert {2 * s + n for s, n in feasible(free.tolist(), wanted, bool(memory.spread[i]))} == set(of) - {-1}


def test_dueling_streams() -> None:
    from binwright.agents.learned.sched_rl.network import Dueling

    network = Dueling(trunk(np.ones((2, 2, 2), np.int64)), 4)
    state = torch.rand(3, 11)
    values = network(state, torch.arange(4).expand(3, 4))
    for layer in network.trunk:
        state = torch.relu(layer(state))
    torch.testing.assert_close(values.mean(1), network.value(state)[:, 0])


@pytest.mark.parametrize("reward", ["one", "delta"])
@pytest.mark.parametrize("returns", [1, 3, "episode"])
def test_double_dqn_targets_are_rewards_plus_target_values_of_the_next_choice(reward: str, returns: int | str) -> None:
    """Double DQN, decision by decision."""
    options = {"reward": reward, "returns": returns, "discount": 0.9, "memory": 60}
    workload = small().workload.dump() | {"requests": 9}  # of some episodes the end is not known
    trainer = begun(options=options, workload=workload)
    for iteration in range(1, 4):
        trainer.iterate(iteration)
    memory = trainer.remembered
    rows = np.flatnonzero(memory.fate != trajectory.CUT)
    assert {trajectory.GOES_ON, trajectory.ENDS, trajectory.CUT} == set(memory.fate.tolist())
    wanted = trainer.targets(rows).numpy()

    def earned(row: int) -> float:
        if reward == "delta":
            return float(memory.demand[row, 0]) / (60e6 / 3)
        return 1.0

    reasons = set()
    for row, found in zip(rows.tolist(), wanted.tolist(), strict=True):
        total, weight, at = 0.0, 1.0, row
        while memory.fate[at] != trajectory.CUT and (returns == "episode" or at < row + int(returns)):
            total, weight = total + weight * 0.1 * earned(at), weight * 0.9
            if memory.fate[at] == trajectory.ENDS:
                weight = 0.0
                break
            at += 1
        reasons.add(int(memory.fate[at]))
        if weight:
            there = (memory.candidates[at] >= 0).sum()
            seen = trainer.input_tensors(np.array([at]), np.arange(there)[None, :])
            with torch.no_grad():
                own, other = (net(*seen)[0] for net in (trainer.network, trainer.target_network))
            total += weight * float(other[int(own.argmax())])
        assert found == pytest.approx(total, abs=1e-6)
    assert {trajectory.ENDS, trajectory.CUT} <= reasons


def test_servers_that_look_alike_are_valued_once_and_what_is_forgotten_is_left_out() -> None:
    for ahead, sizes_seen in ((True, "relative"), (False, "relative"), (True, "absolute"), (False, "absolute")):
        trainer = begun(options={"lookahead": ahead, "memory": 30, "sizes": sizes_seen})
        assert isinstance(trainer, CvdTrainer)
        counts = []
        for iteration in range(1, 8):
            trainer._most = 0 if iteration == 7 else 1_000
            trainer.iterate(iteration)
            counts.append(trainer._sights.count)
            memory, capacity = trainer.remembered, trainer.view.capacity
            rows, slots = everything(memory)
            seen, places, servers = trainer.input_tensors(rows, slots)
            assert len(np.unique(seen, axis=0)) == len(seen) <= counts[-1]
            for b, here in enumerate(memory.free):
                demand = int(memory.demand[b, 0]), int(memory.demand[b, 1])
                sight = np.empty(trainer._sights.seen.shape[1], np.float32)
                for row in range(places.shape[1]):
                    code = int(memory.candidates[b, row - 3]) if row >= 3 else -1
                    if row < 3 or code >= 0:
                        where = (row, -1) if row < 3 else (code // 2, code % 2)
                        look(here, capacity, *where, demand, bool(memory.spread[b]), ahead, trainer._units, sight, 0)
                        np.testing.assert_array_equal(seen[places[b, row]], sight)
                        assert row < 3 or servers[b, row - 3] == where[0]
        assert counts == [*sorted(counts[:6]), counts[6]]
        assert len(seen) <= counts[6]
        assert sizes_seen == "absolute" or counts[6] < counts[5]


def test_other_networks_follow_by_a_share_of_the_way() -> None:
    trainer = begun(options={"updates": 1, "target": 1, "tau": 0.25, "averaged": 0.1})
    followed = [trainer.taken(net) for net in (trainer.network, trainer.target_network, trainer.averaged_network)]
    np.testing.assert_array_equal(followed[0], followed[1])
    for iteration in range(1, 4):
        trainer.iterate(iteration)
        now = trainer.taken(trainer.network)
        for number, share in ((1, 0.25), (2, 0.1)):
            followed[number] = followed[number] + share * (now - followed[number])
            follower = (trainer.target_network, trainer.averaged_network)[number - 1]
            np.testing.assert_allclose(trainer.taken(follower), followed[number], atol=1e-6)
    assert not np.allclose(followed[1], followed[2])
    numbers = trainer.weights()[0]["weights"]
    np.testing.assert_array_equal(numbers, trainer.used().weights[0])
    np.testing.assert_allclose(numbers, followed[2], atol=1e-6)


def test_updates_are_one_a_decision_or_a_fixed_number() -> None:
    each, some = (begun(options={"updates": updates}).iterate(1) for updates in ("decision", 3))
    assert each["updates"] == each["decisions"] == each["placed"] * 2
    assert some["updates"] == 3 < some["decisions"]


def test_lessons_teach_the_choices_of_the_teacher() -> None:
    alike = []
    for lessons in (0, 8):
        options = {"lessons": lessons, "teacher": "best-fit", "updates": 12, "batch": 32, "rate": 0.003}
        trainer = begun(options=options | {"filter": {"best-fit": 4, "internal": 3}})
        for iteration in range(1, 9):
            trainer.iterate(iteration)
        memory, wanted = trainer.remembered, taught(trainer.remembered, trainer.view.capacity, trainer.teacher_rule)
        assert not lessons or wanted.tolist() == trainer.taught_places.tolist()
        for row, place in enumerate(wanted.tolist()):
            free, demand = memory.free[row].astype(np.int64), tuple(memory.demand[row].astype(np.int64).tolist())
            there = memory.candidates[row].tolist()
            free[[server for server in range(len(free)) if not {2 * server, 2 * server + 1} & {*there}]] = 0
            code = best_fit(free, trainer.view.capacity, demand, bool(memory.spread[row]))
            assert there[place] == code if place >= 0 else code not in there
        rows = np.flatnonzero((wanted >= 0) & (memory.candidates[:, 1] >= 0))  # those with a choice
        values = trainer.network(*trainer.input_tensors(rows, np.broadcast_to(np.arange(7), (len(rows), 7))))
        values = np.where(memory.candidates[rows] < 0, -np.inf, values.detach().numpy())
        alike.append(float((values.argmax(axis=1) == wanted[rows]).mean()))
    assert alike[0] + 0.2 < alike[1]


def test_paired_returns_are_less_what_the_teacher_places_from_there_on() -> None:
    paired = {"returns": "episode", "paired": True, "discount": 0.9, "teacher": "first-fit", "memory": 4000}
    filled = {"resource": "cpu", "until": "40 %", "with": "self"}
    trainer = begun(options=paired | {"episodes": 1, "telling": True, "pool": 40, "warm": [0.4]}, warm_start=filled)
    assert isinstance(trainer, CvdTrainer)
    seen, longer = 0, {0}
    for iteration in range(1, 8):
        weights = trainer.taken(trainer.network)
        trainer.iterate(iteration)
        memory, rng = trainer.remembered, stream(0, "train", iteration)
        rows = np.arange(seen, seen + len(memory.code[seen:]))
        seen = len(memory.code)
        luck, chosen = int(rng.integers(2**53)), int(rng.integers(len(trainer.replays)))
        assert luck
        replay = trainer.replays[chosen]
        replay.placed(Compiled(cvd_rl, (weights, trainer._how)))  # the cluster is filled without chance
        gain = len(rows) + replay.first
        gain -= replay.placed(Compiled(first_fit)) + replay.first
        longer.add(int(np.sign(gain)))
        more = np.arange(len(rows), 0, -1)
        usual = 1 - 0.9 ** np.maximum(more - gain, 0)
        np.testing.assert_allclose(trainer.targets(rows).numpy(), 1 - 0.9**more - usual, atol=1e-6)
    assert longer > {0}  # without a difference nothing was held to it


def test_networks_go_into_numbers_and_back() -> None:
    layers = [torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)]
    numbers = untrained((3, 5, 2), np.random.default_rng(0))
    put(layers, numbers)
    np.testing.assert_array_equal(taken(layers), numbers)
    assert numbers[1 * 5 + 2] == layers[0].weight[2, 1].item()


OTHERS = {
    "cvd-rl": {"width": 7, "layers": 3, "averaged": 0.1, "tau": 0.1, "target": 1, "updates": "decision", "returns": 4},
    "sched-rl": {"width": 9, "hidden": 1, "averaged": 0.1, "loss": "squared", "returns": "episode", "reward": "delta"},
}
TAUGHT = {"lessons": 2, "paired": True, "returns": "episode", "telling": True, "pool": 40}


@pytest.mark.parametrize("agent", SETTINGS)
@pytest.mark.parametrize("more", [{}, OTHERS, TAUGHT], ids=["plain", "others", "taught"])
def test_training_goes_on_exactly_and_its_weights_are_used(agent: str, more: dict[str, Any], tmp_path: Path) -> None:
    log = going_on(trained({agent: SETTINGS[agent] | more.get(agent, more if more is TAUGHT else {})}), tmp_path)
    assert log.filter(pl.col("split") == "train")["loss"].is_finite().all()
    in_use(agent, tmp_path, servers=3)


@pytest.mark.parametrize("ahead", [True, False])
def test_weights_know_by_which_sizes_they_see(ahead: bool, tmp_path: Path) -> None:
    settings = SETTINGS["cvd-rl"] | {"sizes": "absolute", "lookahead": ahead}
    going_on(trained({"cvd-rl": settings}), tmp_path)
    file = next(tmp_path.glob("whole/*/best.safetensors"))
    assert read(file)[1]["units"] == [10_000_000, 10_000_000]
    in_use("cvd-rl", tmp_path, lookahead=ahead)


@pytest.mark.parametrize(
    ("options", "changed", "said"),
    [
        ({}, {"overflow": "wait"}, "does not learn with it"),
        ({"reward": "two"}, {}, "train.agent.cvd-rl.reward: expected"),
        ({"k": 0}, {}, "train.agent.cvd-rl.k: expected 1 or more"),
        ({"paired": True}, {}, "train.agent.cvd-rl.paired: is for returns of whole episodes"),
    ],
)
def test_mistakes(options: dict[str, Any], changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        train(small(options=options, **changed), tmp_path / "out")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").rglob("*.safetensors"))


def fixed(servers: int) -> View:
    capacity: Ints = np.full((servers, 2, 2), 10_000_000)
    view: View = Ledger(Cluster(("cpu", "mem"), capacity, (NEVER, NEVER), capacity[0])).view
    return view


def test_a_cluster_of_another_size_is_told(tmp_path: Path) -> None:
    file = tmp_path / "three.safetensors"
    view = fixed(3)
    write(
        file,
        {"weights": np.zeros(size_of(sched.sizes(view.capacity)))},
        sched.described(view, sched.sizes(view.capacity)),
    )
    with pytest.raises(UserError, match="these weights are for 3 servers, and there are 4"):
        sched.SchedRL(path=str(file)).start(fixed(4), stream(0, "agent"))
    agent = {"sched-rl": {"path": str(file)}}
    more = {"expand": {"by": 1, "limit": 5}}
    with pytest.raises(UserError, match=r"agents\.0 .*the cluster grows by overflow\.expand"):
        Batch(small(agents=[agent], overflow=more), tmp_path / "out").run()
    started = sched.SchedRL(path=str(file))
    started.start(view, stream(0, "agent"))
    with pytest.raises(UserError, match="for 3 servers, and there are 4"):
        started.decide(fixed(4), Request(0, 0.0, 1.0, (1, 1), False))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"agent": "cvd-rl"}, "these are weights of cvd-rl, not of sched-rl"),
        ({"layers": [11, 64, 6]}, "trained with layers"),
        ({}, "not the weights of this network"),
    ],
)
def test_weights_of_something_else_are_refused(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    file, view = tmp_path / "mine.safetensors", fixed(3)
    numbers = np.zeros(size_of(sched.sizes(view.capacity)) if changed else 7)
    write(file, {"weights": numbers}, sched.described(view, sched.sizes(view.capacity)) | changed)
    with pytest.raises(UserError, match=said):
        sched.SchedRL(path=str(file)).start(view, stream(0, "agent"))


def test_shipped_sched_rl_weights_run_on_ten_servers_only(tmp_path: Path) -> None:
    shipped("sched-rl", tmp_path, "huawei-10", servers=10)
    with pytest.raises(UserError, match="for 10 servers, and there are 11"):
        shipped("sched-rl", tmp_path / "more", "huawei-10", servers=11)


def test_shipped_sched_rl_weights_run_on_fifty_servers(tmp_path: Path) -> None:
    shipped("sched-rl", tmp_path, "huawei-50", servers=50)
