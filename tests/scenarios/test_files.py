# ruff: noqa: E501 (tables read better in rows)
"""Scenario files: loading, mistakes, sweeps and plans."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from binwright.agents.learned import TRAINERS
from binwright.api import as_overrides
from binwright.scenarios.build.plan import plan, points
from binwright.scenarios.build.world import build_world
from binwright.scenarios.schema.load import load_scenario, load_to_run, resolved, scenario_from, shipped
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.workload import Generated
from binwright.simcore.errors import ScenarioError, UserError
from binwright.simcore.fields import Model
from binwright.simcore.rules import Overflow
from docs.scenario_reference import reference
from tests.support import ROOT

TRACE = """\
name: small
cluster:
  servers: 10
  nodes: 2
  node: {cpu: 40, mem: 90 GB}
  spread_above: {mem: 10 GB}
workload:
  trace: huawei-east-1
  start: {random: [50000, 100000]}
warm_start: {resource: cpu, until: 50 %, with: best-fit}
overflow: stop
agents: [first-fit, best-fit, {best-fit: {node: loose}}]
replications: 3
prices: {cpu_hour: 0.04, mem_gib_hour: 0.005}
"""

GENERATED = """\
cluster:
  groups:
  - {count: 2, node: {cpu: 4, mem: 8 GB, gpu: 0}}
  - {count: 1, node: {cpu: 0, mem: 16 GB, gpu: 1}, name: large}
  expansion: [{at: 1 h, by: 2}]
  failures: {mtbf: 30 d, mttr: 4 h, scheduled: [{at: 1 h, server: 2}], on_failure: requeue}
workload:
  arrivals: {bursty: {every: 10 min, size: 8}}
  flavours:
  - {cpu: 1, mem: 2 GB, weight: 3}
  - {cpu: 500 m, gpu: 1, lifetimes: {fixed: never}}
  lifetimes: {lognormal: {median: 10 min, sigma: 1.5}}
  requests: 20
overflow: {expand: {by: 2, limit: 9}}
agents: [first-fit]
record: [requests]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scenario.yaml"


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


# -- mistakes ----------------------------------------------------------------------------------------------------------

MISTAKES = [
    # The file itself
    (TRACE, "servers: 10", "servers: [10", 4, "", "this is not valid YAML", "Check colons"),
    (TRACE, "  servers: 10", "\tservers: 10", 3, "", "this is not valid YAML", "Indent with spaces"),
    (TRACE, TRACE, "", 1, "", "a scenario is a mapping", "Write `cluster:`"),
    (TRACE, "  nodes: 2", "  servers: 20", 4, "cluster.servers", "is written twice", "on line 3"),
    (TRACE, "  nodes: 2", "  on: 2", 4, "cluster", "the key on is not text", "quotes"),
    (TRACE, "name: small", "extends: no.yaml", 1, "extends", "there is no such file", "relative to the one"),
    (TRACE, "name: small", "extends: scenario.yaml", 1, "extends", "extends itself", "Name another"),
    # Unknown keys, at every level
    (TRACE, "  servers: 10", "  sevrers: 10", 3, "cluster.sevrers", "unknown key", "Did you mean 'servers'?"),
    (TRACE, "trace: huawei-east-1", "trace: csv", 8, "workload.trace", "unknown trace", "is read by `table`. `binwright list traces"),
    (TRACE, "trace: huawei-east-1", "trace: mine.py:Mine", 8, "workload.trace", "is a class", "a workload of your own"),
    (TRACE, "replications: 3", "metric: [cost]", 13, "metric", "unknown key", "Did you mean 'metrics'? `binwright list schema`"),
    (TRACE, "agents: [first-fit, best-fit, {best-fit: {node: loose}}]\n", "", None, "agents", "is missing", "Add `agents`:"),
    (GENERATED, "  requests: 20\n", "", 7, "workload.requests", "is missing", "Add `requests`: How many"),
    (GENERATED, ", mttr: 4 h", "", 6, "cluster.failures.mttr", "is missing", "give both or neither"),
    (TRACE, "start: {random: [50000, 100000]}", "superpose: 2", 7, "workload.requests", "is missing", "need a length"),
    (GENERATED, "{expand: {by: 2, limit: 9}}", "{wait: {window: 5}}", 14, "overflow.wait.window", "this key is gone", "Leave it"),
    *((GENERATED, "  requests: 20\n", f"  requests: 20\n  use: {use}\n", 14, f"workload.use.{of}.0.path", "this key is gone", "columns")
      for use, of in (("{path: u.csv}", "others"), ("{gpu: {path: u.csv}}", "gpu"))),
    (GENERATED, "  requests: 20\n", "  requests: 20\n  time_scale: 2\n", 14, "workload.time_scale", "unknown key", "'arrivals'"),
    # Wrong types and values
    (TRACE, "name: small", "name: ../up", 1, "name", "'../up'", "the first is a letter"),
    (GENERATED, "{expand: {by: 2, limit: 9}}", "{expand: 3}", 14, "overflow.expand", "must be a mapping", "Its keys: by, limit"),
    (GENERATED, "weight: 3", "weight: .nan", 10, "workload.flavours.0.weight", "got nan", ""),
    # Units and amounts
    (TRACE, "mem: 90 GB", "mem: 90 gib", 5, "cluster.node.mem", "'gib' is not a unit", "Did you mean 'GiB'?"),
    (TRACE, "50 %", "50", 10, "warm_start.until", "is more than 1 (got 50)", "%"),
    (GENERATED, "every: 10 min", "every: 0", 8, "workload.arrivals.bursty.every", "more than zero", "min"),
    (TRACE, "mem: 90 GB}", "ram: 90 GB}", 5, "cluster.node.ram", "'GB' is not a unit of amount (got '90 GB')", "only cpu, gpu, bandwidth, mem,"),
    # Alternatives
    (TRACE, "  nodes: 2", "  groups: [{count: 1, node: {cpu: 1}}]", 2, "cluster", "in 2 ways: node, groups", "Give one"),
    (TRACE, "  servers: 10\n  nodes: 2\n  node: {cpu: 40, mem: 90 GB}\n", "", 2, "cluster", "has no servers", "`groups`"),
    (TRACE, "  trace", "  arrivals: {}\n  trace", 8, "workload.arrivals", "does not go with a trace", "`key: null`"),
    (GENERATED, "{bursty: {every: 10 min, size: 8}}", "{}", 8, "workload.arrivals", "needs one way", "exactly one of"),
    (GENERATED, "{fixed: never}", "{empirical: {}}", 11, "workload.flavours.1.lifetimes.empirical", "either", "Give exactly"),
    # Things that do not go together
    (TRACE, "{mem: 10 GB}", "{men: 10}", 6, "cluster.spread_above.men", "no such resource", "Did you mean 'mem'?"),
    (TRACE, "cpu_hour", "gpu_hour", 14, "prices.gpu_hour", "is not a price", "Did you mean 'cpu_hour'?"),
    (GENERATED, "cpu: 1, mem: 2 GB, ", "", 10, "workload.flavours.0", "asks for nothing", "like cpu: 1"),
    (GENERATED, "  lifetimes: {lognormal: {median: 10 min, sigma: 1.5}}\n", "", 10, "workload.flavours.0", "has no lifetimes", "Give"),
    (GENERATED, "limit: 9", "limit: 2", 14, "overflow.expand.limit", "below the servers there are (got 2)", "3 servers"),
    (TRACE, "  nodes: 2", "  failures: {scheduled: [{at: 1, server: 10}]}", 4, "cluster.failures.scheduled.0.server", "no such server", "0 to 9"),
    (TRACE, "trace: huawei-east-1", "trace: table", 7, "workload.units", "the unit of the trace's mem is not known", "`units: {mem: GB}`"),
    (TRACE, "  servers: 10\n  nodes: 2\n  node: {cpu: 40, mem: 90 GB}\n", "  csv: {path: a, columns: {cpu: c, mem: m}}\n", 3,
     "cluster.csv", "this key is gone", "`groups`"),
    # Agents and other names
    (TRACE, "{node: loose}", "{node: lose}", 12, "agents.2.best-fit.node", "is no known value (got 'lose')", "Did you mean 'loose'?"),
    (TRACE, "[first-fit,", "[best-fit,", 12, "agents.1", "has the same label as agent 0 (got 'best-fit')", "give a label"),
    (TRACE, "[first-fit,", "['mine.py:Mine',", 12, "agents.0", "cannot import", "relative to the scenario"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("base", "old", "new", "line", "key", "problem", "remedy"), MISTAKES, ids=[f"{m[4]}: {m[5]}" for m in MISTAKES]
)
def test_a_mistake_is_one_message(
    file: Path, base: str, old: str, new: str, line: int | None, key: str, problem: str, remedy: str
) -> None:
    file.write_text(changed(base, old, new))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(file)
    error = caught.value
    assert (str(error.file), error.line, error.key or "") == (str(file), line, key)
    first, _, rest = str(error).partition("\n")
    assert problem in first
    assert remedy in rest
    assert "\n" not in rest


MANY = """\
nmae: x
cluster:
  sevrers: 10
  nodes: zero
  node: {cpu: -4, mem: 90 gib}
workload:
  arrivals: {poisson: {evry: 10 s}}
  flavours:
  - {cpu: 1 parsec, mem: 2 min, wieght: [3]}
  - {cpu: 1, lifetimes: {fixed: soon}}
  requests: 0
overflow: dorp
agents: [frist-fit, {best-fit: {nod: loose}}, {random-top: {filter: [], filtre: 3}}]
replications: many
record: [request, samples, statez]
prices: {cpu_hour: -1}
"""
FOUND = [
    (1, "nmae"), (3, "cluster.sevrers"), (4, "cluster.nodes"), (5, "cluster.node.cpu"), (5, "cluster.node.mem"),
    (7, "workload.arrivals.poisson.evry"), (9, "workload.flavours.0.wieght"),
    (10, "workload.flavours.1.lifetimes.fixed"), (11, "workload.requests"), (12, "overflow"), (13, "agents.0"),
    (13, "agents.1.best-fit.nod"), (13, "agents.2.random-top.filter"), (13, "agents.2.random-top.filtre"),
    (14, "replications"), (15, "record.0"), (15, "record.2"), (16, "prices.cpu_hour"),
]  # fmt: skip


def test_all_mistakes_of_a_file_are_reported_at_once(file: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(_written(file, MANY))
    mistakes = str(caught.value).splitlines()
    assert len(mistakes) == len(FOUND) + sum(bool(mistake.remedy) for mistake in caught.value.each())
    for mistake in caught.value.each():
        assert str(mistake.file) == str(file)
        assert mistake.remedy or mistake.problem.startswith("expected ")
        assert "\n" not in mistake.in_words().replace(f"\n  {mistake.remedy}", "")
    assert sorted((mistake.line or 0, mistake.key or "") for mistake in caught.value.each()) == sorted(FOUND)


SWEEPS = [
    ("zip:\n    cluster.servers: [1, 2]\n    seed: [1]", 5, "sweep.zip.seed", "cannot be swept", "agents"),
    ("zip:\n    cluster.servers: [1, 2]\n    cluster.nodes: [1]", 5, "sweep.zip.cluster.nodes",
     "has 1 values, but cluster.servers has 2", "equally long"),
    ("product: {overflow: [drop]}\n  zip: {overflow: [wait]}", 4, "sweep.zip.overflow", "is swept twice", "Keep it"),
    ("product:\n    cluster.servers:\n    - 1\n    - 0", 6, "cluster.servers", "expected 1 or more, got 0", ""),
    ("product: {workload.start.random: [[1, 2], [2, 1]]}", 3, "workload.start.random", "empty range", "lower row"),
]  # fmt: skip


@pytest.mark.parametrize(("sweep", "line", "key", "problem", "remedy"), SWEEPS, ids=[s[2] for s in SWEEPS])
def test_a_mistake_in_a_sweep_names_the_line_in_the_sweep(
    file: Path, sweep: str, line: int, key: str, problem: str, remedy: str
) -> None:
    file.write_text(changed(TRACE, "name: small\n", f"name: small\nsweep:\n  {sweep}\n"))
    with pytest.raises(ScenarioError) as caught:
        points(load_scenario(file))
    error = caught.value
    assert (str(error.file), error.line, error.key) == (str(file), line, key)
    assert problem in str(error)
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("cluster.servers=0", "cluster.servers: expected 1 or more, got 0"),
        ("cluster.servrs=3", "cluster.servrs: unknown key"),
        ("cluster.servers", "is not an override"),
        ("agents.7=best-fit", "agents.7: the list agents has no item 7"),
        ("cluster.groups.3.count=1", "cluster.groups: expected a list"),
        ("workload.requests=5", "has no effect: the sweep sets workload.requests at every point"),
    ],
)
def test_a_wrong_override_names_itself_and_its_file(file: Path, override: str, problem: str) -> None:
    file.write_text(f"{TRACE}sweep: {{product: {{workload.requests: [1, 2]}}}}\n")
    with pytest.raises(ScenarioError) as caught:
        load_to_run(file, [override])
    assert str(caught.value).startswith(f"{file}, override {override}: {problem}")


def test_a_label_in_place_of_an_agent_stands_for_its_entry(file: Path) -> None:
    file.write_text(TRACE)
    loose = load_scenario(file).agents[2]
    assert loose.label == "best-fit(node=loose)"
    assert load_scenario(file, ["agents=[best-fit(node=loose), random]"]).agents[0] == loose
    with pytest.raises(ScenarioError, match="unknown agent") as caught:
        load_scenario(file, ["agents=[best-fit(node=loose), best-fitt]"])
    assert caught.value.remedy.startswith("Did you mean 'best-fit'?")
    entries = "agents: [{name: random, label: best-fit}, {name: first-fit, label: mine}]"
    file.write_text(changed(TRACE, "agents: [first-fit, best-fit, {best-fit: {node: loose}}]", entries))
    names = [agent.name for agent in load_scenario(file, ["agents=[mine, best-fit]"]).agents]
    assert names == ["first-fit", "best-fit"], "an agent of that name goes first"


@pytest.mark.parametrize(
    "label", ["mine(a=0.5, b=4)", "mine(a=1, b=fair(c=1, d=2), e=3)", "30", "best: of all", "half [x]", "née"]
)
def test_any_label_without_commas_outside_parentheses_names_its_entry(file: Path, label: str) -> None:
    entries = f"agents: [random, {{name: first-fit, label: {json.dumps(label)}}}]"
    file.write_text(changed(TRACE, "agents: [first-fit, best-fit, {best-fit: {node: loose}}]", entries))
    chosen = load_scenario(file, as_overrides([], f"{label}, best-fit", None)).agents
    assert [agent.label for agent in chosen] == [label, "best-fit"]


def test_a_list_is_no_override() -> None:
    with pytest.raises(UserError, match="is not an override") as caught:
        load_scenario("quickstart", [["replications=3"]])  # type: ignore[list-item]
    assert "without a list" in caught.value.remedy


def test_shipped_scenarios_are_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("binwright.scenarios.schema.load.LIBRARY", tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "first.yaml").write_text(changed(TRACE, "name: small\n", ""))
    assert list(shipped()) == ["sub/first"]
    assert load_scenario("sub/first").name == "first"
    with pytest.raises(ScenarioError, match=r"frist: there is no such file\n.*Did you mean 'sub/first'\?"):
        load_scenario("sub/frist")


# -- loading -----------------------------------------------------------------------------------------------------------


def test_extends_merges_mappings_and_replaces_lists(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "base.yaml").write_text(TRACE + "description: the base\n")
    (tmp_path / "sub" / "middle.yaml").write_text(
        "extends: ../base.yaml\ncluster: {servers: 20}\nagents: [worst-fit]\nworkload: {path: t.csv}\n"
    )
    last = tmp_path / "last.yaml"
    last.write_text("extends: sub/middle.yaml\nwarm_start: null\noverflow: {expand: {by: 1, limit: 30}}\n")
    scenario = load_scenario(last)
    assert (scenario.name, scenario.description, scenario.extends) == ("last", "", None)
    assert (scenario.cluster.servers, scenario.cluster.nodes) == (20, 2)
    assert [agent.name for agent in scenario.agents] == ["worst-fit"]
    assert scenario.warm_start is None
    assert isinstance(scenario.workload, Trace)
    assert scenario.workload.path == str(tmp_path / "sub" / "t.csv")


def test_one_choice_replaces_another(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(GENERATED)
    last = tmp_path / "last.yaml"
    last.write_text("extends: base.yaml\nworkload: {arrivals: {poisson: {every: 10 s}}, lifetimes: {fixed: 5 min}}\n")
    workload = load_scenario(last).workload
    assert isinstance(workload, Generated)
    assert workload.arrivals.chosen[0] == "poisson"
    assert workload.lifetimes is not None
    assert workload.lifetimes.chosen == ("fixed", 300)


def test_overrides(file: Path) -> None:
    file.write_text(TRACE)
    scenario = load_scenario(
        file,
        [
            "cluster.node.cpu=100",
            "agents.0=worst-fit",
            "overflow.expand={by: 2, limit: 200}",
            "workload.path=x.csv",
            "sweep.product.cluster.servers=[1, 2]",
        ],
    )
    assert scenario.cluster.node == {"cpu": 100, "mem": 90}
    assert scenario.agents[0].label == "worst-fit"
    assert build_world(scenario).overflow == Overflow("expand", 2, 200, "stop")
    assert isinstance(scenario.workload, Trace)
    assert scenario.workload.path == str(Path.cwd() / "x.csv")
    assert scenario.sweep.product == {"cluster.servers": (1, 2)}


@pytest.mark.parametrize("key", ["cluster.servers=100", "cluster={servers: 3, node: {cpu: 4, mem: 8 GB}}"])
def test_an_override_that_the_sweep_undoes_is_refused(file: Path, key: str) -> None:
    file.write_text(TRACE)
    with pytest.raises(ScenarioError, match=r"the sweep sets cluster\.servers at every point"):
        load_to_run(file, [key, "sweep.product.cluster.servers=[1, 2]"])
    assert load_to_run(file, ["cluster.servers=100", "sweep=null"]).cluster.servers == 100


def labels_of(file: Path, *paths: str, more: str = "first-fit") -> list[str]:
    """Of nara with these weights, and one more."""
    entries = [f"{{nara: {{path: {path}}}}}" for path in paths]
    file.write_text(changed(TRACE, "[first-fit", f"[{', '.join([*entries, more])}"))
    return [agent.label for agent in load_scenario(file).agents][: len(entries) + 1]


def test_labels_have_the_end_of_a_path(file: Path) -> None:
    weights = [f"results/{name}/training/seed-{seed}/best.safetensors" for name in "ab" for seed in (0, 1)]
    assert labels_of(file, *weights[:2]) == ["nara(path=seed-0/best)", "nara(path=seed-1/best)", "first-fit"]
    assert labels_of(file, more="{nara: {path: /w/x.csv, mask: feasible}}") == ["nara(path=w/x.csv, mask=feasible)"]
    text = "{name: nara, label: mine, options: {path: w.csv}}"
    assert labels_of(file, weights[0], more=text) == ["nara(path=seed-0/best)", "mine"]
    loaded = load_scenario(file)
    assert scenario_from(yaml.safe_load(resolved(loaded, file.parent))).agents == loaded.agents
    assert scenario_from({**loaded.dump(), "name": "moved"}).agents == loaded.agents
    with pytest.raises(ScenarioError, match="has the same label as agent 0"):
        labels_of(file, *weights[::2])


def test_a_scenario_extends_several_files(tmp_path: Path, file: Path) -> None:
    file.write_text(TRACE)
    (tmp_path / "found.yaml").write_text("agents: [worst-fit]\nseed: 7\n")
    both = tmp_path / "both.yaml"
    both.write_text(f"extends: [{file.name}, found.yaml]\nseed: 8\n")
    scenario = load_scenario(both)
    assert [agent.label for agent in scenario.agents] == ["worst-fit"]
    assert (scenario.name, scenario.seed, scenario.replications) == ("both", 8, load_scenario(file).replications)
    for wrong, problem in (("[found.yaml, 3]", "is not a name"), ("[no.yaml]", "no such"), ("[both.yaml]", "itself")):
        both.write_text(f"extends: {wrong}\n")
        with pytest.raises(ScenarioError, match=f"both.yaml:1: extends: .*{problem}"):
            load_scenario(both)


def test_an_agent_of_ones_own(tmp_path: Path, file: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from binwright.simcore.types import Agent\n\n\n"
        "class Mine(Agent):\n    def __init__(self, k: int, deep: dict | None = None) -> None:\n        self.k = k\n"
        "    def decide(self, view, request):\n        return None\n"
    )
    file.write_text(
        changed(
            TRACE,
            "[first-fit,",
            "[{mine.py:Mine: {k: 3, deep: {a: null}}}, {name: 'mine.py:Mine', options: {k: 4}, label: four},",
        )
    )
    scenario = load_scenario(file)
    assert [agent.label for agent in scenario.agents[:2]] == ["mine.py:Mine(k=3, deep={'a': None})", "four"]
    assert vars(scenario.agents[1].make()) == {"k": 4}
    assert scenario.agents[0].options == {"k": 3, "deep": {"a": None}}
    file.write_text(resolved(scenario, file.parent))
    assert load_scenario(file) == scenario
    before = {run.name for run in plan(scenario)}
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text() + "# changed\n")
    # Runs of the changed agent are other runs, those of the two others are not.
    assert len(before & {run.name for run in plan(scenario)}) == 2 * 3
    file.write_text(changed(TRACE, "[first-fit,", "['mine.py:Mine',"))
    with pytest.raises(ScenarioError, match=r"agents\.0.*: is missing"):
        load_scenario(file)


# -- the resolved scenario ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        TRACE,
        GENERATED,
        TRACE + "sweep: {zip: {cluster.servers: [1, 2], overflow: [stop, {expand: {by: 1, limit: 9}}]}}\n",
    ],
)
def test_resolved_scenario_loads_to_an_equal_one_from_anywhere(tmp_path: Path, file: Path, text: str) -> None:
    file.write_text(text)
    scenario = load_scenario(file, ["seed=7", "replications=2"])
    elsewhere = tmp_path / "else" / "where.yaml"
    elsewhere.parent.mkdir()
    elsewhere.write_text(resolved(scenario, elsewhere.parent))
    again = load_scenario(elsewhere)
    assert again == scenario
    assert resolved(again, tmp_path) == resolved(scenario, tmp_path)
    assert [run.name for run in plan(again)] == [run.name for run in plan(scenario)]
    assert scenario_from(yaml.safe_load(resolved(scenario, file.parent))) == scenario


# -- plans -------------------------------------------------------------------------------------------------------------


def test_a_plan_is_points_by_seeds_by_agents(file: Path) -> None:
    file.write_text(
        TRACE
        + "seed: 5\nsweep: {product: {cluster.servers: [10, 50], overflow: [drop, wait]}, zip: {workload.superpose: [1, 2], workload.time_scale: [1, 0.5]}}\n"
    )
    runs = plan(load_scenario(file))
    assert len(runs) == len({run.name for run in runs}) == 2 * 2 * 2 * 3 * 3
    assert runs[0].point == {
        "cluster.servers": 10,
        "overflow": "drop",
        "workload.superpose": 1,
        "workload.time_scale": 1,
    }
    assert [run.agent.label for run in runs[:3]] == ["first-fit", "best-fit", "best-fit(node=loose)"]
    assert {run.seed for run in runs} == {5, 6, 7}
    assert all(len(run.name) == 16 and not run.scenario.sweep.product for run in runs)
    assert runs[-1].scenario.cluster.servers == 50


def test_names_are_stable_and_depend_on_what_matters(file: Path) -> None:
    def names(text: str, **options: Any) -> list[str]:
        file.write_text(text)
        return [run.name for run in plan(load_scenario(file), **options)]

    same = names(TRACE)
    assert names(TRACE) == same
    assert names(TRACE.replace("small", "other") + "description: words\n") == same
    assert names(changed(TRACE, "40, mem: 90 GB", "40.0, mem: 90000 MB")) == same
    assert names(changed(TRACE, "replications: 3", "replications: 4"))[: len(same)] == same
    assert names(changed(TRACE, "[first-fit, ", "["))[:2] == same[1:3]
    assert names(TRACE + "sweep: {product: {cluster.servers: [10]}}\n") == same
    for old, new in [
        ("servers: 10", "servers: 11"),
        ("cpu: 40, mem: 90 GB", "mem: 90 GB, cpu: 40"),
        ("cpu_hour: 0.04", "cpu_hour: 0.05"),
        ("replications", "record: [requests]\nreplications"),
    ]:
        assert not set(names(changed(TRACE, old, new))) & set(same)
    assert not set(names(TRACE, versions={"binwright": "2"})) & set(same)
    assert not set(names(TRACE, content=lambda trace: f"content of {trace.trace}")) & set(same)


def test_same_point_of_a_sweep_is_run_once(file: Path) -> None:
    file.write_text(TRACE + "sweep: {zip: {cluster.servers: [10, 10, 20]}}\n")
    assert len(plan(load_scenario(file))) == 2 * 3 * 3


# -- building ----------------------------------------------------------------------------------------------------------


def test_registered_parts_of_others_take_their_own_options(file: Path) -> None:
    theirs = changed(
        GENERATED, "{bursty: {every: 10 min, size: 8}}", "{'binwright.workloads.arrivals:Fixed': {every: 3}}"
    )
    file.write_text(theirs)
    scenario = load_scenario(file)
    assert build_world(scenario).draw(0).arrival.tolist() == [3.0 * n for n in range(20)]
    assert scenario_from(yaml.safe_load(resolved(scenario, file.parent))) == scenario
    file.write_text(changed(theirs, "every: 3", "evry: 3"))
    with pytest.raises(ScenarioError, match=r"Fixed\.evry: unknown option .*\n  Did you mean 'every'"):
        load_scenario(file)


def test_a_missing_key_says_what_it_means_wherever_its_class_is() -> None:
    class Own(Model):
        text: str = """
at the left"""
        depth: int
        """How deep it looks."""
        plain: int

    with pytest.raises(ValidationError) as caught:
        Own.model_validate({})
    remedies = [each["ctx"]["remedy"] for each in caught.value.errors()]
    assert remedies == ["Add `depth`: How deep it looks.", "Add `plain`"]


def test_amounts_of_a_trace_have_their_unit(tmp_path: Path, file: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "id,arrival,lifetime,cpu,mem,prio\n" + "".join(f"{n},{n},5,1,2,low\n" for n in range(3))
    )
    own = changed(TRACE, "trace: huawei-east-1\n  start: {random: [50000, 100000]}", "trace: table\n  path: t.csv")
    amounts = []
    for mem in ("1 GB", "1 GiB", "0.5 MiB", "1 kB"):
        scenario = load_scenario(_written(file, own), [f"workload.units={{mem: {mem}}}"])
        amounts.append(build_world(scenario).draw(0).demand[0].tolist())
        assert scenario_from(yaml.safe_load(resolved(scenario, file.parent))) == scenario
    assert amounts == [[1_000_000, mem] for mem in (2_000_000, 2_147_484, 1_049, 2)]
    (tmp_path / "h.csv").write_text("vmid,cpu,mem,at,lt\n1,1,2,0,5\n")
    known = changed(TRACE, "start: {random: [50000, 100000]}", "path: h.csv")
    assert build_world(load_scenario(_written(file, known))).draw(0).demand.tolist() == [[1_000_000, 2_000_000]]
    other = load_scenario(file, ["workload.units={mem: 1 GiB}"])  # of whoever knows it better
    assert build_world(other).draw(0).demand.tolist() == [[1_000_000, 2_147_484]]


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


# -- the reference -----------------------------------------------------------------------------------------------------


def test_reference_of_scenarios_is_current() -> None:
    written = (ROOT / "docs" / "reference" / "scenario.md").read_text()
    for name in TRAINERS:
        assert f"\n## train.agent.{name}\n" in written
    assert "|`discount`|number ≥0 ≤1|`0.99`|" in written
    assert written == reference(), "run: python -m docs.scenario_reference > docs/reference/scenario.md"


def test_null_takes_an_entry_out_of_a_mapping() -> None:
    assert load_scenario("quickstart").prices.keys() == {"cpu_hour", "mem_gb_hour"}
    assert load_scenario("quickstart", ["prices.cpu_hour=null"]).prices.keys() == {"mem_gb_hour"}
    with pytest.raises(ScenarioError, match=r"override workload\.requests=null: workload\.requests: is missing"):
        load_scenario("quickstart", ["workload.requests=null"])
