"""Small clusters with devices: as lists for the slow rules, and as ledgers and views."""

import numpy as np
from hypothesis import strategies as st

from binwright.fabric.cluster import NEVER, Cluster, DevicesOf
from binwright.fabric.ledger import Ledger
from binwright.simcore.types import OnDevices, Request
from tests.reference.devices import UNIT, Ask, Server, after, choices

MODELS = ("A", "B")
CPU, MEM = 16_000_000, 64_000_000


def ledger_of(counts: list[int], models: list[int], cpu: int = CPU) -> Ledger:
    """An empty cluster with so many devices on each server."""
    count = np.array(counts, np.int64)
    capacity = np.column_stack([np.full(len(counts), cpu), np.full(len(counts), MEM), count * UNIT])[:, None, :]
    model = np.where(count > 0, models, -1).astype(np.int64)
    devices = DevicesOf(2, count, model, MODELS, (int(count[-1]), int(model[-1])))
    return Ledger(Cluster(("cpu", "mem", "gpu"), capacity, (NEVER,) * 3, capacity[-1], devices))


def request_of(ask: Ask, row: int = 0) -> Request:
    """The request of an `Ask`."""
    bits = sum(1 << model for model in ask.models)
    return Request(row, 0.0, 1.0, (ask.cpu, ask.mem, ask.gpu), False, models=bits)


def asks() -> st.SearchStrategy[Ask]:
    """Requests for no device (and then no models), a part of one, or several, of amounts that tie often."""
    parts = st.sampled_from([0, 200_000, 250_000, 500_000, 600_000, 1_000_000, 2_000_000, 3_000_000])
    models = st.sampled_from([frozenset(), frozenset(), frozenset({0}), frozenset({1}), frozenset({0, 1})])
    cpus, mems = st.sampled_from([n * UNIT for n in (0, 1, 2, 4, 6)]), st.sampled_from([n * UNIT for n in (1, 4, 16)])
    return st.tuples(cpus, mems, parts, models).map(lambda ask: Ask(*ask) if ask[2] else Ask(*ask[:3]))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Ledger, list[Server]]:
    """A cluster with some requests on it, twice: rows from 1000 on hold what is there."""
    counts = draw(st.lists(st.sampled_from([0, 1, 2, 4]), min_size=1, max_size=5))
    models = [draw(st.integers(0, 1)) for _ in counts]
    ledger = ledger_of(counts, models)
    servers = [
        Server(CPU, MEM, [UNIT] * count, model if count else -1) for count, model in zip(counts, models, strict=True)
    ]
    for row, ask in enumerate(draw(st.lists(asks(), max_size=10)), 1000):
        places = [(number, chosen) for number, server in enumerate(servers) for chosen in choices(server, ask)]
        if places:
            number, chosen = draw(st.sampled_from(places))
            request = request_of(ask, row)
            ledger.apply(request, OnDevices(((number, 0, request.demand),), devices=chosen))
            servers[number] = after(servers[number], ask, chosen)
    return ledger, servers
