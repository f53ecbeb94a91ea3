"""What clients send and get: checked by pydantic, described in the OpenAPI document."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

NAMES = 1000
"""Tables of a problem, and parameters, and bins to be emptied, at most."""
MOST = 2**31
"""Numbers of bins are below it."""
EXAMPLE: dict[str, Any] = {
    "text": "BALLS len(D) BINS ? RESOURCES SIZE[b in BINS] => 10\n"
    "procedure UTILFN(BALL, BIN, ALLOC) UTIL.SIZE[BIN] += D[BALL] end",
    "tables": {"D": [6, 5, 5, 4, 3]},
    "time": 2,
}
OURS = "This is our mistake; the server's log has the details."
Name = Annotated[str, Field(pattern="^[A-Za-z][A-Za-z0-9_]*$", max_length=100)]
Place = Annotated[StrictInt, Field(ge=-1, lt=MOST)] | StrictStr | None


def _is_place(place: object) -> bool:
    return place is None or isinstance(place, str) or (type(place) is int and -1 <= place < MOST)


class Submission(BaseModel):
    """A specification, with tables and parameters in place of those of the same names in the text; how to search."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]}, ser_json_inf_nan="constants")

    text: StrictStr = Field(description="The specification. `TABLE ... FROM` is refused: the service reads no files.")
    tables: dict[Name, list[Any]] = Field(
        default={},
        max_length=NAMES,
        description="Numbers in rows, of which the innermost may differ in length; or, for `TABLE ... FROM ... AS`, a "
        "column of names, null for an empty cell.",
    )
    params: dict[Name, StrictInt | Annotated[float, Field(strict=True, allow_inf_nan=False)]] = Field(
        default={}, max_length=NAMES, description="Values of PARAMs."
    )
    now: Annotated[list[Place], Field(fail_fast=True)] | dict[str, Place] | None = Field(
        default=None,
        description="Where the balls are: the bin of each, by number or name, null for none; or an object from balls, "
        "by name where they have names and else by number, to bins.",
    )
    moves: StrictInt | None = Field(
        default=None, ge=0, lt=MOST, description="So many balls may leave where they are, at most."
    )
    drain: Annotated[list[Annotated[StrictInt, Field(ge=0, lt=MOST)] | StrictStr], Field(fail_fast=True)] = Field(
        default=[], max_length=NAMES, description="Bins that are to be empty: numbers, names, or ranges like `5-7`."
    )
    search: Literal["ours", "published"] = Field(default="ours", description="How to search.")
    seed: StrictInt = Field(default=0, ge=0, lt=2**63, description="Of the random orders.")
    time: float = Field(default=10.0, gt=0, le=86_400, allow_inf_nan=False, description="The search's seconds.")
    attempts: StrictInt | None = Field(default=None, ge=1, le=10**12, description="The search ends after so many, too.")

    @model_validator(mode="before")
    @classmethod
    def _few_mistakes(cls, data: Any) -> Any:
        """Refuse very many wrong keys, names or places at once: each would be a mistake of its own."""
        if not isinstance(data, dict):
            return data
        if len(data) > len(cls.model_fields) + 10:
            raise ValueError("has too many keys")
        for key in ("tables", "params"):
            if isinstance(names := data.get(key), dict) and len(names) > NAMES:
                raise ValueError(f"{key} has more than {NAMES:,} names")
        if isinstance(now := data.get("now"), dict) and not all(map(_is_place, now.values())):
            raise ValueError("now has a place that is neither a number of a bin, nor a name, nor null")
        return data

    @property
    def key(self) -> str:
        """Name it by content, however it was written, and by the version of the solver."""
        content = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(f"{version('binwright')} {content}".encode()).hexdigest()


class Mistake(BaseModel):
    """What is wrong, and the remedy; line and column, from 1, where it is about a place in the specification."""

    message: str
    remedy: str = ""
    line: int | None = None
    column: int | None = None


def failure(message: str, remedy: str = "", state: str = "failed", **place: int) -> dict[str, Any]:
    """Say why a job has no answer."""
    return {"state": state, "error": Mistake(message=message, remedy=remedy, **place).model_dump()}


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
    progress: dict[str, Any] | None = Field(
        default=None, description="The best so far: bins, bound, placed, balls, checked, ..."
    )
    result: dict[str, Any] | None = Field(
        description="A verified answer, as `binwright solve --json` prints it, and `resources`: what is used of each."
    )
    request: str = Field(exclude=True)


class Health(BaseModel):
    """How the service is."""

    accepting: bool = Field(
        default=False, description="It takes new jobs. If not, those it took are kept, and done when it can."
    )
    error: str | None = Field(default=None, description="What the disk has against it.")
    workers: int = Field(description="Jobs that can run at a time.")
    queued: int | None = None
    running: int | None = None
