"""Every application among the examples is solved, and checked by rules written down here once more, in plain Python.

The rules read an example's numbers from its text and know nothing of the language. They must say the same as the
verifier of the answer and of every allocation that moves one ball of it, or two.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations
from math import inf
from random import Random
from typing import Any

import pytest

from binwright.agents.solver import examples, load_problem, problem
from binwright.agents.solver.model.verify import faults
from binwright.agents.solver.solving.solve import solve
from tests.support import ROOT
from tests.support.properties import first

Data = dict[str, Any]
Rule = Callable[[Data, Sequence[int]], bool]


def data(name: str) -> Data:
    """Read the PARAMs and TABLEs of an example that are written as numbers."""
    text = re.sub(r"#.*", "", examples()[name])
    tables = re.findall(r"^TABLE (\w+) = (\[.*?\])\s*$(?=\s*^[A-Z])", text, re.DOTALL | re.MULTILINE)
    params = re.findall(r"^PARAM (\w+) = (\d+)\s*$", text, re.MULTILINE)
    return {key: ast.literal_eval(value) for key, value in (*tables, *params)}


def pinned(pins: Sequence[int], places: Sequence[int]) -> bool:
    return all(pin in (-1, place) for pin, place in zip(pins, places, strict=True))


def secondnet_and_jobs(d: Data, alloc: Sequence[int]) -> bool:
    machines, jobs, servers = len(d["MACHINE"]), len(d["LENGTH"]), d["RACKS"] * d["PER_RACK"]
    hosts, starts, tasks = alloc[:machines], alloc[machines : machines + jobs], alloc[machines + jobs :]
    if max(*hosts, *tasks) >= servers or min(starts) < servers:
        return False
    runs = [range(start - servers, start - servers + length) for start, length in zip(starts, d["LENGTH"], strict=True)]
    if any(run.stop > end for run, end in zip(runs, d["DEADLINE"], strict=True)):
        return False
    for slot in range(d["SLOTS"]):
        cores, memory, link, uplink = (Counter[int]() for _ in range(4))
        of = [task for task, job in enumerate(d["JOB"]) if slot in runs[job]]
        inside = [(hosts[m], d["MACHINE"][m]) for m in range(machines)] + [(tasks[t], d["TASK"][t]) for t in of]
        for server, (core, gigabytes) in inside:
            cores[server] += core
            memory[server] += gigabytes
        flows = [(hosts[a], hosts[b], rate) for (a, b), rate in zip(d["PAIRS"], d["RATE"], strict=True)]
        flows += [
            (tasks[a], tasks[b], d["SHUFFLE"][d["JOB"][a]])
            for a, b in combinations(of, 2)
            if d["JOB"][a] == d["JOB"][b]
        ]
        for a, b, rate in flows:
            for folder, other in permutations((a, b)):
                link[folder] += rate * (folder != other)
                uplink[folder // d["PER_RACK"]] += rate * (folder // d["PER_RACK"] != other // d["PER_RACK"])
        if max(cores.values()) > 8 or max(memory.values()) > 16 or max(*link.values(), *uplink.values()) > 1000:
            return False
    return True


def cdn(d: Data, alloc: Sequence[int]) -> bool:
    disk, line, watts = Counter[int](), Counter[int](), Counter[int]()
    for item, (size, requests) in enumerate(zip(d["SIZE"], d["REQUESTS"], strict=True)):
        first, second = sites = alloc[2 * item : 2 * item + 2]
        if set(d["SOURCES"][first]) & set(d["SOURCES"][second]):
            return False
        if any(d["DELAY"][site][d["AUDIENCE"][item]] > d["FARTHEST"][item] for site in sites):
            return False
        for site in sites:
            disk[site] += size
            line[site] += requests // 2
            for source in d["SOURCES"][site]:
                watts[source] += 50 * size + 50 * requests
    fed = all(used <= (3500 if source == 3 else 3000) for source, used in watts.items())
    return fed and max(disk.values()) <= 9 and max(line.values()) <= 14 and alloc[0] == 0


def replicas_in_racks(d: Data, alloc: Sequence[int]) -> bool:
    blocks, copies, racks, per_rack = len(d["HEAT"]), d["COPIES"], d["RACKS"], d["PER_RACK"]
    chosen, servers = alloc[: blocks * copies], [place - racks for place in alloc[blocks * copies :]]
    if max(chosen) >= racks or min(servers) < 0:
        return False
    load = Counter[int]()
    for block, heat in enumerate(d["HEAT"]):
        own = slice(block * copies, (block + 1) * copies)
        if len(set(chosen[own])) < copies or chosen[own] != [server // per_rack for server in servers[own]]:
            return False
        for server in servers[own]:
            load[server] += heat
    even = 1.2 * copies * sum(d["HEAT"]) / (racks * per_rack) + 1e-9
    return max(load.values()) <= even and max(Counter(servers).values()) <= 3 and pinned(d["WRITER"], chosen[::copies])


def power_and_cooling(d: Data, alloc: Sequence[int]) -> bool:
    cores = Counter[int]()
    for server, machine in zip(alloc, d["CORES"], strict=True):
        cores[server] += machine
    watts = Counter[int]()
    for server, used in cores.items():
        watts[server // d["PER_RACK"]] += d["IDLE"] + d["PER_CORE"] * used
    coolers = [sum(heat * d["COOLED"][rack][cooler] for rack, heat in watts.items()) for cooler in range(2)]
    return max(cores.values()) <= 16 and max(watts.values()) <= 700 and max(coolers) <= 800


def multicast(d: Data, alloc: Sequence[int]) -> bool:
    for host in range(d["HOSTS"]):
        joined = {at for at, members in zip(alloc, d["MEMBERS"], strict=True) if host in members}
        groups = zip(alloc, d["MEMBERS"], d["RATE"], strict=True)
        if sum(rate for at, members, rate in groups if at in joined and host not in members) > 30:
            return False
    return True


def vlans(d: Data, alloc: Sequence[int]) -> bool:
    hosts = Counter[int]()
    for vlan, count in zip(alloc, d["HOSTS"], strict=True):
        hosts[vlan] += count
    spans = Counter(switch for switch, _ in set(zip(d["SWITCH"], alloc, strict=True)))
    staff, students, finance, _ = ({alloc[each] for each in members} for members in d["DEPARTMENT"])
    apart = not finance & (staff | students) and alloc[9] not in alloc[:9]
    return apart and max(hosts.values()) <= 60 and max(spans.values()) <= 3 and pinned(d["TODAY"], alloc)


def server_selection(d: Data, alloc: Sequence[int]) -> bool:
    load, far = Counter[int](), 0
    for client, (server, requests) in enumerate(zip(alloc, d["REQUESTS"], strict=True)):
        delays = [row[client] for row in d["DELAY"]]
        delay = delays[server // d["PER_SITE"]]
        if delay > d["FARTHEST"][client]:
            return False
        load[server] += requests
        far += requests * (delay > min(delays))
    total, servers = sum(d["REQUESTS"]), len(d["DELAY"]) * d["PER_SITE"]
    return max(load.values()) <= 1.25 * total / servers and far <= total / 5 and pinned(d["SESSION"], alloc)


def access_lists(d: Data, alloc: Sequence[int]) -> bool:
    entries = Counter[int]()
    for device, flow, size in zip(alloc, d["FLOW"], d["ENTRIES"], strict=True):
        if device not in d["PATH"][flow]:
            return False
        entries[device] += size
    fits = all(used <= d["ROOM"][device] for device, used in entries.items())
    return fits and alloc[2] == alloc[3] and alloc[8] == alloc[9] and alloc[4] != alloc[5]


def address_blocks(d: Data, alloc: Sequence[int]) -> bool:
    ranges = [range(begin, begin + size) for begin, size in zip(alloc, d["SIZE"], strict=True)]
    apart = all(each.stop <= other.start or other.stop <= each.start for each, other in combinations(ranges, 2))
    aligned = all(each.start % len(each) == 0 and each.stop <= d["UNITS"] for each in ranges)
    return apart and aligned and pinned(d["TODAY"], alloc)


def tenants(d: Data, alloc: Sequence[int]) -> bool:
    link, uplink = Counter[int](), Counter[int]()
    tenants = [(members, rate) for members, rate in zip(d["JOB"], d["RATE"], strict=True)]
    tenants += [([front, each], 50) for f, front in enumerate(d["FRONT"]) for each in d["STORE"][f // 2]]
    for members, rate in tenants:
        for server, m in Counter(alloc[ball] for ball in members).items():
            link[server] += rate * min(m, len(members) - m)
        for rack, m in Counter(alloc[ball] // d["PER_RACK"] for ball in members).items():
            uplink[rack] += rate * min(m, len(members) - m)
    fits = max(Counter(alloc).values()) <= 5 and max(link.values()) <= 400 and max(uplink.values()) <= 600
    return fits and all(len({alloc[each] for each in store}) == 3 for store in d["STORE"])


def replicas(d: Data, alloc: Sequence[int]) -> bool:
    blocks = [alloc[3 * block : 3 * block + 3] for block in range(d["BLOCKS"])]
    racks = all(max(Counter(place // 3 for place in block).values()) == 2 for block in blocks)
    return racks and all(len(set(block)) == 3 for block in blocks) and max(Counter(alloc).values()) <= 3


def spain(d: Data, alloc: Sequence[int]) -> bool:
    """In one tree every switch has one link upward, so that there is no loop."""
    trees = [{link for path, its in zip(d["UP"], alloc, strict=True) if its == tree for link in path} for tree in alloc]
    return (
        all(len({link // 10 for link in links}) == len(links) for links in trees) and max(Counter(alloc).values()) <= 8
    )


def job_start(d: Data, alloc: Sequence[int]) -> bool:
    starts, tasks, used = alloc[:4], alloc[4:], Counter[tuple[int, int]]()
    if any(start + length > 8 for start, length in zip(starts, d["LENGTH"], strict=True)) or min(tasks) < 8:
        return False
    for job, cores, place in zip(d["JOB"], d["CORES"], tasks, strict=True):
        for slot in range(starts[job], starts[job] + d["LENGTH"][job]):
            used[place, slot] += cores
    return max(used.values()) <= 8


def fat_tree(d: Data, alloc: Sequence[int]) -> bool:
    """A host has 1000, two of them share 1400 upward, four 1400."""
    for size, most in ((1, 1000), (2, 1400), (4, 1400)):
        used = Counter[int]()
        for (a, b), rate in zip(d["PAIRS"], d["RATE"], strict=True):
            each, other = alloc[a] // size, alloc[b] // size
            used[each] += rate * (each != other)
            used[other] += rate * (each != other)
        if max(used.values()) > most:
            return False
    return len(set(alloc)) == len(alloc)


def time_varying(d: Data, alloc: Sequence[int]) -> bool:
    for server in set(alloc):
        machines = [at for at, place in enumerate(alloc) if place == server]
        busy = [[(h - d["FROM_HOUR"][at]) % 20 < d["BUSY"][at] for at in machines] for h in range(20)]
        used = [sum(d["PEAK"][at] if b else 0.1 for at, b in zip(machines, hour, strict=True)) for hour in busy]
        if max(used) > 1.2 + 1e-9 or sum(each > 1 + 1e-9 for each in used) > 1:
            return False
    return True


RULES: dict[str, Rule] = {
    "tenants": tenants, "access-lists": access_lists, "address-blocks": address_blocks,
    "secondnet-jobs": secondnet_and_jobs, "cdn": cdn, "replicas-racks": replicas_in_racks,
    "power-cooling": power_and_cooling, "multicast": multicast, "vlans": vlans, "server-selection": server_selection,
    "replicas": replicas, "spain": spain, "job-start": job_start, "fat-tree": fat_tree, "time-varying": time_varying,
}  # fmt: skip


def moved(alloc: list[int], bins: int) -> Iterator[list[int]]:
    """Move one ball or two to bins drawn by chance."""
    chance = Random(0)
    for number in range(40):
        other = list(alloc)
        for ball in chance.sample(range(len(alloc)), 1 + number % 2):
            other[ball] = chance.randrange(bins)
        yield other


@pytest.mark.parametrize("name", first(2, sorted(RULES, key=lambda name: name == "secondnet-jobs")))
def test_an_application_is_solved_and_its_rules_hold(name: str) -> None:
    options, rule = data(name), RULES[name]
    for seed in (0, 1):
        answer = solve(load_problem(name), attempts=64, seed=seed)
        assert answer.status in ("optimal", "solved")
        assert rule(options, answer.alloc)
        assert not any(wish.missing(answer.alloc) for wish in answer.problem.wishes)
    verdicts = [(rule(options, other), not faults(answer.problem, other)) for other in moved(answer.alloc, answer.bins)]
    assert all(ours == verified for ours, verified in verdicts)
    assert {verified for _, verified in verdicts} == {True, False}


@pytest.mark.long
def test_fewest_bins_of_vlans_and_multicast_are_found() -> None:
    """Guests, staff and students, who are pinned apart, and finance have a VLAN each: four at least."""
    assert solve(load_problem("vlans"), attempts=64).bins == 4
    rows = data("multicast")

    def fits(bins: int, alloc: list[int]) -> bool:
        """Try every way to go on, as long as the first groups fit: one more never helps."""
        first = {key: rows[key][: len(alloc)] for key in ("MEMBERS", "RATE")} | {"HOSTS": rows["HOSTS"]}
        if not multicast(first, alloc):
            return False
        if len(alloc) == len(rows["RATE"]):
            return True
        return any(fits(bins, [*alloc, place]) for place in range(min(bins, max(alloc, default=-1) + 2)))

    least = next(bins for bins in range(1, 11) if fits(bins, []))
    assert solve(load_problem("multicast"), attempts=64).bins == least


def test_access_lists_waste_as_little_as_can_be() -> None:
    d = data("access-lists")
    choices = [d["PATH"][flow] for flow in d["FLOW"]]
    least = [inf]

    def extend(alloc: list[int], wasted: int) -> None:
        rule = len(alloc)
        if wasted >= least[0]:
            return
        if rule == len(choices):
            least[0] = wasted if access_lists(d, alloc) else least[0]
            return
        for before, device in enumerate(choices[rule]):
            used = sum(size for at, size in zip(alloc, d["ENTRIES"], strict=False) if at == device)
            if used + d["ENTRIES"][rule] <= d["ROOM"][device]:
                extend([*alloc, device], wasted + before * d["DENIES"][rule])

    extend([], 0)
    assert solve(load_problem("access-lists"), attempts=64).goals[0].value == least[0]


def test_solver_reference_lists_every_example() -> None:
    page = (ROOT / "docs" / "reference" / "solver.md").read_text("utf-8").partition("## Examples")[2]
    assert set(re.findall(r"^- `([a-z-]+)`: ", page, re.MULTILINE)) == examples().keys()


def test_groups_keep_a_rack_dark() -> None:
    text = examples()["power-cooling"]
    without = problem(re.sub(r"(?m)^GROUPS.*$", "", text))
    answers = [solve(load_problem("power-cooling"), search="published", attempts=512, seed=seed) for seed in range(4)]
    assert all(max(answer.alloc) < 8 for answer in answers)
    assert any(max(solve(without, search="published", attempts=512, seed=seed).alloc) >= 8 for seed in range(4))
