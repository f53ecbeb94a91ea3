"""`python -m benchmarks.evaluator [--hostile]`: milliseconds of an evaluation, by rule.

With `--hostile` it proposes 1,000 hostile policies instead, and counts what became of them.
"""

import argparse
import random
from collections import Counter
from math import isnan
from time import perf_counter

import binwright as bw

COUNT = 1000
FEATURES = ("free_cpu", "share_mem", "after_cpu", "demand_mem", "other_free_cpu")
KINDS = {
    "loop": (
        "while {x} >= 0:\n        pass", "while True:\n        y = {x} + {n}", "y = [1 for i in range({n} ** 9)]",
        "for i in range(10 ** 12):\n        y = i",
    ),
    "memory": (
        "y = [{n}]\n    while True:\n        y = y + y", "y = [0] * {n} ** 9",
        "while True:\n        y = {n} ** {n} ** 9",
        "y = list(range(10 ** {n}))",
    ),
    "import": (
        "import os\n    os.remove('x')", "from subprocess import run", "import socket", "__import__('os').system('id')",
        "import math as os", "from math import __loader__",
    ),
    "no number": (
        "return 0 / 0 * {x}", "y = 1e999\n    return y - y", "return [{x}]", "return 'a' * {n}",
        "return (0 - {n}) ** 0.5", "return None", "return {x} > 0 and [] or ()",
    ),
    "attribute": (
        "return {x}.__class__.__mro__[-1].__subclasses__()", "return ().__class__", "return math.__dict__['x']",
        "return getattr({x}, 'real')", "return score.__globals__", "return (lambda: 0).__code__", "return vars()",
        "return [c for c in (1).__class__.__base__.__subclasses__()]", "return f'{{{x}.__class__}}'",
    ),
    "raises": (
        "while 1:\n        return 1 / 0", "return [1][{n}]", "raise {x}", "assert 0", "return score({x})",
        "return undefined_{n}", "return int(1e999) + len(3)", "exit({n})", "return open('/etc/passwd')",
    ),
    "source": (
        "return (", "return {x} +", "def", "\0", "return " + "(" * 300 + "1" + ")" * 300,
        "return " + "-" * 3000 + "1",
    ),
    "feature": ("return free_gold", "return {x} * time_left", "return _{n}", "return __builtins__"),
}  # fmt: skip


RULES = (
    *("best-fit", "dot-product", "free_cpu", "-server_free_cpu - free_cpu / 1000"),
    "-share_mem - 0.2 * other_share_cpu + 0.08 * least_share_cpu * least_share_cpu",
)


def speed(rounds: int = 200) -> None:
    """Evaluate rules on 3 seeds of 5,000 requests: the fastest of many rounds, and the median one."""
    evaluator = bw.Evaluator("quickstart", seeds=3, validation=1, test=1)
    for rule in RULES:
        evaluator(rule)  # what is compiled then, is so once for all machines of this kind
        times = sorted(1e3 * evaluator(rule).seconds for _ in range(rounds))
        print(f"{times[0]:6.1f} ms, median {times[rounds // 2]:6.1f} ms  {rule}")


def hostile() -> None:
    """Propose them one after another, a sane rule after every hundred."""
    draw = random.Random(1)
    became: Counter[tuple[str, str]] = Counter()
    seconds = 0.0
    sets = {"workload.requests": 500, "workload.arrivals.poisson.every": "800 s"}
    evaluator = bw.Evaluator("quickstart", sets, seeds=2, validation=1, test=1)
    expected = evaluator("-share_cpu").values
    for number in range(COUNT):
        kind = draw.choice(sorted(KINDS))
        x, n = draw.choice(FEATURES), draw.randrange(2, 30)
        body = draw.choice(KINDS[kind]).format(x=x, n=n)
        before = perf_counter()
        result = evaluator(f"def score({x}):\n    {body}\n    return {x}\n")
        seconds = max(seconds, perf_counter() - before)
        became[kind, "scored" if not result.reason else result.reason.split(" (got")[0].split(": ", 2)[-1][:60]] += 1
        assert (result.reason is None) != isnan(result.score)
        if number % 100 == 99:
            assert evaluator("-share_cpu").values == expected
    for (kind, what), count in sorted(became.items()):
        print(f"{count:5}  {kind:10}  {what}")
    print(f"{sum(became.values())} policies, no crash; the longest took {seconds:.1f} s")


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hostile", action="store_true", help="propose hostile policies")
    if parser.parse_args().hostile:
        hostile()
    else:
        speed()


if __name__ == "__main__":
    main()
