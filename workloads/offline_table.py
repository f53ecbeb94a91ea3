"""Machines of an offline placement from a CSV file."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from binwright.simcore.errors import UserError, WorkloadError, unread
from binwright.simcore.types import Ints
from binwright.simcore.units import amount, quanta, say
from binwright.workloads.offline import ANY, Machines, ServerKinds

NAME = "name"
"""The column that says what machines are called."""


COUNT, PRICE = "count", "price"
"""The columns that say how many servers of a kind there are, and what one costs."""
ANY_NUMBER = ("", "any")
"""A count of as many as anybody wants."""
DEAREST = 10**6


def read_csv(file: Path, server: str) -> Machines:
    """Read a column per resource, a row per machine; `server` says what a server has of each: `cpu=8,mem=16 GB`.

    Other columns are not read, but for `name`. Numbers are in the resource's unit, or name their own.
    """
    room: dict[str, int] = {}
    for entry in server.split(","):
        name, equals, text = entry.partition("=")
        if not equals or name.strip() in room:
            raise WorkloadError("is not a capacity", key="server", value=entry, remedy="Write cpu=8,mem=16, each once.")
        room[name.strip()] = _quanta(name.strip(), text, None, None, "server")
    capacity = np.array(list(room.values()), np.int64)
    demand, names = _machines(file, tuple(room), capacity[None, :], "--server")
    return Machines(file.name, tuple(room), demand, capacity, names)


def read_kinds(file: Path, servers: Path) -> Machines:
    """Read machines, a row each, and kinds of servers: a column per resource, a row per kind.

    Columns of the servers' file may also be `name`, `count` (empty or `any`: as many as anybody wants; without that
    column, a row is one server) and `price` (without that column, what counts is how many servers are used).
    """
    columns, rows = _table(servers)
    resources = tuple(name for name in columns if name not in (NAME, COUNT, PRICE))
    if not resources:
        remedy = "Give a column per resource, beside name, count and price."
        raise WorkloadError("says of no resource what servers have", file=servers, line=1, remedy=remedy)
    if not rows:
        raise WorkloadError("has no servers", file=servers, remedy="Give a row per kind, below the header.")
    capacity = np.array([[_quanta(name, row[name], servers, at, name) for name in resources] for at, row in rows])
    count = [_count(row.get(COUNT), servers, at) if COUNT in columns else 1 for at, row in rows]
    price = [_price(row[PRICE], servers, at) for at, row in rows] if PRICE in columns else None
    names = [(row.get(NAME) or "").strip() or f"row {at}" for at, row in rows]
    several = {name for name, many in zip(names, count, strict=True) if many != 1}
    for (at, _), name, seen in zip(rows, names, range(len(names)), strict=True):
        kind, _, number = name.rpartition(" ")
        if name in names[:seen] or (name not in several and kind in several and number.isdigit()):
            problem = "there are two servers of this name"
            remedy = (
                "Give each row a name of its own; where a kind is there several times, its second server is `NAME 2`."
            )
            raise WorkloadError(problem, file=servers, line=at, key=NAME, value=name, remedy=remedy)
    demand, called = _machines(file, resources, capacity, servers.name)
    offered = ServerKinds(
        tuple(names), capacity, np.array(count, np.int64), None if price is None else np.array(price, np.int64)
    )
    for resource, asked, room in zip(resources, demand.sum(axis=0).tolist(), capacity.T, strict=True):
        has = int((room * offered.count).sum())
        if (offered.count != ANY).all() and asked > has:
            problem = f"all servers together have {say([has], (resource,))}, and the machines ask for "
            remedy = (
                f"List more of them, or give a column {COUNT}: how many there are of each row, `any` for any number."
            )
            raise WorkloadError(problem + say([asked], (resource,)), file=servers, key=resource, remedy=remedy)
    return Machines(file.name, resources, demand, capacity.max(axis=0), called, offered)


def _table(file: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Read the columns' names, and the rows with the lines that they end in."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            columns = [name.strip() for name in reader.fieldnames or ()]
            reader.fieldnames = columns
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem, remedy = unread(error, file, "Give a CSV file in UTF-8.")
        raise WorkloadError(problem, file=file, remedy=remedy) from None
    for at, name in enumerate(columns):
        if name and name in columns[:at]:
            raise WorkloadError(f"has two columns {name}", file=file, line=1, remedy="Take one of them out.")
    return columns, rows


def _machines(
    file: Path, resources: tuple[str, ...], capacity: Ints, where: str
) -> tuple[Ints, tuple[str, ...] | None]:
    """Read what machines ask for, int64 [machines, resources], and names; each fits a server [kinds, resources]."""
    columns, rows = _table(file)
    for name in resources:
        if name not in columns:
            remedy = f"Its columns: {', '.join(columns) or 'none'}."
            raise WorkloadError(f"has no column {name}, which {where} names", file=file, line=1, remedy=remedy)
    if not rows:
        raise WorkloadError("has no machines", file=file, remedy="Give a row per machine, below the header.")
    demand = np.array([[_quanta(name, row[name], file, at, name) for name in resources] for at, row in rows], np.int64)
    for (at, row), asked in zip(rows, demand, strict=True):
        if (asked <= capacity).all(axis=1).any():
            continue
        machine = f"machine {row[NAME]}" if row.get(NAME) else "this machine"
        most = capacity.max(axis=0)
        larger = np.flatnonzero(asked > most)
        first = resources[int(larger[0])] if len(larger) else None
        problem = f"{machine} asks for more than a server has" if first else f"{machine} fits no server as a whole"
        remedy = f"Give servers of {say(asked, resources)} or more ({where}), or take the machine out."
        if first:
            remedy = f"Give servers of {say([asked[larger[0]]], (first,))} or more ({where}), or take the machine out."
        raise WorkloadError(problem, file=file, line=at, key=first, value=row[first] if first else None, remedy=remedy)
    named = NAME in columns and NAME not in resources
    return demand, tuple(row[NAME] or "" for _, row in rows) if named else None


def _count(text: str | None, file: Path, line: int) -> int:
    said = (text or "").strip().lower()
    if said in ANY_NUMBER:
        return ANY
    if not said.isdecimal() or int(said) > 10**9:
        remedy = "Give a whole number from 0, or any."
        raise WorkloadError("is not a number of servers", file=file, line=line, key=COUNT, value=text, remedy=remedy)
    return int(said)


def _price(text: str | None, file: Path, line: int) -> int:
    try:
        price = float(text or "")
    except ValueError:
        price = -1.0
    if not 0 <= price <= DEAREST:
        remedy = f"Give a number from 0 to {DEAREST:,}, the same currency in every row."
        raise WorkloadError("is not a price", file=file, line=line, key=PRICE, value=text, remedy=remedy)
    return quanta(price)


def _quanta(resource: str, text: str | None, file: Path | None, line: int | None, key: str) -> int:
    try:
        return quanta(amount(resource, text or ""))
    except UserError as error:
        raise WorkloadError(error.problem, file=file, line=line, key=key, value=text, remedy=error.remedy) from None
