"""VMAgent's program (github.com/mail-ecnu/VMAgent, schedgym/sched_env.py), slow and plain, slips included."""

from typing import TypeAlias

Event: TypeAlias = tuple[int, float, float, bool]
"""Number of the machine, cores, GB, and whether it ends."""
Free: TypeAlias = list[list[list[float]]]
"""[servers][2 nodes][cores, GB]"""
SIZE = (40, 90)


def fits(node: list[float], cpu: float, mem: float) -> bool:
    return node[0] >= cpu and node[1] >= mem


def rate(node: list[float], cpu: float, mem: float) -> float:
    """What the node has left of its scarcer resource."""
    return min((node[0] - cpu) / SIZE[0], (node[1] - mem) / SIZE[1])


def places(free: Free, cpu: float, mem: float, double: bool) -> list[tuple[int, int, float]]:
    """Server, node, and what the program calls the rate of every place; of a double machine that of the first node."""
    found = []
    for server, nodes in enumerate(free):
        if double:
            if all(fits(node, cpu / 2, mem / 2) for node in nodes):
                found.append((server, 0, rate(nodes[0], cpu / 2, mem / 2)))
            continue
        found += [(server, n, rate(node, cpu, mem)) for n, node in enumerate(nodes) if fits(node, cpu, mem)]
    return found


def first_fit(found: list[tuple[int, int, float]]) -> tuple[int, int, float]:
    return found[0]


def best_fit(found: list[tuple[int, int, float]]) -> tuple[int, int, float]:
    return max(found, key=lambda place: place[2])  # the first of equals


RULES = {"first-fit": first_fit, "best-fit of VMAgent": best_fit}


def play(
    events: list[Event], start: int, servers: int, double_above: float, rule: str, releases: bool
) -> tuple[int, float, float]:
    """Count the machines placed from an event on, and what is allocated at the end of cores and GB."""
    free: Free = [[[float(amount) for amount in SIZE] for _ in range(2)] for _ in range(servers)]
    held: dict[int, list[tuple[list[float], float, float]]] = {}
    count = 0
    for number, cpu, mem, ends in events[start:]:
        if ends:
            for node, a, b in held.pop(number, []) if releases else []:
                node[0], node[1] = node[0] + a, node[1] + b
            continue
        double = mem > double_above
        found = places(free, cpu, mem, double)
        if not found:
            break
        server, n, _ = RULES[rule](found)
        parts = [(node, cpu / 2, mem / 2) for node in free[server]] if double else [(free[server][n], cpu, mem)]
        for node, a, b in parts:
            node[0], node[1] = node[0] - a, node[1] - b
        held[number] = parts
        count += 1
    left = [sum(node[r] for nodes in free for node in nodes) / (2 * servers * SIZE[r]) for r in range(2)]
    return count, 1 - left[0], 1 - left[1]
