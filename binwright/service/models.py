"""What clients send and get: checked by pydantic, described in the OpenAPI document."""

import hashlib
import json
from importlib.metadata import version
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, model_validator

OURS = "This is our mistake; the server's log has the details."


class Submission(BaseModel):
    """A specification, with tables and parameters in place of those of the same names in the text; how to search.

    What is in tables, parameters and places is checked by the job, together with the text.
    """

    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")

    text: StrictStr = Field(description="The specification. `TABLE ... FROM` is refused: the service reads no files.")
    tables: dict[str, Any] = Field(
        default={}, description="Numbers in rows; or, for `TABLE ... FROM ... AS`, names, null for an empty cell."
    )
    params: dict[str, Any] = Field(default={}, description="Values of PARAMs.")
    now: list[Any] | dict[str, Any] | None = Field(
        default=None,
        description="Where the balls are: the bin of each, by number or name, null for none; or an object from balls, "
        "by name where they have names and else by number, to bins.",
    )
    moves: StrictInt | None = Field(
        default=None, ge=0, lt=2**31, description="So many balls may leave where they are, at most."
    )
    drain: list[Any] = Field(default=[], description="Bins that are to be empty: numbers or names.")
    search: Literal["ours", "published"] = Field(default="ours", description="How to search.")
    seed: StrictInt = Field(default=0, ge=0, lt=2**63, description="Of the random orders.")
    time: float = Field(default=10.0, gt=0, le=86_400, allow_inf_nan=False, description="Seconds of the search.")
    attempts: StrictInt | None = Field(default=None, ge=1, le=10**12, description="The search ends after so many, too.")

    @model_validator(mode="before")
    @classmethod
    def _few_keys(cls, data: Any) -> Any:
        """Refuse very many keys at once: each would be a mistake of its own."""
        if isinstance(data, dict) and len(data) > len(cls.model_fields) + 10:
            raise ValueError("has too many keys")
        return data

    @property
    def key(self) -> str:
        """Name it by content, however it was written, and by the version of the solver."""
        content = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(f"{version('binwright')} {content}".encode()).hexdigest()


def failure(
    message: str, remedy: str = "", state: str = "failed", line: int | None = None, column: int | None = None
) -> dict[str, Any]:
    """Say why a job has no answer; with line and column, from 1, if that is about a place in the specification."""
    return {"state": state, "error": {"message": message, "remedy": remedy, "line": line, "column": column}}


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
    error: dict[str, Any] | None = Field(description="What is wrong: message, remedy, line and column.")
    progress: dict[str, Any] | None = Field(default=None, description="The best so far: bins, placed, ...")
    result: dict[str, Any] | None = Field(description="A verified answer, as of `solve --json`, and `resources`.")
    request: str = Field(exclude=True)
