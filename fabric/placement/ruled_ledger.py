"""Ledgers that enforce rules of placement: what breaks one is refused, and the view shows no room where one forbids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from binwright.fabric.cluster import Cluster
from binwright.fabric.device_ledger import DeviceLedger
from binwright.fabric.ledger import WRITTEN, Ledger, read_only
from binwright.fabric.placement.mask import RULES, TAINT, WHERE, Mask, add, compiled, open_roles
from binwright.fabric.placement.parts import most_parts, open_to
from binwright.fabric.placement.role_views import Ruling, Stage, count, last_refusing, show, view_for
from binwright.fabric.placement.rules import SERVER, Drain, Rule, ServerLabels, groups_of
from binwright.fabric.predicting_ledger import PredictingLedger
from binwright.fabric.servers import with_room
from binwright.fabric.unconstrained import NO_MOVES
from binwright.simcore.errors import AgentError, InfeasiblePlacement, LedgerError, UserError, suggest
from binwright.simcore.faults import Kind
from binwright.simcore.gangs import Gangs
from binwright.simcore.jit import prepared
from binwright.simcore.roles import NO_ROLE, Role
from binwright.simcore.types import Ints, Placement, Request, Workload

CLOSED = ("the labels that it asks for", "a taint that it does not tolerate")
"""What refuses before any of the rules does."""
NO_ROOM_AT_SITE = "no room at its site"
AMONG_PARTS = "rule: among the parts of a gang (together, at_most)"


class ConstrainedLedger(Ledger):
    """Keeps rules of placement on top of another ledger, and counts for them who is in which domain.

    Before `roles_of` is told of a workload, all requests have the role of one that says nothing.
    """

    several = False
    """Whether a request may lie on several servers."""

    def __init__(
        self, cluster: Cluster, labels: ServerLabels, rules: Sequence[Rule], *more: Any, **options: Any
    ) -> None:
        """Begin with an empty cluster; `more` and `options` are what the other ledger takes."""
        self.server_labels, self.rules = labels, tuple(rules)
        self._draining: set[int] = set()
        """The rules that keep requests off servers now, of those that empty some."""
        self.drained: set[int] = set()
        """The servers that take no more requests, by no rule of these but by `drain`."""
        self._roles: tuple[Role, ...] = (NO_ROLE,)
        self._lies: MutableMapping[int, tuple[int, int]] = {}
        """Of every request that holds something: its server, and its role."""
        self._known: dict[str, Ints] = {}
        """Of labels that rules among parts go by, the domain of every server."""
        self._goes: dict[int, tuple[int, int]] = {}
        """The same of every request on its way, for where it goes: it counts at both, once in a domain of both."""
        super().__init__(cluster, *more, **options)
        self.view.rules = self
        if len(set(map(str, self.rules))) < len(self.rules):
            raise UserError("a rule is there twice", key="placement", remedy="Remove one of the two.")
        drains = [(number, rule) for number, rule in enumerate(self.rules) if isinstance(rule, Drain)]
        for _, rule in drains:
            rule.of(labels)  # which refuses servers that there are not, also where they are emptied later
        self._draining |= {number for number, rule in drains if rule.at <= 0}
        self.planned = [(rule.at, self._drain, number) for number, rule in drains if rule.at > 0]
        self.planned += [(rule.until, self._reopen, number) for number, rule in drains if rule.until is not None]
        self._compile()

    def _compile(self) -> None:
        """Compile the rules for the servers and roles there are, and count again who is where."""
        self._mask = self._compiled(self._draining)
        self._open = open_roles(self._mask)
        self._count(self._mask)
        self._role_view, self._aside = (view_for(self._free) for _ in range(2))
        self._fresh = -1  # the role whose view is up to date, as nothing has happened since
        self._all, self._some = read_only(self._shown), read_only(self._role_view.free)
        self.view.free = self.view.free_of_rules = self._all
        self.view.changed = None  # as what is shown depends on who asks
        self._count_one = prepared(count, self._mask, 0, 0, 0)
        self._last_refusing = prepared(last_refusing, self._role_view, np.zeros(0, np.bool_))
        self._show_role = prepared(show, self._mask, self._role_view, 0, self._free)

    def _count(self, mask: Mask) -> None:
        """Count who lies where in a mask that has counted nobody."""
        for row, (_, role) in self._lies.items():
            add(mask, self._places(row), role, 1)

    def _compiled(self, draining: Iterable[int]) -> Mask:
        """Compile the rules, of those that empty servers the ones with these numbers, with nobody anywhere."""
        rules = self.rules
        drained = {n: rule.of(self.server_labels) for n in draining if isinstance(rule := rules[n], Drain)}
        if self.drained:
            drained[len(rules)] = np.isin(np.arange(self._servers), [*self.drained])
        return compiled(self.server_labels, rules, self._roles, drained, self.several)

    def _drain(self, number: int) -> None:
        """Let the servers of a rule take no more requests."""
        self._draining.add(number)
        self._compile()

    def _reopen(self, number: int) -> None:
        """Let the servers of a rule take requests again."""
        self._draining.discard(number)
        self._compile()

    def drain(self, servers: Iterable[int]) -> None:
        """Let these servers take no more requests; what is there stays until its end."""
        self.drained |= {*servers}
        self._compile()

    def reopen(self, servers: Iterable[int]) -> None:
        """Let these servers take requests again, unless a rule keeps these off."""
        self.drained -= {*servers}
        self._compile()

    def roles_of(self, workload: Workload) -> Ints:
        """Get ready for the roles of a workload's requests, and return them, int64 [n]."""
        roles = workload.roles
        self._roles = (NO_ROLE,) if roles is None else roles.all
        there = {NO_ROLE.group} if roles is None else {roles.all[role].group for role in np.unique(roles.of).tolist()}
        named = {group for rule in self.rules for group in groups_of(rule)}
        self.unasked = {group: suggest(group, there - {""}) for group in sorted(named - there)}
        self._compile()
        return np.zeros(len(workload), np.int64) if roles is None else roles.of

    def offer(self, request: Request) -> None:
        """Have the view show room only where this request may lie."""
        role = request.role
        if self._open[role]:
            self.view.free = self._all
        else:
            self._refusing(role)
            self.view.free = self._some
        if request.gang and request.gang.rules.restricts:
            self.view.free = read_only(np.where(self._open_to_part(request, self.view.free), self.view.free, 0))
        if self.routing:
            there = self.routing.is_open(request)[:, None, None]
            self.view.free = read_only(np.where(there, self.view.free, 0))

    def rule_parts(self, gangs: Gangs) -> None:
        """Get ready for gangs, whose parts keep rules."""
        for rules in gangs.rules:
            for label in (*filter(None, [rules.together]), *(label for label, _ in rules.at_most)):
                self._domains(label)  # refuses one that some servers lack

    def domains(self, label: str) -> Ints | None:
        """Return the domain of every server by a label, int64 [servers]; None where servers have none such."""
        known = self.server_labels.labels.get(label)
        return self._domains(label) if label == SERVER or (known is not None and (known != "").all()) else None

    def _domains(self, label: str) -> Ints:
        """Return the domain of every server by a label, int64 [servers]."""
        if len(self._known.get(label, ())) != self._servers:
            self._known[label] = self.server_labels.domains(label)[0]
        return self._known[label]

    def _taken(self, request: Request) -> list[int]:
        """Return on which servers the earlier parts of a gang lie."""
        assert request.gang
        return [self._lies[row][0] for row in range(request.gang.first, request.index)]

    def open_to_part(self, request: Request, taken: Sequence[int], rooms: Ints) -> npt.NDArray[np.bool_]:
        """Tell where a part of a gang may lie, bool [servers], where the earlier ones have `taken` servers.

        The first one may where there is room for all, `rooms` int64 [servers] parts on each server.
        """
        assert request.gang
        gang = request.gang
        found = open_to(gang.rules, self._domains, taken, self._servers)
        if gang.rules.together and not taken:
            found &= most_parts(gang.rules, self._domains, rooms) >= gang.least
        return found

    def _open_to_part(self, request: Request, free: Ints) -> npt.NDArray[np.bool_]:
        """Tell where a part of a gang may lie now, bool [servers, 1, 1]."""
        return self.open_to_part(request, self._taken(request), self.rooms(request, free))[:, None, None]

    def room_for_parts(self, request: Request, may: npt.NDArray[np.bool_] | None = None) -> int:
        """Count for how many parts like this request there is room, as far as rules among them say.

        That is what is free on the servers that they `may` take, bool [servers], or without it the empty cluster.
        """
        assert request.gang
        rooms = self.rooms(request, self._capacity if may is None else self._free)
        if may is None:
            may = self.never_closed(request)
        return int(most_parts(request.gang.rules, self._domains, np.where(may, rooms, 0)).max(initial=0))

    def never_closed(self, request: Request) -> npt.NDArray[np.bool_]:
        """Tell which servers neither labels nor taints keep a request from, bool [servers]."""
        return ~np.isin(self._mask.closed[self._mask.roles[request.role, 0]], (WHERE, TAINT))

    def _refusing(self, role: int) -> Ints:
        """Return what keeps a role from every server, int64 [servers], -1 for nothing; its view is up to date then."""
        if self._fresh != role:
            self._show_role(self._mask, self._role_view, role, self._free)
            self._fresh = role
        return self._role_view.refusing

    def apply(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take what the placement says; returns the server and the node.

        Raises `InfeasiblePlacement` when it breaks a rule or does not fit.
        """
        server, node = super().apply(request, placement)
        role = request.role
        if not self._open[role] and (said := int(self._refusing(role)[server])) >= 0:
            super().release(request.index)
            raise InfeasiblePlacement(f"not on server {server}: {self._rule(said)}")
        gang = request.gang
        if gang and not open_to(gang.rules, self._domains, self._taken(request), self._servers)[server]:
            super().release(request.index)
            raise InfeasiblePlacement(f"not on server {server}: rule: parts {gang.rules}")
        if self.routing and not self.routing.is_open(request)[server]:
            super().release(request.index)
            raise InfeasiblePlacement(f"server {server} is not at the site that the request was sent to")
        self._lies[request.index] = server, role
        self._count_one(self._mask, server, role, 1)
        self._fresh = -1
        self.view.free = self._all
        return server, node

    def release(self, row: int) -> None:
        """Give back what this request holds; does nothing, once, if a failure has done so before its time."""
        super().release(row)
        if row in self._goes:
            self._counted(self._places(row), self._lies[row][1], -1)
            del self._lies[row], self._goes[row]
        elif lay := self._lies.pop(row, None):
            self._count_one(self._mask, *lay, -1)
        self._fresh = -1

    def begin_move(self, request: Request, placement: Placement) -> tuple[int, int]:
        """Take the place that a request is to move to, beside its old one; returns the server and the node.

        The rules are to let it lie there without its old place; until it has arrived, it counts at both.
        """
        row, role = request.index, request.role
        server, node = super().begin_move(request, placement)
        self._counted(self._places(row), role, -1)
        if not self._open[role] and (said := int(self._refusing(role)[server])) >= 0:
            self._counted(self._places(row), role, 1)
            super().end_move(row, False)
            raise InfeasiblePlacement(f"not on server {server}: {self._rule(said)}")
        self._goes[row] = server, role
        self._counted(self._places(row), role, 1)
        self.view.free = self._all
        return server, node

    def end_move(self, row: int, arrived: bool) -> None:
        """Give back the old place of a request on its way that has arrived, or else its new one."""
        super().end_move(row, arrived)
        if row in self._goes:
            ends = self._places(row)
            role = self._lies[row][1]
            self._counted(ends, role, -1)
            goes = self._goes.pop(row)
            if arrived:
                self._lies[row] = goes
            self._counted(self._places(row), role, 1)

    def _places(self, row: int) -> Ints:
        """Return where a request lies, and where it goes, if it is on its way: int64 [1 or 2] servers."""
        return np.array([lay[0] for lay in (self._lies[row], self._goes.get(row)) if lay], np.int64)

    def _counted(self, servers: Ints, role: int, sign: int) -> None:
        """Count a request that came to servers, sign 1, or left them, -1, and note that these have changed."""
        add(self._mask, servers, role, sign)
        self._fresh = -1

    def may_lie(self, request: Request, after: Mapping[int, int] = NO_MOVES) -> npt.NDArray[np.bool_]:
        """Tell on which servers rules let a request lie, bool [servers]; where it lies, it does not count itself.

        `after` says to which servers rows are moved before that.
        """
        lies = self._lies
        taken = [(server, lies[row][1]) for row, server in after.items() if row != request.index]
        return self.open_to(request, {*after, request.index}, taken)

    def open_to(self, request: Request, gone: Iterable[int], come: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
        """Tell on which servers rules let a request lie, bool [servers], without the rows that are `gone` by then.

        `come` lists the server and the role of requests that lie somewhere by then.
        """
        role, lies = request.role, self._lies
        if self._open[role]:
            return np.ones(self._servers, np.bool_)
        changes = [(lies[row], -1) for row in gone if row in lies] + [(lay, 1) for lay in come]
        for lay, sign in changes:
            self._count_one(self._mask, *lay, sign)
        self._show_role(self._mask, self._aside, role, self._free)
        for lay, sign in changes:
            self._count_one(self._mask, *lay, -sign)
        may: npt.NDArray[np.bool_] = self._aside.refusing < 0
        return may

    def fail(self, part: int, kind: Kind = "server") -> list[int]:
        """Take a server out of service; returns the requests that lost their place, released, in order."""
        hit = super().fail(part, kind)
        self._fresh = -1
        return hit

    def repair(self, part: int, kind: Kind = "server") -> None:
        """Bring a failed server back, empty; does nothing to a server in service."""
        super().repair(part, kind)
        self._fresh = -1

    def grow(self, by: int) -> None:
        """Add empty servers, labelled as the scenario says. The view's arrays are new ones afterwards."""
        super().grow(by)
        self.server_labels = self.server_labels.grown(by)
        self._compile()

    def confirm(self) -> None:
        """Raise an `AgentError` if somebody else has written to what the view shows."""
        shown, self.view.free = self.view.free, self._all
        super().confirm()
        self.view.free = shown
        if self._fresh >= 0:
            may = self._role_view.refusing < 0
            if not np.array_equal(self._role_view.free, np.where(may[:, None, None], self._free, 0)):
                raise AgentError(WRITTEN)

    def ruling(self, roles: Ints | None) -> Ruling:
        """Return the rules for a compiled run, whose requests have these roles, int64 [n]; `follow` is to be called."""
        assert roles is not None
        return Ruling(roles, np.array(self._open), self._mask, self._role_view)

    @property
    def drains(self) -> list[tuple[float, float, npt.NDArray[np.bool_]]]:
        """From when until when servers take no requests, and which, bool [servers]."""
        rules = [rule for rule in self.rules if isinstance(rule, Drain)]
        return [(rule.at, inf if rule.until is None else rule.until, rule.of(self.server_labels)) for rule in rules]

    def stages(self) -> list[Stage]:
        """Return the rules for a compiled run as they are now, and then after each begin and end of a drain."""
        found, draining = [Stage(-inf, np.array(self._open), self._mask)], set(self._draining)
        for since, change, number in sorted(self.planned, key=lambda one: one[0]):
            before = len(draining)
            (draining.add if change == self._drain else draining.discard)(number)
            if len(draining) != before:
                mask = self._compiled(draining)._replace(counts=self._mask.counts, totals=self._mask.totals)
                found.append(Stage(since, np.array(open_roles(mask)), mask))
        return found

    def follow(self) -> None:
        """Go on where a compiled run is."""
        self._fresh = -1

    def hold_roles_in(self, lies: MutableMapping[int, tuple[int, int]]) -> None:
        """Keep in `lies` the server and the role of every row that holds something, as in `hold_in`."""
        self._lies = lies

    def possible(self, demand: Ints, models: Ints | None = None, roles: Ints | None = None) -> npt.NDArray[np.bool_]:
        """Tell which demands [n, resources], and `roles` [n], an empty server could hold, bool [n].

        Of the rules, only labels and taints count: what is counted may change, and what is emptied was there.
        """
        fits = super().possible(demand, models)
        if roles is None:
            return fits
        doors = self._mask.roles[roles, 0]
        for door in np.unique(doors).tolist():
            closed = np.isin(self._mask.closed[door], (WHERE, TAINT))
            if closed.any():
                here = doors == door
                fits[here] &= self._possible(demand[here], None if models is None else models[here], ~closed)
        return fits

    def why_not(self, request: Request) -> int:
        """Return the index into `reasons` of what keeps this request out now.

        Where there is room, it is the rule that takes the last server with room, as they are looked at in order.
        """
        code = super().why_not(request)
        if code:
            return code
        if self.routing and not (reach := self.routing.reach).all():
            may = self._open[request.role] or self._refusing(request.role) < 0
            if not (self._with_room(request) & reach & may).any():
                return len(self.reasons) - 2
        said = -1 if self._open[request.role] else self._decisive(request)
        if said < 0 and request.gang and request.gang.rules.restricts:
            self.offer(request)
            shown, self.view.free = self.view.free, self._all
            if not with_room(shown, request.demand, request.spread).any():
                return len(self.reasons) - 1
        return len(super().reasons) + said if said >= 0 else 0

    def _decisive(self, request: Request) -> int:
        """Return which rule takes the last server with room; -1 where one is left."""
        self._refusing(request.role)
        said: int = self._last_refusing(self._role_view, self._with_room(request))
        return said

    def kept_out(self, request: Request) -> dict[int, str]:
        """Say why of every server that a request is kept from by something else than the amounts that are free."""
        away = np.flatnonzero(~self.routing.reach).tolist() if self.routing else ()
        return dict.fromkeys(away, "is at another site") | self._kept_out(request)

    def _kept_out(self, request: Request) -> dict[int, str]:
        """Say why of the servers that a request is kept from, whichever site they are at."""
        if request.gang and request.gang.rules.restricts:
            apart = dict.fromkeys(np.flatnonzero(~self._open_to_part(request, self._free)).tolist(), AMONG_PARTS)
            return apart | self._kept_out(request._replace(gang=None))
        if self._open[request.role]:
            return super().kept_out(request)
        said = self._refusing(request.role).tolist()
        ruled = {server: self._rule(number) for server, number in enumerate(said) if number >= 0}
        return super().kept_out(request) | ruled

    def _with_room(self, request: Request) -> npt.NDArray[np.bool_]:
        """Tell which servers have room for a request, whatever the rules say, bool [servers]."""
        return with_room(self._free, request.demand, request.spread)

    @property
    def reasons(self) -> tuple[str, ...]:
        """What the codes of `why_not` mean."""
        return (
            *super().reasons,
            *(self._rule(number) for number in range(RULES + len(self.rules) + 1)),
            NO_ROOM_AT_SITE,
            AMONG_PARTS,
        )

    def _rule(self, number: int) -> str:
        """Put what refuses in words."""
        said: Any = (*CLOSED, *self.rules, "the server is drained")[number]
        return f"rule: {said}"

    def check(self) -> None:
        """Count again from every placement held; raises `LedgerError` when something is missing."""
        super().check()
        fresh = self._compiled(self._draining)
        self._count(fresh)
        same = np.array_equal(fresh.counts, self._mask.counts) and np.array_equal(fresh.totals, self._mask.totals)
        if not (same and self._knows_who_is_where()):
            raise LedgerError("what rules of placement count is not who is there")

    def _knows_who_is_where(self) -> bool:
        """Tell whether those who are counted are those who hold something, and where they do."""
        held = {row: share[0][0] for row, share in self._held.items()}
        return held == {row: server for row, (server, _) in self._lies.items()}


class RuledPeaks(ConstrainedLedger, PredictingLedger):
    """Keeps rules of placement on servers whose predicted peaks admit requests."""

    def observe(self, step: int) -> bool:
        self._fresh = -1
        return super().observe(step)


class RuledDevices(ConstrainedLedger, DeviceLedger):
    """Keeps rules of placement on servers with devices."""

    def _with_room(self, request: Request) -> npt.NDArray[np.bool_]:
        return self.fitting(request)
