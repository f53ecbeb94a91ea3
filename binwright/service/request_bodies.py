"""Bodies of requests: how they are described, read, and checked against what they should be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from binwright.service import models
from binwright.service.access_control import refusal
from binwright.service.limits import Limits

PAGE, LONGEST = 50, 200
"""Jobs of a page of the list, and at most."""
LISTING = {
    "parameters": [
        {
            "name": "state",
            "in": "query",
            "description": "Of these only: several with commas between them, or repeated.",
            "schema": {"type": "string"},
            "example": "queued,running",
        },
        {
            "name": "limit",
            "in": "query",
            "schema": {"type": "integer", "minimum": 1, "maximum": LONGEST, "default": PAGE},
        },
        {
            "name": "before",
            "in": "query",
            "description": "`next` of the page before.",
            "schema": {"type": "string"},
        },
    ]
}


def body_of(model: type[models.Problem], limits: Limits, *options: str) -> dict[str, Any]:
    """How a body is described: the text of a specification with options in the query, or JSON."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    if "time" in options:
        schema["properties"]["time"] |= {"maximum": limits.time, "default": min(models.TIME, limits.time)}
    content = {
        "text/plain": {"schema": {"type": "string"}, "example": models.EXAMPLE["text"]},
        "application/json": {"schema": schema, "example": models.EXAMPLE},
    }
    query = [{"name": name, "in": "query", "schema": schema["properties"][name]} for name in options]
    return {"requestBody": {"content": content, "required": True}, "parameters": query}


T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
LARGE = 2**15
"""Bytes of a body that is read beside all else: to have a thread do it takes longer than reading a small one."""


class Bodies:
    """Reads bodies, large ones one at a time.

    Threads that read at once make each other, and whoever waits for the loop, wait for seconds, and hold many times
    their bytes.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "read")

    def stop(self) -> None:
        """Read no more."""
        self._thread.shutdown(cancel_futures=True)

    async def read(self, request: Request, model: type[M], take: Callable[[M], T | Response]) -> T | Response:
        """Read a request's body as the model wants it; gives what is taken from that."""
        body = await request.body()
        if not body:
            return refusal(422, "the request is empty", "Send a specification.")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
            if request.query_params:
                return refusal(422, "options stand in the JSON", "Leave them out of the address.")
            if len(body) < LARGE:
                return _parsed(model, body, take)
            return await asyncio.get_running_loop().run_in_executor(self._thread, _parsed, model, body, take)
        try:
            return _checked(model, {"text": body.decode(), **_query(request)}, take)
        except UnicodeDecodeError:
            return refusal(422, "the text is not UTF-8", "Send the specification in UTF-8.")


def _parsed(model: type[M], body: bytes, take: Callable[[M], T | Response]) -> T | Response:
    try:
        return _checked(model, from_json(body), take)
    except ValueError as error:
        return refusal(422, f"this is not JSON that can be read: {error}", "See /v1/openapi.json.")


def _checked(model: type[M], given: Any, take: Callable[[M], T | Response]) -> T | Response:
    """Check what was given, few names first, since pydantic lists every mistake there is; gives what is taken."""
    if not isinstance(given, dict):
        return refusal(422, "the JSON is not an object", "See /v1/openapi.json.")
    dicts = (one for name, one in given.items() if isinstance(one, dict) and name != "now")
    if any(len(one) > models.NAMES for one in (given, *dicts)):
        return refusal(422, f"there are more than {models.NAMES:,} names", "Put numbers into rows of a table.")
    try:
        return take(model.model_validate(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part)[:100] for part in first["loc"])
        return refusal(422, f"{where}: {first['msg']}" if where else first["msg"], "See /v1/openapi.json.")


def _query(request: Request) -> dict[str, Any]:
    """Options of a text: numbers stay numbers."""

    def number(text: str) -> int | float | str:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    return {name: number(text) for name, text in request.query_params.items() if name != "text"}
