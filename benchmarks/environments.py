"""Steps of Gymnasium environments a second: python -m benchmarks.environments [--rounds N].

Random choices among those allowed are drawn once; the same episodes are then stepped again with these choices, and
timed: nothing but `step`, and `reset` of single environments. Episodes that end and new requests that are drawn are in
it. CPU time of one core, the median of some rounds, each in a process of its own. What is seen and earned in the first
steps is the same in every round, byte for byte.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import gymnasium
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
NUMA, ALPHA, GAMMA = "Numa-v0, quickstart", "Fabric-v0, alpha", "Fabric-v0, gamma"
SCENARIOS: dict[str, tuple[str, list[str]]] = {
    NUMA: ("quickstart", []),
    ALPHA: ("nara/table1", ["cluster.network.topology=alpha", "workload.requests=128", "workload.holding=30"]),
    GAMMA: ("nara/table1", ["cluster.network.topology=gamma", "workload.requests=896", "workload.holding=480"]),
}
CASES = [
    (NUMA, 64, 12_000, 1_500_000),
    (NUMA, 1, 60_000, 200_000),
    (ALPHA, 64, 3_000, 500_000),
    (ALPHA, 1, 40_000, 200_000),
    (GAMMA, 64, 600, 0),
]
"""Scenario, how many together, steps, and how many a second are wanted."""


def made(scenario: str, count: int) -> Any:
    """Make an environment, or many together."""
    shipped, overrides = SCENARIOS[scenario]
    name = f"binwright.environments:binwright/{scenario.split(',')[0]}"
    options: dict[str, Any] = {"scenario": shipped, "overrides": overrides}
    if count > 1:
        return gymnasium.make_vec(name, count, **options)
    return gymnasium.make(name, disable_env_checker=True, **options)


def chosen(env: Any, count: int, steps: int) -> tuple[list[Any], float, str]:
    """Step with random choices; returns the choices, the seconds of CPU, and a digest of all that was seen."""
    rng, digest, actions = np.random.default_rng(0), hashlib.sha256(), []
    seen, _ = env.reset(seed=0)
    began = process_time()
    for _ in range(steps):
        mask = seen["mask"]
        if count > 1:
            action: Any = np.argmax(rng.random(mask.shape, np.float32) * mask, axis=1)
        else:
            action = int(np.argmax(rng.random(mask.shape, np.float32) * mask))
        actions.append(action)
        seen, _, over, _, _ = env.step(action)
        if count == 1 and over:
            seen, _ = env.reset()
    took = process_time() - began
    seen, _ = env.reset(seed=0)
    for action in actions[: max(200, len(actions) // 60)]:
        seen, reward, over, _, _ = env.step(action)
        for part in (*seen.values(), np.asarray(reward), np.asarray(over)):
            digest.update(np.ascontiguousarray(part).tobytes())
        if count == 1 and over:
            seen, _ = env.reset()
    return actions, took, digest.hexdigest()


def timed(env: Any, count: int, actions: list[Any]) -> float:
    """Step with these choices; returns the seconds of CPU."""
    env.reset(seed=0)
    step, reset = env.step, env.reset
    began = process_time()
    if count > 1:
        for action in actions:
            step(action)
    else:
        for action in actions:
            if step(action)[2]:
                reset()
    return process_time() - began


def measured() -> dict[str, Any]:
    """Measure all cases."""
    rates_of: dict[str, Any] = {}
    for scenario, count, steps, _ in CASES:
        env = made(scenario, count)
        actions, took, digest = chosen(env, count, steps)
        seconds = min(timed(env, count, actions) for _ in range(2))
        rates = {"steps": steps * count / seconds, "with choices": steps * count / took}
        rates_of[f"{scenario}|{count}"] = {**rates, "digest": digest}
    return rates_of


def measured_apart() -> dict[str, Any]:
    """Measure all cases in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.environments", "--measure"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rates_of: dict[str, Any] = json.loads(done.stdout)
    return rates_of


def table(rounds: list[dict[str, Any]]) -> list[str]:
    """Write a row for every case, and check that all rounds saw the same."""
    lines = [
        "| environment | together | steps a second | of them | with random choices | wanted |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for scenario, count, _, wanted in CASES:
        key = f"{scenario}|{count}"
        digests = {each[key]["digest"] for each in rounds}
        rates = [each[key]["steps"] for each in rounds]
        spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
        both = median(each[key]["with choices"] for each in rounds)
        aim = f"{wanted:,}" if wanted else ""
        lines.append(f"| {scenario} | {count} | {median(rates):,.0f} | {spread} | {both:,.0f} | {aim} |")
        if len(digests) > 1:
            raise SystemExit(f"{scenario}, {count} together: not the same was seen")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured()))
        return
    measured_apart()  # compiled
    print("\n".join(table([measured_apart() for _ in range(options.rounds)])))


if __name__ == "__main__":
    main()
