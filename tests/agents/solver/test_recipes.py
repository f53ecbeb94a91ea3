"""Every recipe of docs/solve/recipes.md means what a rule in Python says, on all allocations of its small problem."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, product
from pathlib import Path

import pytest

from binwright.agents.solver import problem
from binwright.agents.solver.model.problem import Problem
from binwright.agents.solver.model.verify import faults, goals_of
from binwright.reproduction.publications import adrs

PAGE, _, PRISM = (Path(__file__).parents[3] / "docs/solve/recipes.md").read_text("utf-8").partition("\n## A ratio")
BASE, *RECIPES = re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)
NAMES = re.findall(r"^\*\*(\w[\w ]*)\*\*:", PAGE, re.MULTILINE)
NEEDS, APP, HAS, ZONE, HOME = [4, 3, 2, 2, 1], [0, 0, 1, 1, 2], [6, 6, 8, 8], [0, 0, 1, 1], [0, 1, 1, 2, -1]
BALLS, BINS, APPS = range(5), range(4), range(3)
Alloc = Sequence[int]


def cores(alloc: Alloc, node: int, app: int | None = None) -> int:
    return sum(NEEDS[b] for b in BALLS if alloc[b] == node and app in (None, APP[b]))


def apps(alloc: Alloc, node: int) -> set[int]:
    return {APP[b] for b in BALLS if alloc[b] == node}


def moved(alloc: Alloc) -> list[int]:
    return [b for b in BALLS if HOME[b] >= 0 and alloc[b] != HOME[b]]


def recovers(alloc: Alloc) -> bool:
    takes_over = {1: 0, 3: 2}
    for failed, node in product((0, 1), BINS):
        load = 0 if ZONE[node] == failed else cores(alloc, node)
        for spare, active in takes_over.items():
            if alloc[spare] == node and ZONE[node] != failed == ZONE[alloc[active]]:
                load += NEEDS[active]
        if load > HAS[node]:
            return False
    return True


LIKES = [[3, 0, 0, 1], [0, 2, 0, 0], [1, 1, 0, 0], [0, 0, 0, 4], [0, 0, 2, 0]]
LIKED = [[3, 0, 0, 1], [0, 2, 0, 0], [1, 0, 0, 5]]
BEFORE = [sum(NEEDS[b] for b in BALLS if HOME[b] == n) for n in BINS]
NEVER = {(1, 0), (3, 2), (3, 3), (4, 1)}

LIMITS: dict[str, list[Callable[[Alloc], bool]]] = {
    "Capacity": [lambda a: cores(a, 0) >= 2],
    "ToFree": [lambda a: 1 not in a],
    "Group Count": [lambda a: max(Counter((APP[b], ZONE[a[b]]) for b in BALLS).values()) <= 1],
    "GroupDiversity": [lambda a: all(len(apps(a, n)) <= 2 for n in BINS)],
    "CapacityWithGroupPresence": [lambda a: all(sum(max(3, cores(a, n, p)) for p in apps(a, n)) <= 9 for n in BINS)],
    "GroupCapacity": [lambda a: all(sum(cores(a, n, p) * (1 + ZONE[n]) for n in BINS) <= (9, 6, 2)[p] for p in APPS)],
    "GroupIsolationLimit": [lambda a: all(sum(cores(a, n, p) > 3 for p in APPS) <= 1 for n in BINS)],
    "DisasterRecoveryCapacity": [recovers],
    "NonAccepting": [lambda a: all(HOME[b] == 2 for b in BALLS if a[b] == 2)],
    "AvoidAssignments": [lambda a: NEVER.isdisjoint(enumerate(a))],
    "ColocateGroups": [
        lambda a: a[0] == a[1] and a[2] == a[3],
        lambda a: ZONE[a[0]] == ZONE[a[1]] and ZONE[a[2]] == ZONE[a[3]],
    ],
    "ExclusiveScopeItems": [lambda a: not {0, 3} <= set(a)],
    "AvoidMoving": [lambda a: (a[0], a[3]) == (0, 2)],
    "GroupMoveLimit": [
        lambda a: max([0, *Counter(APP[b] for b in moved(a)).values(), *Counter(a[b] for b in moved(a)).values()]) <= 1
    ],
    "MovesInProgress": [lambda a: all(cores(a, n) <= HAS[n] - 2 for n in (0, 1))],
}
GOALS: dict[str, list[Callable[[Alloc], float | Fraction]]] = {
    "ToFree": [lambda a: cores(a, 1)],
    "GroupDiversity": [lambda a: sum(max(0, 2 - len(apps(a, n))) for n in BINS)],
    "Balance": [lambda a: max(Fraction(cores(a, n), HAS[n]) for n in BINS)],
    "UtilIncreaseCost": [lambda a: sum(max(0, cores(a, n) - max(4, BEFORE[n])) for n in BINS)],
    "MinimizeContainers": [lambda a: len(set(a))],
    "MaximizeAllocation": [lambda a: cores(a, 0) + cores(a, 1)],
    "MinimizeNthLargestUtilization": [lambda a: sorted(cores(a, n) for n in BINS)[-2]],
    "MinimizeSquares": [lambda a: sum(cores(a, n) ** 2 for n in BINS)],
    "WorkingSet": [lambda a: max(sum((10, 20, 5)[p] for p in apps(a, n)) for n in BINS)],
    "MinimizeMovement": [lambda a: len(moved(a)), lambda a: sum(NEEDS[b] for b in moved(a))],
    "AssignmentAffinities": [lambda a: sum(LIKES[b][a[b]] for b in BALLS)],
    "PairAffinities": [lambda a: sum(a[x] == a[y] for x, y in ((0, 2), (1, 4), (3, 4)))],
    "GroupAssignmentAffinities": [lambda a: sum(LIKED[APP[b]][a[b]] for b in BALLS)],
    "ScopeAffinities": [lambda a: sum((2, 0, -1, 0.5)[n] * cores(a, n) for n in BINS)],
}


def recipes() -> Iterator[tuple[str, str]]:
    """Iterate over the names and texts of all recipes."""
    for part in re.split(r"^\*\*", PAGE, flags=re.MULTILINE)[1:]:
        name = part.split("**:", 1)[0]
        if name in NAMES:
            yield from ((name, text) for text in re.findall(r"```\n(.*?)```", part, re.DOTALL))


def said(recipe: str) -> Problem:
    declared, _, body = recipe.partition("# in UTILFN\n")
    return problem(f"{BASE[: BASE.rindex('end')]}{body}\nend\n{declared}")


def test_there_is_a_recipe_for_everything() -> None:
    assert len(NAMES) == len(set(NAMES)) == 27
    assert set(LIMITS) | set(GOALS) == set(NAMES)
    texts = list(recipes())
    assert [text for _, text in texts] == RECIPES
    for name in NAMES:
        assert sum(machines == name for machines, _ in texts) == len(LIMITS.get(name, ())) + len(GOALS.get(name, ()))


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_means_what_it_should(name: str, step: int) -> None:
    texts = [text for each, text in recipes() if each == name]
    limits, goals = list(LIMITS.get(name, ())), list(GOALS.get(name, ()))
    for text in texts:
        result = said(text)
        rule = None if "IMISE" in text else limits.pop(0)
        goal = goals.pop(0) if rule is None else None
        fitting = retained = 0
        for alloc in islice(product(BINS, repeat=len(BALLS)), 0, None, step):
            fits = all(cores(alloc, n) <= HAS[n] for n in BINS)
            if rule is not None:
                fitting += fits
                retained += fits and rule(alloc)
                enough = not result.bounded_below or goals_of(result, alloc)[0] == 0
                assert (not faults(result, alloc) and enough) == (fits and rule(alloc)), alloc
            elif fits and goal is not None:
                assert result.objective is not None
                [goal_] = result.objective.goals
                [raw] = goals_of(result, alloc)
                value = goal_.number(raw)
                assert abs(value - goal(alloc)) < 1e-5, alloc
        assert rule is None or 0 < retained < fitting


def test_the_recipe_of_a_ratio_proves_what_reproduction_counts() -> None:
    """Of two cases: a placement's pressure, and a millionth below it that there is none."""
    texts = re.findall(r"```\n(.*?)```", PRISM, re.DOTALL)
    assert texts == [adrs.BEST, adrs.BETTER]
    for gpus, models in islice(adrs.cases(9), 7, 9):
        least, bound = adrs.solved(gpus, models)
        assert bound < least <= adrs.pressure(models, adrs.greedy(gpus, models))
        assert least - bound < 2 * adrs.CLOSE * least
