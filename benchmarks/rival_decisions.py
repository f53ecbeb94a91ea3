"""Answers requests by another project's scheduler: benchmarks.changing starts it, in a process of its own.

    python -P benchmarks/rival_decisions.py vmagent|spane FOLDER ASKED

FOLDER is a copy of that project, ASKED a file of numpy's with `free`, `cpu` and `mem` of a node, `demand` (a row is cpu
and memory), `spread` and `leaving`. For each line `RULE COUNT` on standard input it answers so many requests, from the
first on and from the same beginning, and prints in JSON the seconds of CPU of a decision, and the answers. It knows
nothing of Binwright, and needs numpy and what FOLDER imports.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np


class VMAgent:
    """Asks github.com/mail-ecnu/VMAgent, whose rules are methods of its cluster."""

    def __init__(self, servers: int, cpu: float, mem: float) -> None:
        from schedgym.sched_env import Cluster  # type: ignore[import-not-found]  # from a folder that the user gives

        self.cluster: Any = Cluster(servers, cpu, mem)

    def put(self, server: int, free: Any) -> None:
        """Set what a server has free."""
        self.cluster.servers[server].reset_status(free.tolist())

    def decide(self, rule: str, request: dict[str, Any]) -> int:
        """Answer with twice the server and the node, or -1."""
        of = {"first-fit": self.cluster.first_fit_action, "best-fit": self.cluster.best_fit_action}
        action = of[rule](request)
        return -1 if action is None else int(action)


class SPANE:
    """Asks github.com/ChanTinPing/SPANE, whose rules are functions of a state."""

    def __init__(self, servers: int, cpu: float, mem: float) -> None:
        from baseline_agent import get_fit_func  # type: ignore[import-not-found]  # from a folder that the user gives
        from schedgym.sched_env import Cluster

        self.cluster: Any = Cluster(servers, cpu, mem)
        self.rules = {
            name: get_fit_func(place, cpu, mem) for place, name in enumerate(("first-fit", "best-fit", "balance-fit"))
        }
        # It looks for the parts of a spread request in feat, which has been (cpu, mem, is it spread) for long.
        sys.modules["baseline_agent.best_fit"].request_split = lambda feat: bool(feat[2])  # type: ignore[attr-defined]  # modules have no types here

    def put(self, server: int, free: Any) -> None:
        """Set what a server has free."""
        self.cluster.resources[server] = free

    def decide(self, rule: str, request: dict[str, Any]) -> int:
        """Answer with twice the server and the node, or -1: what its environment does for a step."""
        fits = self.cluster.check_usable(request)
        if not fits.any():
            return -1
        feat = np.array([request["cpu"], request["mem"], request["is_double"]])
        return int(self.rules[rule]({"obs": self.cluster.describe(), "feat": feat, "avail": fits}))


def answer(rival: VMAgent | SPANE, rule: str, asked: Any, count: int) -> dict[str, Any]:
    """Answer the first `count` requests, and apply the answers; only deciding is timed, after the first."""
    free, changed, codes, seconds = asked["free"].copy(), set(), [], 0.0
    capacity = np.array([asked["cpu"], asked["mem"]])
    for number in range(count):
        (cpu, mem), spread = asked["demand"][number].tolist(), bool(asked["spread"][number])
        request = {"uuid": number, "cpu": cpu, "mem": mem, "is_double": int(spread)}
        began = time.thread_time()
        code = rival.decide(rule, request)
        seconds += (time.thread_time() - began) * (number > 0)
        codes.append(code - code % 2 if spread and code >= 0 else code)
        if code < 0:
            continue
        part = np.array([cpu, mem]) / (1 + spread)
        server, node = code // 2, slice(None) if spread else code % 2
        free[server, node] -= part
        rival.put(server, free[server])
        changed.add(server)
        server, node = asked["leaving"][number] // 2, slice(None) if spread else asked["leaving"][number] % 2
        for _ in range(50):  # whoever is first to have held as much
            if (free[server, node] + part <= capacity).all():
                free[server, node] += part
                rival.put(server, free[server])
                changed.add(server)
                break
            server = (server + 1) % len(free)
    for server in changed:
        rival.put(server, asked["free"][server])
    return {"seconds": seconds / (count - 1), "codes": codes}


def main() -> None:
    """Answer until standard input ends."""
    name, folder, path = sys.argv[1:]
    sys.path.insert(0, folder)
    asked = dict(np.load(path))
    sizes = len(asked["free"]), float(asked["cpu"]), float(asked["mem"])
    rival = SPANE(*sizes) if name == "spane" else VMAgent(*sizes)
    for server, free in enumerate(asked["free"]):
        rival.put(server, free)
    for line in sys.stdin:
        rule, count = line.split()
        print(json.dumps(answer(rival, rule, asked, int(count))), flush=True)


if __name__ == "__main__":
    main()
