"""A run on SimPy's clock that is kept anywhere and answered again in a new simulation ends as one never interrupted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from binwright.fabric.decision_log import ENTRY, DecisionLog, DecisionRecorder, answer_again
from binwright.simcore.agent_state import memory, recall
from binwright.simcore.engine import Simulation
from binwright.simcore.play import Watchers, play
from binwright.simcore.record import Record
from binwright.simcore.rng import TrackedGenerator, stream
from binwright.simcore.types import Agent, Placement, Refusal, Request, View, fixed
from tests.reference.engine import Case, feasible
from tests.support.compiled import Looker
from tests.support.properties import scaled
from tests.support.simulations import cases, place, simulate


class Moody(Agent):
    """Takes any place or none, in any order of those that wait, and remembers how often it was asked."""

    remembers = "asked", "sums"

    def start(self, view: View, rng: np.random.Generator) -> None:
        self.asked, self.sums = 0, (np.zeros(2),)
        self.rng, (self.child,) = rng, rng.spawn(1)

    def decide(self, view: View, request: Request) -> Placement | Refusal | None:
        self.asked += 1
        self.sums[0][self.asked % 2] += request.demand[0]
        places = feasible(view.free.tolist(), request.demand, request.spread)
        mood = self.rng.integers(8)
        if not places or mood < 2:
            return Refusal(f"mood {self.sums[0][0] % 3:g}") if mood % 2 else None
        return place(request, places[self.child.integers(len(places))], view.free.shape[1])

    def decide_line(
        self, view: View, requests: Sequence[Request]
    ) -> Iterator[tuple[Request, Placement | Refusal | None]]:
        for number in self.rng.permutation(len(requests)).tolist():
            yield from self.decide_parts(view, requests[number])
            if self.rng.random() < 0.2:
                return


class Started:
    """A run that goes on from what another one kept, if one did."""

    def __init__(self, case: Case, kept: tuple[bytes, str] | None = None) -> None:
        self.simulation = simulate(case)
        self.simulation.times = []
        self.agent, self.luck = Moody(), TrackedGenerator(stream(0, "agent"))
        self.agent.start(self.simulation.view, self.luck)
        self.looker = Looker(self.simulation, [3, 1, 5])
        self.watchers = Watchers(self.simulation, self.looker)
        self.answers, self.before = DecisionRecorder(self.simulation), b""
        if kept:
            self.before, words = kept[0], json.loads(kept[1])
            given = DecisionLog(np.frombuffer(self.before, np.uint8))
            answer_again(self.simulation, given, words["reasons"], self.watchers)
            recall(self.agent, {name: np.array(array) for name, array in words["arrays"].items()}, words["memory"])
            self.luck.go_on(words["luck"])
            self.answers.skip()

    def played(self, stays: int, portion: int) -> bool:
        """Play it for so many portions; false if it was over before."""

        def watch() -> int:
            nonlocal stays
            stays -= 1
            return self.watchers(portion if stays else 0)

        play(self.simulation, self.agent, watch)
        return not stays

    def kept(self) -> tuple[bytes, str]:
        arrays, words = memory(self.agent)
        said: dict[str, Any] = {"arrays": {name: array.tolist() for name, array in arrays.items()}, "memory": words}
        said |= {"luck": self.luck.states(), "reasons": self.simulation.record.reasons}
        self.before += self.answers.portion().tobytes()
        return self.before, json.dumps(said)

    def came_to(self) -> Any:
        record, used = self.simulation.record, slice(self.simulation.record.rows)
        columns = {name: getattr(record, name)[used].tolist() for name in Record.COLUMNS}
        changes = [(change.time, change.decisions, change.subject) for change in self.simulation.changes]
        asked = [row for row, _ in self.simulation.times or []]
        drawn = self.agent.asked, self.agent.sums[0].tolist(), self.luck.states()
        return repr((columns, list(record.sequence), record.reasons, changes, asked, drawn, self.looker.seen))


@st.composite
def all_cases(draw: st.DrawFn) -> Case:
    """Draw a case whose requests are offered one by one, or several together, with several parts or with one."""
    case = draw(cases())
    together = draw(st.sampled_from([0, 1, 3, 8]))
    if draw(st.booleans()):
        case = replace(case, parts=tuple(draw(st.integers(1, 4)) for _ in case.requests))
    return replace(case, mode="wait", together=together, window=draw(st.sampled_from([0.0, 2.0]))) if together else case


REQUEUED = Case(
    [[[4, 4], [4, 4], [4, 4]]], [[4, 4], [4, 4], [4, 4]], (0, 0), [(0.0, 5.0, (1, 1)), (2.0, 5.0, (1, 1))], "drop",
    failures=[(2.0, 0, 1.0)], requeue=True,
)  # fmt: skip
"""A server fails with a request on it, which is offered again."""


@given(all_cases(), st.lists(st.integers(1, 6), max_size=4), st.integers(1, 4))
@example(REQUEUED, [3], 1)
@scaled(3)
def test_a_run_goes_on_from_anywhere(case: Case, stays: list[int], portion: int) -> None:
    whole = Started(case)
    play(whole.simulation, whole.agent, whole.looker)
    part = Started(case)
    for stay in stays:
        if not part.played(stay, portion):
            break
        asked = part.agent.asked
        part = Started(case, part.kept())
        assert part.agent.asked == asked
    else:
        part.played(-1, portion)
    assert part.came_to() == whole.came_to()


SOME = Case([[[4]]], [[4]], (9,), [(float(at), 2.0, (3,)) for at in range(12)], "drop")


def kept_of(case: Case) -> tuple[bytes, str]:
    run = Started(case)
    run.played(4, 2)
    return run.kept()


@pytest.mark.parametrize(("column", "value"), [("row", 7), ("server", 1), ("node", 5), ("reason", 99), ("row", -1)])
def test_answers_of_another_run_are_refused(column: str, value: int) -> None:
    portions, words = kept_of(SOME)
    data = np.frombuffer(portions, np.uint8).copy()
    entries = data[6 * 8 :][: 6 * ENTRY.itemsize].view(ENTRY)
    placed = int(np.flatnonzero(entries["server"] >= 0)[0])
    refused = int(np.flatnonzero(entries["server"] < 0)[0])
    entries[column][refused if column == "reason" else placed] = value
    with pytest.raises(Exception):  # noqa: B017, PT011  # whatever it is, the run then begins anew
        Started(SOME, (data.tobytes(), words))


@pytest.mark.parametrize("portions", [b"\1", b"\1" * 48, (-1).to_bytes(8, "little", signed=True) * 6, b"\0" * 50])
def test_what_is_no_portion_is_refused(portions: bytes) -> None:
    with pytest.raises(ValueError, match=r"buffer|offset|negative"):
        DecisionLog(np.frombuffer(portions, np.uint8))


def test_what_is_remembered_may_become_something_else() -> None:
    one, other = Moody(), Moody()
    (one.asked, one.sums), (other.asked, other.sums) = (3, (np.zeros(2),)), (0, (np.ones(2),))
    one.remembers = other.remembers = "asked", "sums", "table", "last"  # type: ignore[assignment]
    one.table, other.table = np.arange(4.0), None  # type: ignore[attr-defined]
    one.last, other.last = np.int64(7), "nobody"  # type: ignore[attr-defined]
    held = other.sums[0]
    recall(other, *memory(one))
    assert held.tolist() == [0, 0]
    assert repr(vars(one)) == repr(vars(other))
    one.table[0] = 9  # type: ignore[attr-defined]
    assert other.table.tolist() == [0, 1, 2, 3]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((np.arange(2), np.ones(3)), ()),
        ((np.arange(2), (1, "x", None)), None),
        ((np.arange(9.0), True), (np.arange(2.0), False)),
        ((np.float32(0.5), np.array("text")), 3),
        ((), (np.zeros(2),)),
        (fixed([1, 2], np.int64), fixed([1], np.int64)),
        (fixed([1, 2], np.int64), fixed([3, 4], np.int64)),
    ],
)
def test_whatever_is_remembered_is_recalled_in_place_of_anything(one: Any, other: Any) -> None:
    remembering, recalling = Moody(), Moody()
    remembering.remembers = recalling.remembers = "what"  # type: ignore[assignment]  # a comma is forgotten easily
    remembering.what, recalling.what = one, other  # type: ignore[attr-defined]
    arrays, words = memory(remembering)
    recall(recalling, arrays, json.loads(json.dumps(words)))
    assert repr(recalling.what) == repr(one)  # type: ignore[attr-defined]


def test_what_cannot_be_kept_is_refused() -> None:
    agent = Moody()
    agent.asked, agent.sums = np.array([{}, None]), ()  # type: ignore[assignment]
    with pytest.raises(Exception, match=r"Moody remembers asked, which is array.*: no number"):
        memory(agent)
    agent.asked, agent.sums = {}, ()  # type: ignore[assignment]
    with pytest.raises(Exception, match=r"Moody remembers asked, which is \{\}: no number"):
        memory(agent)
    del agent.asked
    with pytest.raises(Exception, match="Moody remembers asked, which it does not have once it has started"):
        memory(agent)


def test_a_simulation_notes_nothing_unless_it_is_to() -> None:
    simulation: Simulation = simulate(replace(SOME, mode="wait"))
    agent = Moody()
    agent.start(simulation.view, TrackedGenerator(stream(0, "agent")))
    play(simulation, agent)
    assert simulation.passes is None
