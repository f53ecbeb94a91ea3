"""What clients send and get: checked by pydantic, described in the OpenAPI document."""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import version
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, model_validator

NAMES = 1000
"""Tables of a problem, and parameters, and bins to be emptied, at most."""
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


def _number(value: int | float) -> int | float:
    """Refuse a number that fits into no float: it is compared as it is, since a float of a larger one is an error."""
    if not -sys.float_info.max <= value <= sys.float_info.max:
        raise ValueError("is too large a number, or none")
    return value


def _whole_letters(value: str) -> str:
    value.encode()  # half of a surrogate pair is a ValueError
    return value


def _entries(entries: list[Any]) -> list[Any]:
    """Take numbers in rows, or a column of names."""
    if entries and all(entry is None or isinstance(entry, str) for entry in entries):
        return [entry if entry is None else _whole_letters(entry) for entry in entries]
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


Name = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$", max_length=100)]
Text = Annotated[StrictStr, AfterValidator(_whole_letters)]
Place = Annotated[StrictInt, Field(ge=-1, lt=MOST)] | Text | None


class Submission(BaseModel):
    """A specification, with tables and parameters in place of those of the same names in the text; how to search."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})

    text: Text = Field(description="The specification. `TABLE ... FROM` is refused: the service reads no files.")
    tables: dict[Name, Annotated[list[Any], AfterValidator(_entries)]] = Field(
        default={},
        max_length=NAMES,
        description="Numbers in rows, of which the innermost may differ in length; or, for `TABLE ... FROM ... AS`, a "
        "column of names, null for an empty cell.",
    )
    params: dict[Name, Annotated[StrictInt | StrictFloat, AfterValidator(_number)]] = Field(
        default={}, max_length=NAMES, description="Values of PARAMs."
    )
    now: list[Place] | dict[Text, Place] | None = Field(
        default=None,
        description="Where the balls are: the bin of each, by number or name, null for none; or an object from balls, "
        "by name where they have names and else by number, to bins.",
    )
    moves: StrictInt | None = Field(
        default=None, ge=0, lt=MOST, description="So many balls may leave where they are, at most."
    )
    drain: list[Annotated[StrictInt, Field(ge=0, lt=MOST)] | Text] = Field(
        default=[], max_length=NAMES, description="Bins that are to be empty: numbers, names, or ranges like `5-7`."
    )
    search: Literal["ours", "published"] = Field(default="ours", description="How to search.")
    seed: StrictInt = Field(default=0, ge=0, lt=2**63, description="Of the random orders.")
    time: float = Field(default=10.0, gt=0, le=86_400, allow_inf_nan=False, description="The search's seconds.")
    attempts: StrictInt | None = Field(default=None, ge=1, le=10**12, description="The search ends after so many, too.")

    @model_validator(mode="before")
    @classmethod
    def _few_keys(cls, data: Any) -> Any:
        """Refuse very many keys at once: each unknown one would be a mistake of its own."""
        if isinstance(data, dict) and len(data) > len(cls.model_fields) + 10:
            raise ValueError("has too many keys")
        return data

    def canonical(self) -> str:
        """Write it as JSON, the same for the same request, however it was written."""
        return json.dumps(self.model_dump(), sort_keys=True, separators=(",", ":"))

    @property
    def key(self) -> str:
        """Name it by content, and by the version of the solver."""
        return hashlib.sha256(f"{version('binwright')} {self.canonical()}".encode()).hexdigest()


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
    goal_bounds: list[int]


class Mistake(BaseModel):
    """What is wrong, and the remedy; line and column, from 1, where it is about a place in the specification."""

    message: str
    remedy: str = ""
    line: int | None = None
    column: int | None = None


class Refusal(BaseModel):
    """The request was not done."""

    error: Mistake


class Job(BaseModel):
    """A submission and what became of it.

    `refused`: the specification is wrong. `failed`: the job broke a limit, or the solver broke. `cancelled` may have a
    result: the best that was found until then.
    """

    id: str
    state: Literal["queued", "running", "done", "refused", "failed", "cancelled"]
    submitted: str
    started: str | None
    finished: str | None
    error: Mistake | None
    progress: dict[str, Any] | None = Field(description="The best so far: bins, bound, placed, balls, checked, ...")
    result: dict[str, Any] | None = Field(
        description="A verified answer, as `binwright solve --json` prints it, and `resources`: what is used of each."
    )


class Health(BaseModel):
    """How the service is."""

    accepting: bool = Field(description="It takes new jobs. If not, those it took are kept, and done when it can.")
    error: str | None = Field(description="What the disk has against it.")
    workers: int = Field(description="Jobs that can run at a time.")
    queued: int | None
    running: int | None
