"""Keeps rules of placement: what breaks one is refused, and the view shows no room where one forbids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from binwright.fabric.book import Book, Holding
from binwright.fabric.mask import TAINT, WHERE, Mask, RoleView, Ruling, count, show
from binwright.scenarios.features.placement.rule_arrays import add, compiled
from binwright.scenarios.features.placement.rules import Drain, Rule
from binwright.scenarios.features.server_labels import ServerLabels
from binwright.simcore.gangs import NO_RULES
from binwright.simcore.jit import prepared
from binwright.simcore.roles import NO_ROLE, Role
from binwright.simcore.types import Flags, Ints, Request, read_only
from binwright.simcore.workload import Workload

if TYPE_CHECKING:
    from binwright.fabric.ledger import Ledger

CLOSED = ("the labels that it asks for", "a taint that it does not tolerate")
"""What keeps requests from servers before any of the rules does."""
LAST = ("the server is drained", "among the parts of a gang (together, at_most)")
"""What does so after all of them."""


class RuleBook(Book):
    """Keeps rules of placement on the servers of a ledger, and counts for them who is in which domain.

    Before `roles_of` is told of a workload, all requests have the role of one that says nothing. In a network a request
    takes only servers of which it might take each one alone, also those that give nothing but their links, and counts
    once in each domain of these. So whichever of the servers that it is shown an agent takes, no rule is broken.
    """

    def __init__(self, ledger: Ledger, labels: ServerLabels, rules: Sequence[Rule]) -> None:
        self._ledger, self._view = ledger, ledger.view
        self.labels, self.written = labels, tuple(rules)
        self.reasons = (*(f"rule: {each}" for each in (*CLOSED, *self.written, *LAST)), "only other sites have room")
        self.routing: Any = None
        """What sends requests to sites, of which the view then shows one."""
        drains = {number: rule for number, rule in enumerate(self.written) if isinstance(rule, Drain)}
        self._draining = {number for number, rule in drains.items() if rule.at <= 0}
        """The rules that keep requests off servers now, of those that empty some."""
        turns = [(at, number) for number, rule in drains.items() for at in (rule.at, rule.until) if at]
        self.planned = [(at, self._turn, number) for at, number in turns]
        """What changes at a time: the time, what is to be called then, and with which number."""
        self.drained: set[int] = set()
        """The servers that take no more requests, by no rule of these but by `drain`."""
        self._roles: tuple[Role, ...] = (NO_ROLE,)
        ledger.view.rules = self
        self._compile()

    def _compile(self) -> None:
        """Compile the rules for the servers and roles there are, and count again who is where."""
        _, self._free = self._ledger.arrays
        mask = self.mask = self._compiled()
        self.domains = cache(self.labels.domains)
        """Return the domain of every server by a label that all have, int64 [servers]."""
        self._nothing = np.full(len(self._free), -1)
        self._open = np.array([first == end and (mask.closed[door] < 0).all() for door, first, end in mask.roles])
        """Which roles no rule keeps from anywhere, whatever is counted, bool [roles]."""
        self._role_view, self._aside = (RoleView(np.zeros_like(self._free), self._nothing.copy()) for _ in range(2))
        self._fresh = -1  # the role whose view is up to date, as nothing has happened since
        self._all, self._some = read_only(self._free), read_only(self._role_view.free)
        self._view.free = self._view.free_of_rules = self._all
        self._view.changed = None  # as what is shown depends on who asks
        self._count_on = prepared(count, self.mask, 0, 0, 0)
        self._show_role = prepared(show, self.mask, self._role_view, 0, self._free)

    def _compiled(self) -> Mask:
        """Compile the rules, and count who lies where."""
        rules = self.written
        drained = {n: rule.of(self.labels) for n in self._draining if isinstance(rule := rules[n], Drain)}
        if self.drained:
            drained[len(rules)] = np.isin(np.arange(len(self._free)), [*self.drained])
        mask = compiled(self.labels, rules, self._roles, drained, self._ledger.network is not None)
        for holding in self._ledger.held.values():
            add(mask, np.array(holding.servers, np.int64), holding.role, 1)
        return mask

    # -- what changes --------------------------------------------------------------------------------------------------

    def _turn(self, number: int) -> None:
        """Begin a drain, or end it if it has begun: its servers take no more requests, or take them again."""
        self._draining ^= {number}
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
        self._compile()
        return np.zeros(len(workload), np.int64) if roles is None else roles.of

    def grow(self, by: int) -> None:
        """Keep the rules on so many more servers, labelled as the scenario says."""
        self.labels = self.labels.grown(by)
        self._compile()

    def changed(self, server: int = -1) -> None:
        """Note that what is free has changed."""
        self._fresh = -1

    def count(self, servers: Sequence[int], role: int, sign: int) -> None:
        """Count a role's request that came to servers, sign 1, or left them, -1: once in each domain."""
        if len(servers) == 1:
            self._count_on(self.mask, servers[0], role, sign)
        else:
            add(self.mask, np.array(servers, np.int64), role, sign)
        self._fresh = -1

    def enter(self, row: int, holding: Holding) -> None:
        """Count a request that has taken its place."""
        self.count(holding.servers, holding.role, 1)

    def leave(self, row: int, holding: Holding) -> None:
        """Count a request no longer that gives its place back."""
        self.count(holding.servers, holding.role, -1)

    # -- gangs ---------------------------------------------------------------------------------------------------------

    def _taken(self, request: Request) -> list[int]:
        """Return on which servers the other parts of a gang lie that have a place, also those that they move from."""
        gang, held = request.gang, self._ledger.held
        assert gang
        rows = range(gang.first, gang.first + gang.parts) if gang.rules.restricts else ()
        return [server for row in rows if row in held and row != request.index for server in held[row].servers]

    def _beside(self, request: Request, taken: Sequence[int]) -> Flags:
        """Tell where rules among them let a part of a gang lie, bool [servers]; others have `taken` servers."""
        allowed, rules = np.ones(len(self._free), np.bool_), request.gang.rules if request.gang else NO_RULES
        for label, most in rules.at_most:
            domain = self.domains(label)
            allowed &= np.bincount(domain[list(taken)], minlength=len(allowed))[domain] < most
        if rules.together and taken:
            domain = self.domains(rules.together)
            allowed &= domain == domain[taken[0]]
        return allowed

    def open_to_part(self, request: Request, taken: Sequence[int], rooms: Ints) -> Flags:
        """Tell where a part of a gang may lie, bool [servers], where the earlier ones have `taken` servers.

        The first one may where there is room for all, `rooms` int64 [servers] parts on each server.
        """
        allowed = self._beside(request, taken)
        if request.gang and request.gang.rules.together and not taken:
            allowed &= self.most_parts(request, rooms) >= request.parts
        return allowed

    def _open_now(self, request: Request, free: Ints) -> Flags:
        """Tell where a part of a gang may lie now, bool [servers]."""
        return self.open_to_part(request, self._taken(request), self._ledger.rooms(request, free))

    def most_parts(self, request: Request, rooms: Ints) -> Ints:
        """Count the parts that there is room for in the domain of each server that a gang can be `together` in.

        Without `together` that is the whole cluster. `rooms` int64 [servers] is that of each server. Where domains of
        `at_most` cut across one another it may be fewer parts. Returns int64 [servers].
        """
        servers, rules = len(rooms), request.gang.rules if request.gang else NO_RULES
        whole = self.domains(rules.together) if rules.together else np.zeros(servers, np.int64)
        # From small domains to large ones: what a domain takes is put to its first server.
        for label, most in sorted(rules.at_most, key=lambda limit: -int(self.domains(limit[0]).max(initial=0))):
            every = whole * servers + self.domains(label)
            _, first, domain = np.unique(every, return_index=True, return_inverse=True)
            sums, rooms = np.bincount(domain, rooms), np.zeros(servers, np.int64)
            rooms[first] = np.minimum(sums, most)
        parts: Ints = np.bincount(whole, rooms).astype(np.int64)[whole]
        return parts

    # -- where requests may lie ----------------------------------------------------------------------------------------

    def offer(self, request: Request) -> None:
        """Have the view show room only where this request may lie."""
        role, view = request.role, self._view
        if self._open[role]:
            view.free = self._all
        else:
            self._refusing(role)
            view.free = self._some
        if request.gang and request.gang.rules.restricts:
            part_of = self._open_now(request, view.free)
            view.free = read_only(np.where(part_of[:, None, None], view.free, 0))
        if self.routing:
            at_site = self.routing.offer(request, partial(self._has_room_among, request))
            view.free = read_only(np.where(at_site[:, None, None], view.free, 0))

    def _has_room_among(self, request: Request, servers: Flags) -> bool:
        """Tell whether a request, or enough of its gang, has room on some of these servers, bool [servers]."""
        may = servers & (self._refusing(request.role) < 0)
        return bool(self._ledger.room_for_parts(request, may) >= request.parts)

    def problem(self, request: Request, servers: Sequence[int]) -> str:
        """Say why a request may not lie on these servers, its amounts aside; empty where it may."""
        own = self._ledger.held.get(request.index)  # which does not count where it moves from
        refusing = self._refusing(request.role) if own is None else self._refusing_after(request, {request.index})
        for each in servers:
            if refusing[each] >= 0:
                return f"not on server {each}: {self.reasons[refusing[each]]}"
        server, gang = servers[0], request.gang
        if gang and not self._beside(request, self._taken(request))[server]:
            return f"not on server {server}: rule: parts {gang.rules}"
        if self.routing and not self.routing.is_open(request)[server]:
            return f"server {server} is not at the site that the request was sent to"
        return ""

    def _refusing(self, role: int) -> Ints:
        """Return what keeps a role from every server, int64 [servers], -1 for nothing; its view is up to date then."""
        if self._open[role]:
            return self._nothing
        if self._fresh != role:
            self._show_role(self.mask, self._role_view, role, self._free)
            self._fresh = role
        return self._role_view.refusing

    def open_to(self, request: Request, gone: Iterable[int], come: Sequence[tuple[Sequence[int], int]]) -> Flags:
        """Tell on which servers rules let a request lie, bool [servers], without the rows that are `gone` by then.

        `come` lists the servers and the role of requests that lie somewhere by then.
        """
        reach = self.routing.reach(request) if self.routing else np.ones(len(self._free), np.bool_)
        if request.gang and request.index in self._ledger.held:
            reach &= self._beside(request, self._taken(request))
        may: Flags = reach & (self._refusing_after(request, gone, come) < 0)
        return may

    def _refusing_after(
        self, request: Request, gone: Iterable[int], come: Sequence[tuple[Sequence[int], int]] = ()
    ) -> Ints:
        """Return what keeps a request from every server, int64 [servers], when rows are gone and others have come."""
        if self._open[request.role]:
            return self._nothing
        held, fresh = self._ledger.held, self._fresh
        changes: list[tuple[Sequence[int], int, int]] = [(servers, own, 1) for servers, own in come]
        changes += [(held[row].servers, held[row].role, -1) for row in gone if row in held]
        for servers, own, sign in changes:
            self.count(servers, own, sign)
        self._show_role(self.mask, self._aside, request.role, self._free)
        for servers, own, sign in changes:
            self.count(servers, own, -sign)
        self._fresh = fresh
        return self._aside.refusing

    def of_a_server(self, number: int) -> str:
        """Say what a number of `keeps` means for a single server."""
        return self.reasons[number] if number < len(self.reasons) - 1 else "is at another site"

    def never_closed(self, role: int) -> Flags:
        """Tell which servers neither labels nor taints keep a role from, bool [servers]."""
        return ~np.isin(self.mask.closed[self.mask.roles[role, 0]], (WHERE, TAINT))

    # -- compiled runs -------------------------------------------------------------------------------------------------

    def ruling(self, roles: Ints) -> Ruling:
        """Return the rules for a compiled run, which calls `changed`; its requests have these roles, int64 [n]."""
        return Ruling(roles, self._open, self.mask, self._role_view)

    @property
    def drains(self) -> list[tuple[float, float, Flags]]:
        """From when until when servers take no requests, and which, bool [servers]."""
        rules = [rule for rule in self.written if isinstance(rule, Drain)]
        return [(rule.at, inf if rule.until is None else rule.until, rule.of(self.labels)) for rule in rules]

    def keeps(self, request: Request) -> Ints:
        """Return what keeps a request from each server: rules, as they are looked at in order, parts, or sites."""
        keeps = self._refusing(request.role)
        if request.gang and request.gang.rules.restricts:
            left = np.where((keeps >= 0)[:, None, None], 0, self._free)
            keeps = np.where((keeps < 0) & ~self._open_now(request, left), len(self.reasons) - 2, keeps)
        if self.routing:
            keeps = np.where((keeps < 0) & ~self.routing.reach(request), len(self.reasons) - 1, keeps)
        return keeps
