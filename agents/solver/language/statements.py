"""Compile UTILFN and goals, and note what is proven of them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from binwright.agents.solver.language import syntax as s
from binwright.agents.solver.language.compile import Compiler
from binwright.agents.solver.language.errors import refuse
from binwright.agents.solver.language.writer import INT, QUANTITY, Scope, Typed
from binwright.agents.solver.model.program import BALL, BIN, WIDE, Code, Family, Goal, Objective, Program
from binwright.agents.solver.model.source import EARLY, text
from binwright.simcore.types import Ints


class Statements(Compiler):
    """Writes the code of UTILFN, and notes what its statements add."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.names["BALL"] = Typed(INT, 0, scope.balls - 1, BALL)
        self.names["BIN"] = Typed(INT, 0, scope.bins - 1, BIN)
        self.added: list[tuple[str, int, list[Code]]] = []
        """Of every `UTIL... += ...` the resource, the lowest amount, and the indices."""
        self.adds = self._reach = 0
        """Additions of one call, and what they may come to, at most."""

    def block(self, body: s.Block) -> None:
        """Check statements in order."""
        for statement in body:
            self.step(statement.at)
            getattr(self, f"_{statement.kind}")(statement, *statement.parts)

    def _let(self, node: s.Node, name: str, value: s.Node) -> None:
        self.check_free(name, node.at)
        typed = self.value(value)
        if isinstance(typed.code, str):
            typed = typed._replace(code=self.stored(typed.code))
        self.names[name] = typed

    def _for_(self, node: s.Node, axis: s.Node, body: s.Block) -> None:
        self.loop(axis, partial(self.block, body))

    def _reject(self, node: s.Node) -> None:
        self.out.append(self.reject(node.at))

    def _if_(self, node: s.Node, if_: s.Node, *bodies: s.Block) -> None:
        test, facts = self.truth(if_), (self.learn(if_, True), self.learn(if_, False))
        sides: list[list[str]] = []
        for body, known, never in zip(bodies, facts, (0, 1), strict=True):
            with self.apart(known) as block:
                self.block(() if test == never else body)  # what never runs is not checked
            sides.append(block)
        self.branch(test, *sides)
        for written, known in zip(sides, reversed(facts), strict=True):
            if written and written[-1].startswith("return"):  # what follows runs in the other case only
                self.facts = self.facts | known

    def _add(self, node: s.Node, name: str, places: Sequence[s.Node], sign: str, added: s.Node) -> None:
        family, place, arguments = self.dimension(node)
        amount = self.number(added).micro()
        amount = amount if sign == "+=" else amount.negated()
        self.out += [f"dims[n] = {text(place)}", f"amounts[n] = {text(amount.code)}", EARLY, "n += 1"]
        self.added.append((family.name, amount.low, arguments))
        self.adds += self.trips
        self._reach += max(abs(amount.low), abs(amount.high)) * self.trips
        remedy = "Choose a larger unit, or bound the amount with min(..., ...)."
        refuse(self._reach * self.scope.balls > WIDE, "the utilisation may go beyond 1e12", remedy, node.at)

    def bin_axis(self, family: Family) -> int | None:
        """Find the index of a family that is BIN wherever something is added to it; None if there is none."""
        places = [arguments for name, _, arguments in self.added if name == family.name]
        every = range(len(family.sizes)) if places else ()
        return next((axis for axis in every if all(place[axis] == BIN for place in places)), None)


def compile_utilfn(body: s.Block, scope: Scope) -> tuple[Program, tuple[Family, ...]]:
    """Make the program, and the families with what is proven of them; raises `SpecError` if UTILFN is refused."""
    code = Statements(scope)
    code.block(body)
    axes = {name: code.bin_axis(family) for name, family in scope.families.items()}
    by_bin = [axes[name] is not None for name, *_ in code.added]
    lowest = {name: min((low for of, low, _ in code.added if of == name), default=0) for name in axes}
    program = Program(
        body=tuple(code.written()),
        rejects=tuple(code.rejects),
        steps=max(1, code.steps),
        adds=code.adds,
        alloc_free=not code.reads_alloc,
        non_negative=min(lowest.values(), default=0) >= 0,
        bin_local=all(by_bin),
        bin_blind=code.bin_reads == sum(by_bin),  # it is mentioned only to say whose dimension it is
        tables=code.starts,
        data=code.data(),
    )
    return program, tuple(
        replace(family, bin_axis=axes[name], falls=lowest[name] < 0) for name, family in scope.families.items()
    )


def compile_goals(nodes: Sequence[s.Node], scope: Scope, ceiling: Ints) -> Objective | None:
    """Make the program of all goals, None if there are none; raises `SpecError` where one is refused."""
    if not nodes:
        return None
    code = Compiler(scope)
    code.ceiling = ceiling
    goals, values = list[Goal](), list[str]()
    for number, (aim, node, written) in enumerate(node.parts for node in nodes):
        value = code.number(node)
        value = value.negated() if aim == "MAXIMISE" else value
        goals.append(Goal(aim, written, value.kind == QUANTITY, value.low))
        values.append(f"values[{number}] = {text(value.code)}")
    return Objective(tuple(goals), (*code.written(), *values), code.data())
