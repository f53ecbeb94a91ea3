"""Every published value has a row; verdicts; experiments at their smallest, and interrupted."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

import binwright as bw
from binwright import cli
from binwright.agents.learned.cvd_rl import LAYERS
from binwright.reproduction import PUBLICATIONS
from binwright.reproduction.claims import Better, Value, Verdict, judge, keys_of, published
from binwright.reproduction.experiment import Publication, note_on, publication
from binwright.reproduction.measures import above, of_blocks
from binwright.reproduction.publications import adrs, wrasse
from binwright.reproduction.reproduce import Reproduced, Reproduction
from binwright.scenarios.schema.load import load_scenario, load_to_run
from binwright.simcore.errors import WorkloadError
from binwright.workloads.traces.library import FOLDER, find
from tests.support import ROOT

TRACES = ROOT.parent / "shared" / "traces"
NUMBERS = st.floats(-1e6, 1e6)


# -- what is published -------------------------------------------------------------------------------------------------


def test_all_published_values_are_read() -> None:
    every = [each for name in PUBLICATIONS for each in published(name)]
    counts = Counter(each.publication for each in every)
    assert counts == {
        "nara": 190,
        "cvd-rl": 467,
        "wrasse": 73,
        "fgd": 96,
        "spane": 4,
        "rlscheduler": 40,
        "funsearch": 21,
        "adrs": 6,
    }
    values = {(each.publication, each.table, each.condition, each.agent, each.metric) for each in every}
    assert len(values) == len(every), "what is printed in two tables is compared once"
    assert [each.printed for each in every if each.value is None] == ["Adam", "6-layer MLP with ReLU"]
    assert keys_of(every[0].condition) == {"demand": "uniform", "topology": "alpha"}


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_every_published_value_has_a_row_and_a_reason_also_where_nothing_ran(name: str, tmp_path: Path) -> None:
    whole = Reproduction([name], out=tmp_path)
    [result] = whole.publications
    rows = [result.row(each) for each in result.whole.values]
    assert len(rows) >= len(published(name))
    assert {each.verdict for each in rows} == {"cannot be compared"}
    assert all(each.why.endswith(".") for each in rows)


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_experiments_declare_all_published_values(name: str) -> None:
    whole = publication(name)
    values = whole.values
    for experiment in whole.experiments:
        assert set(experiment.tables) <= {each.table for each in values}
        answered = [each for each in values if each.table in experiment.tables]
        if experiment.count is None and experiment.tables:  # the others are run for figures
            assert {experiment.condition_of(each) for each in answered} == set(experiment.conditions)
            for condition, requested in experiment.conditions.items():
                present = {each.agent for each in answered if experiment.condition_of(each) == condition}
                assert present == set(requested.agents)
        elif not experiment.tables:
            assert whole.figures
            assert all(experiment.conditions), "figures have the condition as their heading"
        for note in experiment.notes:
            assert any(note.of(each) for each in values), note
        unmeasured = {each for each in answered if each.metric not in experiment.measures and experiment.count is None}
        assert all(note_on(each, experiment.notes, "incomparable") for each in unmeasured)
        assert set(experiment.lower) <= {each.metric for each in answered}
    tables = [table for experiment in whole.experiments for table in experiment.tables]
    assert len(set(tables)) == len(tables), "each table has one experiment"
    left = [each for each in values if each.table not in tables]
    assert all(note_on(each, whole.notes, "incomparable") for each in left)


@pytest.mark.parametrize("name", PUBLICATIONS)
def test_scenarios_that_are_named_load(name: str) -> None:
    for experiment in publication(name).experiments:
        if experiment.count is None:
            condition = list(experiment.conditions.values())[-1]
            agents = f"agents=[{', '.join(dict.fromkeys(condition.agents.values()))}]"
            assert load_to_run(experiment.scenario, [*condition.overrides, agents])


def test_one_table_alone_takes_the_runs_that_answer_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [reproduced] = Reproduction(["nara"], out=tmp_path, tables=["5"]).publications
    assert [*reproduced.batches] == [
        ("fabrics", f"demand={demand};topology=delta") for demand in ("uniform", "azure", "alibaba")
    ]
    assert {value.table for value in reproduced.whole.values} == {"5"}
    assert not reproduced.whole.figures
    assert cli.main(["reproduce", "nara", "--table", "5", "--quick", "--dry-run", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("6 runs, 0 of them done already")
    whole = Reproduction(["nara"], quick=True, tables=["section 5.3"])
    assert whole.command == "nara '--table=section 5.3' --quick"
    assert cli.main(["reproduce", "nara", "--table", "9"]) == cli.MISTAKE
    output = capsys.readouterr().err
    assert "--table: nara has no such table that is measured (got '9')" in output
    assert "section 5.3" in output


@pytest.mark.parametrize(("name", "seeds"), [("rlscheduler", 10), ("spane", 1000), ("funsearch", 20)])
def test_values_without_an_interval_are_compared_over_all_seeds_alone(name: str, seeds: int, tmp_path: Path) -> None:
    [result] = Reproduction([name], quick=True, out=tmp_path).publications
    value = result.whole.values[0]
    [experiment] = result.whole.experiments
    key, condition = (value.condition, value.agent, value.metric), experiment.conditions[value.condition]
    assert min(condition.seeds, condition.quick) == condition.seeds == seeds, "--quick takes all"
    result.values[key] = Value(1.5, None, None, seeds - 1)
    row = result.row(value)
    assert (row.verdict, row.why) == ("cannot be compared", f"It takes all {seeds} seeds, and these are {seeds - 1}.")
    for compared in (Value(1.5, None, None, seeds), Value(1.5, 1.4, 1.6, seeds - 1)):
        result.values[key] = compared
        assert result.row(value).verdict == "farther"


# -- verdicts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "more", "verdict", "why"),
    [
        (Value(0.71, None, None, 1), {}, "within", "same number"),
        (Value(0.73, None, None, 1), {"spread": 0.02}, "within", "within the published spread"),
        (Value(0.73, None, None, 1), {"tolerance": 0.05}, "within", "within 5%, to which"),
        (Value(0.80, 0.70, 0.90, 9), {}, "within", "interval that meets the published value"),
        (Value(0.80, 0.79, 0.81, 9), {"spread": 0.01, "tolerance": 0.05}, "better", "higher by 12.7 %, and higher"),
        (Value(0.80, 0.79, 0.81, 9), {"better": "lower"}, "worse", "higher by 12.7 %, and lower is better"),
        (Value(0.60, None, None, 1), {}, "worse", "lower by 15.5 %"),
        (Value(-0.05, None, None, 1), {}, "worse", "lower by 0.76, and higher"),
        (Value(0.80, 0.79, 0.81, 9), {"own": False}, "farther", r"Ours is higher by 12.7 %\.$"),
    ],
)
def test_verdicts(ours: Value, more: dict[str, object], verdict: str, why: str) -> None:
    options = {"spread": None, "better": "higher"} | more
    result, output = judge(0.71, ours=ours, **options)  # type: ignore[arg-type]
    assert result == verdict
    assert re.search(why, output)


@given(NUMBERS, NUMBERS, st.none() | st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 0.5))
def test_a_verdict_depends_on_the_distance_and_the_direction_alone(
    value: float, mean: float, spread: float | None, half: float, tolerance: float
) -> None:
    ours = Value(mean, mean - half, mean + half, 5)
    ways: tuple[Better, ...] = ("higher", "lower")
    actual = {better: judge(value, spread, ours, better, tolerance)[0] for better in ways}
    if Verdict.WITHIN in actual.values():
        assert set(actual.values()) == {Verdict.WITHIN}
    else:
        assert set(actual.values()) == {Verdict.WORSE, Verdict.BETTER}
        assert actual["higher"] == (Verdict.BETTER if mean > value else Verdict.WORSE)
        assert abs(mean - value) > max(half, spread or 0, tolerance * abs(value)) * (1 - 1e-9)
    closer = Value((mean + value) / 2, mean - half, mean + half, 5)
    if actual["higher"] == Verdict.WITHIN:
        assert judge(value, spread, closer, "higher", tolerance)[0] == Verdict.WITHIN


def test_gain_is_the_ratio_of_the_means() -> None:
    own, other = np.array([2.0, 4.0, 9.0]), np.array([1.0, 2.0, 3.0])
    mean, low, high, seeds = above(own, other)
    assert (mean, seeds) == (1.5, 3)
    assert low is not None
    assert high is not None
    half = student.ppf(0.975, 2) * (own - 2.5 * other).std(ddof=1) / np.sqrt(3) / 2  # the delta method, by hand
    assert (mean - low, high - mean) == pytest.approx((half, half))
    assert above(3 * other, other) == pytest.approx((2.0, 2.0, 2.0, 3))
    assert above(own[:1], other[:1]) == (1.0, None, None, 1)
    assert above(own, 0 * other).seeds == above(own[:0], other[:0]).seeds == 0


# -- pages -------------------------------------------------------------------------------------------------------------


def test_intervals_over_days_hold_what_is_true() -> None:
    """Nine of ten hold the gain that months have on average, as days are few; intervals over seeds hold it far less."""
    rng, held = np.random.default_rng(3), {"days": 0, "seeds": 0}
    days = np.repeat(np.arange(25), 8)[None]
    for _ in range(70):
        base = rng.normal(1000, 50, (1, 200))
        values = base * (1 + rng.normal(0.02, 0.05, 25)[days])
        _, low, high = of_blocks(values, base, days)
        held["days"] += low <= 0.02 <= high
        plain = above(values[0], base[0])
        held["seeds"] += plain.low is not None and plain.high is not None and plain.low <= 0.02 <= plain.high
    assert held["days"] >= 59
    assert held["seeds"] < 42


def test_published_settings_of_cvd_rl_equal_its_scenario() -> None:
    train = load_scenario("cvd/published").train
    assert train
    settings = train.agent.chosen[1]
    ours = {
        "learning_rate": settings["rate"], "epochs": train.iterations, "discount": settings["discount"],
        "epsilon": settings["explore"], "batch": settings["batch"], "buffer": settings["memory"], "optimiser": "Adam",
        "target_tau": settings["tau"], "network": f"{LAYERS}-layer MLP with ReLU",
        "episodes_per_epoch": settings["episodes"], "seeds": train.seeds,
    }  # fmt: skip
    table = {each.metric: each for each in published("cvd-rl") if each.table == "1"}
    assert ours == {name: each.printed if each.value is None else each.value for name, each in table.items()}
    assert (settings["annealed"], settings["target"], settings["updates"], settings["warm"]) == (
        1,
        1,
        "decision",
        [0.5],
    )


# -- runs --------------------------------------------------------------------------------------------------------------


COLD = ["workload.requests=300", "warm_start.until=0"]
SMALLEST = {
    "fabrics": ["workload.requests=8"],
    **dict.fromkeys(("table2", "table3", "table4", "sizes"), COLD),
    **{name: [*COLD, "cluster.servers=3"] for name in ("ablation", "allocation", "allocation-expansion")},
    "vmagent": ["workload.requests=400"],
    "inflated": ["cluster={servers: 12, node: {cpu: 96, mem: 393 GB}, devices: {count: 8}, numbering: fgd}"],
    "online": ["workload.offline=binpack1", "cluster={servers: 120, node: {size: 150}}"],
    **{name: ["workload.requests=3"] for name in ("secondnet", "oktopus")},
}
"""What makes experiments small."""


@pytest.fixture
def _smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experiments are as small as they can be."""

    def small(name: str) -> Publication:
        whole, experiments = publication(name), []
        for each in whole.experiments:
            conditions = {
                key: replace(condition, seeds=2, overrides=[*condition.overrides, *SMALLEST.get(each.name, ())])
                for key, condition in each.conditions.items()
            }
            experiments.append(replace(each, conditions=conditions))
        return replace(whole, experiments=experiments)

    monkeypatch.setattr("binwright.reproduction.reproduce.publication", small)
    monkeypatch.setattr(wrasse, "SECONDS", (0.05, 0.05))
    monkeypatch.setattr(wrasse, "SEEDS", (1, 1))
    monkeypatch.setattr(adrs, "CASES", 2)


@pytest.mark.long
@pytest.mark.usefixtures("_smallest")
def test_an_interrupted_reproduction_resumes(tmp_path: Path) -> None:
    part, seen = "demand=uniform;topology=beta", list[object]()

    def planned() -> Reproduction:
        whole = Reproduction(["nara"], out=tmp_path)
        [reproduced] = whole.publications
        reproduced.batches = {place: batch for place, batch in reproduced.batches.items() if part in place[1]}
        return whole

    def interrupt(row: object) -> None:
        seen.append(row)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        planned().run(1, interrupt)
    again = planned()
    batch = again.publications[0].batches["fabrics", part]
    assert len(batch.done()) == 3
    seen.clear()
    again.run(1, seen.append)
    assert len(seen) == len(batch.done()) == 2 * 6


def test_a_trace_that_is_not_here_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    reproduction = bw.reproduce("spane", quick=True, out=tmp_path / "out", jobs=1)
    assert set(reproduction.rows["verdict"]) == {"cannot be compared"}
    why = reproduction.rows["why"][0]
    assert why.startswith("It cannot be run here: the file of this trace was not found (got 'huawei-east-1'). ")
    assert "Get it from github.com/huaweicloud" in why
    assert str(tmp_path) not in why


def test_reproduce_writes_tables_and_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDER, str(tmp_path))
    assert cli.main(["reproduce", "fgd", "spane", "--quick"]) == cli.FAILED
    assert "nothing is written" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(wrasse, "packing", lambda size: {})
    monkeypatch.setattr(Reproduced, "_measure", lambda self, *_: None)
    assert cli.main(["reproduce", "fgd", "wrasse", "--quick"]) == 0
    output = capsys.readouterr().out
    assert "FGD: 0 of 0 reproduced; 96 cannot be compared" in output
    for name, title in (("fgd", "FGD"), ("wrasse", "Wrasse")):
        assert len(pl.read_csv(f"results/reproduce/reproduction-{name}.csv")) >= len(published(name))
        shown = Path(f"results/reproduce/reproduction-{name}.md").read_text("utf-8")
        assert shown.startswith(f"# {title}: published and ours\n")
        assert "binwright reproduce fgd wrasse --quick" in shown
        assert "Values may be of fewer seeds, or of less time, than the whole experiment." in shown
    assert cli.main(["reproduce", "wrase"]) == cli.MISTAKE
    assert "wrasse" in capsys.readouterr().err
    assert cli.main(["reproduce", "fgd", "--out", ""]) == cli.MISTAKE


@pytest.mark.long
@pytest.mark.usefixtures("_smallest")
@pytest.mark.parametrize("name", PUBLICATIONS)
def test_every_experiment_at_its_smallest(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if TRACES.is_dir():
        monkeypatch.setenv(FOLDER, str(TRACES))
    if trace := {
        "spane": "huawei-east-1",
        "rlscheduler": "lublin-1",
        "cvd-rl": "huawei-east-1-events",
        "fgd": "alibaba-openb",
    }.get(name):
        try:
            find(trace, None)
        except WorkloadError as error:
            pytest.skip(str(error))
    reproduction = Reproduction([name], out=tmp_path).run(1)
    [reproduced] = reproduction.publications
    assert not reproduced.problems
    assert not reproduced.failed
    answered = {row.table for row in reproduced.rows if (row.condition, row.agent, row.metric) in reproduced.values}
    assert all(answered & set(experiment.tables) for experiment in reproduced.whole.experiments if experiment.tables)
    assert all(picture.content for picture in reproduced.pictures)
    assert len(reproduced.rows) >= len(published(name))
    assert reproduction.write(tmp_path / "pages")
