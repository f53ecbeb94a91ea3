"""What clients send and get: checked by pydantic, described in the OpenAPI document."""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cached_property
from importlib.metadata import version
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    WithJsonSchema,
)

from binwright.service.limits import PRIORITIES

TIME = 10.0
"""Seconds of a search that says nothing else."""
LARGEST = sys.float_info.max
NAMES = 1000
"""Tables of a problem, and parameters, and so mistakes in one request: each would be told, and takes a kilobyte."""
MOST = 2**31
"""Numbers of bins are below it."""
DEEPEST = 8
"""Indices of a table."""
EXAMPLE: dict[str, Any] = {
    "text": "BALLS len(D) BINS ? RESOURCES SIZE[b in BINS] => 10\n"
    "procedure UTILFN(BALL, BIN, ALLOC) UTIL.SIZE[BIN] += D[BALL] end",
    "tables": {"D": [6, 5, 5, 4, 3]},
    "time": 2,
}
State = Literal["queued", "running", "done", "refused", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
TITLE = 200
"""Letters of a job's title, at most."""


def _number(value: int | float) -> int | float:
    """Refuse a number that fits into no float: it is compared as it is, since a float of a larger one is an error."""
    if not -LARGEST <= value <= LARGEST:
        raise ValueError("is too large a number, or none")
    return value


def _entries(entries: list[Any]) -> list[Any]:
    """Numbers in rows, or a column of names."""
    if entries and all(entry is None or isinstance(entry, str) for entry in entries):
        return entries
    return _numbers(entries)


def _numbers(entries: list[Any], depth: int = 1) -> list[Any]:
    for entry in entries:
        if isinstance(entry, list):
            if depth == DEEPEST:
                raise ValueError(f"has rows nested deeper than {DEEPEST}")
            _numbers(entry, depth + 1)
        elif type(entry) not in (int, float):
            raise ValueError("has entries that are neither all numbers nor all names")
        else:
            _number(entry)
    return entries


def _places(now: Any) -> Any:
    """Bins in a list, or by ball; checked as a whole, since there may be many."""
    if now is None:
        return None
    if not isinstance(now, list | dict):
        raise ValueError("is neither a list of bins nor an object from balls to bins")
    for place in now.values() if isinstance(now, dict) else now:
        if not (place is None or isinstance(place, str) or (type(place) is int and -1 <= place < MOST)):
            raise ValueError("has bins that are neither numbers nor names")
    return now


def _bins(drain: list[Any]) -> list[Any]:
    """Bins by number, by name, or as a range."""
    if len(drain) > NAMES:
        raise ValueError(f"has more than {NAMES:,} entries; there are ranges, like 3-7")
    for place in drain:
        if not (isinstance(place, str) or (type(place) is int and 0 <= place < MOST)):
            raise ValueError("has bins that are neither numbers nor names")
    return drain


Name = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$", max_length=100)]
Number = Annotated[StrictInt | StrictFloat, AfterValidator(_number)]
Rows = Annotated[
    list[Any],
    AfterValidator(_entries),
    Field(json_schema_extra={"items": {"anyOf": [{"type": kind} for kind in ("number", "array", "string", "null")]}}),
]
BIN = {"anyOf": [{"type": "integer", "minimum": -1}, {"type": "string"}, {"type": "null"}]}
Places = Annotated[
    Any,
    AfterValidator(_places),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": BIN},
                {"type": "object", "additionalProperties": BIN},
                {"type": "null"},
            ]
        }
    ),
]
Drain = Annotated[
    list[Any],
    AfterValidator(_bins),
    WithJsonSchema({"type": "array", "items": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}}),
]
NO_OTHERS: dict[str, Any] = {"additionalProperties": False}


class Problem(BaseModel):
    """A specification, with tables and parameters that take the place of those of the same names in the text."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    text: str = Field(description="The specification. `TABLE ... FROM` is refused: the service reads no files.")
    tables: dict[Name, Rows] = Field(
        default={},
        description="Numbers in rows, of which the innermost may differ in length; or, for `TABLE ... FROM ... AS`, a "
        "column of names, null for an empty cell.",
        json_schema_extra=NO_OTHERS,
    )
    params: dict[Name, Number] = Field(default={}, description="Values of PARAMs.", json_schema_extra=NO_OTHERS)
    now: Places = Field(
        default=None,
        description="Where the balls are: the bin of each, by number or name, null for none; or an object from balls, "
        "by name where they have names and else by number, to bins.",
    )
    moves: int | None = Field(
        default=None, ge=0, lt=MOST, strict=True, description="So many balls may leave where they are, at most."
    )
    drain: Drain = Field(default=[], description="Bins that are to be empty: numbers, names, or ranges like `5-7`.")

    @cached_property
    def canonical(self) -> str:
        """The same for the same request, however it was written."""
        return _canonical(self)


class Submission(Problem):
    """A problem, and how to search."""

    search: Literal["ours", "published"] = Field(default="ours", description="How to search.")
    device: str = Field(
        default="cpu", max_length=100, description="Where: one of `/v1/devices`, or several, as in opencl:0,2-3."
    )
    seed: int = Field(default=0, ge=0, lt=2**63, strict=True, description="Of the random orders.")
    time: float = Field(default=TIME, gt=0, le=86_400, allow_inf_nan=False, description="The search's seconds.")
    attempts: int | None = Field(default=None, ge=1, le=10**12, description="The search ends after so many, too.")
    priority: int | None = Field(
        default=None,
        ge=-PRIORITIES,
        le=PRIORITIES,
        strict=True,
        description="The highest is first in the queue; by default 0, or less if the service allows less.",
    )

    @cached_property
    def canonical(self) -> str:
        """The same for the same job, however urgent it is."""
        return _canonical(self, "priority")

    @property
    def title(self) -> str:
        """The first line of the text, which may be a comment."""
        first = next((line for line in self.text.splitlines() if line.strip("# \t")), "")
        words = " ".join(first.strip("# \t").split())
        return words if len(words) <= TITLE else f"{words[: TITLE - 1].rstrip()}…"

    @cached_property
    def key(self) -> str:
        """Names the submission by content, and by the version of the solver."""
        return hashlib.sha256(f"{version('binwright')} {self.canonical}".encode()).hexdigest()


def _canonical(asked: BaseModel, *less: str) -> str:
    fields = {name: getattr(asked, name) for name in type(asked).model_fields if name not in less}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


class Mistake(BaseModel):
    """What is wrong, and the remedy; line and column, from 1, where it is about a place in the specification."""

    message: str
    remedy: str = ""
    line: int | None = None
    column: int | None = None


def failed(problem: str, remedy: str) -> dict[str, Any]:
    """Say that a job failed."""
    return {"state": "failed", "error": Mistake(message=problem, remedy=remedy).model_dump()}


class Refusal(BaseModel):
    """The request was not done."""

    error: Mistake


class Family(BaseModel):
    """A resource: what is used of each of its dimensions, the last index running fastest."""

    name: str
    sizes: list[int]
    by_bin: bool = Field(description="The first index is the bin.")
    used: list[float]
    capacity: list[float]


class Entry(BaseModel):
    """An entry of a sum."""

    entry: str = Field(description="For which ball, bin or number: `b = 3`.")
    value: float


class Term(BaseModel):
    """What a term adds to a goal."""

    text: str
    value: float = Field(description="Below zero where it subtracts.")
    largest: list[Entry] = Field(description="Of a sum, the entries that come to most.")


class Reached(BaseModel):
    """What became of a goal."""

    aim: Literal["MINIMISE", "MAXIMISE"]
    text: str
    value: float
    bound: float = Field(description="No allocation of all balls is better.")
    gap: float
    terms: list[Term]


class Move(BaseModel):
    """A ball that leaves its bin; `to` is null if it is left out."""

    model_config = ConfigDict(populate_by_name=True)

    ball: int
    from_: int = Field(alias="from")
    to: int | None


class Left(BaseModel):
    """A ball that is left out: how many bins each rule (a resource, PIN, DRAIN, FOES, ...) keeps it out of."""

    ball: int
    in_the_way: dict[str, int]


class Fault(BaseModel):
    """A declaration without which all balls might be placed."""

    what: str
    line: int | None = Field(description="Null where it is not in the text.")


class Result(BaseModel):
    """A verified answer."""

    status: Literal["optimal", "solved", "partial", "unsolved"]
    interrupted: bool
    bins: int
    used: int = Field(description="Bins that have a ball.")
    bound: int
    gap: int | None = Field(description="Bins beyond the bound; null where their number is given.")
    placed: int
    balls: int
    searched: bool = Field(description="`BINS ?`: the number of bins was searched for.")
    checked: int = Field(description="Whole allocations that were built and checked.")
    seconds: float
    impossible: str = Field(description="Why not all balls can be placed, where that is plain to see; else empty.")
    at_fault: list[Fault] = Field(
        description="Declarations that are impossible together, and of which none can be left out, where that is plain."
    )
    goals: list[Reached] = Field(description="What became of each goal, if all balls are placed.")
    notes: list[str] = Field(description="What else is to be known about the answer.")
    left: list[Left] = Field(description="Balls that are left out, the first of them, and what keeps them out.")
    moves: list[Move] | None = Field(description="Balls that leave the bin that they are in NOW; null without NOW.")
    ball_names: list[str] | None = Field(description="Null where balls have no names here.")
    bin_names: list[str] | None
    alloc: list[int | None] = Field(description="The bin of every ball; null for one that is left out.")
    resources: list[Family] | None = Field(description="Null if there are very many dimensions.")


class Found(BaseModel):
    """What a search says that it has found; -1 in `alloc` is a ball that is left out."""

    alloc: list[Annotated[int, Field(ge=-1, lt=MOST)]]
    bins: int
    bound: int = Field(ge=0)
    checked: int = Field(ge=0)
    seconds: float = Field(ge=0, allow_inf_nan=False)
    search: str
    interrupted: bool
    impossible: str
    notes: list[str]
    at_fault: list[tuple[str, int | None]]
    goal_bounds: list[int] = Field(description="What no allocation is better than, by goal, in its smallest units.")


class Progress(BaseModel):
    """The best so far."""

    bins: int
    bound: int
    searched: bool = Field(description="`BINS ?`: the number of bins is searched for.")
    placed: int = Field(description="Balls in the best allocation so far.")
    balls: int
    checked: int
    seconds: float
    goals: list[float] = Field(description="What each goal has come to; empty before all balls are placed.")


class Submitted(BaseModel):
    """What is known of every job."""

    id: str
    state: State
    priority: int
    place: int | None = Field(description="In the queue, from 1; null for a job that does not wait.")
    title: str = Field(description="The first line of the specification.")
    submitted: str
    started: str | None
    finished: str | None
    error: Mistake | None


class Job(Submitted):
    """A submission and what became of it.

    `refused`: the specification is wrong. `failed`: the job broke a limit, or the solver broke. `cancelled` may have a
    result: the best that was found until then.
    """

    progress: Progress | None
    result: Result | None


class Listed(Submitted):
    """A job in the list."""

    status: str | None = Field(description="Of the result, if there is one.")


class Jobs(BaseModel):
    """A page of the list, newest first."""

    jobs: list[Listed]
    next: str | None = Field(description="`before` of the next page; null if this is the last one.")


class Health(BaseModel):
    """How the service is."""

    accepting: bool = Field(description="It takes new jobs. If not, those it took are kept, and done when it can.")
    error: str | None = Field(description="What the disk has against it.")
    workers: int = Field(description="Jobs that can run at a time.")
    queued: int | None = Field(description="Jobs that wait; null if the disk does not even say that.")
    running: int | None


class Device(BaseModel):
    """What a submission may ask for."""

    device: str
    name: str
    kind: str


class Properties(BaseModel):
    """What the compiler knows of the problem."""

    model_config = ConfigDict(extra="allow")

    balls: int
    bins: int | Literal["?"]
    dims: int
    steps: int = Field(description="At most, per call of UTILFN.")


class Checked(BaseModel):
    """Whether a specification compiles."""

    ok: bool
    errors: list[Mistake]
    properties: Properties | None
