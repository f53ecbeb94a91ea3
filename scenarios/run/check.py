"""What the user must mend in a scenario, found out before anything of it runs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import numpy as np

from binwright.agents import AGENTS
from binwright.agents.world import World
from binwright.fabric.run.simulation import Simulation
from binwright.scenarios.agent_spec import AgentSpec
from binwright.scenarios.build.plan import Run, plan, points
from binwright.scenarios.build.world import adapt_agent, build_world, measured
from binwright.scenarios.features.feature import way
from binwright.scenarios.run.sandbox import STARTING, limited
from binwright.scenarios.schema.explain import locate
from binwright.scenarios.schema.scenario import Scenario
from binwright.scenarios.schema.trace import Trace
from binwright.scenarios.schema.yaml_source import dotted, undotted
from binwright.simcore.errors import FileNeeded, UserError, combined, suggest
from binwright.simcore.jit import postponed
from binwright.simcore.record import IMPOSSIBLE
from binwright.simcore.rng import stream
from binwright.simcore.workload import Workload
from binwright.workloads.labels import words_of
from binwright.workloads.priorities import LABEL as PRIORITY
from binwright.workloads.windows import ListedStart

POINTS = 20
"""So many points are looked at, at most, for names that no request has."""


def check_scenario(scenario: Scenario, missing: list[UserError] | None = None, doubts: list[str] | None = None) -> int:
    """Refuse what could not run at some point of the sweep; returns how many runs there are.

    Nothing is written, and kernels are not compiled. Files of traces are read as the runs would read them; they need
    not be here: `missing` gets how to get them. `doubts` gets a warning of requests that are larger than any server.
    """
    impossible = 0.0
    needed: dict[str, UserError] = {}
    runs = plan(scenario)
    firsts: dict[int, Run] = {}
    for run in runs:
        firsts.setdefault(id(run.scenario), run)
    mistakes: dict[str, UserError] = {}

    def note(error: UserError, first: Run) -> None:
        if isinstance(error, FileNeeded):
            needed.setdefault(str(error), error)
            return
        for each in error.each():
            text = each.in_words()
            if first is not runs[0]:  # there it was right
                each.problem += f" (at {', '.join(f'{key}={value}' for key, value in first.point.items())})"
            mistakes.setdefault(text, each)

    for first in firsts.values():
        spec = first.scenario.workload
        try:
            if isinstance(spec, Trace) and isinstance(spec.start, ListedStart):
                spec.start.at(scenario.seed + scenario.replications - 1)
            measured(first.scenario, first.seed)
            world = build_world(first.scenario)
            try:
                workload = draw(scenario, first, world)
            except UserError as error:  # agents can be started without requests
                note(error, first)
                none, resources = np.zeros(0), first.scenario.resources
                workload = Workload(resources, none, none, np.zeros((0, len(resources)), np.int64), none.astype(int))
            with postponed():
                share = start_agents(scenario, first, scenario.agents, world, workload)
            impossible = max(impossible, share)
        except UserError as error:  # without its servers there is nothing to start agents in
            note(error, first)
    for file in needed.values():
        locate(file, scenario._source, undotted(file.key or "workload"))
    if missing is not None:
        missing += needed.values()
    if doubts is not None and impossible:
        most = "up to " * (len(firsts) > 1)
        doubts.append(f"no server could hold {most}{100 * impossible:.3g} % of the first seed's requests, even empty.")
    if mistakes:
        raise combined(mistakes.values())
    return len(runs)


def unknown_names(scenario: Scenario) -> list[str]:
    """Say which tenants, groups, labels' values and priorities no request of the first seed has, at no point."""
    met: set[tuple[str, str]] = set()
    unmet: dict[tuple[str, str, str], str] = {}
    for _, at_point in points(scenario)[:POINTS]:
        names = [(dotted(at), label, name) for at, label, name in at_point.names_of_requests]
        if not names:
            continue
        try:
            workload = build_world(at_point).draw(scenario.seed)
            for at, label, name in names:
                words = _values(workload, label, at_point.priorities)
                met |= {(label, word) for word in words}
                unmet[at, label, name] = suggest(name, words)
        except UserError:
            continue  # it is said elsewhere
    return [
        f"{at}: no request of the first seed has {label} {name!r}. {remedy}"
        for (at, label, name), remedy in unmet.items()
        if (label, name) not in met
    ]


def _values(workload: Workload, label: str, classes: Mapping[str, int]) -> list[str]:
    """List the values that a label has among the requests; of `priority` the classes and the numbers, too."""
    if label != PRIORITY:
        return [str(word) for word in np.unique(words_of(workload, label, ""))]
    numbers = {0} if workload.priority is None else set(workload.priority.tolist())
    names = {name for name, number in classes.items() if number in numbers}
    return sorted(names | set(map(str, numbers)) | set(workload.labels.get(PRIORITY, np.zeros(0, np.str_)).tolist()))


def unordered(scenario: Scenario) -> str:
    """Say which agents would order requests that are offered one by one at every point of the sweep; "" for none."""
    agents = [spec.label for spec in scenario.agents if AGENTS.load(spec.name).orders_line]
    if not agents or any(way(at_point.overflow, "wait") for _, at_point in points(scenario)):
        return ""
    why = "they are offered one by one: write `overflow: {wait: {together: 1000}}`"
    return f"{' and '.join(agents)} cannot change the order of requests: {why}."


def start_agents(
    scenario: Scenario, first: Run, agents: Iterable[AgentSpec], world: World, workload: Workload
) -> float:
    """Start these agents, that of the warm start, and movers, as `first`, a run of the scenario, would in this world.

    Returns the share of requests that are larger than any server; 0 where better ones may be added.
    A mistake in an agent's options says where in the scenario that agent is. Agents that fail by a mistake of their own
    are passed over: their runs will say so, and stop no other.
    """
    try:
        simulation = Simulation(workload, world.ledger(first.seed))
        if len(workload):
            world.attach(simulation, first.seed)
        for number, metric in enumerate(scenario.metrics):
            for label in metric.by if len(workload) else ():
                if label not in first.scenario.labels_of_features:
                    words_of(workload, label, f"metrics.{number}.by")
    except UserError as error:
        for each in error.each():
            if each.file is None:
                keys = undotted(each.key or "workload")
                locate(each, scenario._source, keys if keys[0] in Scenario.model_fields else ("workload",))
        raise
    labels = [agent.label for agent in scenario.agents]
    specs = [*first.scenario.other_agents, *((("agents", labels.index(spec.label)), spec) for spec in agents)]
    mistakes: list[UserError] = []
    for at, spec in specs:
        try:
            with _as_in_a_run(first):
                agent = adapt_agent(world, spec.make())
                if (key := world.grows_by) and not agent.any_size:
                    remedy = "Let the cluster stay as it is, or take another agent, such as cvd-rl."
                    raise UserError(f"is for one number of servers, and the cluster grows by {key}", remedy=remedy)
                agent.start(simulation.view, stream(first.seed, "agent"))
        except UserError as error:
            locate(error, scenario._source, at)
            inner = "" if error.key in (None, "agents") else f": {error.key}"
            error.key = f"{dotted(at)} ({spec.label}){inner}"
            mistakes.append(error)
    if mistakes:
        raise combined(mistakes)
    try:
        with _as_in_a_run(first):
            if specs:
                world.begin(Simulation(workload, world.ledger(first.seed)), first.seed, partial(stream, first.seed))
    except UserError as error:
        locate(error, scenario._source, undotted(error.key or ""))
        raise
    requests = simulation.workload
    outcome = simulation.record.outcome[requests.leads(np.arange(len(requests)))]
    return 0.0 if world.grows_by or not len(outcome) else float(np.mean(outcome == IMPOSSIBLE))


@contextmanager
def _as_in_a_run(first: Run) -> Iterator[None]:
    """Start something within the limits of a run; what fails by a mistake of its own is left to that."""
    try:
        with limited(max(first.scenario.decision_limit, STARTING)):
            yield
    except (UserError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException:
        return


def draw(scenario: Scenario, first: Run, world: World) -> Workload:
    """Draw the requests of `first`, a run of the scenario; mistakes in keys say where these are written."""
    try:
        return world.draw(first.seed)
    except UserError as error:
        if error.file is None and error.key and error.key.startswith("workload.") and not isinstance(error, FileNeeded):
            locate(error, scenario._source, undotted(error.key))
        raise
