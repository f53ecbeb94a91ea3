"""The calls behind `import binwright`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binwright.analysis.results_api import Results
from binwright.scenarios.batch.batch import Batch
from binwright.scenarios.schema.load import Override, folder_for, load_scenario, load_to_run, loaded, scenario_from
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.yaml_source import Source
from binwright.simcore.errors import UserError
from binwright.simcore.extras import pl

if TYPE_CHECKING:
    from binwright.agents.solver.language.tables import Now
    from binwright.agents.solver.model.problem import Problem
    from binwright.agents.solver.solving.answer import Answer
    from binwright.scenarios.build.plan import Run
    from binwright.scenarios.run.progress import RunProgress
    from binwright.scenarios.run.why import RefusedRequests, Why
    from binwright.simcore.types import Agent


def list_agents() -> list[str]:
    """List the names of the agents, also of those that installed packages register."""
    from binwright.agents import AGENTS

    return sorted(AGENTS)


def agent(spec: str | Mapping[str, Any]) -> Agent:
    """Make an agent as scenarios name it: `"best-fit"`, `{"best-fit": {"node": "loose"}}` or `"mine.py:Mine"`."""
    from pydantic import ValidationError

    from binwright.scenarios.agent_spec import AgentSpec
    from binwright.scenarios.schema.explain import explain

    try:
        return AgentSpec.model_validate(spec).make()
    except ValidationError as error:
        raise explain(error, Source(None, {})) from None


def scenario(source: str | Path | Mapping[str, Any], *overrides: Override) -> Scenario:
    """Load the scenario in a file or a shipped one by name, or make one of plain data.

    Overrides are for files and names. They are written as `"cluster.servers=100"` or `{"cluster.servers": 100}`.
    """
    if isinstance(source, Mapping):
        if overrides:
            raise TypeError("plain data takes no overrides: change it instead")
        return scenario_from(source)
    return load_scenario(source, overrides)


def run(
    scenario: str | Path | Scenario,
    *overrides: Override,
    out: str | Path | None = None,
    fresh: bool = False,
    jobs: int | None = None,
    on: str = "local",
    finished: Callable[[dict[str, Any]], None] = lambda row: None,
    on_progress: Callable[[RunProgress], None] = lambda progress: None,
) -> Results:
    """Run a scenario: every point x agent x seed that `out` (default `results/<name>`) does not have yet.

    Overrides are those of `scenario`. `fresh` runs everything again. `jobs` runs at a time (default: one per CPU) `on`
    this machine, `local`, or a Ray cluster: `ray` starts one, `ray://host:port` is there. `finished` is called with
    every finished run's row, and `on_progress` now and then with how far a run is.
    """
    settings = loaded(scenario, overrides, load_to_run)
    batch = Batch(settings, folder_for(settings, out))
    return batch.run(done={} if fresh else None, jobs=jobs, on=on, finished=finished, on_progress=on_progress)


def solve(
    problem: str | Path | Problem,
    *,
    device: str = "cpu",
    search: str = "ours",
    seed: int = 0,
    time: float | None = None,
    attempts: int | None = None,
    now: Now | None = None,
    moves: int | None = None,
    drain: Iterable[int | str] = (),
) -> Answer:
    """Solve an allocation problem: a specification's file, a shipped example by name, or one made in Python.

    `device` is `cpu`, or `opencl`: the first of `binwright.opencl_devices()` that can be used.
    `time` (seconds) or `attempts` ends the search; else it goes on until the answer is optimal.

    `now` has the bin that each ball is in now, -1 for none, such as `answer.alloc` of an earlier answer; balls after
    the last of these are new. At most `moves` balls may leave their bins, and the bins `drain` are to be empty.
    """
    from binwright.agents.solver import load_problem
    from binwright.agents.solver.model.problem import Problem
    from binwright.agents.solver.solving.solve import solve

    if not isinstance(problem, str | Path | Problem):
        remedy = "Give a file, the name of an example, or what binwright.agents.solver.problem(...) makes."
        raise UserError("is no problem", key="problem", value=type(problem).__name__, remedy=remedy)
    to_solve: Problem
    if isinstance(problem, str | Path):
        to_solve = load_problem(problem, None, now, moves, drain)
    else:
        source = problem.source.changed(now, moves, drain)
        to_solve = problem if source is problem.source else source.problem()
    return solve(to_solve, device=device, search=search, seed=seed, time=time, attempts=attempts)


def load(folder: str | Path) -> Results:
    """Results that an earlier run wrote."""
    return Results(folder)


def why(
    results: str | Path | Results,
    request: str | int | None = None,
    *,
    agent: str | None = None,
    seed: int | None = None,
    point: Mapping[str, Any] | None = None,
) -> RefusedRequests | Why:
    """Play a run of some results again: tell what it refused for which reason, or what one request met.

    The run is that of an agent (default: the first), a seed (the first), and the values `point` of swept keys. A
    request is named by its id, or as `"row 12"`.
    """
    from binwright.scenarios.run.why import refused
    from binwright.scenarios.run.why import why as look

    folder = results.folder if isinstance(results, Results) else Path(results)
    run, _ = run_of(folder, agent, seed, point or {})
    return refused(run) if request is None else look(run, str(request))


def run_of(folder: Path, agent: str | None, seed: int | None, point: Mapping[str, Any]) -> tuple[Run, bool]:
    """Find a run of some results, the first one where something is left open; tells whether it is as it was recorded.

    It is not where the code, or a file, has changed since.
    """
    file = folder / "scenario.yaml"
    if not file.is_file():
        remedy = "Name a folder that `binwright run` wrote."
        raise UserError("is no folder of results", file=folder, remedy=remedy)
    batch = Batch(load_to_run(str(file), []), folder)
    fits = [
        run
        for run in batch.runs
        if agent in (None, run.agent.label)
        and seed in (None, run.seed)
        and all(str(run.point.get(key)) == str(value) for key, value in point.items())
    ]
    if not fits:
        agents, seeds = dict.fromkeys(run.agent.label for run in batch.runs), [run.seed for run in batch.runs]
        swept = dict.fromkeys(", ".join(f"{key}={value}" for key, value in run.point.items()) for run in batch.runs)
        points = "; ".join(filter(None, swept)) or "nothing is swept"
        remedy = f"Agents: {', '.join(agents)}. Seeds: {min(seeds)} to {max(seeds)}. Points: {points}."
        raise UserError("these results have no such run", file=folder, remedy=remedy)
    return fits[0], fits[0].name in {row["run"] for row in batch.journal()[0]}


def train(
    scenario: str | Path | Scenario,
    *overrides: Override,
    out: str | Path | None = None,
    fresh: bool = False,
    jobs: int | None = None,
    on_progress: Callable[[dict[str, Any]], None] = lambda row: None,
    say: Callable[[str], None] = lambda text: None,
) -> pl.DataFrame:
    """Teach an agent what the scenario's `train:` says, and return the log; `out` is `results/<name>/training`.

    Seeds are trained `jobs` at a time (default: as many as there are CPUs); they come to the same weights.

    What is in the folder already is gone on from, unless `fresh`. `on_progress` is called with every new row of
    the log, `say` with what begins before there is one.
    """
    from binwright.scenarios.learn.training import train

    settings = loaded(scenario, overrides)
    return train(settings, folder_for(settings, out, "training"), fresh, on_progress, say, jobs)


def names_in(text: str) -> list[str]:
    """Split names at commas, but for those between parentheses, as labels have them, two deep at most."""
    return re.split(r", *(?=(?:[^()]|\((?:[^()]|\([^()]*\))*\))*$)", text)


def as_overrides(sets: Iterable[str], agents: str | None, seeds: int | None) -> list[str]:
    """Write the command line's shorthands as overrides, which hold whatever `sets` say of the same."""
    overrides = [*sets]
    if agents is not None:
        names = [name.strip() for name in names_in(agents)]
        if not all(names):
            remedy = "Write names with commas between: --agents first-fit,best-fit; `binwright list agents` lists them."
            raise UserError("names no agent", key="--agents", value=agents, remedy=remedy)
        # Options and quotation marks are YAML; other names and labels may hold what YAML reads as something else.
        overrides.append(f"agents=[{agents}]" if {*"{'\""} & {*agents} else f"agents={json.dumps(names)}")
    if seeds is not None:
        overrides.append(f"replications={seeds}")
    return overrides
