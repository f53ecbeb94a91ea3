"""Requests that are repeated until they ask for so much, and the random numbers of Go."""

from dataclasses import replace

import numpy as np
import pytest

from binwright.simcore.errors import WorkloadError
from binwright.simcore.types import QUANTUM
from binwright.simcore.workload import Workload
from binwright.workloads.inflation import GoStream, Inflated, fgd_order


def test_draws_what_go_draws() -> None:
    """What every introduction to Go prints for seed 1, and a word of the state that its runtime is shipped with."""
    stream = GoStream(1)
    assert [stream.intn(100) for _ in range(10)] == [81, 87, 47, 59, 81, 18, 25, 40, 56, 0]
    assert GoStream(1).int63() == 5577006791947779410
    assert GoStream(42).int63() == 3440579354231278675


def base() -> Workload:
    """Three requests for .5, 1 and 2."""
    units = {"cpu": [1.0, 2.0, 3.0], "gpu": [0.5, 1.0, 2.0]}
    workload = Workload.of_units(np.arange(3.0), 5.0, units)
    return Workload(**{**workload.__dict__, "id": np.array(["c", "a", "b"]), "models": np.array(["", "A", "B"])})


@pytest.mark.parametrize("seed", range(3))
def test_goes_on_until_so_much_is_asked_for(seed: int) -> None:
    workload = Inflated(base(), "gpu", 10, 1.3).draw(seed)
    gpu = workload.demand[:, 1] / QUANTUM
    assert sorted(gpu[:3]) == [0.5, 1, 2]
    assert 11 < gpu.sum() <= 14  # whose last request may be too much by all but one of its devices
    assert workload.models is not None
    assert workload.models.tolist() == [{0.5: "", 1: "A", 2: "B"}[each] for each in gpu]
    assert workload.usual == 3
    assert np.isinf(workload.duration).all()
    assert workload.arrival.tolist() == list(range(len(gpu)))


def test_seeds_differ_and_repeat_themselves() -> None:
    inflated = Inflated(base(), "gpu", 100, 1.0)
    each, again, other = (inflated.draw(seed).demand[:, 1].tolist() for seed in (1, 1, 2))
    assert each == again != other
    orders = [fgd_order(20, seed, Inflated(base(), "gpu", 10, 1.0)).tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(20))


def test_of_what_is_too_much_already_the_last_ones_are_left_out() -> None:
    """They come in the order that they would have if there were room for all."""
    every = Inflated(base(), "gpu", 3.5, 1.0).draw(4)
    result = Inflated(base(), "gpu", 2, 1.0).draw(4)
    gpus = every.demand[:, 1].cumsum()
    assert 0 < len(result) < len(every)
    assert result.demand.tolist() == every.demand[gpus <= 2 * 10**6][: len(result)].tolist()
    assert gpus[len(result)] > 2 * 10**6


def test_refuses_what_leaves_no_request() -> None:
    with pytest.raises(WorkloadError, match=r"until: is less than one of the requests asks for: 2 gpu"):
        Inflated(base(), "gpu", 1.5, 1.0).draw(0)
    with pytest.raises(WorkloadError, match=r"of: the requests ask for none"):
        Inflated(replace(base(), demand=base().demand * np.array([1, 0])), "gpu", 3, 1.0).draw(0)
