"""FunSearch's rules on the items that it was tested with."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from binwright.agents.heuristics.servers.funsearch import FunSearch
from binwright.agents.solver.model.packing_bound import l2
from binwright.fabric.cluster import Cluster
from binwright.fabric.ledger import Ledger
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import load_scenario
from binwright.simcore.engine import Simulation
from binwright.simcore.errors import UnknownName
from binwright.simcore.play import play
from binwright.simcore.types import QUANTUM, Ints
from binwright.workloads.offline import machines
from binwright.workloads.published_items import BINPACK, NAMES, sizes
from tests.reference.agents import funsearch, funsearch_or


@pytest.mark.parametrize(("rule", "name"), [("weibull", "weibull-5k"), ("or", "binpack2")])
def test_every_item_goes_where_the_printed_program_puts_it(rule: str, name: str) -> None:
    items, room = sizes(name, 1)
    count = 150
    work = machines(name, 1).requests(("size",), count)
    capacity = np.full((count, 1, 1), room * QUANTUM)
    simulation = Simulation(work, Ledger(Cluster(("size",), capacity, (10**18,), capacity[0])))
    agent = FunSearch("or" if rule == "or" else "weibull")
    agent.start(simulation.view, np.random.default_rng(0))
    play(simulation, agent)
    printed = funsearch_or if rule == "or" else funsearch
    free, whole = ([[[room]] for _ in range(count)] for _ in range(2))
    for row, item in enumerate(items[:count].tolist()):
        where = printed(free, whole, (item,), False)
        assert where == (simulation.record.server[row], 0)
        free[where[0]][0][0] -= item


def test_published_instances_have_their_sizes_and_bounds() -> None:
    assert [len(sizes(name, 3)[0]) for name in NAMES] == [120, 250, 500, 1000, 5000, 10_000, 100_000]
    first, room = sizes("binpack1", 0)
    assert (first[:6].tolist(), room) == ([42, 69, 67, 57, 93, 90], 150)  # u120_00
    assert sizes("weibull-5k", 4)[0][:5].tolist() == [38, 34, 46, 40, 59]
    for name in BINPACK:  # the bounds of the published notebook's OR3, and those of the table
        bounds = [l2(np.sort(sizes(name, seed)[0]), 150) for seed in range(20)]
        assert np.mean(bounds) == {"binpack1": 49.05, "binpack2": 101.55, "binpack3": 201.2, "binpack4": 400.55}[name]
    assert (sizes("binpack1", 25)[0] == sizes("binpack1", 5)[0]).all()


def test_items_that_are_not_published_are_distributed_as_those_that_are() -> None:
    from scipy.stats import ks_2samp

    published: Ints = np.concatenate([sizes("weibull-5k", seed)[0] for seed in range(5)])
    assert ks_2samp(published, sizes("weibull-10k", 0)[0]).pvalue > 0.01


@pytest.mark.long
def test_five_instances_take_the_bins_that_the_notebook_prints(tmp_path: Path) -> None:
    scenario = load_scenario("funsearch/online", ["agents=[best-fit, funsearch]"])
    runs = Batch(scenario, tmp_path / "out").run().runs
    bins = dict(runs.group_by("agent").agg(pl.col("servers_used_end").mean()).rows())
    assert bins == {"best-fit": 2067.0, "funsearch": 2001.4}


def test_another_rule_is_refused() -> None:
    with pytest.raises(UnknownName, match="weibull"):
        FunSearch("weibul")  # type: ignore[arg-type]
