"""From a scenario to what agents learn in."""

from __future__ import annotations

from agents.world import World
from scenarios.build.parts import build_faults, build_ledger, build_overflow, build_pacing, build_workload
from scenarios.schema.scenario import Scenario
from scenarios.schema.tenants import Tenants
from simcore.errors import ScenarioError


def build_world(scenario: Scenario) -> World:
    """The scenario's cluster and requests, without its sweep."""
    for key, given in (
        ("warm_start", scenario.warm_start),
        ("cluster.failures", build_faults(scenario, 0)),
        ("cluster.expansion", scenario.cluster.expansion),
        ("workload.networks", isinstance(scenario.workload, Tenants)),
    ):
        if given:
            remedy = "Take it out of the scenario to learn in."
            raise ScenarioError("nothing is learned with it", file=scenario.file, key=key, remedy=remedy)
    return World(
        lambda: build_ledger(scenario),
        lambda seed: build_workload(scenario, seed),
        build_overflow(scenario),
        build_pacing(scenario),
    )
